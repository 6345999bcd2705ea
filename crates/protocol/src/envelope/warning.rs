//! A remark that does not change the outcome.

use serde::{Deserialize, Serialize};

use crate::validation::{ValidationError, require_non_empty};
use crate::version::WireVersion;

/// A remark by a client or by negotiation, recorded in the receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Warning {
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<String>,
}

impl Warning {
    pub fn new(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), capability: None }
    }

    pub fn validate_as(&self, version: WireVersion) -> Result<(), ValidationError> {
        require_non_empty(&self.code, "warning.code")?;
        if version.refuses_empty_details() {
            require_non_empty(&self.message, "warning.message")?;
        }
        Ok(())
    }
}
