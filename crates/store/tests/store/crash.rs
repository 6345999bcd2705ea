//! What was confirmed survives a kill at any moment, and a log that was only half written.

use std::io::{BufRead, BufReader};
use std::process::Command;
use std::time::Duration;

use escrow_store::{Committed, StoreErrorKind, Verification};

use crate::child;
use crate::support::{House, check_intact, note, open, run_id, start_in};

#[test]
fn a_killed_process_loses_nothing_that_it_was_told_is_written() {
    for delay_ms in [0, 3, 17, 40] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("escrow.db");
        let mut child = child::command("commit for ever", &path).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let mut confirmed =
            lines.filter_map(|line| line.strip_prefix("done ").map(|seq| seq.parse::<u64>().unwrap()));
        let first = confirmed.next().expect("the child commits");
        std::thread::sleep(Duration::from_millis(delay_ms));
        child.kill().unwrap();
        let last = confirmed.last().unwrap_or(first);
        child.wait().unwrap();

        let store = open(&path);
        let Verification::Intact { entries, .. } = store.verify(&run_id("victim")).unwrap() else {
            panic!("the chain is broken")
        };
        assert!(entries == last || entries == last + 3, "confirmed {last}, found {entries}");
        assert_eq!(store.run("victim").unwrap().seq, entries, "tables and journal agree");
        store.rebuild().unwrap();
        check_intact(&store, &run_id("victim"), entries);
    }
}

#[test]
fn a_half_written_log_loses_whole_commits_only() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    (1..=20).for_each(|number| tenant.commit(&[note(number), note(number)]));
    let log = std::fs::read(house.path().with_extension("db-wal")).unwrap();
    let database = std::fs::read(house.path()).unwrap();
    assert!(log.len() > 20 * 2_048, "the log holds the commits");

    let mut seen = Vec::new();
    for part in [1, 3, 5, 8, 13, 20, 21] {
        let length = log.len() * part / 21;
        // Torn within a page, and followed by what the disk held before.
        let mut torn = log[..length.saturating_sub(usize::from(part < 21) * 100)].to_vec();
        torn.extend_from_slice(&[0xa5; 3000][..usize::from(part < 21) * 3000]);
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("escrow.db");
        std::fs::write(&path, &database).unwrap();
        std::fs::write(directory.path().join("escrow.db-wal"), torn).unwrap();
        let store = open(&path);
        match store.verify(&run_id("a")).unwrap() {
            Verification::Intact { entries, .. } => {
                assert_eq!(entries % 2, 1, "both entries of a commit or none");
                assert_eq!(store.run("a").unwrap().seq, entries);
                seen.push(entries);
            }
            Verification::NoSuchRun => seen.push(0),
            Verification::Broken { seq, reason } => panic!("entry {seq}: {reason}"),
        }
    }
    assert!(seen.is_sorted(), "{seen:?}");
    assert_eq!(seen.last(), Some(&41));
}

#[test]
fn a_disk_that_fills_up_loses_nothing_and_works_again_when_there_is_space() {
    let directory = tempfile::tempdir().unwrap();
    let mount = |options: &str| {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(directory.path());
        command.output().is_ok_and(|done| done.status.success())
    };
    if !mount("size=700k") {
        eprintln!("not shown: this process may not mount a file system");
        return;
    }
    let path = directory.path().join("escrow.db");
    let store = open(&path);
    let mut tenant = start_in(&store, "a", 1_000);
    let events: Vec<_> = (0..20).map(note).collect();
    let error = loop {
        match tenant.try_commit(&events, &[]) {
            Ok(done) => {
                tenant.seq += 20;
                assert_eq!(done, Committed::Done { seq: tenant.seq });
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind, StoreErrorKind::DiskFull, "{error:?}");
    check_intact(&store, &run_id("a"), tenant.seq);
    assert!(mount("remount,size=8m"));
    tenant.commit(&events);
    check_intact(&open(&path), &run_id("a"), tenant.seq);
    drop(store);
    assert!(Command::new("umount").arg("--lazy").arg(directory.path()).status().unwrap().success());
}
