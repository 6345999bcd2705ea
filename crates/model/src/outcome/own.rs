//! Kinds that a project declares by a JSON Schema, with common fields and a card made of their content.

use serde_json::Value;

use super::{Block, Card, Digest, Row, Tone, summary};

/// Lower-case letters, digits and `_`, beginning with a letter: a name that fits a file and a column.
pub fn is_kind_name(name: &str) -> bool {
    name.len() <= 64
        && name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// The summary of a project's own kind: what the outcome says of itself.
pub fn own_digest(kind: &str, content: &Value) -> Result<Digest, Vec<String>> {
    let Some(fields) = content.as_object() else {
        return Err(vec![format!("an outcome is an object, not {}", described(content))]);
    };
    let mut problems = Vec::new();
    let passed = match fields.get("passed") {
        None | Some(Value::Null) => None,
        Some(Value::Bool(passed)) => Some(*passed),
        Some(other) => {
            problems.push(format!("/passed: it is true, false or null, not {}", described(other)));
            None
        }
    };
    let given = match fields.get("summary") {
        None | Some(Value::Null) => None,
        Some(Value::String(summary)) => Some(summary.clone()),
        Some(other) => {
            problems.push(format!("/summary: it is a text, not {}", described(other)));
            None
        }
    };
    if !problems.is_empty() {
        return Err(problems);
    }
    let word = match passed {
        Some(true) => ": PASSED",
        Some(false) => ": FAILED",
        None => "",
    };
    let mut blocks: Vec<Block> = Block::text(None, given.as_ref()).into_iter().collect();
    let mut rows = Vec::new();
    for (name, value) in fields.iter().filter(|(name, _)| !COMMON.contains(&name.as_str())) {
        let value = match value {
            Value::Null => continue,
            Value::String(text) => text.clone(),
            Value::Bool(_) | Value::Number(_) => value.to_string(),
            Value::Array(_) | Value::Object(_) => {
                blocks.push(Block::Json { heading: name.clone(), value: value.clone() });
                continue;
            }
        };
        rows.push(Row { label: name.clone(), value, tone: Tone::Neutral });
    }
    if !rows.is_empty() {
        let place = usize::from(given.is_some()).min(blocks.len());
        blocks.insert(place, Block::Rows { heading: None, rows });
    }
    let card = Card {
        title: format!("{}{word}", kind.replace('_', " ").to_uppercase()),
        tone: Tone::of(passed),
        aside: None,
        blocks,
    };
    Ok(Digest { summary: summary(given, || kind.replace('_', " ")), passed, card })
}

const COMMON: [&str; 3] = ["outcome_kind", "summary", "passed"];

fn described(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
