//! Reads the one document a verb is given.

use super::answer::Failure;
use super::world::World;

/// No document may be larger.
pub(super) const INPUT_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// Standard input as text. `label` is what the document is called when it cannot be had.
pub(super) fn text(world: &mut dyn World, label: &str) -> Result<String, Failure> {
    let bytes = world
        .standard_input(INPUT_LIMIT_BYTES)
        .map_err(|error| Failure::unreadable(format!("failed to read {label} from stdin: {error}")))?;
    if bytes.len() > INPUT_LIMIT_BYTES {
        return Err(Failure::unreadable(format!("{label}: stdin exceeds {INPUT_LIMIT_BYTES} bytes")));
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        Failure::unreadable(format!("{label}: stdin is not UTF-8: {}", error.utf8_error()))
    })?;
    if text.trim().is_empty() {
        return Err(Failure::unreadable(format!("{label}: stdin is empty")));
    }
    Ok(text)
}

/// Standard input as a document of one shape.
pub(super) fn document<T>(
    world: &mut dyn World,
    label: &str,
    read: impl FnOnce(&str) -> Result<T, serde_json::Error>,
) -> Result<T, Failure> {
    let text = text(world, label)?;
    read(&text).map_err(|error| Failure::unreadable(format!("{label}: invalid JSON: {error}")))
}
