//! A state that is damaged, newer than this Escrow, read-only, or wanted by two at once: it is said clearly, nothing
//! is run, and nothing is lost.

#![allow(clippy::print_stderr, reason = "what cannot be shown here is said")]

mod desk;

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use desk::{Desk, Done};

const PLAYBOOK: &str = "checks: {a: {type: command, exec: 'echo ran >> trace'}}";

/// A state with one finished run in it, folded into one file.
fn home() -> Desk {
    let desk = Desk::new();
    let (code, document) = desk.run(PLAYBOOK);
    assert_eq!(code, Some(0), "{document}");
    let folded = database(&desk).query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    assert_eq!(folded, Ok(0));
    desk
}

fn file(desk: &Desk) -> PathBuf {
    desk.path().join(".escrow/escrow.db")
}

fn database(desk: &Desk) -> rusqlite::Connection {
    rusqlite::Connection::open(file(desk)).expect("the database opens")
}

#[track_caller]
fn refused(done: &Done, says: &str) {
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    assert!(done.stderr.contains(says), "{}", done.stderr);
    assert!(!done.stderr.contains("panicked"), "{}", done.stderr);
}

#[test]
fn a_damaged_database_is_told_and_left_as_it_is() {
    let desk = home();
    // Everything but the header page: the tables are gone, and what is left is no tree.
    let size = fs::metadata(file(&desk)).expect("a file").len();
    let damaged = fs::OpenOptions::new().write(true).open(file(&desk)).expect("it opens");
    let nonsense: Vec<u8> =
        (0_u8..=255).cycle().take(usize::try_from(size).expect("it fits") - 4_096).collect();
    damaged.write_all_at(&nonsense, 4_096).expect("it is damaged");
    drop(damaged);
    let before = fs::read(file(&desk)).expect("bytes");
    for arguments in
        [&["runs"][..], &["runs", "show", "last"], &["verify", "last"], &["run", "playbook.yaml"]]
    {
        refused(&desk.escrow(arguments), "escrow.db");
    }
    assert_eq!(desk.read("trace"), "ran\n", "nothing was run");
    assert_eq!(fs::read(file(&desk)).expect("bytes"), before, "it may still be mended");
}

#[test]
fn a_database_that_was_cut_short_is_told() {
    let desk = home();
    let size = fs::metadata(file(&desk)).expect("a file").len();
    fs::OpenOptions::new().write(true).open(file(&desk)).expect("it opens").set_len(size / 2).expect("cut");
    refused(&desk.escrow(&["runs", "show", "last"]), "escrow.db");
    refused(&desk.escrow(&["run", "playbook.yaml"]), "escrow.db");
    assert_eq!(desk.read("trace"), "ran\n");
}

#[test]
fn a_database_of_a_newer_escrow_is_told_and_not_touched() {
    let desk = home();
    database(&desk).execute_batch("PRAGMA user_version = 9999").expect("a newer version");
    let before = fs::read(file(&desk)).expect("bytes");
    for arguments in [&["runs"][..], &["run", "playbook.yaml"], &["resume", "--all"], &["gc", "--keep", "9"]]
    {
        refused(&desk.escrow(arguments), "newer Escrow");
    }
    assert_eq!(desk.read("trace"), "ran\n");
    assert_eq!(fs::read(file(&desk)).expect("bytes"), before);
}

#[test]
fn an_entry_of_a_newer_escrow_is_named() {
    let desk = home();
    let changed = database(&desk)
        .execute("UPDATE entries SET bytes = CAST(replace(CAST(bytes AS TEXT), '\"v\":', '\"v\":99') AS BLOB) WHERE seq = 3", [])
        .expect("an entry is changed");
    assert_eq!(changed, 1);
    for arguments in [&["runs", "show", "last"][..], &["explain", "last"]] {
        refused(&desk.escrow(arguments), "entry 3");
    }
    refused(&desk.escrow(&["verify", "last"]), "entry 3");
}

/// A file system that can be made read-only, even for root; `None` where this process may not mount one.
struct Mounted(PathBuf);

impl Mounted {
    fn new(path: &Path) -> Option<Mounted> {
        fs::create_dir_all(path).expect("a directory can be made");
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(path).output();
        done.is_ok_and(|done| done.status.success()).then(|| Mounted(path.to_owned()))
    }

    fn allow(&self, mode: &str) {
        let done = Command::new("mount").args(["-o", &format!("remount,{mode}")]).arg(&self.0).status();
        assert!(done.is_ok_and(|status| status.success()), "it can be mounted {mode}");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(&self.0).output());
    }
}

#[test]
fn a_read_only_state_can_be_read_and_not_written() {
    let desk = Desk::new();
    let Some(disk) = Mounted::new(&desk.path().join("disk")) else {
        eprintln!("not shown: this process may not mount a file system");
        return;
    };
    desk.write("playbook.yaml", PLAYBOOK);
    let state = desk.path().join("disk/state").display().to_string();
    let artifacts = desk.path().join("out").display().to_string();
    let run = ["run", "playbook.yaml", "--state", &state, "--artifacts", &artifacts];
    assert_eq!(desk.escrow(&run).code, Some(0));
    disk.allow("ro");
    let listed = desk.escrow(&["runs", "--state", &state, "--output", "json"]);
    assert_eq!(listed.code, Some(0), "{}", listed.stderr);
    assert_eq!(listed.json()["runs"][0]["status"], "completed");
    refused(&desk.escrow(&run), "state");
    assert_eq!(desk.read("trace"), "ran\n", "nothing was run");
    disk.allow("rw");
    assert_eq!(desk.escrow(&["verify", "last", "--state", &state]).code, Some(0), "nothing was lost");
    assert_eq!(desk.escrow(&run).code, Some(0));
}

#[test]
fn of_two_who_want_a_run_one_drives_it() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "checks: {a: {type: command, exec: 'echo a >> trace; touch started; test -e go || sleep 60'}, \
         b: {type: command, depends_on: a, exec: 'echo b >> trace; sleep 1'}}",
    );
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the command has started", || desk.path().join("started").exists());
    child.kill().expect("it can be killed");
    child.wait().expect("it is gone");
    desk.write("go", "");
    let both: Vec<_> = (0..2).map(|_| desk.start(&["resume", "last"])).collect();
    let mut codes: Vec<_> = both.into_iter().map(|mut child| child.wait().expect("it ends").code()).collect();
    codes.sort_unstable();
    assert_eq!(codes, [Some(0), Some(4)], "the other one is told that it is held, or that it has ended");
    assert_eq!(desk.read("trace"), "a\na\nb\n", "what was cut off ran again, and nothing twice");
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0));
}

#[test]
fn a_run_whose_database_is_removed_acts_no_more() {
    let desk = Desk::new();
    desk.write(
        "cut.yaml",
        "checks:
  cut: {type: command, exec: 'rm -f .escrow/escrow.db*'}
  ship: {type: command, depends_on: cut, exec: touch shipped, criticality: external, idempotent: true}
",
    );
    refused(&desk.escrow(&["run", "cut.yaml"]), "was removed or replaced while it was open");
    assert!(!desk.path().join("shipped").exists(), "an effect without a record");
}

#[test]
fn a_missing_database_is_damage_where_files_of_runs_are_beside_it() {
    let desk = home();
    let state = desk.path().join(".escrow");
    for side in ["escrow.db", "escrow.db-wal", "escrow.db-shm", "escrow.db-mark"] {
        drop(fs::remove_file(state.join(side)));
    }
    for arguments in
        [&["runs"][..], &["run", "playbook.yaml"], &["attention"], &["approve", "a_1"], &["resume", "--all"]]
    {
        let done = desk.escrow(arguments);
        refused(&done, "is missing, but files of its runs are beside it");
        assert!(done.stderr.contains("restore it from a backup"), "{}", done.stderr);
    }
    assert_eq!(desk.read("trace"), "ran\n", "nothing was run");
    assert!(!file(&desk).exists(), "no new one was made");
    for folder in ["artifacts", "spool"] {
        drop(fs::remove_dir_all(state.join(folder)));
    }
    assert_eq!(desk.escrow(&["runs"]).stdout, "no runs\n");
    fs::write(state.join("escrow.db-wal"), "the latest commits").expect("a log");
    refused(&desk.escrow(&["run", "playbook.yaml"]), "is missing");
}

/// A process that is killed while it creates the database leaves such a file; one with files of runs beside it was
/// emptied.
#[test]
fn an_empty_database_is_damage_where_files_of_runs_are_beside_it() {
    let desk = home();
    fs::write(file(&desk), "").expect("it can be emptied");
    for side in ["escrow.db-wal", "escrow.db-shm"] {
        drop(fs::remove_file(desk.path().join(".escrow").join(side)));
    }
    for arguments in [&["runs"][..], &["run", "playbook.yaml"], &["attention"]] {
        refused(&desk.escrow(arguments), "is empty, but files of its runs are beside it");
    }
    for folder in ["artifacts", "spool"] {
        drop(fs::remove_dir_all(desk.path().join(".escrow").join(folder)));
    }
    assert_eq!(desk.escrow(&["runs"]).stdout, "no runs\n");
}
