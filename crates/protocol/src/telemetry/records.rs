//! Splits a log into JSON records, each on one line or spread over several.

use serde_json::Value;

/// Every JSON document in a text, in order. Text between them is skipped line by line.
pub(super) fn records(text: &str) -> impl Iterator<Item = Value> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.trim_start().is_empty() {
            let mut documents = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            if let Some(Ok(document)) = documents.next() {
                rest = &rest[documents.byte_offset()..];
                return Some(document);
            }
            rest = rest.trim_start().split_once('\n').map_or("", |(_, after)| after);
        }
        None
    })
}

/// The first value of the wanted kind under a key, at any depth of a record.
pub(super) fn anywhere<'record, T>(
    record: &'record Value,
    key: &str,
    wanted: &impl Fn(&'record Value) -> Option<T>,
) -> Option<T> {
    match record {
        Value::Object(map) => map
            .get(key)
            .and_then(wanted)
            .or_else(|| map.values().find_map(|inner| anywhere(inner, key, wanted))),
        Value::Array(items) => items.iter().find_map(|inner| anywhere(inner, key, wanted)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => None,
    }
}

/// The model of a record.
pub(super) fn model_named_in(record: &Value) -> Option<String> {
    anywhere(record, "model", &|name| name.as_str().filter(|name| !name.is_empty()).map(str::to_owned))
}

/// Whether a string occurs anywhere in a record.
pub(super) fn says(record: &Value, text: &str) -> bool {
    match record {
        Value::String(said) => said == text,
        Value::Object(map) => map.values().any(|inner| says(inner, text)),
        Value::Array(items) => items.iter().any(|inner| says(inner, text)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
