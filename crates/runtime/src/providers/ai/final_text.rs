//! What expressions see as `output`: the final answer, or its JSON.

use serde_json::Value;

use super::super::command::output::{Parse, Read, read};
use crate::process::Captured;

/// The JSON of the whole answer, or of its one fenced block, else the text. Beside it the member that the JSON names
/// twice, which makes it text.
pub(super) fn output(text: &str) -> (Value, Option<String>) {
    let whole = parsed(text.trim());
    match (&whole.output, fenced(text)) {
        (Value::String(_), Some(block)) if whole.repeated_key.is_none() => {
            let inner = parsed(block);
            match inner.output {
                Value::Array(_) | Value::Object(_) => (inner.output, None),
                _ => (text.into(), inner.repeated_key),
            }
        }
        (Value::String(_), _) if !is_json_string(text) => (text.into(), whole.repeated_key),
        _ => (whole.output, whole.repeated_key),
    }
}

fn is_json_string(text: &str) -> bool {
    let text = text.trim();
    text.starts_with('"') && serde_json::from_str::<String>(text).is_ok()
}

fn parsed(text: &str) -> Read {
    let captured = Captured { tail: text.into(), total_bytes: text.len() as u64, ..Captured::default() };
    read(captured, Parse::Auto)
}

/// The content of the only fenced block.
fn fenced(text: &str) -> Option<&str> {
    let mut fences = text.split_inclusive('\n').scan(0, |at, line| {
        let start = *at;
        *at += line.len();
        Some((start, line))
    });
    let mut of_fences = Vec::new();
    for (start, line) in &mut fences {
        if line.trim_start().starts_with("```") {
            of_fences.push((start, line.len()));
        }
    }
    match of_fences.as_slice() {
        [(first, length), (second, _)] => Some(text[first + length..*second].trim()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_whole_answer_or_its_one_fenced_block_is_json() {
        for (text, expected) in [
            ("{\"a\": 1}\n", json!({"a": 1})),
            ("Here it is:\n```json\n{\"a\": [1, 2]}\n```\nDone.", json!({"a": [1, 2]})),
            ("```\n[1]\n```", json!([1])),
            ("3", json!(3)),
            ("\"x\"", json!("x")),
            ("  Done.\n", json!("  Done.\n")),
            ("```\nnot json\n```", json!("```\nnot json\n```")),
            ("```\n[1]\n```\n```\n[2]\n```", json!("```\n[1]\n```\n```\n[2]\n```")),
            ("```json\n{\"a\":1", json!("```json\n{\"a\":1")),
            ("007", json!("007")),
        ] {
            assert_eq!(output(text), (expected, None), "{text}");
        }
        let (value, repeated) = output("{\"a\":1,\"a\":2}");
        assert_eq!((value, repeated.as_deref()), (json!("{\"a\":1,\"a\":2}"), Some("a")));
    }
}
