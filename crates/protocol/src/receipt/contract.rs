//! The contract of every [`Ledger`], as an executable check.
//!
//! **Invariant:** all ledgers behave the same. The one in memory and the one in the store pass the same list.

use super::{
    ChainState, Claim, IdempotencyScope, Ledger, LedgerError, ReceiptQuery, Recorded, Retention, gap_events,
};
use crate::envelope::{FreeMap, LifecycleReceipt};
use crate::version::CURRENT;
use crate::vocabulary::{FailureClass, IntegrationMode, LifecycleEventKind, ReceiptStatus, RetryClass};

/// Checks a fresh, empty ledger, and returns the first rule that it breaks.
pub fn broken_promise(mut fresh: impl FnMut() -> Box<dyn Ledger>) -> Option<&'static str> {
    let keeps = |promise: Promise, ledger: &mut dyn Ledger| promise(ledger).unwrap_or(false);
    let broken = PROMISES.iter().find(|&&(_, promise)| !keeps(promise, fresh().as_mut()));
    broken.map(|&(name, _)| name)
}

type Promise = fn(&mut dyn Ledger) -> Result<bool, LedgerError>;

const PROMISES: &[(&str, Promise)] = &[
    ("receipts of a run are numbered from 1 without gaps", |ledger| {
        let mut numbers = Vec::new();
        for id in ["a", "b", "c"] {
            numbers.push(ledger.record(draft(id, None))?.into_receipt().sequence);
        }
        Ok(numbers == [Some(1), Some(2), Some(3)])
    }),
    ("runs are numbered apart, and a receipt of no run has no number", |ledger| {
        ledger.record(draft("a", None))?;
        let other =
            ledger.record(LifecycleReceipt { harness_run_id: Some("other".into()), ..draft("b", None) })?;
        let none = ledger.record(LifecycleReceipt { harness_run_id: None, ..draft("c", None) })?;
        Ok(other.into_receipt().sequence == Some(1) && none.into_receipt().sequence.is_none())
    }),
    ("a retry gets the first receipt and takes no number", |ledger| {
        let first = ledger.record(draft("a", Some("k")))?.into_receipt();
        let retry =
            LifecycleReceipt { invocation_id: "again".into(), at_epoch_s: 99, ..draft("b", Some("k")) };
        let replayed = ledger.record(retry)? == Recorded::Replay(first);
        let next = ledger.record(draft("c", None))?.into_receipt();
        Ok(replayed && next.sequence == Some(2))
    }),
    ("a key used for something else is a conflict and takes no number", |ledger| {
        ledger.record(draft("a", Some("k")))?;
        let other = LifecycleReceipt { event_id: "other".into(), ..draft("b", Some("k")) };
        let refused = ledger.record(other) == Err(LedgerError::Conflict("k".into()));
        Ok(refused && ledger.record(draft("c", None))?.into_receipt().sequence == Some(2))
    }),
    ("keys are apart for each client and each adapter", |ledger| {
        ledger.record(draft("a", Some("k")))?;
        let client = LifecycleReceipt { client_id: "other".into(), ..draft("b", Some("k")) };
        let adapter = LifecycleReceipt { adapter_id: "claude".into(), ..draft("c", Some("k")) };
        Ok(matches!(ledger.record(client)?, Recorded::New(_))
            && matches!(ledger.record(adapter)?, Recorded::New(_)))
    }),
    ("a receipt id is used once, and a refused one takes no number", |ledger| {
        ledger.record(draft("a", None))?;
        let refused = ledger.record(draft("a", None)) == Err(LedgerError::DuplicateReceiptId("a".into()));
        Ok(refused && ledger.record(draft("b", None))?.into_receipt().sequence == Some(2))
    }),
    ("a failed attempt is numbered and leaves its key free", |ledger| {
        let failed = LifecycleReceipt {
            status: ReceiptStatus::Failed,
            failure_class: Some(FailureClass::Timeout),
            retry_class: Some(RetryClass::SafeRetry),
            ..draft("a", Some("k"))
        };
        let attempt = ledger.record_attempt(failed)?;
        let is_free = ledger.find(&scope("k"))?.is_none();
        let then = ledger.record(draft("b", Some("k")))?;
        Ok(attempt.sequence == Some(1) && is_free && matches!(then, Recorded::New(_)))
    }),
    ("a claimed key is busy until its lease is over", |ledger| {
        let first = ledger.claim(&scope("k"), 10, 5)?;
        let second = ledger.claim(&scope("k"), 14, 5)?;
        let third = ledger.claim(&scope("k"), 15, 5)?;
        Ok(first == Claim::Granted && second == Claim::Busy { until_epoch_s: 15 } && third == Claim::Granted)
    }),
    ("a released key can be claimed, and a recorded one is replayed", |ledger| {
        ledger.claim(&scope("k"), 10, 5)?;
        ledger.release(&scope("k"))?;
        let again = ledger.claim(&scope("k"), 11, 5)? == Claim::Granted;
        let kept = ledger.record(draft("a", Some("k")))?.into_receipt();
        Ok(again && ledger.claim(&scope("k"), 12, 5)? == Claim::Replay(Box::new(kept)))
    }),
    ("receipts are found by their key and listed in the order they were kept", |ledger| {
        for id in ["b", "a", "c"] {
            ledger.record(draft(id, Some(id)))?;
        }
        let listed = ledger.query(&ReceiptQuery::default())?;
        let ids: Vec<&str> = listed.iter().map(|receipt| receipt.receipt_id.as_str()).collect();
        let found = ledger.find(&scope("a"))?;
        let limited = ledger.query(&ReceiptQuery { limit: Some(2), ..ReceiptQuery::default() })?;
        Ok(ids == ["b", "a", "c"] && found.as_ref() == listed.get(1) && limited == listed[..2])
    }),
    ("forgetting removes old receipts, and sequences continue", |ledger| {
        for (id, at_epoch_s) in [("a", 1), ("b", 2), ("c", 3)] {
            ledger.record(LifecycleReceipt { at_epoch_s, ..draft(id, None) })?;
        }
        let forgotten = ledger.forget(Retention { before_epoch_s: 3 })?;
        let left = ledger.query(&ReceiptQuery::default())?.len();
        let next = ledger.record(draft("d", None))?.into_receipt().sequence;
        let of_run = ledger.query(&ReceiptQuery::default())?.pop().and_then(|kept| kept.harness_run_id);
        let up_to = ledger.forgotten_sequence(of_run.as_deref().unwrap_or_default())?;
        Ok((forgotten, left, next, up_to) == (2, 1, Some(4), 2))
    }),
    ("what was forgotten on purpose is no gap, and the chain stays whole", |ledger| {
        for (id, at_epoch_s) in [("a", 1), ("b", 2), ("c", 3)] {
            ledger.record(LifecycleReceipt { at_epoch_s, ..draft(id, None) })?;
        }
        let before = ledger.verify()?;
        ledger.forget(Retention { before_epoch_s: 3 })?;
        let gaps = gap_events(ledger, &ReceiptQuery::default())?;
        let was_whole = matches!(before, ChainState::Whole { receipts: 3, forgotten: 0, digest: Some(_) });
        let is_whole = matches!(ledger.verify()?, ChainState::Whole { receipts: 1, forgotten: 2, .. });
        Ok(gaps.is_empty() && was_whole && is_whole)
    }),
    ("times and leases beyond all calendars are kept", |ledger| {
        let late = LifecycleReceipt { at_epoch_s: u64::MAX, ..draft("a", None) };
        ledger.record(late)?;
        ledger.claim(&scope("k"), u64::MAX - 1, u64::MAX)?;
        let query = ReceiptQuery { at_or_after_epoch_s: Some(u64::MAX), ..ReceiptQuery::default() };
        Ok(ledger.query(&query)?.first().is_some_and(|receipt| receipt.at_epoch_s == u64::MAX))
    }),
];

fn scope(key: &str) -> IdempotencyScope {
    IdempotencyScope { client_id: "client".into(), adapter_id: "codex".into(), idempotency_key: key.into() }
}

fn draft(receipt_id: &str, key: Option<&str>) -> LifecycleReceipt {
    LifecycleReceipt {
        schema_version: CURRENT.as_str().to_owned(),
        receipt_id: receipt_id.to_owned(),
        idempotency_key: key.map(str::to_owned),
        client_id: "client".to_owned(),
        adapter_id: "codex".to_owned(),
        invocation_id: "invocation".to_owned(),
        event: LifecycleEventKind::SessionStarted,
        event_id: "event".to_owned(),
        sequence: None,
        parent_receipt_id: None,
        integration_mode: IntegrationMode::NativeHook,
        status: ReceiptStatus::Delivered,
        at_epoch_s: 5,
        harness_session_id: None,
        harness_run_id: Some("run".to_owned()),
        harness_task_id: None,
        payload_receipts: Vec::new(),
        telemetry_summary: FreeMap::new(),
        capability_degradations: Vec::new(),
        failure_class: None,
        retry_class: None,
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::broken_promise;
    use crate::receipt::MemoryLedger;

    #[test]
    fn the_ledger_in_memory_keeps_every_promise() {
        assert_eq!(broken_promise(|| Box::new(MemoryLedger::new())), None);
    }
}
