//! Validation errors of well-formed documents.
//!
//! **Invariant:** the first broken rule is reported, in the order of the fields on the wire, so that two implementations
//! refuse a document with the same message.

use serde::{Deserialize, Serialize};

/// The rule that a document breaks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "kind", content = "detail")]
pub enum ValidationError {
    #[error("empty sentinel string in field `{0}`")]
    EmptyField(String),
    #[error("schema_version mismatch: expected `{expected}`, found `{found}`")]
    SchemaVersionMismatch { expected: String, found: String },
    #[error("invalid frame_context: {0}")]
    InvalidFrameContext(String),
    #[error("invalid payload: {0}")]
    InvalidPayload(String),
    #[error("invalid receipt: {0}")]
    InvalidReceipt(String),
    #[error("invalid callback request: {0}")]
    InvalidRequest(String),
    #[error("invalid callback response: {0}")]
    InvalidResponse(String),
    #[error("invalid adapter manifest: {0}")]
    InvalidManifest(String),
}

/// Empty means zero bytes: whitespace is content.
pub(crate) fn require_non_empty(value: &str, field: &str) -> Result<(), ValidationError> {
    if value.is_empty() { Err(ValidationError::EmptyField(field.to_owned())) } else { Ok(()) }
}

pub(crate) fn require_non_empty_if_present(value: Option<&str>, field: &str) -> Result<(), ValidationError> {
    value.map_or(Ok(()), |text| require_non_empty(text, field))
}
