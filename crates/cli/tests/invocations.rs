//! `escrow invocation`: what somebody asked for, and the runs that it led to.

mod desk;

use desk::Desk;
use serde_json::Value;

const FINE: &str = "name: fine\nchecks:\n  a:\n    type: command\n    exec: echo 1\n";
const FAILS: &str =
    "name: fails\nchecks:\n  lint:\n    type: command\n    exec: echo 7\n    guarantee: output === 8\n";

fn start(desk: &Desk) -> String {
    let done =
        desk.escrow(&["invocation", "start", "--name", "nightly", "--skill", "review", "--prompt", "look"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let id = done.stdout.trim().to_owned();
    assert!(id.starts_with("i_") && id.len() == 22, "{id}");
    id
}

fn show(desk: &Desk, id: &str) -> Value {
    desk.escrow(&["invocation", "show", id, "--output", "json"]).json()
}

fn run_in(desk: &Desk, playbook: &str, invocation: &str) -> Value {
    desk.run_with(playbook, &["--invocation", invocation]).1
}

#[test]
fn runs_join_an_invocation_by_flag_by_environment_and_through_their_commands() {
    let desk = Desk::new();
    let id = start(&desk);
    let document = run_in(&desk, FINE, &id);
    assert_eq!(document["run"]["invocation_id"], id.as_str());
    let by_environment =
        desk.command(&["run", "playbook.yaml"]).env("ESCROW_INVOCATION", &id).output().expect("it runs");
    assert!(by_environment.status.success());
    desk.write("inner.yaml", "name: inner\nchecks:\n  b:\n    type: noop\n");
    let outer = format!(
        "name: outer\nchecks:\n  nest:\n    type: command\n    exec: [\"{}\", run, inner.yaml, --quiet]\n",
        env!("CARGO_BIN_EXE_escrow")
    );
    run_in(&desk, &outer, &id);
    let shown = show(&desk, &id);
    let mut books: Vec<&str> =
        shown["runs"].as_array().expect("runs").iter().filter_map(|run| run["playbook"].as_str()).collect();
    books.sort_unstable();
    assert_eq!(books, ["fine", "fine", "inner", "outer"]);
    assert_eq!(shown["invocation"]["status"], "completed");
    assert_eq!(shown["invocation"]["runs_count"], 4);
    assert_eq!(shown["invocation"]["name"], "nightly");
}

/// A run's reason arrives as it left: no `exit_nonzero` for everything.
#[test]
fn the_reason_of_the_decisive_run_travels_up_unchanged() {
    let desk = Desk::new();
    let id = start(&desk);
    let failed = run_in(&desk, FAILS, &id);
    run_in(&desk, FINE, &id);
    let shown = show(&desk, &id);
    assert_eq!(shown["invocation"]["status"], "failed");
    assert_eq!(shown["invocation"]["reason"], failed["run"]["reason"]);
    assert_eq!(shown["invocation"]["reason"]["code"], "run.failed.guarantee_failed");
    assert_eq!(shown["invocation"]["decisive_run_id"], failed["run"]["id"]);
    // A run inside of another does not count: the one around it has judged it.
    let listed = desk.escrow(&["invocation", "list", "--status", "failed", "--output", "json"]).json();
    assert_eq!(listed["invocations"][0], shown["invocation"]);
}

#[test]
fn a_nested_playbook_that_may_fail_does_not_fail_the_invocation() {
    let desk = Desk::new();
    let id = start(&desk);
    desk.write("inner.yaml", FAILS);
    let outer = "name: outer\nchecks:\n  nest:\n    type: playbook\n    playbook: inner.yaml\n    criticality: info\n    continue_on_failure: true\n";
    let document = run_in(&desk, outer, &id);
    assert_eq!(document["run"]["status"], "completed", "{document}");
    let shown = show(&desk, &id);
    assert_eq!(shown["invocation"]["status"], "completed");
    assert_eq!(shown["runs"].as_array().map(Vec::len), Some(2));
}

#[test]
fn an_invocation_shows_its_outcomes_and_the_newest_is_its_primary_one() {
    let desk = Desk::new();
    let id = start(&desk);
    let gate = r#"{"outcome_kind": "gate_verdict", "gate_passed": true, "summary": "open"}"#;
    for name in ["first", "second"] {
        let done = desk.escrow_given(&["outcomes", "add", "--name", name, "--invocation", &id], gate);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
    }
    let shown = show(&desk, &id);
    assert_eq!(shown["outcomes"].as_array().map(Vec::len), Some(2));
    assert_eq!(shown["primary_outcome"]["name"], "second");
    let people = desk.escrow(&["invocation", "show", &id]).stdout;
    assert!(people.contains("2 outcomes") && people.contains("nightly"), "{people}");
}

#[test]
fn ending_takes_what_the_runs_came_to_or_what_somebody_says() {
    let desk = Desk::new();
    let end = |id: &str, more: &[&str]| {
        let mut arguments = vec!["invocation", "end", id];
        arguments.extend(more);
        desk.escrow(&arguments)
    };
    let id = start(&desk);
    let nothing = end(&id, &[]);
    assert_eq!(nothing.code, Some(2));
    assert!(nothing.stderr.contains("has no runs"), "{}", nothing.stderr);
    run_in(&desk, FAILS, &id);
    let lie = end(&id, &["--status", "completed"]);
    assert_eq!(lie.code, Some(4));
    assert!(lie.stderr.contains("ended as failed") && lie.stderr.contains("--why"), "{}", lie.stderr);
    assert_eq!(end(&id, &["--status", "timed_out"]).code, Some(2));
    assert_eq!(end(&id, &["--status", "fine"]).code, Some(2));
    assert_eq!(end(&id, &[]).code, Some(0));
    assert_eq!(show(&desk, &id)["invocation"]["reason"]["code"], "run.failed.guarantee_failed");
    let again = end(&id, &["--status", "completed"]);
    assert_eq!(again.code, Some(4));
    assert!(again.stderr.contains("has ended: failed"), "{}", again.stderr);
    let word = end(&id, &["--status", "completed", "--by", "ann", "--why", "known flake"]);
    assert_eq!(word.code, Some(0), "{}", word.stderr);
    let shown = show(&desk, &id);
    assert_eq!(shown["invocation"]["reason"]["code"], "invocation.completed.by_hand");
    assert_eq!(shown["invocation"]["health"], "failed", "what its runs came to is not forgotten");
    let history = desk.escrow(&["invocation", "show", &id, "--history", "--output", "json"]).json();
    let sources: Vec<&str> = history["history"]
        .as_array()
        .expect("changes")
        .iter()
        .filter_map(|one| one["source"].as_str())
        .collect();
    assert_eq!(sources, ["start", "runs", "runs", "override"], "{history}");
    // An invocation that has ended takes no further run.
    let late = desk.escrow(&["run", "playbook.yaml", "--invocation", &id]);
    assert_eq!(late.code, Some(4));
    assert!(late.stderr.contains("has ended"), "{}", late.stderr);
}

#[test]
fn an_invocation_with_an_open_run_cannot_be_ended() {
    let desk = Desk::new();
    let id = start(&desk);
    let waiting = run_in(&desk, "checks:\n  ask:\n    type: human-input\n    prompt: go on?\n", &id);
    assert_eq!(show(&desk, &id)["invocation"]["status"], "waiting");
    let done = desk.escrow(&["invocation", "end", &id, "--status", "cancelled"]);
    assert_eq!(done.code, Some(4));
    assert!(done.stderr.contains(waiting["run"]["id"].as_str().expect("an id")), "{}", done.stderr);
}

#[test]
fn unknown_invocations_are_told_and_nothing_runs() {
    let desk = Desk::new();
    for arguments in [
        &["invocation", "show", "i_nope"][..],
        &["invocation", "end", "i_nope", "--status", "completed"],
        &["invocation", "show"],
    ] {
        let done = desk.escrow(arguments);
        assert_eq!(done.code, Some(2), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains("no invocation is called"), "{}", done.stderr);
    }
    desk.write("playbook.yaml", FINE);
    let done = desk.escrow(&["run", "playbook.yaml", "--invocation", "i_06gxyq0000000000000x"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("no invocation is called"), "{}", done.stderr);
    assert_eq!(desk.escrow(&["runs"]).stdout.trim(), "no runs");
    assert_eq!(desk.escrow(&["invocation", "list"]).stdout.trim(), "no invocations");
    assert_eq!(desk.escrow(&["run", "playbook.yaml", "--invocation", "a\nb"]).code, Some(2));
}

#[test]
fn a_request_without_a_name_is_recorded_as_that_of_the_actor() {
    let desk = Desk::new();
    desk.escrow(&["invocation", "start", "--name", "own"]);
    desk.write("build.yaml", "name: build\nchecks: {main: {type: command, exec: 'true'}}\n");
    desk.write("show.yaml", "name: train\nplays: {build: {playbook: build.yaml}}\n");
    assert_eq!(desk.escrow(&["play", "run", "show.yaml", "--quiet"]).code, Some(0));
    let all = desk.escrow(&["invocation", "list", "--output", "json"]).json();
    let by: Vec<&str> = all["invocations"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["started_by"].as_str().expect("an actor"))
        .collect();
    assert!(by.len() == 2 && by.iter().all(|by| by.starts_with("os:")), "{by:?}");
}

#[test]
fn a_trigger_from_elsewhere_brings_an_id_of_its_own() {
    let desk = Desk::new();
    run_in(&desk, FAILS, "ci-4711");
    let shown = show(&desk, "ci-4711");
    assert_eq!(shown["invocation"]["status"], "failed");
    assert_eq!(shown["invocation"]["started_by"], Value::Null);
    assert_eq!(desk.escrow(&["invocation", "end", "ci-4711"]).code, Some(0));
}
