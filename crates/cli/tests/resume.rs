//! Resuming runs that were killed or failed.

mod desk;

use desk::{Desk, is_running, signal};
use rustix::process::Signal;
use serde_json::{Value, json};

/// Starts a run and kills it, without its children, once the file `started` is there.
fn kill_when_started(desk: &Desk) {
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the command has started", || desk.path().join("started").exists());
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
}

fn database(desk: &Desk) -> rusqlite::Connection {
    rusqlite::Connection::open(desk.path().join(".escrow/escrow.db")).expect("the database opens")
}

#[test]
fn children_of_a_killed_escrow_are_gone_before_their_check_runs_again() {
    let desk = Desk::new();
    let mark = format!("sleep 62.{}", std::process::id());
    desk.write(
        "playbook.yaml",
        &format!(
            r#"
checks:
  slow:
    type: command
    exec: |
      if test -e go; then
        pgrep -f '^{mark}' > still-there || true
        echo done
      else
        touch started; setsid {mark} & {mark}
      fi
"#
        ),
    );
    kill_when_started(&desk);
    desk.until("both sleeps run", || is_running(&format!("^{mark}")));
    desk.write("go", "");
    let resumed = desk.escrow(&["resume", "last", "--output", "json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(desk.read("still-there"), "", "the orphans were ended before the check ran again");
    assert!(!is_running(&format!("^{mark}")));
}

#[test]
fn a_check_that_is_started_again_is_the_same_attempt_and_explain_says_so() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "checks: {look: {type: command, exec: 'echo \"$ESCROW_ATTEMPT\" >> started; test -e go || sleep 60', guarantee: attempt === 1}}",
    );
    kill_when_started(&desk);
    desk.write("go", "");
    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(0));
    assert_eq!(desk.read("started"), "1\n1\n");
    assert_eq!(desk.show("last")["checks"]["look"]["runs"], 1);
    let page = desk.escrow(&["explain", "last", "look"]).stdout;
    assert!(page.contains("the process that ran attempt 1 was gone: it was started again"), "{page}");
}

#[test]
fn all_dead_runs_are_resumed_and_the_worst_exit_code_tells() {
    let desk = Desk::new();
    let playbook = |last: &str| {
        format!("checks: {{a: {{type: command, exec: 'touch started; test -e go || sleep 63; {last}'}}}}")
    };
    for last in ["true", "exit 7"] {
        desk.write("playbook.yaml", &playbook(last));
        kill_when_started(&desk);
        std::fs::remove_file(desk.path().join("started")).expect("it was there");
    }
    desk.write("go", "");
    desk.write("waits.yaml", "checks: {ask: {type: human-input, prompt: Sure?}}");
    assert_eq!(desk.escrow(&["run", "waits.yaml"]).code, Some(4));
    let resumed = desk.escrow(&["resume", "--all", "--output", "json"]);
    assert_eq!(resumed.code, Some(1), "{}", resumed.stderr);
    let statuses: Vec<Value> =
        resumed.json()["resumed"].as_array().expect("runs").iter().map(|run| run["status"].clone()).collect();
    assert_eq!(statuses, [json!("completed"), json!("failed")], "what waits for a person is left alone");
    let again = desk.escrow(&["resume", "--all"]);
    assert_eq!((again.code, again.stdout.trim()), (Some(0), "nothing to resume"));
}

#[test]
fn dead_runs_can_be_resumed_side_by_side_and_their_lines_name_them() {
    let desk = Desk::new();
    for name in ["one", "two"] {
        // Each run ends only once the other has begun again.
        let exec = format!(
            "touch started; test -e go || sleep 64; touch {name}; until test -e one -a -e two; do sleep 0.02; done"
        );
        desk.write("playbook.yaml", &format!("checks: {{{name}: {{type: command, exec: '{exec}'}}}}"));
        kill_when_started(&desk);
        std::fs::remove_file(desk.path().join("started")).expect("it was there");
    }
    desk.write("go", "");
    let resumed = desk.escrow(&["resume", "--all", "--jobs", "2"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    for line in resumed.stderr.lines().filter(|line| line.contains('✓')) {
        assert!(line.starts_with("r_"), "{line}");
    }
    assert_eq!(desk.escrow(&["resume", "last", "--jobs", "2"]).code, Some(2), "one run is not several");
}

#[test]
fn an_undelivered_message_is_a_reason_to_resume() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {ask: {type: human-input, prompt: Sure?}}");
    desk.escrow(&["run", "playbook.yaml"]);
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = waits["approvals"][0]["id"].as_str().expect("a wait").to_owned();
    assert_eq!(desk.escrow(&["answer", &id, "yes", "--no-run"]).code, Some(0));
    assert_eq!(desk.escrow(&["resume", "--all"]).code, Some(0));
    assert_eq!(desk.show("last")["checks"]["ask"]["output"], "yes");
}

const FLAKY: &str = r#"
checks:
  first: {type: command, exec: "echo first >> trace"}
  second:
    type: command
    depends_on: first
    exec: "echo second >> trace; test -e mended"
  third: {type: command, depends_on: second, exec: "echo third >> trace"}
  beside: {type: command, exec: "echo beside >> trace2"}
"#;

#[test]
fn only_what_failed_and_what_depends_on_it_runs_again() {
    let desk = Desk::new();
    let (code, document) = desk.run(FLAKY);
    assert_eq!(code, Some(1));
    assert_eq!(document["checks"]["third"]["skip_reason"], "dependency_failed");
    let id = document["run"]["id"].as_str().expect("an id").to_owned();
    let plain = desk.escrow(&["resume", &id]);
    assert_eq!(plain.code, Some(4));
    assert!(plain.stderr.contains("--failed"), "{}", plain.stderr);

    let still = desk.escrow(&["resume", &id, "--failed", "--output", "json"]);
    assert_eq!(still.code, Some(1), "it fails again: {}", still.stderr);
    desk.write("mended", "");
    let mended = desk.escrow(&["resume", &id, "--failed", "--output", "json"]);
    assert_eq!(mended.code, Some(0), "{}", mended.stderr);
    let document = mended.json();
    assert_eq!(document["run"]["status"], "completed");
    assert_eq!(document["checks"]["second"]["runs"], 3);
    assert_eq!(document["checks"]["third"]["status"], "succeeded");
    assert_eq!(desk.read("trace"), "first\nsecond\nsecond\nsecond\nthird\n");
    assert_eq!(desk.read("trace2"), "beside\n");
    assert_eq!(desk.show(&id), document, "the journal tells the same later");
    assert_eq!(desk.escrow(&["verify", &id]).code, Some(0));
    assert_eq!(desk.escrow(&["resume", &id, "--failed"]).code, Some(4), "nothing failed any more");
}

#[test]
fn a_confirmed_effect_is_not_repeated_because_something_else_failed() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"
checks:
  lint: {type: command, criticality: policy, continue_on_failure: true, exec: "test -e mended"}
  post:
    type: command
    depends_on: lint
    criticality: external
    assume: "true"
    guarantee: "true"
    exec: "echo posted >> trace"
  after: {type: command, depends_on: post, exec: "echo after >> trace"}
"#,
    );
    assert_eq!(code, Some(1), "{document}");
    desk.write("mended", "");
    let mended = desk.escrow(&["resume", "last", "--failed", "--output", "json"]);
    assert_eq!(mended.code, Some(0), "{}", mended.stderr);
    assert_eq!(desk.read("trace"), "posted\nafter\nafter\n");
}

#[test]
fn one_failed_item_of_a_fan_out_runs_again_alone() {
    let desk = Desk::new();
    let (code, _) = desk.run(
        r#"
checks:
  list: {type: command, forEach: true, exec: "echo '[1, 2, 3]'"}
  each:
    type: command
    depends_on: list
    exec: "echo {{ item }} >> trace-{{ item }}; test {{ item }} != 2 || test -e mended"
  sum: {type: command, depends_on: each, fanout: reduce, exec: "echo sum >> trace-sum"}
"#,
    );
    assert_eq!(code, Some(1));
    desk.write("mended", "");
    let mended = desk.escrow(&["resume", "last", "--failed", "--output", "json"]);
    assert_eq!(mended.code, Some(0), "{}", mended.stderr);
    assert_eq!((desk.read("trace-1"), desk.read("trace-2")), ("1\n".into(), "2\n2\n".into()));
    assert_eq!(mended.json()["checks"]["each"]["status"], "succeeded");
}

#[test]
fn effects_of_items_are_not_repeated_when_their_list_is_made_again() {
    let desk = Desk::new();
    let (code, _) = desk.run(
        r#"
checks:
  lint: {type: command, criticality: policy, continue_on_failure: true, exec: "test -e mended"}
  list:
    type: command
    depends_on: lint
    forEach: true
    exec: "if test -e mended; then echo '[2, 1, 3]'; else echo '[1, 2]'; fi"
    guarantee: Array.isArray(output)
  post:
    type: command
    depends_on: list
    criticality: external
    assume: item > 0
    guarantee: output !== null
    exec: "echo {{ item }} >> trace"
"#,
    );
    assert_eq!(code, Some(1));
    desk.write("mended", "");
    let mended = desk.escrow(&["resume", "last", "--failed", "--output", "json"]);
    assert_eq!(mended.code, Some(0), "{}", mended.stderr);
    assert_eq!(desk.read("trace"), "1\n2\n3\n", "each was posted once, whatever its place");
    assert_eq!(mended.json()["checks"]["post"]["items"][0]["runs"], 1);
}

#[test]
fn a_missing_artifact_is_looked_for_again() {
    let desk = Desk::new();
    let playbook = r#"
artifacts: {expected: [{id: note, path: note.md}]}
checks: {work: {type: command, exec: "echo work >> trace"}}
"#;
    let (code, _) = desk.run_with(playbook, &["--artifacts", "out"]);
    assert_eq!(code, Some(1));
    desk.write("out/note.md", "written by a person");
    let mended = desk.escrow(&["resume", "last", "--failed", "--output", "json"]);
    assert_eq!(mended.code, Some(0), "{}", mended.stderr);
    assert_eq!(mended.json()["artifacts"]["status"], "passed");
    assert_eq!(desk.read("trace"), "work\n");
}

#[test]
fn a_run_whose_time_was_up_gets_its_time_again() {
    let desk = Desk::new();
    let playbook = "checks: {slow: {type: command, exec: 'test -e go || sleep 60'}, next: {type: noop, depends_on: slow}}";
    let (code, document) = desk.run_with(playbook, &["--timeout", "2s"]);
    assert_eq!(code, Some(124), "{document}");
    desk.write("go", "");
    let mended = desk.escrow(&["resume", "last", "--failed", "--output", "json"]);
    assert_eq!(mended.code, Some(0), "{}", mended.stderr);
    assert_eq!(mended.json()["checks"]["next"]["status"], "succeeded");
}

#[test]
fn a_holder_that_slept_through_a_takeover_is_fenced() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "checks: {a: {type: command, exec: 'echo a >> trace; touch started; test -e go || sleep 3'}}",
    );
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the command has started", || desk.path().join("started").exists());
    signal(child.id(), Signal::STOP);
    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(4), "a stopped process is alive");
    // As another machine sees it: the holder cannot be looked up, and the lease has lapsed.
    database(&desk)
        .execute("UPDATE journals SET holder = json_set(holder, '$.host', 'elsewhere', '$.boot_id', 'another'), expires_at = 1", [])
        .expect("the lease is changed");
    desk.write("go", "");
    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(0));
    signal(child.id(), Signal::CONT);
    assert_eq!(child.wait().expect("it ends").code(), Some(4), "it finds that it was fenced");
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0));
    let document = desk.show("last");
    assert_eq!(document["run"]["status"], "completed");
    assert_eq!(document["checks"]["a"]["runs"], 1);
}

#[test]
fn a_wait_is_answered_once_and_by_the_message_that_it_waits_for() {
    let desk = Desk::new();
    let (code, _) = desk.run(
        "
checks:
  publish: {type: command, exec: 'echo published >> ran', requires_approval: true}
  ask: {type: human-input, prompt: 'Sure?'}
",
    );
    assert_eq!(code, Some(4));
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = |kind: &str| {
        let all = waits["approvals"].as_array().expect("a list");
        let one = all.iter().find(|wait| wait["kind"] == kind).expect("it is there");
        one["id"].as_str().expect("an id").to_owned()
    };
    let (approval, question) = (id("approval"), id("input"));
    let wrong = desk.escrow(&["answer", &approval, "yes"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains(&format!("`escrow approve {approval}`")), "{}", wrong.stderr);
    let wrong = desk.escrow(&["approve", &question]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.stderr.contains(&format!("`escrow answer {question} TEXT`")), "{}", wrong.stderr);
    assert_eq!(desk.escrow(&["approve", &approval, "--no-run"]).code, Some(0));
    for again in ["approve", "deny"] {
        let refused = desk.escrow(&[again, &approval, "--no-run"]);
        assert_eq!(refused.code, Some(4), "the first message counts: {}", refused.stderr);
        assert!(refused.stderr.contains("is already decided"), "{}", refused.stderr);
    }
    assert_eq!(desk.escrow(&["answer", &question, "yes"]).code, Some(0));
    assert_eq!(desk.read("ran"), "published\n");
}
