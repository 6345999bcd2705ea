//! The shapes of older versions, and which one a document has.
//!
//! **Invariant:** the current shape is tried first, and its error stands unless the document names an older version.
//! A current document never pays for the older shapes, and none of their keys is accepted in it.

use serde::de::DeserializeOwned;

use super::sniff::version_named_in;
use crate::version::WireVersion;

/// Reads the current shape, or the `v0.2` shape if the document names that version.
pub(crate) fn read_versioned<Current, Older>(text: &str) -> Result<Current, serde_json::Error>
where
    Current: DeserializeOwned,
    Older: DeserializeOwned + Into<Current>,
{
    serde_json::from_str::<Current>(text).or_else(|error| match version_named_in(text) {
        Some(WireVersion::V0_2) => serde_json::from_str::<Older>(text).map(Into::into),
        Some(WireVersion::V0_3 | WireVersion::V0_4) | None => Err(error),
    })
}

/// The shapes of `lifeloop.v0.2` that differ: payloads have a `redaction`.
pub(crate) mod v0_2 {
    use serde::Deserialize;

    use crate::envelope::{self, AcceptablePlacement, CallbackRequest, FreeMap, Warning};
    use crate::vocabulary::{FailureClass, ReceiptStatus, RetryClass};

    #[derive(Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(deny_unknown_fields)]
    pub(crate) struct DispatchEnvelope {
        schema_version: String,
        request: CallbackRequest,
        #[serde(default)]
        payloads: Vec<PayloadEnvelope>,
    }

    #[derive(Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(deny_unknown_fields)]
    pub(crate) struct CallbackResponse {
        schema_version: String,
        status: ReceiptStatus,
        #[serde(default)]
        client_payloads: Vec<PayloadEnvelope>,
        #[serde(default)]
        receipt_refs: Vec<String>,
        #[serde(default)]
        warnings: Vec<Warning>,
        failure_class: Option<FailureClass>,
        retry_class: Option<RetryClass>,
        #[serde(default)]
        metadata: FreeMap,
    }

    #[derive(Deserialize)]
    #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
    #[serde(deny_unknown_fields)]
    pub(crate) struct PayloadEnvelope {
        schema_version: String,
        payload_id: String,
        client_id: String,
        payload_kind: String,
        format: String,
        content_encoding: String,
        body: Option<String>,
        body_ref: Option<String>,
        byte_size: u64,
        content_digest: Option<String>,
        acceptable_placements: Vec<AcceptablePlacement>,
        idempotency_key: Option<String>,
        expires_at_epoch_s: Option<u64>,
        redaction: Option<String>,
        #[serde(default)]
        metadata: FreeMap,
    }

    impl From<DispatchEnvelope> for envelope::DispatchEnvelope {
        fn from(older: DispatchEnvelope) -> Self {
            Self {
                schema_version: older.schema_version,
                request: older.request,
                payloads: older.payloads.into_iter().map(Into::into).collect(),
            }
        }
    }

    impl From<CallbackResponse> for envelope::CallbackResponse {
        fn from(older: CallbackResponse) -> Self {
            Self {
                schema_version: older.schema_version,
                status: older.status,
                client_payloads: older.client_payloads.into_iter().map(Into::into).collect(),
                receipt_refs: older.receipt_refs,
                warnings: older.warnings,
                failure_class: older.failure_class,
                retry_class: older.retry_class,
                metadata: older.metadata,
            }
        }
    }

    impl From<PayloadEnvelope> for envelope::PayloadEnvelope {
        fn from(older: PayloadEnvelope) -> Self {
            Self {
                schema_version: older.schema_version,
                payload_id: older.payload_id,
                client_id: older.client_id,
                payload_kind: older.payload_kind,
                format: older.format,
                content_encoding: older.content_encoding,
                body: older.body,
                body_ref: older.body_ref,
                byte_size: older.byte_size,
                content_digest: older.content_digest,
                acceptable_placements: older.acceptable_placements,
                idempotency_key: older.idempotency_key,
                expires_at_epoch_s: older.expires_at_epoch_s,
                redaction: older.redaction,
                metadata: older.metadata,
            }
        }
    }
}
