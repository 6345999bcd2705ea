//! Converts YAML to JSON with the parser that reads playbooks, for tools that inspect them from outside.

use serde_json::Value;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::yaml;

/// The document as JSON, or why it cannot be parsed.
pub fn yaml_to_json(text: &str, file: &str) -> Result<Value, Vec<Diagnostic>> {
    let mut found = Diagnostics::default();
    match yaml::parse(text, &mut found) {
        Some(root) if !found.has_errors() => Ok(root.json()),
        Some(_) | None => Err(found.finish(text, file)),
    }
}
