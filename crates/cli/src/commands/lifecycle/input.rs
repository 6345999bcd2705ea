//! Reads the JSON document on standard input.

use super::output::LifecycleError;
use super::system::System;

/// The largest document that is read.
pub(super) const INPUT_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// Standard input as text. Error messages call the document `label`.
pub(super) fn text(system: &mut dyn System, label: &str) -> Result<String, LifecycleError> {
    let bytes = system
        .standard_input(INPUT_LIMIT_BYTES)
        .map_err(|error| LifecycleError::unreadable(format!("failed to read {label} from stdin: {error}")))?;
    if bytes.len() > INPUT_LIMIT_BYTES {
        return Err(LifecycleError::unreadable(format!("{label}: stdin exceeds {INPUT_LIMIT_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        LifecycleError::unreadable(format!("{label}: stdin is not UTF-8: {}", error.utf8_error()))
    })?;
    if text.trim().is_empty() {
        return Err(LifecycleError::unreadable(format!("{label}: stdin is empty")));
    }
    Ok(text)
}

/// Standard input as a document, parsed by `read`.
pub(super) fn document<T>(
    system: &mut dyn System,
    label: &str,
    read: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Result<T, LifecycleError> {
    let text = text(system, label)?;
    read(&text).map_err(|error| LifecycleError::unreadable(format!("{label}: invalid JSON: {error}")))
}
