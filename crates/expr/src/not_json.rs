//! Text that looks like JSON and was not read as JSON.
//!
//! A program that prints broken JSON has printed text, and text lacks the members that an expression reads:
//! `output.failed > 0` would be false for whatever it failed at. The same is true of text whose content is JSON: it was
//! asked for as text, or it has bytes that are not UTF-8, which show as replacement characters.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Why a text that begins like a JSON object or array was not read as one. `None` for other text.
pub fn not_json(text: &str) -> Option<String> {
    let bare = without_prefix(text);
    if !bare.starts_with(['{', '[']) {
        return None;
    }
    if let Err(error) = serde_json::from_str::<Document>(bare) {
        return Some(error.to_string());
    }
    let prefix = &text[..text.len() - bare.len()];
    Some(if prefix.contains(BYTE_ORDER_MARK) {
        "it begins with a byte order mark".to_owned()
    } else if text.contains(char::REPLACEMENT_CHARACTER) {
        "it has bytes that are not UTF-8".to_owned()
    } else {
        "it is text (`JSON.parse` reads it)".to_owned()
    })
}

/// What follows white space, byte order marks and comments, which some writers put before JSON.
fn without_prefix(text: &str) -> &str {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c == BYTE_ORDER_MARK || c.is_whitespace());
        let comment = match rest.get(..2) {
            Some("/*") => rest.find("*/").map(|end| end + 2),
            Some("//") => rest.find('\n'),
            _ => None,
        };
        match comment {
            Some(end) => rest = &rest[end..],
            None => return rest,
        }
    }
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
        for text in ["failed: 3", "", "\"{\"", "// {", "/* {", "/"] {
            assert_eq!(not_json(text), None, "{text}");
        }
    }

    #[test]
    fn text_whose_content_is_json_is_still_text() {
        for (text, why) in [
            (r#"{"failed":3}"#, "it is text (`JSON.parse` reads it)"),
            ("\u{a0}[1, 2]\n", "it is text (`JSON.parse` reads it)"),
            ("/* x */ // y\n{\"failed\":3}", "it is text (`JSON.parse` reads it)"),
            ("{\"failed\":3,\"name\":\"\u{fffd}\"}", "it has bytes that are not UTF-8"),
        ] {
            assert_eq!(not_json(text).as_deref(), Some(why), "{text}");
        }
    }
}
