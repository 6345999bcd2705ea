//! Malformed input: every message names what is wrong, and every exit code says whose fault it is.

use escrow_protocol::receipt::{Ledger, MemoryLedger, SequenceWatch};

use super::super::LifecycleExit;
use super::super::output::VerbOutput;
use super::{ScriptedSystem, check};

const REQUEST: &str = r#"{"schema_version":"lifeloop.v0.4","event":"session.started","event_id":"e","adapter_id":"codex","adapter_version":"0.1.0","integration_mode":"native_hook","invocation_id":"i"}"#;

fn validate(input: impl AsRef<[u8]>) -> VerbOutput {
    check(&["envelope", "validate", "request"], input.as_ref())
}

#[track_caller]
fn refused(input: impl AsRef<[u8]>, exit: LifecycleExit, sentence: &str) {
    let answer = validate(input);
    assert_eq!((answer.exit, answer.stderr.as_str()), (exit, format!("{sentence}\n").as_str()));
}

#[test]
fn a_line_of_16_mib_is_read_and_one_byte_more_is_not() {
    let limit = 16 * 1024 * 1024;
    let padded = |size: usize| {
        let with = |pad: &str| REQUEST.replacen('}', &format!(r#","metadata":{{"pad":"{pad}"}}}}"#), 1);
        with(&"x".repeat(size - with("").len()))
    };
    assert_eq!(validate(padded(limit)).stdout, "ok\n");
    refused(padded(limit + 1), LifecycleExit::Unreadable, "request envelope: stdin exceeds 16777216 bytes");
}

#[test]
fn a_doubled_key_is_refused_and_inside_of_metadata_the_last_one_counts() {
    refused(
        REQUEST.replacen('}', r#","event_id":"f"}"#, 1),
        LifecycleExit::Unreadable,
        "request envelope: invalid JSON: duplicate field `event_id` at line 1 column 185",
    );
    let echoed = check(
        &["envelope", "echo", "request"],
        REQUEST.replacen('}', r#","metadata":{"z":{"b":1,"b":2},"a":1,"z":{"b":3,"a":4}}}"#, 1).as_bytes(),
    );
    let metadata = echoed.stdout.split("\"metadata\": ").nth(1).unwrap().replace([' ', '\n'], "");
    assert_eq!(metadata, r#"{"a":1,"z":{"a":4,"b":3}}}"#);
}

#[test]
fn nesting_deeper_than_128_is_refused_before_it_can_overflow() {
    for depth in [200, 100_000] {
        let nested = format!(r#","metadata":{{"a":{}{}}}}}"#, "[".repeat(depth), "]".repeat(depth));
        let answer = validate(REQUEST.replacen('}', &nested, 1));
        assert_eq!(answer.exit, LifecycleExit::Unreadable);
        assert!(answer.stderr.contains("recursion limit exceeded"), "{}", answer.stderr);
    }
}

#[test]
fn bytes_that_are_not_text_are_named_by_their_place() {
    refused(
        b"{\"a\":\"\xff\"}",
        LifecycleExit::Unreadable,
        "request envelope: stdin is not UTF-8: invalid utf-8 sequence of 1 bytes from index 6",
    );
}

#[test]
fn unknown_versions_are_told_which_one_is_expected() {
    for version in ["lifeloop.v0.1", "lifeloop.v0.5", "lifeloop.V0.4", " lifeloop.v0.4", ""] {
        refused(
            REQUEST.replace("lifeloop.v0.4", version),
            LifecycleExit::Refused,
            &format!(
                "request failed validation: schema_version mismatch: expected `lifeloop.v0.4`, found `{version}`"
            ),
        );
    }
}

#[test]
fn a_clock_before_the_epoch_stamps_zero() {
    let dispatch = format!(r#"{{"schema_version":"lifeloop.v0.4","request":{REQUEST}}}"#);
    let mut system = ScriptedSystem { now_epoch_s: 0, ..ScriptedSystem::default() };
    let answer = system.run_on(&["event", "invoke", "--in-process"], &dispatch);
    assert!(answer.stdout.contains("\"at_epoch_s\": 0,"), "{}", answer.stdout);
}

#[test]
fn older_keys_are_accepted_in_their_version_only() {
    let payload = |version: &str| {
        format!(
            r#"{{"schema_version":"{version}","status":"delivered","client_payloads":[{{"schema_version":"{version}","payload_id":"p","client_id":"c","payload_kind":"k","format":"f","content_encoding":"u","body":"","byte_size":0,"acceptable_placements":[{{"placement":"receipt_only","requirement":"optional"}}],"redaction":"none"}}]}}"#
        )
    };
    let echo = |version: &str| check(&["envelope", "echo", "response"], payload(version).as_bytes());
    assert!(echo("lifeloop.v0.2").stdout.contains("\"redaction\": \"none\""));
    for version in ["lifeloop.v0.3", "lifeloop.v0.4"] {
        assert!(echo(version).stderr.contains("unknown field `redaction`"), "{version}");
    }
}

#[test]
fn a_ledger_with_a_hole_says_where_it_is() {
    let mut system = ScriptedSystem::default();
    let dispatch = |id: u64| {
        format!(
            r#"{{"schema_version":"lifeloop.v0.4","request":{}}}"#,
            REQUEST.replacen('}', &format!(r#","harness_run_id":"run-1","metadata":{{"id":{id}}}}}"#), 1)
        )
    };
    for id in 0..6 {
        system.run_on(&["event", "invoke", "--in-process", "--ledger", "l"], &dispatch(id));
    }
    // Receipts 3 and 4 are lost, as from a file that was half written or cut.
    let mut receipts = system.ledger.0.lock().unwrap().query(&Default::default()).unwrap();
    receipts.drain(2..4);
    let mut watch = SequenceWatch::default();
    let gaps: Vec<_> = receipts.iter().filter_map(|receipt| watch.observe(receipt)).collect();
    assert_eq!(gaps.len(), 1);
    assert_eq!((gaps[0].expected_sequence, gaps[0].observed_sequence), (3, 5));

    *system.ledger.0.lock().unwrap() = MemoryLedger::holding(receipts);
    let events = system.run(&["receipt", "gaps", "--ledger", "l", "--extended"]);
    let events: Vec<serde_json::Value> = serde_json::from_str(&events.stdout).unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0]["event"], "receipt.gap_detected");
    assert_eq!(events[0]["metadata"]["expected_sequence"], 3);
    let checked = validate(events[0].to_string());
    assert_eq!(checked.stdout, "ok\n", "{}", checked.stderr);
}

/// The order in which empty names are reported was once wrong here and found by comparison.
#[test]
fn an_empty_run_is_named_before_an_empty_parent() {
    let receipt = r#"{"schema_version":"lifeloop.v0.4","receipt_id":"r","idempotency_key":null,"client_id":"c","adapter_id":"a","invocation_id":"i","event":"session.started","event_id":"e","sequence":null,"parent_receipt_id":"","integration_mode":"native_hook","status":"delivered","at_epoch_s":1,"harness_run_id":"","failure_class":null,"retry_class":null}"#;
    let answer = check(&["receipt", "show"], receipt.as_bytes());
    assert_eq!(
        answer.stderr,
        "receipt failed validation: empty sentinel string in field `receipt.harness_run_id`\n"
    );
}
