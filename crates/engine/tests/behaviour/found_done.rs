//! Effects that were found done: this run judges everything that is known of the attempt that had them, and what is not
//! known keeps no contract.

use escrow_testkit::{Options, Played, play, tells};
use serde_json::json;

const SHIP: &str = r#"ship<n external {guarantee: "output !== 3"}"#;

/// `n` with these keys, an effect behind it, and what the ledger has of `n`.
fn found(keys: &str, ledger: &str) -> Played {
    let text = format!("n external {{effect_key: k, {keys}}}; {SHIP}");
    play(&text, &[&format!("ledger k confirmed {ledger}")], &Options::default())
}

fn whole(output: &str, record: &str) -> String {
    format!(r#"whole {{"ending": "done", "output": {output}, "record": {record}}}"#)
}

fn issue(played: &Played) -> String {
    played.check("n")["issues"][0]["rule_id"].as_str().unwrap_or_default().to_owned()
}

fn is_blocked(played: &Played) -> bool {
    played.check("ship")["skip_reason"] == "contract_blocked"
}

#[test]
fn contracts_over_the_record_are_judged_on_the_record_of_the_attempt_that_had_the_effect() {
    for contract in [
        r#"fail_if: "result.exit_code === 3""#,
        r#"fail_if: "output.exitCode === 3""#,
        r#"fail_if: "result.stderr_bytes > 0""#,
        r#"guarantee: "result.exit_code !== 3""#,
    ] {
        let record = r#"{"exitCode": 3, "exit_code": 3, "stderr_bytes": 5}"#;
        let played = found(contract, &whole("\"\"", record));
        assert_eq!(played.check("n")["status"], "failed", "{contract}");
        assert!(is_blocked(&played), "{contract}");
        let good = r#"{"exitCode": 0, "exit_code": 0, "stderr_bytes": 0}"#;
        assert_eq!(found(contract, &whole("\"\"", good)).reason(), "run.completed.ok", "{contract}");
    }
}

#[test]
fn the_record_says_that_the_effect_was_already_done_beside_what_it_said_before() {
    let played = found(r#"guarantee: "result.exit_code === 0 && result.already_done""#, "7");
    assert_eq!(played.reason(), "run.completed.ok");
    let result = &played.check("n")["result"];
    assert_eq!((&result["exit_code"], &result["effect_key"]), (&json!(0), &json!("k")));
}

#[test]
fn an_output_that_was_cut_is_not_judged_as_if_it_were_the_whole() {
    let cut = whole("\"aaa\"", r#"{"truncated": true}"#);
    let played = found(r#"fail_if: "output.includes('bad')""#, &cut);
    assert_eq!(issue(&played), "contract/output_truncated");
    assert!(is_blocked(&played));
    let text = r#"n external {effect_key: k}; next<n {assume: "!outputs.n.includes('bad')"}"#;
    let played = play(text, &[&format!("ledger k confirmed {cut}")], &Options::default());
    assert_eq!(played.check("next")["skip_reason"], "assume");
}

#[test]
fn stars_that_stand_for_a_secret_stay_here_in_every_run() {
    let text = r#"n external {effect_key: k}; ship<n external {exec: "echo {{ outputs.n }}"}"#;
    let ledger = format!("ledger k confirmed {}", whole("\"id-***\"", r#"{"redacted": true}"#));
    let played = play(text, &[&ledger], &Options::default());
    assert_eq!(played.check("ship")["issues"][0]["rule_id"], "system/redacted_value");
    assert_eq!(played.check("ship")["runs"], 0);
}

#[test]
fn stars_in_what_reconcile_gives_do_not_reach_the_world_either() {
    let text = r#"n external {reconcile: {exec: ./look, done: "true", output: "output"}}
        ship<n external {exec: "echo {{ outputs.n }}"}"#;
    let found = whole("\"id-***\"", r#"{"redacted": true}"#);
    let played = play(text, &["n: timeout", &format!("n?: {found}")], &Options::default());
    assert_eq!(played.check("ship")["issues"][0]["rule_id"], "system/redacted_value");
}

#[test]
fn contracts_over_the_record_fail_when_reconcile_gives_the_output_alone() {
    let reconcile = r#"reconcile: {exec: ./look, done: "true", output: "({id: 1})"}"#;
    for contract in [
        r#"fail_if: "result.timed_out""#,
        r#"fail_if: "output.exit_code > 0""#,
        r#"guarantee: "result !== 3""#,
    ] {
        let text = format!("n external {{{contract}, {reconcile}}}; {SHIP}");
        let played = play(&text, &["n: timeout", "n?: 1"], &Options::default());
        assert_eq!(issue(&played), "effect/output_lost", "{contract}");
        assert!(is_blocked(&played), "{contract}");
    }
    for contract in [r#"guarantee: "output.id === 1""#, r#"guarantee: "result.confirmed_later""#] {
        let text = format!("n external {{{contract}, {reconcile}}}; {SHIP}");
        let played = play(&text, &["n: timeout", "n?: 1"], &Options::default());
        assert_eq!(played.reason(), "run.completed.ok", "{contract}");
    }
}

#[test]
fn a_condition_that_hides_which_member_it_reads_cannot_be_evaluated_either() {
    let text = format!(
        r#"n external {{fail_if: "output['exit_' + 'code'] > 0",
            reconcile: {{exec: ./look, done: "true", output: "({{id: 1}})"}}}}; {SHIP}"#
    );
    let played = play(&text, &["n: timeout", "n?: 1"], &Options::default());
    assert_eq!(issue(&played), "system/expression_error");
    assert!(is_blocked(&played));
}

#[test]
fn an_effect_of_which_only_the_output_was_kept_breaks_contracts_over_its_record() {
    let ledger = whole("{\"id\": 7}", r#"{"confirmed_later": true}"#);
    let played = found(r#"fail_if: "result.exit_code === 3""#, &ledger);
    assert_eq!(issue(&played), "effect/output_lost");
    let played = found(r#"guarantee: "output.id === 7""#, &ledger);
    assert_eq!(played.reason(), "run.completed.ok");
}

#[test]
fn a_flaw_inside_a_nested_run_is_one_in_every_run_that_finds_it_done() {
    for kind in ["broken_contract", "missing_item"] {
        let text = format!("n external {{type: playbook, playbook: inner.yaml, effect_key: k}}; {SHIP}");
        let ledger = format!(
            r#"ledger k confirmed whole {{"ending": "done", "output": {{"status": "completed"}}, "record": {{"run_id": "r_1"}},
                "flaw": {{"kind": "{kind}", "detail": "f broke its contract"}}}}"#
        );
        let played = play(&text, &[&ledger], &Options::default());
        assert_eq!(played.check("n")["status"], "succeeded", "{kind}");
        assert!(is_blocked(&played), "{kind}");
    }
}

const FAILED_INSIDE: &str = r#"whole {"ending": {"fault": {"code": "run.failed.fail_if", "message": "f failed", "class": "logical",
    "effect_unknown": true}}, "output": {"status": "failed"}, "record": {"run_id": "r_1"}}"#;

#[test]
fn done_does_not_complete_a_nested_run_whoever_says_it_and_wherever() {
    let nested = "type: playbook, playbook: inner.yaml, effect_key: k";
    let said_there = format!("ledger k confirmed {FAILED_INSIDE}");
    let failed_there = format!("ledger k unknown {FAILED_INSIDE}");
    let given = r#"reconcile: {exec: ./look, done: "true", output: "({status: 'completed'})"}"#;
    // The keys of the check, the ledger, what follows, and why it fails.
    let cases = [
        ("", said_there.as_str(), "", "playbook/run.failed.fail_if"),
        ("", &failed_there, "assume n done", "playbook/run.failed.fail_if"),
        ("reconcile: ./look", &failed_there, "n?: \"done\"", "playbook/run.failed.fail_if"),
        (given, &failed_there, "n?: 1", "playbook/run.failed.fail_if"),
        ("", "ledger k confirmed", "", "effect/output_lost"),
        ("", "ledger k unknown", "assume n done", "effect/output_lost"),
        ("reconcile: ./look", "ledger k unknown", "n?: \"done\"", "effect/output_lost"),
        (given, "ledger k unknown", "n?: 1", "effect/output_lost"),
    ];
    for (keys, ledger, then, why) in cases {
        let text = format!("n external {{{nested}, {keys}}}; {SHIP}");
        let lines: Vec<&str> = [ledger, then].into_iter().filter(|line| !line.is_empty()).collect();
        let played = play(&text, &lines, &Options::default());
        assert_eq!(issue(&played), why, "{keys} {ledger} {then}");
        assert_ne!(played.check("ship")["status"], "succeeded", "{keys} {ledger} {then}");
    }
}

#[test]
fn output_that_cannot_be_read_is_that_of_an_effect_that_has_happened() {
    let again = "retry_on: [transient, logical], on_fail: {retry: {max: 2}}";
    for (keys, lines) in [(again, vec![]), ("on_fail: {goto: n}", vec![]), ("", vec!["reopen"])] {
        let lines: Vec<&str> = ["n: garbled x then 1"].into_iter().chain(lines).collect();
        let played = play(&format!("n external {{{keys}}}"), &lines, &Options::default());
        assert_eq!(played.reason(), "run.waiting.unknown_effect", "{keys}");
        assert_eq!(played.check("n")["runs"], 1, "{keys}");
    }
}

#[test]
fn reconcile_idempotent_or_a_person_lets_it_run_again() {
    let again = "retry_on: [logical], on_fail: {retry: {max: 1}}";
    for (keys, line) in
        [("reconcile: ./look", "n?: \"retry\""), ("idempotent: true", "wait 1s"), ("", "assume n retry")]
    {
        let text = format!("n external {{{again}{}{keys}}}", if keys.is_empty() { "" } else { ", " });
        let played = play(&text, &["n: garbled x then 1", "wait 10s", line], &Options::default());
        assert_eq!(played.reason(), "run.completed.ok", "{keys}");
        assert_eq!(played.check("n")["runs"], 2, "{keys}");
    }
}

#[test]
fn done_does_not_mend_output_that_cannot_be_read() {
    tells(
        r#"n external {retry_on: [logical], on_fail: {retry: {max: 1}}}; next<n"#,
        &["n: garbled x then 1", "wait 10s", "assume n done"],
        "n failed x1 command/output_not_json
         next skipped x0 dependency_failed
         run.failed.check_failed",
    );
}

#[test]
fn another_run_finds_it_done_and_judges_it_as_the_first_did() {
    let played = found(r#"guarantee: "output.id > 0""#, "garbled x");
    assert_eq!(issue(&played), "command/output_not_json");
    assert_eq!(played.check("n")["runs"], 0);
    assert!(is_blocked(&played));
}

#[test]
fn no_effect_stands_on_output_that_cannot_be_read() {
    let text = format!(
        r#"n info {{guarantee: "output.ok", fail_if: "result.exit_code !== 0", continue_on_failure: true}}; {SHIP}"#
    );
    let played = play(&text, &["n: garbled x"], &Options::default());
    assert_eq!(issue(&played), "command/output_not_json");
    assert!(is_blocked(&played));
    // Where the command itself fails, nothing was promised and `continue_on_failure` counts.
    let fault = play(
        &text.replace(r#"fail_if: "result.exit_code !== 0", "#, ""),
        &["n: exit 1"],
        &Options::default(),
    );
    assert_eq!(fault.check("ship")["status"], "succeeded");
}
