//! Recorded runs, decided again under another playbook: nothing is called.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

/// The last run under this playbook.
fn replay(desk: &Desk, playbook: &str, more: &[&str]) -> (Option<i32>, Value) {
    desk.write("other.yaml", playbook);
    let mut arguments = vec!["replay", "last", "--with", "other.yaml", "--output", "json", "--quiet"];
    arguments.extend(more);
    let done = desk.escrow(&arguments);
    (done.code, done.json())
}

#[track_caller]
fn decides_the_same(desk: &Desk, playbook: &str) {
    let (code, document) = replay(desk, playbook, &["--fail-on-diff"]);
    assert_eq!(code, Some(0), "{document:#}");
    assert_eq!(document["summary"]["same"], 1);
}

const GATE: &str = r#"
name: gate
checks:
  tests: { type: command, exec: "echo run >> trace; echo '{\"failed\": 2}'", fail_if: "output.failed > LIMIT" }
  publish:
    type: command
    depends_on: tests
    criticality: external
    assume: "outputs.tests.failed < 100"
    guarantee: "output"
    exec: "echo published >> trace; echo ok"
"#;

#[test]
fn a_stricter_playbook_would_block_and_says_why_and_nothing_is_called() {
    let desk = Desk::new();
    let lenient = GATE.replace("LIMIT", "5");
    let (code, _) = desk.run(&lenient);
    assert_eq!(code, Some(0));
    decides_the_same(&desk, &lenient);
    let (code, document) = replay(&desk, &GATE.replace("LIMIT", "0"), &[]);
    assert_eq!(code, Some(0), "without --fail-on-diff it only tells");
    let run = &document["runs"][0];
    assert_eq!(run["change"], "blocks");
    assert_eq!(run["was"], json!({"status": "completed", "reason": "run.completed.ok"}));
    assert_eq!(run["now"], json!({"status": "failed", "reason": "run.failed.fail_if"}));
    assert_eq!(
        run["differences"],
        json!([
            {"check": "tests", "scope": [], "was": "succeeded", "now": "failed tests_fail_if"},
            {"check": "publish", "scope": [], "was": "succeeded", "now": "skipped contract_blocked"},
        ])
    );
    assert_eq!(run["first"]["differs"], json!(["`output.failed` is 2; it would have to be at most 0"]));
    assert_eq!(desk.read("trace"), "run\npublished\n", "nothing was called");
    assert_eq!(replay(&desk, &GATE.replace("LIMIT", "0"), &["--fail-on-diff"]).0, Some(1));
}

#[test]
fn the_last_runs_are_counted_in_a_sentence() {
    let desk = Desk::new();
    let playbook = |limit: &str| {
        format!(
            "name: counted\ninputs: {{n: {{type: number, default: 0}}}}\nchecks: {{a: {{type: script, content: 'return inputs.n', fail_if: output > {limit}}}}}"
        )
    };
    desk.write("playbook.yaml", &playbook("10"));
    for n in ["n=1", "n=5", "n=7", "n=20"] {
        desk.escrow(&["run", "playbook.yaml", "--input", n]);
    }
    desk.write("other.yaml", &playbook("4"));
    let done = desk.escrow(&["replay", "--last", "10", "--with", "other.yaml"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stdout.contains("2 of 4 runs would now block; 2 stay the same"), "{}", done.stdout);
    assert!(done.stdout.contains("`output` is 7; it would have to be at most 4"), "{}", done.stdout);
    desk.write("other.yaml", &playbook("100"));
    let done = desk.escrow(&["replay", "--last", "10", "--with", "other.yaml"]);
    assert!(done.stdout.contains("1 of 4 runs would now pass; 3 stay the same"), "{}", done.stdout);
    desk.write("other.yaml", "name: stranger\nchecks: {a: {type: noop}}");
    assert_eq!(desk.escrow(&["replay", "--last", "10", "--with", "other.yaml"]).code, Some(2));
}

#[test]
fn what_was_never_recorded_is_not_decided() {
    let desk = Desk::new();
    desk.run("checks: {a: {type: command, exec: exit 1}, b: {type: command, depends_on: a, exec: echo b}}");
    let other = "checks: {a: {type: command, exec: exit 1, continue_on_failure: true}, b: {type: command, depends_on: a, exec: echo b}}";
    let (code, document) = replay(&desk, other, &["--fail-on-diff"]);
    assert_eq!(code, Some(1), "what cannot be decided is not the same");
    let run = &document["runs"][0];
    assert_eq!(run["change"], "undecidable");
    assert_eq!(
        run["unknown"],
        json!([{"check": "b", "scope": [], "what": "attempt 1 of `b` was never recorded"}])
    );
    let added = "checks: {a: {type: command, exec: exit 2}, b: {type: command, depends_on: a, exec: echo b, if: env.NEW}}";
    let (_, document) = replay(&desk, added, &[]);
    assert_eq!(document["runs"][0]["assumed"], json!(["a"]), "its command differs");
    assert_eq!(document["runs"][0]["unrecorded"], json!(["env.NEW"]));
}

#[test]
fn every_kind_of_run_decides_the_same_under_its_own_playbook() {
    let desk = Desk::new();
    let retried = r#"
checks:
  flaky:
    type: command
    exec: "echo x >> count; test $(wc -l < count) -ge 2"
    on_fail: { retry: { max: 3, backoff: { mode: fixed, delay_ms: 5 } } }
  list: { type: command, forEach: true, exec: "echo '[1, 2, 3]'" }
  each: { type: command, depends_on: list, exec: "test {{ item }} != 2", on_fail: { run: [note] } }
  note: { type: log, message: "item failed" }
  sum: { type: script, depends_on: each, fanout: reduce, content: "return outputs.each.length" }
  again:
    type: script
    content: "return (outputs_history.again ?? []).length"
    on_success: { transitions: [{ when: "output < 3", to: again }] }
"#;
    desk.run(retried);
    decides_the_same(&desk, retried);

    let looping = "routing: {max_loops: 3}\nchecks: {a: {type: noop, on_success: {goto: a}}}";
    desk.run(looping);
    decides_the_same(&desk, looping);

    let artifacts = r#"
artifacts: {expected: [{id: note, path: note.md}, {id: more, path: more.md, required: false}]}
checks: {a: {type: command, exec: 'echo note > "$ESCROW_ARTIFACTS/note.md"'}}
"#;
    desk.run(artifacts);
    decides_the_same(&desk, artifacts);
    let (_, document) = replay(&desk, &artifacts.replace(", required: false", ""), &[]);
    assert_eq!(document["runs"][0]["now"]["reason"], "run.failed.missing_artifact");
    let (_, document) = replay(&desk, &artifacts.replace("note.md}", "note.md, min_size: 100}"), &[]);
    assert_eq!(document["runs"][0]["change"], "blocks");

    let asking = r#"
checks:
  ask: {type: human-input, prompt: "Which?"}
  post:
    type: command
    depends_on: ask
    requires_approval: true
    criticality: external
    assume: "outputs.ask === 'this'"
    guarantee: "output"
    exec: "echo {{ outputs.ask }}"
"#;
    desk.run(asking);
    for _ in 0..2 {
        let waits = desk.escrow(&["approvals", "--output", "json"]).json();
        let id = waits["approvals"][0]["id"].as_str().expect("a wait").to_owned();
        if id.starts_with('q') {
            desk.escrow(&["answer", &id, "this"]);
        } else {
            desk.escrow(&["approve", &id]);
        }
    }
    assert_eq!(desk.show("last")["run"]["status"], "completed");
    decides_the_same(&desk, asking);

    let reopened = "checks: {a: {type: command, exec: test -e mended}, b: {type: noop, depends_on: a}}";
    desk.run(reopened);
    desk.write("mended", "");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(0));
    decides_the_same(&desk, reopened);

    let (code, _) = desk.run_with("checks: {a: {type: command, exec: sleep 60}}", &["--timeout", "300ms"]);
    assert_eq!(code, Some(124));
    let document = replay(&desk, "checks: {a: {type: command, exec: sleep 60}}", &[]).1;
    assert_eq!(document["runs"][0]["now"]["status"], "timed_out", "{document:#}");
}
