//! An event together with the payloads that travel with it.

use serde::{Deserialize, Serialize};

use super::{CallbackRequest, PayloadEnvelope, read_versioned, v0_2};
use crate::validation::ValidationError;
use crate::version::WireVersion;

/// What a client is sent. Payloads and the request's references to payloads are deliberately not compared: a
/// reference may name what travels elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct DispatchEnvelope {
    pub schema_version: String,
    pub request: CallbackRequest,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub payloads: Vec<PayloadEnvelope>,
}

impl DispatchEnvelope {
    /// Reads the shape that the document's own version has.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        read_versioned::<Self, v0_2::DispatchEnvelope>(text)
    }

    /// Checks everything inside against the version the envelope chose, and tells which one that was.
    pub fn validate(&self) -> Result<WireVersion, ValidationError> {
        let version = WireVersion::chosen_by(&self.schema_version)?;
        self.request.validate_as(version)?;
        for payload in &self.payloads {
            payload.validate_as(version)?;
        }
        Ok(version)
    }
}
