//! An event together with the payloads that travel with it.

use serde::{Deserialize, Serialize};

use super::{CallbackRequest, PayloadEnvelope, read_versioned, v0_2};
use crate::validation::ValidationError;
use crate::version::WireVersion;

/// The document that a client receives. Payloads are deliberately not compared with the request's references to
/// payloads: a reference may name a payload that travels elsewhere.
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
    /// Reads the shape of the document's own version.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        read_versioned::<Self, v0_2::DispatchEnvelope>(text)
    }

    /// Validates everything inside against the version of the envelope, and returns that version.
    pub fn validate(&self) -> Result<WireVersion, ValidationError> {
        let version = WireVersion::chosen_by(&self.schema_version)?;
        self.request.validate_as(version)?;
        for payload in &self.payloads {
            payload.validate_as(version)?;
        }
        Ok(version)
    }
}
