//! What is left out shows in the reason and the exit code.

mod desk;

use desk::Desk;

const HELD_BACK: &str = "version: '1.0'
checks:
  tests: {type: command, exec: 'true'}
  publish: {type: command, exec: 'true', depends_on: tests, assume: 'false'}
";

#[test]
fn a_run_that_left_something_out_says_so_and_fails_only_when_asked() {
    let desk = Desk::new();
    let (code, document) = desk.run(HELD_BACK);
    assert_eq!(code, Some(0));
    assert_eq!(document["run"]["reason"]["code"], "run.completed.with_skips");
    assert_eq!(document["run"]["reason"]["evidence"][0]["id"], "publish");
    let done = desk.escrow(&["run", "playbook.yaml", "--fail-on-skip"]);
    assert_eq!(done.code, Some(4));
    assert!(done.stderr.contains("not everything happened: `publish` (assume)"), "{}", done.stderr);
}

#[test]
fn safe_mode_leaves_something_out() {
    let desk = Desk::new();
    desk.write(
        "p.yaml",
        "checks:\n  a: {type: command, exec: 'true'}\n  b: {type: command, exec: 'true', criticality: external}\n",
    );
    let done = desk.escrow(&["run", "p.yaml", "--safe-mode", "--fail-on-skip"]);
    assert_eq!(done.code, Some(4), "{}", done.stderr);
    assert!(done.stderr.contains("run.completed.with_skips"), "{}", done.stderr);
}

#[test]
fn a_run_with_nothing_to_do_exits_0_and_one_that_was_held_back_4() {
    let desk = Desk::new();
    for (condition, code) in [("if: 'false'", 0), ("assume: 'false'", 4), ("if: event.a.b.c", 4)] {
        desk.write("p.yaml", &format!("checks:\n  a: {{type: command, exec: 'true', {condition}}}\n"));
        let done = desk.escrow(&["run", "p.yaml"]);
        assert_eq!(done.code, Some(code), "{condition}: {}", done.stderr);
        assert!(done.stderr.contains("run.completed.nothing_ran"), "{condition}: {}", done.stderr);
    }
}

#[test]
fn a_target_that_was_never_routed_to_is_no_reason_to_exit_0() {
    let desk = Desk::new();
    desk.write(
        "p.yaml",
        "checks:\n  a: {type: command, exec: 'true', if: 'false', on_success: {goto: b}}\n  b: {type: command, exec: 'true'}\n",
    );
    let done = desk.escrow(&["run", "p.yaml", "--output", "json"]);
    assert_eq!(done.json()["checks"]["b"]["skip_reason"], "not_routed", "{}", done.stdout);
    assert_eq!(done.json()["run"]["reason"]["code"], "run.completed.nothing_ran");
    assert_eq!(done.code, Some(4), "{}", done.stderr);
}

#[test]
fn safe_mode_shows_the_requests_and_the_nested_playbooks_that_it_kept_back() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        "name: inner\nchecks:\n  ship: {type: command, criticality: external, exec: './ship --all'}\n",
    );
    desk.write(
        "p.yaml",
        r#"
name: p
inputs: {to: {type: string, default: prod}}
checks:
  call: {type: http, method: POST, url: 'https://api.example.org/{{ inputs.to }}', body: 'hello {{ inputs.to }}'}
  say: {type: github, op: comment.create, repo: a/b, number: 7, body: 'it is {{ inputs.to }}'}
  nest: {type: playbook, playbook: inner.yaml}
  list: {type: command, exec: "echo '[1, 2]'", forEach: true, guarantee: output.length}
  each: {type: http, method: PUT, url: 'https://api.example.org/{{ item }}', json: {n: 1}, depends_on: list}
"#,
    );
    let done = desk.escrow(&["run", "p.yaml", "--safe-mode"]);
    for told in [
        "method: POST",
        "url: https://api.example.org/prod",
        "body: hello prod",
        "op: comment.create",
        "repo: a/b",
        "number: 7",
        "body: it is prod",
        "nested: inner",
        "external: ship (command): ./ship --all",
        "url: https://api.example.org/2",
    ] {
        assert!(done.stderr.contains(told), "{told}: {}", done.stderr);
    }
    let checks = &desk.show("last")["checks"];
    assert_eq!(
        checks["call"]["would_have_done"]["request"]["url"], "https://api.example.org/prod",
        "{checks}"
    );
    assert_eq!(checks["say"]["would_have_done"]["request"]["op"], "comment.create");
    assert_eq!(checks["nest"]["would_have_done"]["nested"]["external"][0]["check"], "ship", "{checks}");
    assert_eq!(checks["each"]["items"][1]["would_have_done"]["request"]["url"], "https://api.example.org/2");
    for (check, told) in [
        ("call", "url: https://api.example.org/prod"),
        ("say", "body: it is prod"),
        ("nest", "external: ship (command): ./ship --all"),
    ] {
        let explained = desk.escrow(&["explain", "last", check]).stdout;
        assert!(explained.contains(told), "{check}: {explained}");
    }
}

#[test]
fn a_nested_run_in_which_nothing_ran_is_no_success() {
    let desk = Desk::new();
    desk.write("inner.yaml", "checks:\n  a: {type: command, exec: 'true', if: 'false'}\n");
    let (code, document) = desk.run("checks:\n  it: {type: playbook, playbook: inner.yaml}\n");
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["checks"]["it"]["status"], "failed");
    assert_eq!(document["run"]["status"], "failed");
}

#[test]
fn a_nested_run_that_left_something_out_shows_in_the_run_around_it() {
    let desk = Desk::new();
    desk.write("inner.yaml", HELD_BACK);
    let (code, document) = desk.run("checks:\n  it: {type: playbook, playbook: inner.yaml}\n");
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["run"]["reason"]["code"], "run.completed.with_skips", "{document}");
    assert_eq!(document["run"]["reason"]["evidence"][0]["id"], "it");
}
