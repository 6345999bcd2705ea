//! After an orderly exit the journal is one file; a log that vanished is noticed; a backup is a whole state.

mod desk;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use desk::{Desk, Done, signal};
use rustix::process::Signal;
use serde_json::Value;

const PLAYBOOK: &str = "
version: '1.0'
name: deliver
artifacts:
  expected: [{id: note, path: note.md}]
checks:
  write: {type: command, exec: 'echo hello > $ESCROW_ARTIFACTS/note.md; head -c 100000 /dev/zero | tr \"\\\\0\" x'}
";

/// The files of the database in a state directory.
fn database_files(state: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(state)
        .expect("a state directory")
        .flatten()
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("escrow.db"))
        .collect();
    names.sort_unstable();
    names
}

fn state(desk: &Desk) -> std::path::PathBuf {
    desk.path().join(".escrow")
}

#[test]
fn after_every_orderly_exit_the_journal_is_one_file() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    desk.write("asks.yaml", "version: '1.0'\nchecks: {ask: {type: human-input, prompt: 'go?'}}\n");
    desk.write("fails.yaml", "version: '1.0'\nchecks: {a: {type: command, exec: 'exit 3'}}\n");
    for (arguments, code) in [
        (&["run", "playbook.yaml"][..], 0),
        (&["run", "fails.yaml"], 1),
        (&["run", "asks.yaml"], 4),
        (&["runs"], 0),
        (&["cancel", "last"], 0),
        (&["verify", "--all"], 0),
        (&["runs", "export", "last", "--out", "run.json"], 0),
        (&["gc", "--keep", "1"], 0),
        (&["lifecycle", "receipt", "list", "--extended", "--ledger", ".escrow/escrow.db"], 0),
    ] {
        let done = desk.escrow(arguments);
        assert_eq!(done.code, Some(code), "{arguments:?}: {}", done.stderr);
        assert_eq!(database_files(&state(&desk)), ["escrow.db"], "{arguments:?}");
    }
}

#[test]
fn many_processes_leave_one_file_when_the_last_has_exited() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    let mut children: Vec<_> = (0..6).map(|_| desk.start(&["run", "playbook.yaml"])).collect();
    for child in &mut children {
        assert!(child.wait().expect("it ends").success());
    }
    assert_eq!(database_files(&state(&desk)), ["escrow.db"]);
    let runs = desk.escrow(&["runs", "--output", "json"]).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(6));
}

/// A run whose process was killed while a command ran: its last commits lie in the log.
fn killed(desk: &Desk) -> String {
    desk.write(
        "slow.yaml",
        "version: '1.0'\nname: slow\nchecks: {a: {type: command, exec: 'touch begun; sleep 60'}}\n",
    );
    let mut child = desk.start(&["run", "slow.yaml"]);
    desk.until("the command runs", || desk.path().join("begun").exists());
    signal(child.id(), Signal::KILL);
    child.wait().expect("it is gone");
    desk.escrow(&["runs", "--output", "json", "--quiet"]).json()["runs"][0]["id"]
        .as_str()
        .expect("a run")
        .to_owned()
}

fn missing(desk: &Desk) -> Value {
    desk.escrow(&["runs", "--output", "json"]).json()["missing"].clone()
}

#[test]
fn a_log_that_vanished_while_no_process_lived_is_noticed() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    // Killed before anything reads, so that the log still holds the run.
    desk.write("slow.yaml", "version: '1.0'\nchecks: {a: {type: command, exec: 'touch begun; sleep 60'}}\n");
    let mut child = desk.start(&["run", "slow.yaml"]);
    desk.until("the command runs", || desk.path().join("begun").exists());
    signal(child.id(), Signal::KILL);
    child.wait().expect("it is gone");
    assert!(database_files(&state(&desk)).contains(&"escrow.db-wal".to_owned()));
    for gone in ["escrow.db-wal", "escrow.db-shm"] {
        fs::remove_file(state(&desk).join(gone)).expect("it can be removed");
    }
    let said = desk.escrow(&["runs"]);
    assert_eq!(said.code, Some(0));
    assert!(said.stderr.contains("missing"), "{}", said.stderr);
    let noticed = missing(&desk);
    assert!(noticed[0]["entries"].as_u64() > Some(0), "{noticed}");
    assert!(noticed[0]["run_id"].as_str().is_some_and(|run| run.starts_with("r_")), "{noticed}");
    let lost = noticed[0]["run_id"].as_str().expect("a run").to_owned();
    let verify_says_so = || {
        for arguments in [&["verify", "--all"][..], &["verify", &lost]] {
            let verified = desk.escrow(arguments);
            assert_eq!(verified.code, Some(3), "{arguments:?}: {}{}", verified.stdout, verified.stderr);
            assert!(verified.stderr.contains("that were committed are missing"), "{}", verified.stderr);
        }
    };
    verify_says_so();
    // The next writer keeps what is known, and goes on.
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    verify_says_so();
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0), "the run after the loss has lost nothing");
    assert_eq!(missing(&desk)[0]["run_id"], noticed[0]["run_id"]);
    assert!(missing(&desk)[0]["noticed_at"].is_string());
    assert_eq!(missing(&desk).as_array().map(Vec::len), Some(1));
}

#[test]
fn a_log_that_vanished_with_the_first_run_is_noticed_although_no_database_is_left() {
    let desk = Desk::new();
    desk.write("slow.yaml", "version: '1.0'\nchecks: {a: {type: command, exec: 'touch begun; sleep 60'}}\n");
    let mut child = desk.start(&["run", "slow.yaml"]);
    desk.until("the command runs", || desk.path().join("begun").exists());
    signal(child.id(), Signal::KILL);
    child.wait().expect("it is gone");
    fs::remove_file(state(&desk).join("escrow.db-wal")).expect("it can be removed");
    for _ in 0..2 {
        assert!(missing(&desk)[0]["entries"].as_u64() > Some(0));
        let verified = desk.escrow(&["verify", "--all"]);
        assert_eq!(verified.code, Some(3), "{}{}", verified.stdout, verified.stderr);
        assert!(verified.stderr.contains("that were committed are missing"), "{}", verified.stderr);
    }
}

#[test]
fn a_pipe_in_place_of_the_mark_keeps_nobody_waiting() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    let pipe = std::process::Command::new("mkfifo").arg(state(&desk).join("escrow.db-mark")).status();
    assert!(pipe.expect("mkfifo runs").success());
    for arguments in [&["runs"][..], &["run", "playbook.yaml"], &["verify", "--all"]] {
        let mut child = desk.start(arguments);
        desk.until("it has ended", || child.try_wait().expect("it can be asked").is_some());
    }
}

#[test]
fn a_log_that_was_cut_is_noticed_and_verify_names_the_run() {
    let desk = Desk::new();
    desk.write("slow.yaml", "version: '1.0'\nchecks: {one: {type: command, exec: 'sleep 0.2'}, two: {type: command, depends_on: one, exec: 'touch begun; sleep 60'}}\n");
    let mut child = desk.start(&["run", "slow.yaml"]);
    desk.until("the command runs", || desk.path().join("begun").exists());
    signal(child.id(), Signal::KILL);
    child.wait().expect("it is gone");
    let log = state(&desk).join("escrow.db-wal");
    let length = fs::metadata(&log).expect("a log").len();
    // The last two frames are gone.
    fs::OpenOptions::new()
        .write(true)
        .open(&log)
        .expect("it opens")
        .set_len(length - 2 * (2_048 + 24))
        .expect("cut");
    let noticed = missing(&desk);
    assert!(noticed[0]["entries"].as_u64() > Some(0), "{noticed}");
    let run = noticed[0]["run_id"].as_str().expect("a run");
    let verified = desk.escrow(&["verify", run]);
    assert_eq!(verified.code, Some(3), "{}", verified.stderr);
}

#[test]
fn a_process_that_was_killed_loses_nothing_and_nothing_is_called_missing() {
    let desk = Desk::new();
    let run = killed(&desk);
    assert_eq!(missing(&desk), Value::Null);
    assert_eq!(desk.escrow(&["verify", &run]).code, Some(0));
    assert_eq!(desk.escrow(&["cancel", &run]).code, Some(0));
    assert_eq!(database_files(&state(&desk)), ["escrow.db"]);
    assert_eq!(missing(&desk), Value::Null);
}

#[test]
fn a_backup_is_a_state_directory_with_everything_in_it() {
    let desk = Desk::new();
    desk.write("playbook.yaml", PLAYBOOK);
    desk.write(".escrow/playbooks/own.yaml", PLAYBOOK);
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    let hash = desk.escrow(&["verify", "--all", "--output", "json"]).json()["hash"]
        .as_str()
        .expect("a hash")
        .to_owned();
    let done = desk.escrow(&["backup", "copy", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(done.json()["backup"]["runs"], 1);
    let there = |arguments: &[&str]| {
        let mut all = arguments.to_vec();
        all.extend(["--state", "copy"]);
        desk.escrow(&all)
    };
    assert_eq!(there(&["verify", "--all", "--expect", &hash]).code, Some(0));
    assert_eq!(there(&["artifacts", "last", "--get", "note"]).code, Some(0));
    assert_eq!(there(&["logs", "last"]).stdout.len(), desk.escrow(&["logs", "last"]).stdout.len());
    assert!(desk.path().join("copy/playbooks/own.yaml").exists());
    assert_eq!(database_files(&desk.path().join("copy")), ["escrow.db"]);
    assert_eq!(fs::metadata(desk.path().join("copy")).expect("it is there").mode() & 0o777, 0o700);
    // Restoring is copying it back.
    fs::remove_dir_all(state(&desk)).expect("it is gone");
    fs::rename(desk.path().join("copy"), state(&desk)).expect("it is back");
    assert_eq!(desk.escrow(&["verify", "--all", "--expect", &hash]).code, Some(0));
}

#[test]
fn a_backup_replaces_nothing_and_needs_a_state() {
    let desk = Desk::new();
    assert_eq!(desk.escrow(&["backup", "copy"]).code, Some(2), "there is no state");
    desk.write("playbook.yaml", PLAYBOOK);
    assert_eq!(desk.escrow(&["run", "playbook.yaml"]).code, Some(0));
    desk.write("taken", "");
    assert_eq!(desk.escrow(&["backup", "taken"]).code, Some(2));
    assert_eq!(desk.escrow(&["backup", ".escrow/copy"]).code, Some(2));
    assert_eq!(desk.escrow(&["backup", "/proc/nowhere/copy"]).code, Some(3));
}

#[test]
fn a_backup_of_a_state_in_use_is_consistent() {
    let desk = Desk::new();
    desk.write(
        "busy.yaml",
        "version: '1.0'\nname: busy\nchecks:\n  again: {type: command, exec: 'echo x', on_success: {goto: again}}\nrouting: {max_loops: 200}\n",
    );
    let mut children: Vec<_> = (0..2).map(|_| desk.start(&["run", "busy.yaml"])).collect();
    desk.until("a run has begun", || state(&desk).join("escrow.db").exists());
    for number in 0..5 {
        let copy = format!("copy-{number}");
        let done = desk.escrow(&["backup", &copy]);
        assert!(matches!(done.code, Some(0 | 2)), "{}", done.stderr);
        if done.code == Some(0) {
            let verified = desk.escrow(&["verify", "--all", "--state", &copy]);
            assert_eq!(verified.code, Some(0), "{}", verified.stderr);
        }
    }
    for child in &mut children {
        child.kill().expect("it can be killed");
        child.wait().expect("it is gone");
    }
}

#[test]
fn the_backup_of_a_killed_process_has_what_its_log_had() {
    let desk = Desk::new();
    let run = killed(&desk);
    let copied = Done::from(desk.command(&["backup", "copy"]).output().expect("the binary runs"));
    assert_eq!(copied.code, Some(0), "{}", copied.stderr);
    assert_eq!(desk.escrow(&["verify", &run, "--state", "copy"]).code, Some(0));
}
