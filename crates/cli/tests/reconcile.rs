//! A real Escrow that is killed in the middle of an effect, and a real command that finds out what happened.

mod desk;

use desk::{Desk, Done};
use serde_json::Value;

/// Posts into a ledger, with a pause before the line is there (`before`) or after it (`after`); what `reconcile`
/// says is read from that ledger. The second time nothing pauses.
fn playbook(pause: &str) -> String {
    let (before, after) = match pause {
        "before" => ("test -e go || { touch started; sleep 60; };", ""),
        _ => ("", "test -e go || { touch started; sleep 60; }"),
    };
    format!(
        r#"
inputs: {{ticket: {{default: "42; touch hacked"}}}}
checks:
  post:
    type: command
    criticality: external
    assume: attempt < 9
    guarantee: output !== null
    exec: "{before} echo $ESCROW_IDEMPOTENCY_KEY >> ledger; {after}"
    reconcile:
      exec: echo look {{{{ inputs.ticket }}}} >> looks; grep -q $ESCROW_IDEMPOTENCY_KEY ledger
      done: result.exitCode === 0
      retry: result.exitCode === 1 || result.exitCode === 2
      output: '"posted"'
      timeout: 20s
  tell: {{type: command, depends_on: post, exec: echo told >> trace}}
"#
    )
}

/// Runs, kills the run while the effect pauses, and resumes it.
fn kill_and_resume(desk: &Desk, playbook: &str) -> Done {
    desk.write("playbook.yaml", playbook);
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the effect has begun", || desk.path().join("started").exists());
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
    desk.write("go", "");
    desk.escrow(&["resume", "last", "--output", "json"])
}

fn lines(desk: &Desk, file: &str) -> usize {
    desk.read(file).lines().count()
}

#[test]
fn an_effect_that_is_found_done_is_not_repeated() {
    let desk = Desk::new();
    let resumed = kill_and_resume(&desk, &playbook("after"));
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let document: Value = resumed.json();
    assert_eq!(document["checks"]["post"]["status"], "succeeded");
    assert_eq!(document["checks"]["post"]["runs"], 1);
    assert_eq!((lines(&desk, "ledger"), lines(&desk, "trace")), (1, 1));
    assert_eq!(desk.read("looks"), "look 42; touch hacked\n", "the value is a word, and never code");
    assert!(!desk.path().join("hacked").exists());
    assert!(resumed.stderr.contains("post may have taken effect: running `reconcile`"), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("post done: `result.exitCode === 0` holds"), "{}", resumed.stderr);
    let explained = desk.escrow(&["explain", "last", "post"]);
    assert!(explained.stdout.contains("as `reconcile` found"), "{}", explained.stdout);
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0));
    let again = desk.escrow(&["replay", "last", "--with", "playbook.yaml", "--fail-on-diff"]);
    assert_eq!(again.code, Some(0), "{}{}", again.stdout, again.stderr);
    assert_eq!(lines(&desk, "looks"), 1, "a replay looks at nothing");
}

#[test]
fn an_effect_that_is_found_missing_is_repeated_once() {
    let desk = Desk::new();
    let resumed = kill_and_resume(&desk, &playbook("before"));
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    let document = resumed.json();
    assert_eq!(document["checks"]["post"]["runs"], 2, "{}", resumed.stderr);
    assert_eq!((lines(&desk, "ledger"), lines(&desk, "looks"), lines(&desk, "trace")), (1, 1, 1));
}

#[test]
fn an_effect_that_nobody_finds_out_about_waits_for_a_person() {
    let desk = Desk::new();
    // The output is lost, so the contract must not read it.
    let silent = playbook("after").replace("grep -q", "exit 7 #").replace("output !== null", "attempt === 1");
    let resumed = kill_and_resume(&desk, &silent);
    assert_eq!(resumed.code, Some(4), "{}", resumed.stderr);
    let document = resumed.json();
    assert_eq!(document["run"]["reason"]["code"], "run.waiting.unknown_effect");
    assert_eq!(document["checks"]["post"]["status"], "unknown");
    let assumed = desk.escrow(&["resume", "last", "--assume", "post=done", "--output", "json"]);
    assert_eq!(assumed.code, Some(0), "{}", assumed.stderr);
    assert_eq!((lines(&desk, "ledger"), lines(&desk, "looks")), (1, 1));
}

#[test]
fn a_timeout_is_reconciled_at_once_and_a_look_that_hangs_is_ended() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"
checks:
  word:
    type: command
    criticality: external
    assume: attempt < 9
    guarantee: attempt === 1
    timeout: 300ms
    exec: sleep 60
    reconcile: echo done
  hangs:
    type: command
    criticality: external
    assume: attempt < 9
    guarantee: output !== null
    timeout: 300ms
    exec: sleep 60
    reconcile: {exec: [sleep, "60"], timeout: 500ms}
"#,
    );
    assert_eq!(code, Some(4), "{document}");
    assert_eq!(document["checks"]["word"]["status"], "succeeded");
    assert_eq!(document["checks"]["hangs"]["status"], "unknown");
    let summary = document["run"]["reason"]["summary"].as_str().unwrap_or_default();
    assert!(summary.contains("still running after 500ms"), "{summary}");
}

#[test]
fn tests_of_playbooks_say_what_reconcile_answers() {
    let desk = Desk::new();
    desk.write("playbook.yaml", &playbook("after"));
    desk.write(
        "playbook.test.yaml",
        r#"
playbook: playbook.yaml
tests:
  a lost post that is there is not repeated:
    answers:
      post: { timeout: true, reconcile: { exit: 0 } }
      tell: {}
    expect: { run: completed, checks: { post: { status: succeeded, runs: 1 }, tell: succeeded } }
  a lost post that is not there is repeated:
    answers:
      post: [{ signal: SIGKILL, reconcile: { exit: 1 } }, { output: 1 }]
      tell: {}
    expect: { run: completed, checks: { post: { status: succeeded, runs: 2 }, tell: succeeded } }
  nobody knows:
    answers:
      post: { timeout: true, reconcile: { timeout: true } }
    expect: { run: run.waiting.unknown_effect, checks: { post: unknown } }
"#,
    );
    let tested = desk.escrow(&["test", "playbook.test.yaml"]);
    assert_eq!(tested.code, Some(0), "{}{}", tested.stdout, tested.stderr);
    desk.write(
        "silent.test.yaml",
        "playbook: playbook.yaml\ntests: {t: {answers: {post: {timeout: true}}, expect: {run: completed}}}",
    );
    let silent = desk.escrow(&["test", "silent.test.yaml"]);
    assert_eq!(silent.code, Some(1));
    assert!(silent.stdout.contains("`reconcile` of `post` would run and has no answer"), "{}", silent.stdout);
}
