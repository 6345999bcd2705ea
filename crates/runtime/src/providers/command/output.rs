//! What expressions see as `output`: the JSON that a command printed, or its text.
//!
//! **Invariant:** with `parse: auto` no character is lost. A scalar is taken for JSON only when printing the value
//! again gives the same text, so `1.10`, `007` and the digits of a commit hash stay text.

use escrow_contract::read_json;
use escrow_expr::number_to_text;
use escrow_model::{FaultCode, ProviderFault, Request};
use serde_json::Value;

use crate::process::Captured;

/// The `parse` key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::providers) enum Parse {
    /// An object, an array or a plain scalar is JSON; all else is text.
    Auto,
    Text,
    /// What is not JSON is a fault.
    Json,
    /// A list of lines.
    Lines,
}

impl Parse {
    pub(in crate::providers) const WORDS: &[&str] = &["auto", "text", "json", "lines"];

    pub(in crate::providers) fn of(request: &Request) -> Parse {
        match request.fields.get("parse").and_then(Value::as_str) {
            Some("text") => Parse::Text,
            Some("json") => Parse::Json,
            Some("lines") => Parse::Lines,
            Some(_) | None => Parse::Auto,
        }
    }
}

/// What was read.
pub(in crate::providers) struct Read {
    pub(in crate::providers) output: Value,
    /// The path of a member that the JSON names twice. Parsers differ in which of the two they keep, so the output
    /// is text.
    pub(in crate::providers) repeated_key: Option<String>,
    pub(in crate::providers) fault: Option<ProviderFault>,
}

pub(in crate::providers) fn read(stdout: Captured, parse: Parse) -> Read {
    let is_truncated = stdout.is_truncated();
    match parse {
        Parse::Text => Read::text(stdout),
        Parse::Lines => {
            let text = stdout.text();
            let lines = text.lines().map(Value::from).collect();
            Read { output: Value::Array(lines), repeated_key: None, fault: None }
        }
        Parse::Auto if is_truncated => Read::text(stdout),
        Parse::Json if is_truncated => Read::text(stdout).faulty("the output is larger than 16 MiB".into()),
        Parse::Auto | Parse::Json => match read_json(&stdout.tail) {
            Ok(parsed) => match parsed.repeated_key {
                Some(path) => {
                    let message = format!("the output is JSON that names `{path}` twice");
                    let read = Read { repeated_key: Some(path), ..Read::text(stdout) };
                    if parse == Parse::Json { read.faulty(message) } else { read }
                }
                None if parse == Parse::Json || is_faithful(&parsed.value, &stdout.tail) => {
                    Read { output: parsed.value, repeated_key: None, fault: None }
                }
                None => Read::text(stdout),
            },
            Err(error) if parse == Parse::Json => {
                Read::text(stdout).faulty(format!("the output is not JSON: {error}"))
            }
            Err(_) => Read::text(stdout),
        },
    }
}

impl Read {
    fn text(stdout: Captured) -> Read {
        let text = match stdout.is_truncated() {
            true => stdout.text(),
            false => String::from_utf8(stdout.tail)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()),
        };
        Read { output: without_newline(text).into(), repeated_key: None, fault: None }
    }

    fn faulty(self, message: String) -> Read {
        Read { fault: Some(ProviderFault::logical(FaultCode::OutputNotJson, message)), ..self }
    }
}

/// Whether a value says all that the text says. Of an object or an array the meaning is clear; a scalar must be
/// written just as `JSON.stringify` writes it.
fn is_faithful(value: &Value, printed: &[u8]) -> bool {
    let written = match value {
        Value::Array(_) | Value::Object(_) => return true,
        Value::Null | Value::Bool(_) | Value::String(_) => value.to_string(),
        Value::Number(number) => match number.as_f64() {
            Some(number) if number.fract() != 0.0 || number.abs() <= SAFE_INTEGER_MAX => {
                number_to_text(number)
            }
            Some(_) | None => return false,
        },
    };
    printed.strip_suffix(b"\n").unwrap_or(printed) == written.as_bytes()
}

/// Up to here every integer is a number of its own.
const SAFE_INTEGER_MAX: f64 = 9_007_199_254_740_991.0;

fn without_newline(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn captured(text: &str) -> Captured {
        Captured { tail: text.into(), total_bytes: text.len() as u64, ..Captured::default() }
    }

    fn auto(text: &str) -> Value {
        read(captured(text), Parse::Auto).output
    }

    #[test]
    fn a_scalar_is_json_only_when_it_is_written_as_javascript_writes_it() {
        for (text, expected) in [
            ("3\n", json!(3)),
            ("-17", json!(-17)),
            ("2.5", json!(2.5)),
            ("1e-7", json!(1e-7)),
            ("9007199254740991", json!(9_007_199_254_740_991_u64)),
            ("true\n", json!(true)),
            ("null", Value::Null),
            (r#""x""#, json!("x")),
            (r#""a\nb""#, json!("a\nb")),
            ("[1.10]", json!([1.10])),
            (" {\"a\": 4711e05} \n\n", json!({"a": 4711e05})),
        ] {
            assert_eq!(auto(text), expected, "{text}");
        }
        for text in [
            "1.10",
            "1.0",
            "4711e05",
            "007",
            "-0",
            "1e3",
            "1e+21",
            "1E400",
            "9007199254740992",
            "123456789012345678901234567890",
            " 3",
            "3 ",
            "3\n4",
            "TRUE",
            r#""\u0078""#,
            r#""\/""#,
        ] {
            assert_eq!(auto(text), json!(text), "{text}");
        }
    }

    #[test]
    fn the_digits_of_a_commit_hash_are_text() {
        for hash in ["12345e67", "1234567890123456789012345678901234567890", "0123456"] {
            assert_eq!(auto(&format!("{hash}\n")), json!(hash));
        }
    }

    #[test]
    fn json_that_names_a_member_twice_is_text_and_under_parse_json_a_fault() {
        let twice = r#"{"a": 1, "b": {"c": 1, "c": 2}}"#;
        let read_auto = read(captured(twice), Parse::Auto);
        assert_eq!(read_auto.output, json!(twice));
        assert_eq!((read_auto.repeated_key.as_deref(), read_auto.fault), (Some("b.c"), None));
        let read_json = read(captured(twice), Parse::Json);
        assert_eq!(read_json.output, json!(twice));
        assert!(read_json.fault.is_some_and(|fault| fault.message.contains("`b.c` twice")));
    }

    #[test]
    fn parse_decides_otherwise() {
        let as_json = |text: &str| read(captured(text), Parse::Json);
        assert_eq!(as_json("1.10\n").output, json!(1.1));
        assert_eq!(as_json("nothing").fault.map(|fault| fault.code), Some(FaultCode::OutputNotJson));
        assert!(as_json("").fault.is_some());
        assert_eq!(read(captured("{\"a\": 1}\n"), Parse::Text).output, json!("{\"a\": 1}"));
        let lines = |text: &str| read(captured(text), Parse::Lines).output;
        assert_eq!(lines("a\n\n[1]\r\nb"), json!(["a", "", "[1]", "b"]));
        assert_eq!(lines(""), json!([]));
    }

    #[test]
    fn the_words_of_the_key_are_all_understood() {
        let of = |word: &str| {
            let fields = [("parse".to_owned(), json!(word))].into_iter().collect();
            Parse::of(&Request {
                provider: escrow_model::ProviderName::COMMAND,
                fields,
                env: Default::default(),
                environment: None,
                handed_env: Default::default(),
                timeout_ms: 1,
                idempotency_key: String::new(),
                item: None,
            })
        };
        let parsed: Vec<Parse> = Parse::WORDS.iter().map(|word| of(word)).collect();
        assert_eq!(parsed, [Parse::Auto, Parse::Text, Parse::Json, Parse::Lines]);
    }
}
