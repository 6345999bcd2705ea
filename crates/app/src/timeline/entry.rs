//! An entry in a list of entries: its kind, and what it is about.

use escrow_model::Entry;
use escrow_store::entry_document;
use serde_json::Value;

/// `check_judged` and `review attempt 2 failed`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntryWords {
    pub kind: String,
    pub about: String,
}

/// The fields that tell one entry from another, in the order of reading.
const TELLING: [&str; 12] = [
    "check", "attempt", "verdict", "reason", "from", "to", "block", "kind", "id", "name", "status", "detail",
];

/// How much of a field is shown.
const LENGTH_MAX: usize = 120;

impl EntryWords {
    /// Made of the persisted shape, so that a new event needs nothing here.
    pub fn of(entry: &Entry) -> EntryWords {
        let document = entry_document(entry).unwrap_or_default();
        let event = &document["event"];
        // The name of an event is its only key.
        let only = event.as_object().and_then(|object| object.iter().next());
        let (kind, fields) = only.map_or((String::new(), event), |(kind, fields)| (kind.clone(), fields));
        let words: Vec<String> = TELLING.iter().filter_map(|name| word(name, fields)).collect();
        EntryWords { kind, about: words.join(" ") }
    }
}

fn word(name: &str, fields: &Value) -> Option<String> {
    let value = fields.get(name)?;
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        Value::Object(object) => {
            object.get("code").or_else(|| object.get("check")).and_then(Value::as_str)?.to_owned()
        }
        Value::Null | Value::Bool(_) | Value::Array(_) => return None,
    };
    let scope = fields.get("scope").and_then(Value::as_array).filter(|_| name == "check");
    let scope: String = scope.into_iter().flatten().map(|index| format!("[{index}]")).collect();
    let text: String = text.chars().take(LENGTH_MAX).collect();
    match name {
        "attempt" => Some(format!("attempt {text}")),
        "to" => Some(format!("→ {text}")),
        _ if text.is_empty() => None,
        _ => Some(format!("{text}{scope}")),
    }
}
