//! The ledger behind the verbs: numbers, keys, gaps, retention, and files that are not ledgers.

mod wire;

use serde_json::{Value, json};
use wire::{DELIVERED, Said, Wire, envelope};

const LEDGER: &[&str] = &["--ledger", "ledger.db"];

fn with<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [words, LEDGER].concat()
}

fn list(wire: &Wire, more: &[&str]) -> Vec<Value> {
    let mut words = with(&["receipt", "list"]);
    words.extend(more);
    wire.say(&words, "").json().as_array().expect("an array").clone()
}

#[test]
fn receipts_are_numbered_kept_and_found_by_their_key() {
    let wire = Wire::new();
    for (id, number) in [("a", 1), ("b", 2)] {
        let said = wire.invoke(&with(&["--in-process", "--receipt-id", id]), &envelope(Some(id)));
        assert_eq!(said.json()["sequence"], number);
    }
    assert_eq!(list(&wire, &[]).len(), 2);
    let get = |key| {
        wire.say(
            &with(&[
                "receipt",
                "get",
                "--idempotency-key",
                key,
                "--client-id",
                "lifeloop-cli",
                "--adapter-id",
                "claude",
            ]),
            "",
        )
    };
    assert_eq!(get("b").json()["receipt_id"], "b");
    assert_eq!((get("c").code, get("c").stderr.as_str()), (3, "{\"error\":\"not_found\"}\n"));
    let replayed = wire.invoke(&with(&["--in-process", "--receipt-id", "z"]), &envelope(Some("a"))).json();
    assert_eq!(replayed["receipt_id"], "a", "a retry gets the first receipt");
    let mut other = envelope(Some("a"));
    other["request"]["event_id"] = "other".into();
    let conflict = wire.invoke(&with(&["--in-process"]), &other);
    assert_eq!(conflict.code, 1);
    assert!(conflict.stderr.contains("duplicate_id_conflict"), "{}", conflict.stderr);
}

#[test]
fn looking_makes_no_ledger() {
    let wire = Wire::new();
    let said = wire.say(&with(&["receipt", "list"]), "");
    let says = "cannot open receipt ledger: receipt storage backend failed: unable to open database file: ledger.db\n";
    assert_eq!(said, Said { code: 3, stdout: String::new(), stderr: says.to_owned() });
    assert!(!wire.path("ledger.db").exists());
}

#[test]
fn with_a_key_a_retry_runs_the_callback_once() {
    let wire = Wire::new();
    let client = wire.client("client", &format!("cat >/dev/null; echo ran >>ran; {DELIVERED}"));
    let flags = with(&["--extended", "--client-cmd", &client]);
    let first = wire.invoke(&flags, &envelope(Some("k")));
    let mut retry = envelope(Some("k"));
    retry["request"]["invocation_id"] = "again".into();
    assert_eq!(wire.invoke(&flags, &retry).json(), first.json());
    assert_eq!(wire.count("ran"), 1);
}

#[test]
fn of_many_at_once_with_one_key_one_runs_the_callback() {
    let wire = Wire::new();
    let client = wire.client("client", &format!("cat >/dev/null; echo ran >>ran; sleep 0.5; {DELIVERED}"));
    let flags = with(&["--extended", "--client-cmd", &client]);
    let said: Vec<Said> = std::thread::scope(|threads| {
        let started: Vec<_> =
            (0..6).map(|_| threads.spawn(|| wire.invoke(&flags, &envelope(Some("k"))))).collect();
        started.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    });
    assert_eq!(wire.count("ran"), 1);
    for said in &said {
        let receipt = said.json();
        let is_busy = receipt["failure_class"] == "state_conflict" && said.code == 1;
        assert!(receipt["status"] == "delivered" || is_busy, "{said:?}");
    }
    assert_eq!(list(&wire, &[]).len(), 1, "those who were sent away left nothing");
}

#[test]
fn a_failure_that_may_be_tried_again_gives_its_key_back() {
    let wire = Wire::new();
    let client =
        wire.client("client", &format!("cat >/dev/null; echo ran >>ran; [ -e ok ] || exit 5; {DELIVERED}"));
    let flags = with(&["--extended", "--client-cmd", &client]);
    let failed = wire.invoke(&flags, &envelope(Some("k"))).json();
    assert_eq!((&failed["failure_class"], &failed["sequence"]), (&json!("transport_error"), &json!(1)));
    std::fs::write(wire.path("ok"), "").expect("a file");
    let done = wire.invoke(&flags, &envelope(Some("k"))).json();
    assert_eq!((&done["status"], &done["sequence"]), (&json!("delivered"), &json!(2)));
    assert_eq!(wire.count("ran"), 2);
    assert_eq!(list(&wire, &["--extended", "--status", "failed"]).len(), 1, "the failure left its receipt");
}

#[test]
fn many_processes_number_a_run_without_gaps() {
    let wire = Wire::new();
    std::thread::scope(|threads| {
        for _ in 0..6 {
            threads.spawn(|| {
                for _ in 0..4 {
                    assert_eq!(wire.invoke(&with(&["--in-process"]), &envelope(None)).code, 0);
                }
            });
        }
    });
    let sequences: Vec<u64> =
        list(&wire, &[]).iter().filter_map(|receipt| receipt["sequence"].as_u64()).collect();
    assert_eq!(sequences, (1..=24).collect::<Vec<_>>());
    let verified = wire.say(&with(&["receipt", "verify", "--extended"]), "").json();
    assert_eq!(verified["receipts"], 24);
}

#[test]
fn gaps_retention_and_tampering() {
    let wire = Wire::new();
    for at in ["10", "20", "30", "40"] {
        let words = with(&["event", "invoke", "--in-process", "--receipt-id", at, "--at-epoch-s", at]);
        assert_eq!(wire.say(&words, envelope(None).to_string()).code, 0);
    }
    assert_eq!(
        list(&wire, &["--extended", "--since", "20", "--before", "40", "--limit", "1"])[0]["receipt_id"],
        "20"
    );
    let forgotten = wire.say(&with(&["receipt", "forget", "--extended", "--before", "20"]), "").json();
    assert_eq!(forgotten["forgotten"], 1);
    let gaps = |wire: &Wire| wire.say(&with(&["receipt", "gaps", "--extended"]), "").json();
    assert_eq!(gaps(&wire), json!([]), "what was forgotten on purpose is no gap");
    assert_eq!(wire.say(&with(&["receipt", "verify", "--extended"]), "").code, 0);

    let database = rusqlite::Connection::open(wire.path("ledger.db")).expect("the ledger");
    database.execute("DELETE FROM receipts WHERE receipt_id = '30'", []).expect("a hole");
    assert_eq!(gaps(&wire)[0]["event"], "receipt.gap_detected");
    assert_eq!(gaps(&wire)[0]["metadata"]["expected_sequence"], 3);
    let verified = wire.say(&with(&["receipt", "verify", "--extended"]), "");
    assert_eq!(verified.code, 1);
    assert!(verified.stderr.contains("at position 3 the receipt is missing"), "{}", verified.stderr);
}

#[test]
fn files_that_are_no_ledgers_are_refused_and_untouched() {
    let wire = Wire::new();
    let path = wire.path("ledger.db");
    let check = |says: &str| {
        let before = std::fs::read(&path).expect("the file");
        for words in [&["receipt", "list"][..], &["receipt", "forget", "--extended", "--before", "1"]] {
            let said = wire.say(&with(words), "");
            assert_eq!(said.code, 3, "{says}: {said:?}");
            assert!(said.stderr.contains(says), "{}", said.stderr);
        }
        let invoked = wire.invoke(&with(&["--in-process"]), &envelope(None));
        assert_eq!((invoked.code, invoked.stdout.as_str()), (3, ""), "{invoked:?}");
        assert_eq!(std::fs::read(&path).expect("the file"), before, "{says}: untouched");
    };
    std::fs::write(&path, "a ledger, said the file, and it was wrong about that").expect("a file");
    check("file is not a database");

    std::fs::remove_file(&path).expect("gone");
    let theirs = rusqlite::Connection::open(&path).expect("a database");
    theirs
        .execute_batch(
            "CREATE TABLE receipts (receipt_id TEXT PRIMARY KEY, body TEXT); PRAGMA user_version = 2",
        )
        .expect("a ledger of another program");
    drop(theirs);
    check("belongs to another program");

    std::fs::remove_file(&path).expect("gone");
    assert_eq!(wire.invoke(&with(&["--in-process"]), &envelope(None)).code, 0);
    let ours = rusqlite::Connection::open(&path).expect("our ledger");
    ours.execute_batch("PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE)").expect("a newer one");
    drop(ours);
    check("has version 99");
}

#[test]
fn one_ledger_may_hold_several_versions() {
    let wire = Wire::new();
    let mut older = envelope(Some("k"));
    older["schema_version"] = "lifeloop.v0.2".into();
    older["request"]["schema_version"] = "lifeloop.v0.2".into();
    assert_eq!(wire.invoke(&with(&["--in-process"]), &older).json()["schema_version"], "lifeloop.v0.2");
    assert_eq!(wire.invoke(&with(&["--in-process"]), &envelope(Some("j"))).json()["sequence"], 2);
    assert_eq!(wire.invoke(&with(&["--in-process"]), &envelope(Some("k"))).code, 1, "a key is one operation");
}
