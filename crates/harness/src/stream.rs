//! Reading the output of a harness line by line.

use serde_json::Value;

use crate::Report;

/// Longer lines are skipped. The caller may also cut them: a cut line is not JSON and is skipped as well.
pub const LINE_BYTES_MAX: usize = 16 << 20;

/// The final text of a report is cut to this length.
pub const FINAL_TEXT_BYTES_MAX: usize = 4 << 20;

/// Understands the output of one process. Unknown and broken lines are skipped, in any order and number.
pub trait StreamParser {
    /// Reads the JSON object of one line.
    fn read(&mut self, line: &Value, progress: &mut Vec<Progress>);

    /// Reads one line of standard output.
    fn line(&mut self, line: &str) -> Vec<Progress> {
        let mut progress = Vec::new();
        if let Some(value) = object(line) {
            self.read(&value, &mut progress);
        }
        progress
    }

    /// Judges the process after its last line.
    fn finish(&mut self, exit: Exit, stderr: &str) -> Report;
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal(i32),
    /// The caller ended it at its deadline.
    TimedOut,
}

/// What is known while the program runs.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    Session(String),
    Model(String),
    /// The number of turns so far.
    Turn(u64),
    Text(String),
    ToolStarted {
        name: String,
        summary: String,
    },
    ToolEnded {
        name: String,
        failed: bool,
    },
    /// The sums so far.
    Tokens {
        input: u64,
        output: u64,
    },
    /// The sum so far, in US dollars.
    Cost(f64),
    Retrying {
        attempt: Option<u64>,
        message: String,
    },
    Denied {
        tool: String,
    },
}

/// The JSON object on a line, or `None` for everything else.
fn object(line: &str) -> Option<Value> {
    let line = line.trim();
    if line.len() > LINE_BYTES_MAX || !line.starts_with('{') {
        return None;
    }
    serde_json::from_str(line).ok()
}

/// The string at a key.
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// A count at a key. Negative and fractional numbers are no counts.
pub(crate) fn count(value: &Value, key: &str) -> Option<u64> {
    value.get(key)?.as_u64()
}

/// The sum of counts at pointers. The first of them must be there; a count that is there and cannot be read makes the sum
/// unknown.
pub(crate) fn sum_of_counts(value: &Value, pointers: &[&str]) -> Option<u64> {
    pointers.iter().enumerate().try_fold(0_u64, |sum, (place, pointer)| {
        let count = match value.pointer(pointer) {
            None if place > 0 => 0,
            found => found?.as_u64()?,
        };
        Some(sum.saturating_add(count))
    })
}

/// An amount of money at a key. Negative amounts are no costs.
pub(crate) fn amount(value: &Value, key: &str) -> Option<f64> {
    value.get(key)?.as_f64().filter(|amount| amount.is_finite() && *amount >= 0.0)
}

/// At most `bytes_max` bytes of a text, cut between characters.
pub(crate) fn cut(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// A text for messages: no control characters but line breaks, at most `bytes_max` bytes.
pub(crate) fn plain(text: &str, bytes_max: usize) -> String {
    let mut plain = String::new();
    let mut characters = text.trim().chars().peekable();
    while let Some(character) = characters.next() {
        if character == '\u{1b}' && characters.peek() == Some(&'[') {
            // A colour: skipped up to its final letter.
            for skipped in characters.by_ref() {
                if skipped.is_ascii_alphabetic() {
                    break;
                }
            }
        } else if character == '\n' || !character.is_control() {
            if plain.len() + character.len_utf8() > bytes_max {
                break;
            }
            plain.push(character);
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::{LINE_BYTES_MAX, cut, object, plain, sum_of_counts};
    use serde_json::json;

    #[test]
    fn only_objects_of_a_bearable_length_are_read() {
        assert!(object(r#" {"a":1} "#).is_some());
        assert!(object("[1]").is_none());
        assert!(object(r#"{"a":"#).is_none());
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(LINE_BYTES_MAX));
        assert!(object(&long).is_none());
        let nested = "{\"a\":".repeat(100_000);
        assert!(object(&nested).is_none());
    }

    #[test]
    fn a_sum_is_known_only_if_each_of_its_counts_can_be_read() {
        let sum = |value| sum_of_counts(&value, &["/a", "/b"]);
        assert_eq!(sum(json!({"a": 1, "b": 2})), Some(3));
        assert_eq!(sum(json!({"a": 1})), Some(1));
        for value in [json!({"b": 2}), json!({"a": "1"}), json!({"a": -1}), json!({"a": 1, "b": 0.5})] {
            assert_eq!(sum(value.clone()), None, "{value}");
        }
    }

    #[test]
    fn texts_are_cut_between_characters() {
        assert_eq!(cut("aé", 2), "a");
        assert_eq!(cut("aé", 3), "aé");
        assert_eq!(plain("\u{1b}[31mred\u{1b}[0m\u{7}\nline", 100), "red\nline");
        assert_eq!(plain("ééé", 5), "éé");
    }
}
