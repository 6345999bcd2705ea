//! A reference to a payload.

use serde::{Deserialize, Serialize};

use crate::validation::{ValidationError, require_non_empty, require_non_empty_if_present};
use crate::version::WireVersion;

/// Names a payload that travels beside the request or elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PayloadRef {
    pub payload_id: String,
    pub payload_kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub byte_size: Option<u64>,
}

impl PayloadRef {
    pub fn validate_as(&self, version: WireVersion) -> Result<(), ValidationError> {
        require_non_empty(&self.payload_id, "payload_ref.payload_id")?;
        require_non_empty(&self.payload_kind, "payload_ref.payload_kind")?;
        if version.refuses_empty_details() {
            require_non_empty_if_present(self.content_digest.as_deref(), "payload_ref.content_digest")?;
        }
        Ok(())
    }
}
