//! Notices that receipts of a run are missing, and says so as an event.

use std::collections::BTreeMap;

use serde_json::json;

use crate::envelope::{CallbackRequest, FreeMap, LifecycleReceipt};
use crate::vocabulary::LifecycleEventKind;

/// Sequences that nobody has seen: from the expected one up to the one before the observed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub harness_run_id: String,
    pub expected_sequence: u64,
    pub observed_sequence: u64,
}

impl Gap {
    /// The event that reports this gap, told to the same adapter as the receipt it was noticed at.
    ///
    /// The id and the key come from the gap itself, so that noticing it twice is reporting it once.
    pub fn event(&self, noticed_at: &LifecycleReceipt, adapter_version: &str) -> CallbackRequest {
        let Self { harness_run_id: run, expected_sequence: expected, observed_sequence: observed } = self;
        let name = format!("gap-{run}-{expected}-{observed}");
        CallbackRequest {
            schema_version: noticed_at.schema_version.clone(),
            event: LifecycleEventKind::ReceiptGapDetected,
            event_id: format!("evt-{name}"),
            adapter_id: noticed_at.adapter_id.clone(),
            adapter_version: adapter_version.to_owned(),
            integration_mode: noticed_at.integration_mode,
            invocation_id: noticed_at.invocation_id.clone(),
            harness_session_id: noticed_at.harness_session_id.clone(),
            harness_run_id: Some(run.clone()),
            harness_task_id: noticed_at.harness_task_id.clone(),
            frame_context: None,
            capability_snapshot_ref: None,
            payload_refs: Vec::new(),
            sequence: None,
            idempotency_key: Some(name),
            metadata: FreeMap::from_iter([
                ("expected_sequence", json!(expected)),
                ("observed_sequence", json!(observed)),
                ("noticed_at_receipt_id", json!(noticed_at.receipt_id)),
            ]),
        }
    }
}

/// Watches the sequences of every run that goes by.
#[derive(Debug, Clone, Default)]
pub struct SequenceWatch {
    last_seen: BTreeMap<String, u64>,
}

impl SequenceWatch {
    /// Takes note of a receipt, and says what is missing before it. Receipts seen late close no gap twice.
    pub fn observe(&mut self, receipt: &LifecycleReceipt) -> Option<Gap> {
        let (Some(run), Some(observed)) = (&receipt.harness_run_id, receipt.sequence) else {
            return None;
        };
        let last = self.last_seen.entry(run.clone()).or_default();
        let expected = last.saturating_add(1);
        *last = observed.max(*last);
        (observed > expected).then(|| Gap {
            harness_run_id: run.clone(),
            expected_sequence: expected,
            observed_sequence: observed,
        })
    }
}
