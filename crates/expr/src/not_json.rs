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
    } else if prefix.contains(|c: char| is_unseen(c) && !c.is_whitespace()) {
        "invisible characters stand before it".to_owned()
    } else if text.contains(char::REPLACEMENT_CHARACTER) {
        "it has bytes that are not UTF-8".to_owned()
    } else {
        "it is text (`JSON.parse` reads it)".to_owned()
    })
}

/// What follows white space, byte order marks and comments, which some writers put before JSON, and everything that a
/// terminal does not show.
fn without_prefix(text: &str) -> &str {
    let mut rest = text;
    loop {
        // A sequence begins with a control character, so it is looked for first.
        let skipped = match (terminal_sequence(rest), rest.get(..2)) {
            (Some(end), _) => Some(end),
            (None, Some("/*")) => rest.find("*/").map(|end| end + 2),
            (None, Some("//")) => rest.find('\n'),
            (None, _) => rest.chars().next().filter(|c| is_unseen(*c)).map(char::len_utf8),
        };
        match skipped {
            Some(end) => rest = &rest[end..],
            None => return rest,
        }
    }
}

/// The length of the escape sequence that a text begins with, such as a colour.
fn terminal_sequence(text: &str) -> Option<usize> {
    const ESCAPE: char = '\u{1b}';
    let (body, is_string, begin, alone) = match text.strip_prefix(ESCAPE) {
        Some(rest) => match rest.chars().next()? {
            '[' => (&rest[1..], false, 2, 1),
            ']' | 'P' | 'X' | '^' | '_' => (&rest[1..], true, 2, 1),
            // A character set, or a command of one letter.
            _ => {
                let between = rest.chars().take_while(|c| matches!(c, ' '..='/')).count();
                let last =
                    rest.chars().nth(between).is_some_and(|c| matches!(c, '0'..='Z' | '`'..='z' | '~'));
                return Some(1 + if last { between + 1 } else { 0 });
            }
        },
        None => match text.chars().next()? {
            '\u{9b}' => (&text[2..], false, 2, 2),
            '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => (&text[2..], true, 2, 2),
            _ => return None,
        },
    };
    if is_string {
        // Up to the next control character, so that the time is linear. A string without an end hides nothing.
        let end = body.find(char::is_control).unwrap_or(body.len());
        let length = match &body[end..] {
            rest if rest.starts_with('\u{7}') => end + 1,
            rest if rest.starts_with("\u{1b}\\") || rest.starts_with('\u{9c}') => end + 2,
            _ => 0,
        };
        return Some(begin + length);
    }
    let parameters = body.chars().take_while(|c| matches!(c, '0'..='?' | ' ' | '!' | '$')).count();
    let is_ended = body.chars().nth(parameters).is_some_and(|c| matches!(c, '@'..='Z' | '`'..='z' | '~'));
    // Without an end it is a control character, and a bracket that may begin an array.
    Some(if is_ended { begin + parameters + 1 } else { alone })
}

/// White space, control characters, bytes that are not UTF-8, and characters that have no width.
fn is_unseen(c: char) -> bool {
    let has_no_width = matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    );
    c.is_whitespace() || c.is_control() || has_no_width || c == char::REPLACEMENT_CHARACTER
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
            ("\u{1b}[0m{\"failed\":NaN}", "expected value at line 1 column 11"),
        ] {
            assert_eq!(not_json(text).as_deref(), Some(why), "{text}");
        }
        for text in [
            "failed: 3",
            "",
            "\"{\"",
            "// {",
            "/* {",
            "/",
            "\u{1b}[32mok\u{1b}[0m",
            "\u{1b}]0;{title\u{7}ok",
            "\u{1b}(Bok",
            "\u{1b}",
            "\u{9b}1",
        ] {
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

    #[test]
    fn what_a_terminal_does_not_show_hides_no_json() {
        for before in [
            "\0",
            "\u{1b}[0m",
            "\u{1b}[1;31m\u{1b}[K",
            "\u{1b}]0;title\u{7}",
            "\u{1b}]8;;http://x\u{1b}\\",
            "\u{1b}(B",
            "\u{1b}]",
            "\u{9d}",
            "\u{1b}c",
            "\u{1b}",
            "\u{9b}0m",
            "\u{8}\u{7f}",
            "\u{200b}",
            "\u{2060}\u{200d}",
            "\u{ad}",
            "\u{3164}",
            "\u{e0020}",
            "\u{fffd}",
            "\r\n \u{1b}[0m /* x */ \0",
        ] {
            for json in ["{\"failed\":3}", "[{\"failed\":3}]"] {
                let text = format!("{before}{json}");
                assert_eq!(
                    not_json(&text).as_deref(),
                    Some("invisible characters stand before it"),
                    "{text:?}"
                );
            }
        }
    }
}
