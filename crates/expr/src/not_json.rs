//! Text that looks like JSON and was not read as JSON.
//!
//! A program that prints broken JSON has printed text, and text lacks the members that an expression reads:
//! `output.failed > 0` would be false for whatever it failed at. The same is true of text whose content is JSON: it was
//! asked for as text, or it has bytes that are not UTF-8, which show as replacement characters.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::LazyLock;

use regex::Regex;
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
            // A comment without an end does not hide what is in it.
            (None, Some("/*")) => rest.find("*/").map(|end| end + 2).or_else(|| rest.find(['{', '['])),
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
    let first = text.chars().next()?;
    let rest = &text[first.len_utf8()..];
    let length = match first {
        '\u{1b}' => match rest.chars().next() {
            Some('[') => control_sequence(&rest[1..]).map(|end| 1 + end),
            Some(']' | 'P' | 'X' | '^' | '_') => {
                Some(1 + control_string(&rest[1..]).unwrap_or_else(|| open_string(&rest[1..])))
            }
            // Another character set for one character.
            Some('N' | 'O') => {
                let shifted = rest[1..].chars().next().filter(|c| !matches!(c, '{' | '['));
                Some(1 + shifted.map_or(0, char::len_utf8))
            }
            // A character set, or a command of one letter.
            _ => {
                let between = rest.chars().take_while(|c| matches!(c, ' '..='/')).count();
                let last = rest.chars().nth(between);
                last.filter(|c| matches!(c, '0'..='Z' | '`'..='z' | '~')).map(|_| between + 1)
            }
        },
        '\u{9b}' => control_sequence(rest),
        '\u{90}' | '\u{98}' | '\u{9d}' | '\u{9e}' | '\u{9f}' => {
            Some(control_string(rest).unwrap_or_else(|| open_string(rest)))
        }
        // It stands for a byte that is not UTF-8, which may have been one of these.
        char::REPLACEMENT_CHARACTER => control_sequence(rest).or_else(|| control_string(rest)),
        _ => return None,
    };
    // Without an end it is a control character, and a bracket that may begin an array.
    Some(first.len_utf8() + length.unwrap_or(0))
}

/// The length of parameters and of the letter that ends them.
fn control_sequence(text: &str) -> Option<usize> {
    let parameters = text.chars().take_while(|c| matches!(c, '0'..='?' | ' ' | '!' | '$')).count();
    let last = text.chars().nth(parameters)?;
    matches!(last, '@'..='Z' | '`'..='z' | '~').then_some(parameters + 1)
}

/// The length of a string and of what ends it. It is looked for up to the next control character, so that the time is
/// linear.
fn control_string(text: &str) -> Option<usize> {
    let end = text.find(|c: char| c.is_control() || c == char::REPLACEMENT_CHARACTER)?;
    let rest = &text[end..];
    let ends = ["\u{7}", "\u{1b}\\", "\u{9c}", "\u{fffd}"];
    ends.iter().find(|closing| rest.starts_with(**closing)).map(|closing| end + closing.len())
}

/// The length of a string without an end, which hides no JSON: up to a bracket, or to the control character that ends it.
fn open_string(text: &str) -> usize {
    let is_end = |c: char| matches!(c, '{' | '[') || c.is_control() && !c.is_whitespace();
    text.find(is_end).unwrap_or(0)
}

/// White space, control characters, bytes that are not UTF-8, and characters that show nothing of their own.
fn is_unseen(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_whitespace() || c.is_ascii_control();
    }
    UNSEEN.is_match(c.encode_utf8(&mut [0; 4]))
}

/// By class, because a list of characters would have gaps: everything that Unicode counts neither as a letter nor as a
/// number, punctuation or symbol; what it says may be ignored or extends the character before; and the symbols that are
/// blank.
static UNSEEN: LazyLock<Regex> = LazyLock::new(|| {
    let classes = [
        r"\s",
        r"\p{Other}",
        r"\p{Mark}",
        r"\p{Separator}",
        r"\p{Default_Ignorable_Code_Point}",
        r"\p{Grapheme_Cluster_Break=Extend}",
        r"\p{Grapheme_Cluster_Break=V}",
        r"\p{Grapheme_Cluster_Break=T}",
        r"\x{2800}\x{fffc}\x{fffd}\x{1d159}",
    ];
    Regex::new(&format!("[{}]", classes.concat())).expect("the classes are known")
});

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
            "/",
            "\u{1b}[32mok\u{1b}[0m",
            "\u{1b}]0;{title\u{7}ok",
            "\u{1b}(Bok",
            "\u{1b}",
            "\u{9b}1",
            "x {\"failed\": 3}",
            "# tests\n{\"failed\": 3}",
            "\u{fffd}tait {\"failed\": 3}",
            "\u{2713} {\"failed\": 3}",
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
            ("/* x {\"failed\":3}", "it is text (`JSON.parse` reads it)"),
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
            "\u{1b}]0;title",
            "\u{1b}]0;title\n",
            "\u{1b}]0;a\u{1b}]0;b",
            "\u{9d}0;title",
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
            "\u{fffd}31m",
            "\u{fffd}0;x\u{7}",
            "\u{fffd}0;x\u{fffd}",
            "\u{1b}OP",
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
    #[test]
    fn no_character_without_a_width_hides_json_whatever_its_class() {
        for before in [
            '\u{301}',
            '\u{20e3}',
            '\u{941}',
            '\u{903}',
            '\u{1d173}',
            '\u{1bca0}',
            '\u{13430}',
            '\u{600}',
            '\u{1160}',
            '\u{11a8}',
            '\u{d7cb}',
            '\u{2800}',
            '\u{fffc}',
            '\u{1d159}',
            '\u{16fe4}',
            '\u{e000}',
            '\u{378}',
            '\u{fdd0}',
            '\u{2028}',
            '\u{3000}',
            '\u{10ffff}',
        ] {
            for json in ["{\"failed\": 3}", "{\"failed\": 3", "[1"] {
                assert!(not_json(&format!("{before}{json}")).is_some(), "{before:?}");
            }
        }
    }
}
