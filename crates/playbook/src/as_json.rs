//! Any YAML document as JSON, for tools that look at playbooks from outside.

use serde_json::Value;

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::yaml;

/// What the text says, by the same reading that playbooks get; or why it says nothing.
pub fn yaml_to_json(text: &str, file: &str) -> Result<Value, Vec<Diagnostic>> {
    let mut found = Diagnostics::default();
    match yaml::parse(text, &mut found) {
        Some(root) if !found.has_errors() => Ok(root.json()),
        Some(_) | None => Err(found.finish(text, file)),
    }
}
