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
