//! The bounded record of one event at one client.
//!
//! **Invariant:** five keys are present even when they are null, so that a reader can tell "there is none" from "it was
//! not recorded".

use serde::{Deserialize, Deserializer, Serialize, de::Error};

use super::{CapabilityDegradation, FreeMap, PayloadReceipt, Warning};
use crate::validation::{ValidationError, require_non_empty, require_non_empty_if_present};
use crate::version::WireVersion;
use crate::vocabulary::{FailureClass, IntegrationMode, LifecycleEventKind, ReceiptStatus, RetryClass};

/// The keys that must be present even when they are null.
pub(crate) const REQUIRED_NULLABLE: [&str; 5] =
    ["idempotency_key", "sequence", "parent_receipt_id", "failure_class", "retry_class"];

/// What happened to one event at one client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(deny_unknown_fields))]
pub struct LifecycleReceipt {
    pub schema_version: String,
    pub receipt_id: String,
    pub idempotency_key: Option<String>,
    pub client_id: String,
    pub adapter_id: String,
    pub invocation_id: String,
    pub event: LifecycleEventKind,
    pub event_id: String,
    pub sequence: Option<u64>,
    pub parent_receipt_id: Option<String>,
    pub integration_mode: IntegrationMode,
    pub status: ReceiptStatus,
    pub at_epoch_s: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness_session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness_run_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub harness_task_id: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub payload_receipts: Vec<PayloadReceipt>,
    #[serde(default, skip_serializing_if = "FreeMap::is_empty")]
    pub telemetry_summary: FreeMap,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub capability_degradations: Vec<CapabilityDegradation>,
    pub failure_class: Option<FailureClass>,
    pub retry_class: Option<RetryClass>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl LifecycleReceipt {
    /// Reads the shape; [`validate`](Self::validate) checks the meaning.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    pub fn validate(&self) -> Result<(), ValidationError> {
        let version = WireVersion::chosen_by(&self.schema_version)?;
        self.validate_identity(version)?;
        if version.refuses_empty_details() && self.parent_receipt_id.as_ref() == Some(&self.receipt_id) {
            return refuse("receipt.parent_receipt_id must not equal receipt_id (self-cycle)");
        }
        if self.event == LifecycleEventKind::ReceiptEmitted {
            return refuse("receipt.emitted is a notification event and must not itself produce a receipt");
        }
        for payload in &self.payload_receipts {
            payload.validate_as(version)?;
        }
        for degradation in &self.capability_degradations {
            degradation.validate()?;
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
            (_, Some(_), _) => refuse("failure_class is only valid on status=failed receipts"),
        }
    }

    fn validate_identity(&self, version: WireVersion) -> Result<(), ValidationError> {
        require_non_empty(&self.receipt_id, "receipt.receipt_id")?;
        require_non_empty(&self.client_id, "receipt.client_id")?;
        require_non_empty(&self.adapter_id, "receipt.adapter_id")?;
        require_non_empty(&self.invocation_id, "receipt.invocation_id")?;
        require_non_empty(&self.event_id, "receipt.event_id")?;
        require_non_empty_if_present(self.idempotency_key.as_deref(), "receipt.idempotency_key")?;
        if version.refuses_empty_details() {
            for (value, field) in [
                (&self.harness_session_id, "receipt.harness_session_id"),
                (&self.harness_run_id, "receipt.harness_run_id"),
                (&self.harness_task_id, "receipt.harness_task_id"),
            ] {
                require_non_empty_if_present(value.as_deref(), field)?;
            }
        }
        require_non_empty_if_present(self.parent_receipt_id.as_deref(), "receipt.parent_receipt_id")
    }
}

fn refuse(why: &str) -> Result<(), ValidationError> {
    Err(ValidationError::InvalidReceipt(why.to_owned()))
}

impl<'de> Deserialize<'de> for LifecycleReceipt {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        LifecycleReceiptWire::deserialize(deserializer)?.complete()
    }
}

/// A receipt in which any key may be absent, so that the error can name all missing nullable keys at once.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LifecycleReceiptWire {
    schema_version: Option<String>,
    receipt_id: Option<String>,
    #[serde(default, deserialize_with = "present")]
    idempotency_key: Option<Option<String>>,
    client_id: Option<String>,
    adapter_id: Option<String>,
    invocation_id: Option<String>,
    event: Option<LifecycleEventKind>,
    event_id: Option<String>,
    #[serde(default, deserialize_with = "present")]
    sequence: Option<Option<u64>>,
    #[serde(default, deserialize_with = "present")]
    parent_receipt_id: Option<Option<String>>,
    integration_mode: Option<IntegrationMode>,
    status: Option<ReceiptStatus>,
    at_epoch_s: Option<u64>,
    harness_session_id: Option<String>,
    harness_run_id: Option<String>,
    harness_task_id: Option<String>,
    #[serde(default)]
    payload_receipts: Vec<PayloadReceipt>,
    #[serde(default)]
    telemetry_summary: FreeMap,
    #[serde(default)]
    capability_degradations: Vec<CapabilityDegradation>,
    #[serde(default, deserialize_with = "present")]
    failure_class: Option<Option<FailureClass>>,
    #[serde(default, deserialize_with = "present")]
    retry_class: Option<Option<RetryClass>>,
    #[serde(default)]
    warnings: Vec<Warning>,
}

impl LifecycleReceiptWire {
    fn complete<E: Error>(self) -> Result<LifecycleReceipt, E> {
        let is_missing = [
            self.idempotency_key.is_none(),
            self.sequence.is_none(),
            self.parent_receipt_id.is_none(),
            self.failure_class.is_none(),
            self.retry_class.is_none(),
        ];
        let missing: Vec<&str> = REQUIRED_NULLABLE
            .into_iter()
            .zip(is_missing)
            .filter_map(|(name, is_missing)| is_missing.then_some(name))
            .collect();
        if !missing.is_empty() {
            return Err(E::custom(format_args!(
                "LifecycleReceipt is missing required-nullable field(s): {}; these keys MUST be present even \
                 when their value is null",
                missing.join(", ")
            )));
        }
        Ok(LifecycleReceipt {
            schema_version: required(self.schema_version, "schema_version")?,
            receipt_id: required(self.receipt_id, "receipt_id")?,
            idempotency_key: self.idempotency_key.flatten(),
            client_id: required(self.client_id, "client_id")?,
            adapter_id: required(self.adapter_id, "adapter_id")?,
            invocation_id: required(self.invocation_id, "invocation_id")?,
            event: required(self.event, "event")?,
            event_id: required(self.event_id, "event_id")?,
            sequence: self.sequence.flatten(),
            parent_receipt_id: self.parent_receipt_id.flatten(),
            integration_mode: required(self.integration_mode, "integration_mode")?,
            status: required(self.status, "status")?,
            at_epoch_s: required(self.at_epoch_s, "at_epoch_s")?,
            harness_session_id: self.harness_session_id,
            harness_run_id: self.harness_run_id,
            harness_task_id: self.harness_task_id,
            payload_receipts: self.payload_receipts,
            telemetry_summary: self.telemetry_summary,
            capability_degradations: self.capability_degradations,
            failure_class: self.failure_class.flatten(),
            retry_class: self.retry_class.flatten(),
            warnings: self.warnings,
        })
    }
}

/// `null` is `Some(None)`; only an absent key is `None`.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn required<T, E: Error>(value: Option<T>, name: &'static str) -> Result<T, E> {
    value.ok_or_else(|| E::missing_field(name))
}
