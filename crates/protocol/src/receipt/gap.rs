//! Detects missing receipts of a run and reports them as events.

use std::collections::BTreeMap;

use serde_json::json;

use super::{Ledger, LedgerError, ReceiptQuery};
use crate::envelope::{CallbackRequest, FreeMap, LifecycleReceipt};
use crate::manifest::Registry;
use crate::version::WireVersion;
use crate::vocabulary::LifecycleEventKind;

/// Missing sequences: from the expected one up to the one before the observed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    pub harness_run_id: String,
    pub expected_sequence: u64,
    pub observed_sequence: u64,
}

impl Gap {
    /// The event that reports this gap, for the adapter of the receipt that revealed it.
    ///
    /// The id and the key derive from the gap, so that detecting it twice reports it once.
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

/// A `receipt.gap_detected` event for every gap among the receipts of the query. Receipts forgotten on purpose are
/// no gap.
pub fn gap_events(
    ledger: &mut dyn Ledger,
    query: &ReceiptQuery,
) -> Result<Vec<CallbackRequest>, LedgerError> {
    let mut receipts = ledger.query(query)?;
    receipts.sort_by_key(|receipt| receipt.sequence);
    let mut watch = SequenceWatch::default();
    let mut events = Vec::new();
    for receipt in &receipts {
        if let Some(run) = &receipt.harness_run_id
            && !watch.last_seen.contains_key(run)
        {
            watch.last_seen.insert(run.clone(), ledger.forgotten_sequence(run)?);
        }
        if let Some(gap) = watch.observe(receipt) {
            let version = WireVersion::parse(&receipt.schema_version);
            let adapter = version.and_then(|version| Registry::builtin(version).find(&receipt.adapter_id));
            let adapter_version = adapter.map_or("unknown", |entry| entry.manifest.adapter_version.as_str());
            events.push(gap.event(receipt, adapter_version));
        }
    }
    Ok(events)
}

/// Tracks the sequences of all runs in a series of receipts.
#[derive(Debug, Clone, Default)]
pub struct SequenceWatch {
    last_seen: BTreeMap<String, u64>,
}

impl SequenceWatch {
    /// Observes a receipt and returns the gap before it, if any. A late receipt does not report its gap again.
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
