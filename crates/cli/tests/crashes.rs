//! A run is killed, interrupted, driven twice: nothing is lost, nothing is claimed that is not so.

mod desk;

use std::process::Command;

use desk::{Desk, is_running, signal};
use rustix::process::Signal;

const SLOW: &str = r#"
checks:
  first: {type: command, exec: "echo one >> trace"}
  second: {type: command, depends_on: first, exec: "echo two >> trace; touch started; test -e go || sleep 60"}
  third: {type: command, depends_on: second, exec: "echo three >> trace"}
"#;

#[test]
fn a_killed_run_is_shown_truthfully_and_continues_where_it_was() {
    let desk = Desk::new();
    desk.write("playbook.yaml", SLOW);
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the second check has started", || desk.path().join("started").exists());
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");

    let document = desk.show("last");
    assert_eq!(document["run"]["status"], "running");
    assert_eq!(document["checks"]["first"]["status"], "succeeded");
    assert_eq!(document["checks"]["second"]["status"], "running");
    assert_eq!(document["checks"]["third"]["status"], "pending");
    let shown = desk.escrow(&["runs", "show", "last"]).stdout;
    assert!(shown.contains("the process that drove this run is gone"), "{shown}");
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0));

    desk.write("go", "");
    let resumed = desk.escrow(&["resume", "last", "--output", "json"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(resumed.json()["run"]["status"], "completed");
    assert_eq!(desk.read("trace"), "one\ntwo\ntwo\nthree\n", "what was confirmed is not repeated");
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0));
}

#[test]
fn an_external_effect_that_was_cut_off_is_unknown_and_waits_for_a_person() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
checks:
  post:
    type: command
    criticality: external
    assume: "true"
    guarantee: "true"
    exec: "echo posted >> trace; touch started; sleep 60"
"#,
    );
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the effect has begun", || desk.path().join("started").exists());
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");

    let resumed = desk.escrow(&["resume", "last", "--output", "json"]);
    assert_eq!(resumed.code, Some(4), "{}", resumed.stderr);
    assert_eq!(resumed.json()["run"]["reason"]["code"], "run.waiting.unknown_effect");
    assert_eq!(resumed.json()["checks"]["post"]["status"], "unknown");
    assert_eq!(desk.read("trace"), "posted\n", "an effect is never repeated by itself");

    let assumed = desk.escrow(&["resume", "last", "--assume", "post=done", "--output", "json"]);
    assert_eq!(assumed.code, Some(0), "{}", assumed.stderr);
    assert_eq!(desk.show("last")["checks"]["post"]["status"], "succeeded");
    assert_eq!(desk.read("trace"), "posted\n");
}

#[test]
fn ctrl_c_ends_every_child_and_says_so() {
    let desk = Desk::new();
    let mark = format!("sleep 61.{}", std::process::id());
    desk.write(
        "playbook.yaml",
        &format!("checks: {{a: {{type: command, exec: 'touch started; setsid {mark} & {mark}'}}}}"),
    );
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the command has started", || desk.path().join("started").exists());
    signal(child.id(), Signal::INT);
    let status = child.wait().expect("it ends");
    assert_eq!(status.code(), Some(130));
    desk.until("no child is left", || !is_running(&mark));
    let document = desk.show("last");
    assert_eq!(document["run"]["status"], "cancelled");
    assert_eq!(document["run"]["reason"]["code"], "run.cancelled.system");
}

#[test]
fn a_run_can_be_cancelled_from_another_process() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {a: {type: command, exec: 'touch started; sleep 60'}}");
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the command has started", || desk.path().join("started").exists());
    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(4), "a live process keeps its run");
    assert_eq!(desk.escrow(&["cancel", "last"]).code, Some(0));
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(desk.show("last")["run"]["reason"]["code"], "run.cancelled.user");
    assert_eq!(desk.escrow(&["cancel", "last"]).code, Some(4), "it has ended");
}

#[test]
fn a_run_that_nobody_drives_can_be_cancelled() {
    let desk = Desk::new();
    desk.write("playbook.yaml", SLOW);
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the second check has started", || desk.path().join("started").exists());
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
    desk.escrow(&["cancel", "last"]);
    let document = desk.show("last");
    assert_eq!(document["run"]["status"], "cancelled", "{document}");
    assert_eq!(document["checks"]["third"]["skip_reason"], "run_ended");
}

/// A small file system of its own, gone when dropped; `None` where this process may not mount one.
struct SmallDisk(std::path::PathBuf);

impl SmallDisk {
    fn mount(path: &std::path::Path) -> Option<SmallDisk> {
        std::fs::create_dir_all(path).expect("a directory can be made");
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=3m", "tmpfs"]).arg(path).output();
        mounted.is_ok_and(|done| done.status.success()).then(|| SmallDisk(path.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).output());
    }
}

#[test]
fn a_full_disk_ends_the_drive_and_loses_nothing() {
    let desk = Desk::new();
    let path = desk.path().join("small");
    let Some(disk) = SmallDisk::mount(&path) else {
        eprintln!("not shown: this process may not mount a file system");
        return;
    };
    desk.write(
        "playbook.yaml",
        r#"
checks:
  before: {type: command, exec: "echo before >> trace"}
  fill: {type: command, depends_on: before, exec: "test -e filled || { touch filled; cat /dev/zero > small/fill; }; true"}
  after: {type: command, depends_on: fill, exec: "echo after >> trace"}
"#,
    );
    let state = path.join("state").display().to_string();
    let out = desk.path().join("out").display().to_string();
    let full = desk.escrow(&["run", "playbook.yaml", "--state", &state, "--artifacts", &out]);
    assert_eq!(full.code, Some(3), "{}", full.stderr);
    assert!(full.stderr.contains("escrow resume r_"), "{}", full.stderr);
    assert_eq!(desk.read("trace"), "before\n");

    std::fs::remove_file(path.join("fill")).expect("there is room again");
    assert_eq!(desk.escrow(&["verify", "last", "--state", &state]).code, Some(0));
    let resumed = desk.escrow(&["resume", "last", "--state", &state]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(desk.read("trace"), "before\nafter\n");
    drop(disk);
}

#[test]
fn a_busy_run_notices_its_messages() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
routing: {max_loops: 100000}
checks:
  spin: {type: command, exec: "touch started; true", on_success: {goto: spin}}
"#,
    );
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("it spins", || desk.path().join("started").exists());
    assert_eq!(desk.escrow(&["cancel", "last"]).code, Some(0));
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}
