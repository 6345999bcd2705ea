//! Output that cannot be judged fails the contracts that read it: broken JSON, and output that is too long.

mod desk;

use desk::Desk;
use serde_json::Value;

/// The document of a run with one check, `a`, and its exit code.
fn check(playbook: &str) -> (Option<i32>, Value) {
    let desk = Desk::new();
    desk.write("playbook.yaml", playbook);
    let done = desk.escrow(&["run", "playbook.yaml", "--output", "json"]);
    (done.code, done.json())
}

const PRINTED: [(&str, &str); 6] = [
    (r#"echo '{"failed":3,"failed":3}'"#, "duplicate key `failed` at line 1 column 20"),
    (r#"printf '\357\273\277{"failed":3}'"#, "byte order mark"),
    (r#"echo '{"failed":NaN}'"#, "expected value at line 1 column 11"),
    (r#"printf '\033[0m{"failed":3}'"#, "invisible characters"),
    (r#"printf '\000{"failed":3}'"#, "invisible characters"),
    (r#"printf '\342\200\213{"failed":3}'"#, "invisible characters"),
];

#[test]
fn a_contract_over_a_member_of_broken_json_is_broken() {
    for (print, why) in PRINTED {
        for contract in [
            "fail_if: output.failed > 0",
            "guarantee: \"!(output['failed'] > 0)\"",
            "schema: {properties: {failed: {maximum: 0}}}",
            "rules: [{rule_id: none, field: failed, check: range, params: {max: 0}}]",
            "rules: [{rule_id: none, field: failed, check: custom, params: {expr: 'value !== 3'}}]",
        ] {
            let playbook =
                format!("checks:\n  a:\n    type: command\n    exec: |\n      {print}\n    {contract}\n");
            let (code, document) = check(&playbook);
            assert_eq!(code, Some(1), "{print} {contract}: {document:#}");
            let message = document["checks"]["a"]["issues"][0]["message"].as_str().unwrap_or_default();
            assert!(
                message.contains("output looks like JSON and is not") && message.contains(why),
                "{contract}: {message}"
            );
        }
    }
}

#[test]
fn text_that_begins_like_json_is_text_for_contracts_that_read_text() {
    for contract in [
        "guarantee: output.includes('done') && output.length > 3",
        "fail_if: output.includes('FAIL') || output.exitCode > 0",
        "schema: {type: string, pattern: INFO}",
    ] {
        let playbook =
            format!("checks:\n  a:\n    type: command\n    exec: \"echo '[INFO] done'\"\n    {contract}\n");
        let (code, document) = check(&playbook);
        assert_eq!(code, Some(0), "{contract}: {document:#}");
    }
}

#[test]
fn later_checks_cannot_read_members_of_broken_json_either() {
    let (code, document) = check(
        r#"
checks:
  a: {type: command, exec: "echo '{\"failed\":3,\"failed\":3}'"}
  gated: {type: command, depends_on: a, if: "!outputs.a.failed", exec: "echo ran", criticality: internal}
  assumes: {type: command, depends_on: a, assume: "!outputs.a.failed", exec: "echo ran"}
"#,
    );
    assert_eq!(code, Some(1), "{document:#}");
    let text = document.to_string();
    assert!(text.contains("output looks like JSON and is not: duplicate key `failed`"), "{document:#}");
    for name in ["gated", "assumes"] {
        assert_eq!(document["checks"][name]["runs"], 0, "{document:#}");
    }
}

#[test]
fn an_event_that_names_a_member_twice_is_refused() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks:\n  a: {type: command, exec: 'true'}\n");
    desk.write("event.json", r#"{"a": {"b": 1, "b": 2}}"#);
    let done = desk.escrow(&["run", "playbook.yaml", "--event", "e=event.json"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("names `a.b` twice"), "{}", done.stderr);
}

#[test]
fn a_contract_over_output_that_was_cut_is_broken() {
    for contract in ["guarantee: \"!output.includes('FAIL')\"", "fail_if: output.includes('FAIL')"] {
        let playbook = format!(
            "checks:\n  a:\n    type: command\n    exec: echo FAIL; head -c 17000000 /dev/zero | tr '\\0' x\n    {contract}\n"
        );
        let (code, document) = check(&playbook);
        assert_eq!(code, Some(1), "{contract}");
        let issue = &document["checks"]["a"]["issues"][0];
        assert_eq!(issue["rule_id"], "contract/output_truncated");
        let message = issue["message"].as_str().unwrap_or_default();
        assert!(message.contains("16 MiB") && message.contains("write an artifact"), "{message}");
    }
    let playbook = "checks:\n  a:\n    type: command\n    exec: head -c 17000000 /dev/zero | tr '\\0' x\n    guarantee: output.exitCode === 0\n";
    let (code, document) = check(playbook);
    assert_eq!(code, Some(0));
    let issue = &document["checks"]["a"]["issues"][0];
    assert_eq!(
        (&issue["rule_id"], &issue["severity"]),
        (&"contract/output_truncated".into(), &"warning".into())
    );
}

#[test]
fn a_contract_that_names_the_cut_reads_the_end_of_the_output() {
    for (contract, code) in [
        ("guarantee: \"result.truncated && output.endsWith('DONE')\"", 0),
        ("guarantee: \"result.truncated && output.includes('FAIL')\"", 1),
        ("guarantee: \"!result.truncated || output.includes('FAIL')\"", 1),
        ("fail_if: \"result.truncated || output.includes('FAIL')\"", 1),
        ("fail_if: \"!result.truncated && output.includes('FAIL')\"", 0),
        ("schema: {type: string}", 1),
    ] {
        let playbook = format!(
            "checks:\n  a:\n    type: command\n    exec: echo FAIL; head -c 17000000 /dev/zero | tr '\\0' x; echo DONE\n    {contract}\n"
        );
        let (exited, document) = check(&playbook);
        assert_eq!(exited, Some(code), "{contract}: {}", document["checks"]["a"]["issues"]);
    }
}

#[test]
fn later_checks_cannot_read_output_that_was_cut() {
    let long = r"echo BAD; head -c 17000000 /dev/zero | tr '\0' x";
    for reading in [
        "guarantee: \"!outputs.a.includes('BAD')\"",
        "assume: \"!outputs.a.includes('BAD')\"",
        "guarantee: \"!JSON.stringify(outputs).includes('BAD')\"",
        "guarantee: \"!outputs_history.a.some(one => one.includes('BAD'))\"",
        "stdin: \"{{ outputs.a }}\"",
    ] {
        let playbook = format!(
            "checks:\n  a:\n    type: command\n    exec: {long}\n  ship:\n    type: command\n    exec: 'true'\n    depends_on: a\n    {reading}\n"
        );
        let (code, document) = check(&playbook);
        let did_not_run = document["checks"]["ship"]["runs"] == 0;
        assert!(code != Some(0) || did_not_run, "{reading}");
        let text = document.to_string();
        assert!(
            text.contains("too long to be kept whole (the limit is 16 MiB)"),
            "{reading}: {}",
            document["run"]
        );
    }
}

#[test]
fn members_of_null_cannot_be_read() {
    for contract in ["fail_if: output.failed > 0", "guarantee: \"!output.failed\""] {
        let (code, document) =
            check(&format!("checks:\n  a: {{type: command, exec: echo null, {contract}}}\n"));
        assert_eq!(code, Some(1), "{contract}");
        let message = document["checks"]["a"]["issues"][0]["message"].as_str().unwrap_or_default();
        assert!(message.contains("Cannot read properties of null (reading 'failed')"), "{message}");
    }
    let (code, _) =
        check("checks:\n  a: {type: command, exec: echo null, guarantee: output.exitCode === 0}\n");
    assert_eq!(code, Some(0));
}

#[test]
fn json_on_stdout_has_no_character_that_drives_a_terminal_or_reorders_text() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "checks:\n  a: {type: command, exec: \"printf 'x\\\\302\\\\233y\\\\342\\\\200\\\\256z\\\\330\\\\234\\\\177'\"}\n",
    );
    let done = desk.escrow(&["run", "playbook.yaml", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains(r"x\u009by\u202ez\u061c\u007f"), "{}", done.stdout);
    assert_eq!(done.json()["checks"]["a"]["output"], "x\u{9b}y\u{202e}z\u{61c}\u{7f}");
}

#[test]
fn the_context_of_a_command_names_output_that_was_cut_and_has_none_of_it() {
    let (code, document) = check(
        r#"
checks:
  long: {type: command, exec: "echo BAD; head -c 17000000 /dev/zero | tr '\\0' x"}
  short: {type: command, exec: "echo whole"}
  read: {type: command, depends_on: [long, short], exec: 'cat "$ESCROW_CONTEXT"'}
"#,
    );
    assert_eq!(code, Some(0), "{}", document["run"]);
    let context = &document["checks"]["read"]["output"];
    assert_eq!(context["truncated"], serde_json::json!(["long"]));
    assert_eq!(context["outputs"], serde_json::json!({ "long": null, "short": "whole" }));
}

#[test]
fn one_byte_that_is_not_utf_8_does_not_buy_a_green() {
    for contract in [
        "fail_if: output.failed > 0",
        "rules: [{rule_id: a, field: failed, check: range, params: {max: 0}}]",
        "schema: {properties: {failed: {maximum: 0}}}",
        "guarantee: '!output.failed'",
    ] {
        let desk = Desk::new();
        let (code, document) = desk.run(&format!(
            "checks:
  tests:
    type: command
    exec: |
      printf '{{\"failed\":1,\"name\":\"\\377\"}}'
    {contract}
  ship: {{type: command, depends_on: tests, criticality: external, exec: touch shipped}}"
        ));
        assert_eq!(code, Some(1), "{contract}: {document}");
        assert!(!desk.path().join("shipped").exists(), "{contract}");
    }
}
