//! The placement of one payload.

use serde::{Deserialize, Serialize};

use crate::validation::{ValidationError, require_non_empty, require_non_empty_if_present};
use crate::version::WireVersion;
use crate::vocabulary::{PlacementClass, PlacementOutcome};

/// Where one payload was placed, or was to be placed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PayloadReceipt {
    pub payload_id: String,
    pub payload_kind: String,
    pub placement: PlacementClass,
    pub status: PlacementOutcome,
    pub byte_size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_digest: Option<String>,
}

impl PayloadReceipt {
    pub fn validate_as(&self, version: WireVersion) -> Result<(), ValidationError> {
        require_non_empty(&self.payload_id, "payload_receipt.payload_id")?;
        require_non_empty(&self.payload_kind, "payload_receipt.payload_kind")?;
        if version.refuses_empty_details() {
            require_non_empty_if_present(self.content_digest.as_deref(), "payload_receipt.content_digest")?;
        }
        Ok(())
    }
}
