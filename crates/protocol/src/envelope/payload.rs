//! A payload with its body, or with a reference to the body.

use serde::{Deserialize, Serialize};

use super::FreeMap;
use crate::validation::{ValidationError, require_non_empty, require_non_empty_if_present};
use crate::version::WireVersion;
use crate::vocabulary::{PlacementClass, RequirementLevel};

/// One placement that a client accepts. The first available one is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AcceptablePlacement {
    pub placement: PlacementClass,
    pub requirement: RequirementLevel,
}

/// Content that a client wants placed. It is opaque to everything between the client and the harness.
///
/// `redaction` exists in `lifeloop.v0.2` only; later versions refuse it as an unknown key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PayloadEnvelope {
    pub schema_version: String,
    pub payload_id: String,
    pub client_id: String,
    pub payload_kind: String,
    pub format: String,
    pub content_encoding: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body_ref: Option<String>,
    pub byte_size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_digest: Option<String>,
    pub acceptable_placements: Vec<AcceptablePlacement>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at_epoch_s: Option<u64>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub redaction: Option<String>,
    #[serde(default, skip_serializing_if = "FreeMap::is_empty")]
    pub metadata: FreeMap,
}

impl PayloadEnvelope {
    /// The size that counts against limits: that of the carried body, not the claimed one.
    pub(crate) fn effective_byte_size(&self) -> u64 {
        self.body.as_ref().map_or(self.byte_size, |body| byte_count(body))
    }

    /// It may be left out: its client named alternatives and required none of them.
    pub(crate) fn can_be_skipped(&self) -> bool {
        let mut alternatives = self.acceptable_placements.iter();
        !self.acceptable_placements.is_empty()
            && alternatives.all(|alternative| alternative.requirement != RequirementLevel::Required)
    }

    pub fn validate(&self) -> Result<(), ValidationError> {
        self.validate_as(WireVersion::chosen_by(&self.schema_version)?)
    }

    pub fn validate_as(&self, version: WireVersion) -> Result<(), ValidationError> {
        version.require(&self.schema_version)?;
        require_non_empty(&self.payload_id, "payload.payload_id")?;
        require_non_empty(&self.client_id, "payload.client_id")?;
        require_non_empty(&self.payload_kind, "payload.payload_kind")?;
        require_non_empty(&self.format, "payload.format")?;
        require_non_empty(&self.content_encoding, "payload.content_encoding")?;
        self.validate_body()?;
        if version.refuses_empty_details() {
            require_non_empty_if_present(self.content_digest.as_deref(), "payload.content_digest")?;
        }
        require_non_empty_if_present(self.idempotency_key.as_deref(), "payload.idempotency_key")?;
        if self.acceptable_placements.is_empty() {
            return refuse("acceptable_placements must list at least one placement".to_owned());
        }
        Ok(())
    }

    fn validate_body(&self) -> Result<(), ValidationError> {
        match (&self.body, &self.body_ref) {
            (Some(_), Some(_)) => refuse("body and body_ref are mutually exclusive".to_owned()),
            (None, None) => refuse("exactly one of body or body_ref must be present".to_owned()),
            (None, Some(_)) => Ok(()),
            (Some(body), None) => {
                let (actual, claimed) = (byte_count(body), self.byte_size);
                if actual == claimed {
                    return Ok(());
                }
                refuse(format!("body byte length {actual} does not match byte_size {claimed}"))
            }
        }
    }
}

fn byte_count(body: &str) -> u64 {
    u64::try_from(body.len()).unwrap_or(u64::MAX)
}

fn refuse(why: String) -> Result<(), ValidationError> {
    Err(ValidationError::InvalidPayload(why))
}
