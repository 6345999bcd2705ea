//! The ledger of receipts: the promises of every ledger, several writers at once, and files that are not ours.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use std::path::{Path, PathBuf};

use escrow_protocol::envelope::LifecycleReceipt;
use escrow_protocol::receipt::{
    ChainBreak, ChainState, Claim, IdempotencyScope, Ledger, LedgerError, ReceiptQuery, Retention, contract,
    gap_events,
};
use escrow_store::{BlockingStore, Mode, ReceiptLedger, StoreErrorKind};
use rusqlite::Connection;
use serde_json::json;
use tempfile::TempDir;

struct Desk {
    directory: TempDir,
}

impl Desk {
    fn new() -> Desk {
        Desk { directory: TempDir::new().unwrap() }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().join("ledger.db")
    }

    fn ledger(&self) -> ReceiptLedger {
        ReceiptLedger::open(&self.path(), Mode::Write).unwrap()
    }

    fn spoil(&self, sql: &str) {
        Connection::open(self.path()).unwrap().execute_batch(sql).unwrap();
    }
}

fn receipt(id: &str, run: &str, key: Option<&str>, at_epoch_s: u64) -> LifecycleReceipt {
    let text = json!({
        "schema_version": "lifeloop.v0.4", "receipt_id": id, "idempotency_key": key, "client_id": "client",
        "adapter_id": "codex", "invocation_id": "i", "event": "session.started", "event_id": "e",
        "sequence": null, "parent_receipt_id": null, "integration_mode": "native_hook",
        "status": "observed", "at_epoch_s": at_epoch_s, "harness_run_id": run, "payload_receipts": [],
        "telemetry_summary": {}, "capability_degradations": [], "failure_class": null, "retry_class": null,
        "warnings": [],
    });
    LifecycleReceipt::read(&text.to_string()).unwrap()
}

fn scope(key: &str) -> IdempotencyScope {
    IdempotencyScope { client_id: "client".into(), adapter_id: "codex".into(), idempotency_key: key.into() }
}

#[test]
fn it_keeps_the_promises_of_every_ledger() {
    let mut desks = Vec::new();
    let broken = contract::broken_promise(|| {
        desks.push(Desk::new());
        Box::new(desks.last().unwrap().ledger())
    });
    assert_eq!(broken, None);
}

#[test]
fn the_log_stays_short_however_many_open_it_for_one_receipt_each() {
    let desk = Desk::new();
    for number in 0..80 {
        drop(desk.ledger().record(receipt(&format!("r{number}"), "run", None, 7)).unwrap());
    }
    // The last one that closes it leaves no log behind.
    let log = std::fs::metadata(desk.path().with_extension("db-wal")).map_or(0, |log| log.len());
    assert!(log < 1_000_000, "{log} bytes");
    assert_eq!(desk.ledger().query(&ReceiptQuery::default()).unwrap().len(), 80);
}

#[test]
fn what_was_kept_is_there_when_it_is_opened_again() {
    let desk = Desk::new();
    let kept = desk.ledger().record(receipt("a", "r", Some("k"), 7)).unwrap().into_receipt();
    assert_eq!(kept.sequence, Some(1));
    let mut again = ReceiptLedger::open(&desk.path(), Mode::Read).unwrap();
    assert_eq!(again.find(&scope("k")).unwrap(), Some(kept.clone()));
    assert_eq!(again.query(&ReceiptQuery::default()).unwrap(), [kept]);
    let refused = again.record(receipt("b", "r", None, 7));
    assert!(matches!(refused, Err(LedgerError::Storage(_))), "opened for reading: {refused:?}");
}

#[test]
fn reading_makes_nothing() {
    let desk = Desk::new();
    let error = ReceiptLedger::open(&desk.path(), Mode::Read).err().unwrap();
    assert_eq!(error.kind, StoreErrorKind::Unopenable);
    assert_eq!(std::fs::read_dir(desk.directory.path()).unwrap().count(), 0);
}

#[test]
fn concurrent_writers_leave_no_gap_and_no_duplicate() {
    let desk = Desk::new();
    let (writers, each) = (8_u64, 25_u64);
    std::thread::scope(|threads| {
        for writer in 0..writers {
            let path = desk.path();
            threads.spawn(move || {
                let mut ledger = ReceiptLedger::open(&path, Mode::Write).unwrap();
                for turn in 0..each {
                    let id = format!("{writer}-{turn}");
                    ledger.record(receipt(&id, "shared", None, 1)).unwrap();
                    // Refusals in between must not burn a number.
                    assert!(ledger.record(receipt(&id, "shared", None, 1)).is_err());
                }
            });
        }
    });
    let mut ledger = desk.ledger();
    let listed = ledger.query(&ReceiptQuery::default()).unwrap();
    let sequences: Vec<u64> = listed.iter().filter_map(|receipt| receipt.sequence).collect();
    assert_eq!(sequences, (1..=writers * each).collect::<Vec<_>>());
    assert_eq!(gap_events(&mut ledger, &ReceiptQuery::default()).unwrap(), []);
    let state = ledger.verify().unwrap();
    assert!(matches!(state, ChainState::Whole { receipts, .. } if receipts == writers * each), "{state:?}");
}

#[test]
fn of_many_claims_at_once_one_is_granted() {
    let desk = Desk::new();
    let granted = std::thread::scope(|threads| {
        let claims: Vec<_> = (0..8)
            .map(|_| {
                let path = desk.path();
                threads.spawn(move || {
                    let mut ledger = ReceiptLedger::open(&path, Mode::Write).unwrap();
                    ledger.claim(&scope("k"), 100, 30).unwrap()
                })
            })
            .collect();
        claims.into_iter().map(|claim| claim.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(granted.iter().filter(|claim| **claim == Claim::Granted).count(), 1, "{granted:?}");
}

#[test]
fn a_receipt_that_was_changed_added_or_taken_out_shows() {
    for (spoil, position, why) in [
        (
            "UPDATE receipts SET body = replace(body, 'observed', 'degraded') WHERE position = 2",
            2,
            ChainBreak::Changed,
        ),
        ("DELETE FROM receipts WHERE position = 2", 2, ChainBreak::Missing),
        ("DELETE FROM receipts WHERE position = 3", 3, ChainBreak::Missing),
        (
            "INSERT INTO receipts SELECT 4, 'd', run, 4, client, adapter, event, status, at, body, digest
             FROM receipts WHERE position = 3",
            4,
            ChainBreak::Added,
        ),
    ] {
        let desk = Desk::new();
        for id in ["a", "b", "c"] {
            desk.ledger().record(receipt(id, "r", None, 1)).unwrap();
        }
        desk.spoil(
            &spoil
                .replace("replace(body", "CAST(replace(CAST(body AS TEXT)")
                .replace("'degraded')", "'degraded') AS BLOB)"),
        );
        assert_eq!(desk.ledger().verify().unwrap(), ChainState::Broken { position, why }, "{spoil}");
    }
}

#[test]
fn a_hole_in_a_run_is_an_event_and_a_forgotten_beginning_is_none() {
    let desk = Desk::new();
    let mut ledger = desk.ledger();
    for at in 1..=5 {
        ledger.record(receipt(&format!("r{at}"), "r", None, at)).unwrap();
    }
    assert_eq!(ledger.forget(Retention { before_epoch_s: 3 }).unwrap(), 2);
    assert_eq!(gap_events(&mut ledger, &ReceiptQuery::default()).unwrap(), []);
    desk.spoil("DELETE FROM receipts WHERE receipt_id = 'r4'");
    let events = gap_events(&mut ledger, &ReceiptQuery::default()).unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].event.as_str(), "receipt.gap_detected");
    assert_eq!(events[0].idempotency_key.as_deref(), Some("gap-r-4-5"));
}

#[test]
fn a_forgotten_key_is_free_again() {
    let desk = Desk::new();
    let mut ledger = desk.ledger();
    ledger.record(receipt("a", "r", Some("k"), 1)).unwrap();
    ledger.forget(Retention { before_epoch_s: 9 }).unwrap();
    assert_eq!(ledger.find(&scope("k")).unwrap(), None);
    assert_eq!(ledger.claim(&scope("k"), 1, 1).unwrap(), Claim::Granted);
}

/// The ledger is refused with these words, and its bytes stay as they are.
fn refused(path: &Path, kind: &str) {
    let before = std::fs::read(path).unwrap();
    for mode in [Mode::Write, Mode::Read] {
        let error = ReceiptLedger::open(path, mode).err().unwrap_or_else(|| panic!("{mode:?} was allowed"));
        assert!(format!("{:?}", error.kind).starts_with(kind), "{error:?}");
    }
    assert_eq!(std::fs::read(path).unwrap(), before, "untouched");
}

#[test]
fn a_ledger_of_another_program_or_a_newer_version_is_refused_and_untouched() {
    let desk = Desk::new();
    std::fs::write(desk.path(), "this is text, and has been text for a long time").unwrap();
    refused(&desk.path(), "NotADatabase");

    let desk = Desk::new();
    desk.spoil("CREATE TABLE receipts (receipt_id TEXT PRIMARY KEY, body TEXT); PRAGMA user_version = 2");
    refused(&desk.path(), "Foreign");

    let desk = Desk::new();
    drop(desk.ledger());
    desk.spoil("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)");
    refused(&desk.path(), "NewerVersion");
}

#[test]
fn a_half_written_ledger_recovers_to_its_last_whole_receipt() {
    let desk = Desk::new();
    let mut ledger = desk.ledger();
    for id in ["a", "b", "c"] {
        ledger.record(receipt(id, "r", None, 1)).unwrap();
    }
    // A copy of the files while the ledger is open is what a power cut leaves; the log is then torn at the end.
    let other = Desk::new();
    let log = |path: &Path| PathBuf::from(format!("{}-wal", path.display()));
    std::fs::copy(desk.path(), other.path()).unwrap();
    let bytes = std::fs::read(log(&desk.path())).unwrap();
    std::fs::write(log(&other.path()), &bytes[..bytes.len() - 100]).unwrap();
    let mut torn = other.ledger();
    let ids: Vec<String> =
        torn.query(&ReceiptQuery::default()).unwrap().into_iter().map(|receipt| receipt.receipt_id).collect();
    assert_eq!(ids, ["a", "b"]);
    assert_eq!(torn.record(receipt("c", "r", None, 1)).unwrap().into_receipt().sequence, Some(3));
    assert!(matches!(torn.verify().unwrap(), ChainState::Whole { receipts: 3, .. }));
}

#[test]
fn a_damaged_receipt_is_named() {
    let desk = Desk::new();
    desk.ledger().record(receipt("a", "r", None, 1)).unwrap();
    desk.spoil("UPDATE receipts SET body = x'7b7d'");
    let error = desk.ledger().query(&ReceiptQuery::default()).unwrap_err();
    assert!(error.to_string().contains("receipt `a` is not what was written"), "{error}");
}

#[test]
fn the_database_of_the_runs_may_be_the_ledger_too() {
    let desk = Desk::new();
    drop(BlockingStore::open(&desk.path(), Mode::Write).unwrap());
    desk.ledger().record(receipt("a", "r", None, 1)).unwrap();
    BlockingStore::open(&desk.path(), Mode::Write).unwrap().rebuild().unwrap();
    assert_eq!(desk.ledger().query(&ReceiptQuery::default()).unwrap().len(), 1, "rebuilding spares receipts");
}
