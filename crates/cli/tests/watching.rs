//! Watching a run: output as it comes, logs of a run in another process, failures that say which item, flaky checks.

mod desk;

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use desk::Desk;

#[test]
fn streamed_output_comes_in_lines_behind_its_check() {
    let desk = Desk::new();
    desk.write(
        "p.yaml",
        "checks:\n  build:\n    type: command\n    exec: printf 'one\\ntwo'; echo three >&2\n",
    );
    let done = desk.escrow(&["run", "p.yaml", "--stream"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    for line in ["build | one", "build | two", "build | three"] {
        assert!(done.stderr.lines().any(|one| one == line), "{line}: {}", done.stderr);
    }
    assert_eq!(done.stdout, "");
}

#[test]
fn streamed_lines_can_have_their_time() {
    let desk = Desk::new();
    desk.write("p.yaml", "checks: {a: {type: command, exec: echo hello}}\n");
    let done = desk.escrow(&["run", "p.yaml", "--stream", "--timestamps"]);
    let line = done.stderr.lines().find(|line| line.ends_with("a | hello")).expect("the line is there");
    assert!(line.starts_with("20") && line.contains("T") && line.contains("Z "), "{line}");
}

#[test]
fn in_ci_output_is_streamed_unless_it_is_quiet() {
    let desk = Desk::new();
    desk.write("p.yaml", "checks: {a: {type: command, exec: echo hello}}\n");
    let run = |more: &[&str]| {
        let arguments = [&["run", "p.yaml"], more].concat();
        let output = desk.command(&arguments).env("CI", "true").output().expect("it runs");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(run(&[]).contains("a | hello"));
    assert_eq!(run(&["--quiet"]), "");
}

#[test]
fn output_of_a_nested_run_is_streamed_with_its_path() {
    let desk = Desk::new();
    desk.write("inner.yaml", "checks: {build: {type: command, exec: echo hello}}\n");
    desk.write("p.yaml", "checks: {sub: {type: playbook, playbook: inner.yaml}}\n");
    let done = desk.escrow(&["run", "p.yaml", "--stream"]);
    assert!(done.stderr.contains("sub/build | hello"), "{}", done.stderr);
}

#[test]
fn verbose_shows_the_output_of_every_check() {
    let desk = Desk::new();
    desk.write("p.yaml", "checks: {a: {type: command, exec: echo hello}}\n");
    assert!(!desk.escrow(&["run", "p.yaml"]).stderr.contains("hello"));
    assert!(desk.escrow(&["run", "p.yaml", "-v"]).stderr.contains("  hello"));
}

#[test]
fn logs_follow_a_check_that_runs_now_in_another_process() {
    let desk = Desk::new();
    desk.write(
        "p.yaml",
        "checks:\n  slow:\n    type: command\n    exec: |\n      echo begun\n      until test -e go; do sleep 0.1; done\n      echo ended\n",
    );
    let mut running = desk.start(&["run", "p.yaml"]);
    desk.until("the run begins", || desk.escrow(&["runs", "show", "last"]).code == Some(0));
    let mut following =
        desk.command(&["logs", "last", "--follow"]).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut lines = BufReader::new(following.stdout.take().expect("a pipe")).lines();
    let mut next = || lines.next().map(|line| line.expect("text"));
    assert_eq!(next().as_deref(), Some("slow | begun"), "before the check has ended");
    desk.write("go", "");
    assert_eq!(next().as_deref(), Some("slow | ended"));
    assert_eq!(next(), None, "it ends with the run");
    assert!(following.wait().expect("it ends").success());
    assert!(running.wait().expect("it ends").success());
}

#[test]
fn logs_follow_of_a_run_that_has_ended_prints_it_and_ends() {
    let desk = Desk::new();
    desk.run("checks: {a: {type: command, exec: echo hello}}\n");
    let done = desk.escrow(&["logs", "last", "--follow"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "a | hello\n"));
}

#[test]
fn failed_items_are_shown_with_their_value_and_what_they_wrote() {
    let desk = Desk::new();
    desk.write(
        "p.yaml",
        "checks:
  list: {type: script, content: 'return [\"alpha\", \"beta\"]', forEach: true}
  each:
    type: command
    depends_on: list
    exec: |
      echo \"cannot build {{ item }}\" >&2
      exit 3
",
    );
    let done = desk.escrow(&["run", "p.yaml"]);
    assert_eq!(done.code, Some(1));
    for part in ["each[0]  alpha", "each[1]  beta", "cannot build alpha", "cannot build beta"] {
        assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
    }
}

#[test]
fn all_failures_are_counted_in_the_verdict() {
    let desk = Desk::new();
    desk.write("p.yaml", "checks: {a: {type: command, exec: 'false'}, b: {type: command, exec: 'false'}}\n");
    let done = desk.escrow(&["run", "p.yaml"]);
    assert!(done.stderr.contains("; 2 checks failed"), "{}", done.stderr);
}

#[test]
fn a_quiet_run_still_tells_of_failure() {
    let desk = Desk::new();
    desk.write("p.yaml", "checks: {a: {type: command, exec: 'false'}}\n");
    let done = desk.escrow(&["run", "p.yaml", "--quiet"]);
    assert!(done.stderr.contains("run.failed.exit_nonzero"), "{}", done.stderr);
    assert_eq!(done.stderr.lines().count(), 2, "the verdict and the next command: {}", done.stderr);
}

#[test]
fn a_check_that_succeeded_after_a_retry_is_marked_as_flaky() {
    let desk = Desk::new();
    desk.write(
        "p.yaml",
        "checks:
  test:
    type: command
    exec: test -e again || { touch again; exit 1; }
    on_fail: {retry: {max: 1, backoff: {delay_ms: 10}}}
",
    );
    let done = desk.escrow(&["run", "p.yaml", "--report", "junit=report.xml"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("flaky: failed once before"), "{}", done.stderr);
    assert!(
        desk.read("report.xml").contains("<flakyFailure message=\"exit code 1\""),
        "{}",
        desk.read("report.xml")
    );
}
