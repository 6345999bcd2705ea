//! The response of a client.

use serde::{Deserialize, Serialize};

use super::{FreeMap, PayloadEnvelope, Warning, read_versioned, v0_2};
use crate::validation::{ValidationError, require_non_empty};
use crate::version::WireVersion;
use crate::vocabulary::{FailureClass, ReceiptStatus, RetryClass};

/// The response of one client to one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CallbackResponse {
    pub schema_version: String,
    pub status: ReceiptStatus,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub client_payloads: Vec<PayloadEnvelope>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub receipt_refs: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
    pub failure_class: Option<FailureClass>,
    pub retry_class: Option<RetryClass>,
    #[serde(default, skip_serializing_if = "FreeMap::is_empty")]
    pub metadata: FreeMap,
}

impl CallbackResponse {
    /// A response with a status and nothing else.
    pub fn ok(version: WireVersion, status: ReceiptStatus) -> Self {
        Self {
            schema_version: version.as_str().to_owned(),
            status,
            client_payloads: Vec::new(),
            receipt_refs: Vec::new(),
            warnings: Vec::new(),
            failure_class: None,
            retry_class: None,
            metadata: FreeMap::new(),
        }
    }

    pub fn failed(version: WireVersion, failure: FailureClass, retry: RetryClass) -> Self {
        Self {
            failure_class: Some(failure),
            retry_class: Some(retry),
            ..Self::ok(version, ReceiptStatus::Failed)
        }
    }

    /// Reads the shape of the document's own version.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        read_versioned::<Self, v0_2::CallbackResponse>(text)
    }

    /// Reads the shape of the document's own version from parsed JSON.
    pub fn from_value(value: serde_json::Value) -> Result<Self, serde_json::Error> {
        if value.get("schema_version").and_then(|name| name.as_str()) == Some(WireVersion::V0_2.as_str()) {
            return serde_json::from_value::<v0_2::CallbackResponse>(value).map(Into::into);
        }
        serde_json::from_value(value)
    }

    pub fn validate(&self) -> Result<(), ValidationError> {
        self.validate_as(WireVersion::chosen_by(&self.schema_version)?)
    }

    pub fn validate_as(&self, version: WireVersion) -> Result<(), ValidationError> {
        version.require(&self.schema_version)?;
        for payload in &self.client_payloads {
            payload.validate_as(version)?;
        }
        for receipt_ref in &self.receipt_refs {
            require_non_empty(receipt_ref, "response.receipt_refs[]")?;
        }
        for warning in &self.warnings {
            warning.validate_as(version)?;
        }
        match (self.status, self.failure_class, self.retry_class) {
            (ReceiptStatus::Failed, None, _) => refuse("status=failed requires failure_class"),
            (ReceiptStatus::Failed, Some(_), None) => {
                refuse("status=failed requires retry_class (clients must declare retry posture)")
            }
            (ReceiptStatus::Failed, Some(_), Some(_)) | (_, None, _) => Ok(()),
            (_, Some(_), _) => refuse("failure_class is only valid on status=failed responses"),
        }
    }
}

fn refuse(why: &str) -> Result<(), ValidationError> {
    Err(ValidationError::InvalidResponse(why.to_owned()))
}
