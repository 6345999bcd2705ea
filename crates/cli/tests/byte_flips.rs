//! A byte that changed in the database or in its log is noticed, or it changed nothing that was recorded.
//!
//! `ESCROW_FLIPS_SEED` chooses other bytes. The long form runs on demand: `just torture`.

#![allow(clippy::print_stderr, reason = "a test of chance says which chance it took")]

mod chance;
mod desk;

use std::fs;
use std::path::Path;

use chance::Chance;
use desk::{Desk, signal};
use escrow_model::RunId;
use escrow_store::{BlockingStore, Mode, RunFilter, StoredEntry};
use rustix::process::Signal;

const FLIPS_SAMPLED: u64 = 40;
const FLIPS: u64 = 200;

const PLAYBOOK: &str = "
version: '1.0'
name: flips
checks:
  one: {type: command, exec: 'echo one'}
  two: {type: command, depends_on: one, exec: 'echo two', guarantee: 'output == \"two\"'}
";

/// A run that waits for its command, so that its process can be killed.
const SLOW: &str = "
version: '1.0'
name: slow
checks:
  one: {type: command, exec: 'echo one'}
  two: {type: command, depends_on: one, exec: 'touch begun; sleep 60'}
";

/// What was recorded: every journal, byte for byte, and what `runs` shows of it.
#[derive(Debug, PartialEq)]
struct Record {
    journals: Vec<(RunId, Vec<StoredEntry>)>,
    rows: String,
}

/// `None` when something was noticed.
fn read(database: &Path) -> Option<Record> {
    let store = BlockingStore::open(database, Mode::Read).ok()?;
    let verified = store.verify_state().ok()??;
    if !verified.breaks.is_empty() || !store.losses().ok()?.is_empty() {
        return None;
    }
    let rows = store.runs(&RunFilter::default()).ok()?;
    let journals = rows.iter().map(|row| Some((row.id.clone(), store.journal(&row.id).ok()?)));
    Some(Record { journals: journals.collect::<Option<_>>()?, rows: format!("{rows:?}") })
}

/// A state with finished runs in its database, and one whose process was killed in its log.
fn state() -> Desk {
    let desk = Desk::new();
    for _ in 0..3 {
        assert_eq!(desk.run(PLAYBOOK).0, Some(0));
    }
    desk.write("slow.yaml", SLOW);
    let mut child = desk.start(&["run", "slow.yaml"]);
    desk.until("the command runs", || desk.path().join("begun").exists());
    signal(child.id(), Signal::KILL);
    child.wait().expect("it is gone");
    desk
}

const FILES: [&str; 3] = ["escrow.db", "escrow.db-wal", "escrow.db-mark"];

fn check(flips: u64) {
    let seed = std::env::var("ESCROW_FLIPS_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or(7);
    eprintln!("ESCROW_FLIPS_SEED={seed}");
    let desk = state();
    let original = desk.path().join(".escrow");
    let copy = |to: &Path| {
        fs::create_dir_all(to).expect("a directory");
        for file in FILES {
            fs::copy(original.join(file), to.join(file)).expect("a copy");
        }
    };
    let whole = desk.path().join("whole");
    copy(&whole);
    let expected = read(&whole.join("escrow.db")).expect("the original is sound");
    assert_eq!(expected.journals.len(), 4);
    let mut chance = Chance(seed);
    for target in ["escrow.db", "escrow.db-wal"] {
        let mut noticed = 0;
        for number in 0..flips {
            let place = desk.path().join(format!("{target}-{number}"));
            copy(&place);
            let file = place.join(target);
            let mut bytes = fs::read(&file).expect("bytes");
            let at = usize::try_from(chance.below(bytes.len() as u64)).expect("it fits");
            let bit = chance.below(8);
            bytes[at] ^= 1 << bit;
            fs::write(&file, bytes).expect("it is changed");
            match read(&place.join("escrow.db")) {
                None => noticed += 1,
                Some(found) => {
                    assert_eq!(found, expected, "bit {bit} of byte {at} of {target} went unnoticed")
                }
            }
            fs::remove_dir_all(place).expect("it is gone");
        }
        eprintln!(
            "{target}: {noticed} of {flips} flips were noticed, the others changed nothing that was recorded"
        );
        assert!(noticed > 0);
    }
}

#[test]
fn a_flipped_byte_is_noticed_or_changes_nothing() {
    check(FLIPS_SAMPLED);
}

#[test]
#[ignore = "takes minutes; `just torture` runs it"]
fn two_hundred_flipped_bytes_each_in_database_and_log_are_noticed_or_change_nothing() {
    check(FLIPS);
}
