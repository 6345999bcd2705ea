//! The request that tells a client of an event.

use serde::{Deserialize, Serialize};

use super::{FrameContext, FreeMap, PayloadRef};
use crate::validation::{ValidationError, require_non_empty, require_non_empty_if_present};
use crate::version::WireVersion;
use crate::vocabulary::{IntegrationMode, LifecycleEventKind};

/// One lifecycle event of one adapter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CallbackRequest {
    pub schema_version: String,
    pub event: LifecycleEventKind,
    pub event_id: String,
    pub adapter_id: String,
    pub adapter_version: String,
    pub integration_mode: IntegrationMode,
    pub invocation_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness_session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness_run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness_task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_context: Option<FrameContext>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability_snapshot_ref: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub payload_refs: Vec<PayloadRef>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sequence: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
    #[serde(default, skip_serializing_if = "FreeMap::is_empty")]
    pub metadata: FreeMap,
}

impl CallbackRequest {
    /// Reads the shape; [`validate`](Self::validate) checks the meaning.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    pub fn validate(&self) -> Result<(), ValidationError> {
        self.validate_as(WireVersion::chosen_by(&self.schema_version)?)
    }

    pub fn validate_as(&self, version: WireVersion) -> Result<(), ValidationError> {
        version.require(&self.schema_version)?;
        require_non_empty(&self.event_id, "request.event_id")?;
        require_non_empty(&self.adapter_id, "request.adapter_id")?;
        require_non_empty(&self.adapter_version, "request.adapter_version")?;
        require_non_empty(&self.invocation_id, "request.invocation_id")?;
        for (value, field) in [
            (&self.harness_session_id, "request.harness_session_id"),
            (&self.harness_run_id, "request.harness_run_id"),
            (&self.harness_task_id, "request.harness_task_id"),
            (&self.capability_snapshot_ref, "request.capability_snapshot_ref"),
            (&self.idempotency_key, "request.idempotency_key"),
        ] {
            require_non_empty_if_present(value.as_deref(), field)?;
        }
        if let Some(frame) = &self.frame_context {
            frame.validate()?;
        }
        for payload_ref in &self.payload_refs {
            payload_ref.validate_as(version)?;
        }
        self.validate_event()
    }

    fn validate_event(&self) -> Result<(), ValidationError> {
        if self.event.concerns_a_frame() && self.frame_context.is_none() {
            return refuse("frame.* events require frame_context");
        }
        if self.event == LifecycleEventKind::ReceiptEmitted && self.idempotency_key.is_some() {
            return refuse("receipt.emitted is a notification event and must not carry an idempotency_key");
        }
        Ok(())
    }
}

fn refuse(why: &str) -> Result<(), ValidationError> {
    Err(ValidationError::InvalidRequest(why.to_owned()))
}
