//! Text that looks like JSON and is not.
//!
//! A program that prints broken JSON has printed text, and text lacks the members that an expression reads: `output.failed
//! > 0` would be false for whatever it failed at.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why a text that begins like a JSON object or array is none. `None` for other text, and for JSON.
pub fn not_json(text: &str) -> Option<String> {
    let bare = text.trim_start_matches(|c: char| c == BYTE_ORDER_MARK || c.is_whitespace());
    if !bare.starts_with(['{', '[']) {
        return None;
    }
    if let Err(error) = serde_json::from_str::<Document>(bare) {
        return Some(error.to_string());
    }
    let has_mark = text[..text.len() - bare.len()].contains(BYTE_ORDER_MARK);
    has_mark.then(|| "it begins with a byte order mark".to_owned())
}

/// JSON in which no object names a member twice.
struct Document;

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Document, D::Error> {
        deserializer.deserialize_any(Document)
    }
}

impl<'de> Visitor<'de> for Document {
    type Value = Document;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("any JSON value")
    }

    fn visit_unit<E>(self) -> Result<Document, E> {
        Ok(Document)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Document, E> {
        Ok(Document)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Document, E> {
        Ok(Document)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Document, E> {
        Ok(Document)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Document, E> {
        Ok(Document)
    }

    fn visit_str<E>(self, _: &str) -> Result<Document, E> {
        Ok(Document)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Document, A::Error> {
        while items.next_element::<Document>()?.is_some() {}
        Ok(Document)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Document, A::Error> {
        let mut names = BTreeSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if names.contains(&name) {
                return Err(A::Error::custom(format!("duplicate key `{name}`")));
            }
            members.next_value::<Document>()?;
            names.insert(name);
        }
        Ok(Document)
    }
}

#[cfg(test)]
mod tests {
    use super::not_json;

    #[test]
    fn text_that_begins_like_json_and_is_none_says_why_and_where() {
        for (text, why) in [
            (r#"{"failed":3,"failed":3}"#, "duplicate key `failed` at line 1 column 20"),
            ("\u{feff}{\"failed\":3}", "it begins with a byte order mark"),
            (r#"{"failed":NaN}"#, "expected value at line 1 column 11"),
            (" \n[INFO] 3 failed", "expected value at line 1 column 2"),
            (r#"{"a":1} {"b":2}"#, "trailing characters at line 1 column 9"),
        ] {
            assert_eq!(not_json(text).as_deref(), Some(why), "{text}");
        }
        for text in [r#"{"failed":3}"#, " [1, 2]\n", "failed: 3", "", "\"{\""] {
            assert_eq!(not_json(text), None, "{text}");
        }
    }
}
