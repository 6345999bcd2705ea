//! Decodes `inputs`.

use std::rc::Rc;

use escrow_model::{Input, InputKind};
use indexmap::IndexMap;
use serde_json::Value;

use crate::diagnostic::{Diagnostics, Problem};
use crate::yaml::Node;

pub(super) fn decode(node: Option<&Rc<Node>>, found: &mut Diagnostics) -> IndexMap<String, Input> {
    let entries = node.and_then(|node| node.map()).unwrap_or_default();
    entries
        .iter()
        .map(|entry| {
            let input = &entry.value;
            let kind = input
                .get("type")
                .and_then(|kind| kind.string())
                .and_then(|word| InputKind::ALL.into_iter().find(|kind| kind.as_str() == word))
                .or_else(|| kind_of_default(input.get("default")?))
                .unwrap_or(InputKind::String);
            let default =
                input.get("default").map(|default| default.json()).filter(|default| !default.is_null());
            let required = input.get("required").and_then(|required| required.bool()).unwrap_or(false);
            if let (Some(value), Some(node)) = (&default, input.get("default"))
                && !kind.admits(value)
            {
                let quoted = (kind == InputKind::String && node.scalar().is_some())
                    .then(|| format!("quote it: `\"{}\"`", node.scalar_text().unwrap_or_default()));
                found.push(
                    Problem::new(
                        "E0139",
                        node.span.clone(),
                        format!("the default of `{}` does not match its type", entry.key),
                    )
                    .label(format!("this is {}; the type is `{}`", node.describe(), kind.as_str()))
                    .maybe_help(quoted),
                );
            }
            if let (true, Some(node)) = (required && default.is_some(), input.entry("required")) {
                found.push(
                    Problem::new("W0211", node.key_span.clone(), "`required` has no effect")
                        .label("an input with a default is never missing"),
                );
            }
            let description =
                input.get("description").and_then(|text| text.scalar_text()).unwrap_or_default().to_owned();
            (entry.key.clone(), Input { kind, default, required, description })
        })
        .collect()
}

/// The type that a default implies where none is written. `1.10` implies none: as a number it would become `1.1`.
fn kind_of_default(node: &Rc<Node>) -> Option<InputKind> {
    let value = node.json();
    let written = value.to_string();
    let is_exact = || node.scalar_text().is_some_and(|text| text == written);
    match value {
        Value::Bool(_) => Some(InputKind::Boolean),
        Value::Number(_) if is_exact() => Some(InputKind::Number),
        Value::Array(_) => Some(InputKind::Array),
        Value::Object(_) => Some(InputKind::Object),
        Value::Null | Value::Number(_) | Value::String(_) => None,
    }
}

/// The input that `{target}` in a prompt declares implicitly.
pub(super) fn required_text() -> Input {
    Input { kind: InputKind::String, default: None, required: true, description: String::new() }
}
