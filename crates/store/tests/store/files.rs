//! Databases that cannot be opened or written: each is a typed error that names the file, and stays as it is.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use escrow_store::{BlockingStore, Durability, Mode, Options, RunFilter, StoreErrorKind};
use rusqlite::Connection;

use crate::child;
use crate::support::{House, check_intact, note, run_id};

fn check_refused(path: &Path, kind: StoreErrorKind) {
    let before = std::fs::read(path).ok();
    for mode in [Mode::Write, Mode::Read] {
        let error = BlockingStore::open(path, mode).map(|_| ()).unwrap_err();
        assert_eq!(error.kind, kind, "{mode:?}");
        assert!(error.message.contains(&path.display().to_string()), "{error}");
        assert!(!error.help().is_empty());
    }
    assert_eq!(std::fs::read(path).ok(), before, "it stays as it was");
}

#[test]
fn what_is_not_a_database_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("escrow.db");
    std::fs::write(
        &path,
        "a message to my aunt, long enough to be taken for a header, and not empty at all\n".repeat(9),
    )
    .unwrap();
    check_refused(&path, StoreErrorKind::NotADatabase);
    let folder = directory.path().join("folder");
    std::fs::create_dir(&folder).unwrap();
    check_refused(&folder, StoreErrorKind::Unopenable);
}

#[test]
fn the_database_of_another_program_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("other.db");
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE recipes (name TEXT)").unwrap();
    check_refused(&path, StoreErrorKind::Foreign);
}

#[test]
fn a_newer_database_is_refused_and_not_touched() {
    let house = House::new();
    let path = house.path();
    house.start("a", 1_000);
    let _keep = house.close();
    Connection::open(&path)
        .unwrap()
        .execute_batch("PRAGMA user_version=99; PRAGMA wal_checkpoint(TRUNCATE)")
        .unwrap();
    let error = BlockingStore::open(&path, Mode::Write).map(|_| ()).unwrap_err();
    let StoreErrorKind::NewerVersion { found: 99, known } = error.kind else { panic!("{error:?}") };
    check_refused(&path, StoreErrorKind::NewerVersion { found: 99, known });
}

#[test]
fn a_missing_directory_is_an_error_when_writing() {
    let directory = tempfile::tempdir().unwrap();
    let error =
        BlockingStore::open(&directory.path().join("no/escrow.db"), Mode::Write).map(|_| ()).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unopenable);
}

/// The bytes of a page, and of one in the log.
const PAGE: usize = 2_048;
const FRAME: usize = PAGE + 24;

/// Then the file alone is a copy of everything.
const FOLD_IN: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

#[test]
fn damaged_pages_are_an_error_and_not_an_answer() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    (1..=50).for_each(|number| tenant.commit(&[note(number)]));
    let run = tenant.run().clone();
    let path = house.path();
    house.tamper(FOLD_IN);
    let _keep = house.close();
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[PAGE..].iter_mut().for_each(|byte| *byte ^= 0x5a);
    std::fs::write(&path, &bytes).unwrap();
    let error = BlockingStore::open(&path, Mode::Read).and_then(|store| store.journal(&run)).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Corrupt);
    assert!(error.message.contains("escrow.db"), "{error}");
}

#[test]
fn a_database_that_stays_locked_is_an_error_and_the_commit_may_be_repeated() {
    let house = House::new();
    let mut setup = house.start("a", 1_000);
    setup.commit(&[note(1)]);
    let options = Options { busy_timeout: Duration::from_millis(50), ..Options::default() };
    let impatient = BlockingStore::open_with(&house.path(), Mode::Write, options).unwrap();
    let tenant = crate::support::Tenant { store: &impatient, lease: setup.lease, seq: 2 };

    let blocker = Connection::open(house.path()).unwrap();
    blocker.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(tenant.try_commit(&[note(2)], &[]).unwrap_err().kind, StoreErrorKind::Locked);
    blocker.execute_batch("ROLLBACK").unwrap();
    let mut tenant = tenant;
    tenant.commit(&[note(2)]);
    check_intact(&impatient, &run_id("a"), 3);
}

#[test]
fn a_store_opened_for_reading_writes_nothing() {
    let house = House::new();
    let setup = house.start("a", 1_000);
    let store = BlockingStore::open(&house.path(), Mode::Read).unwrap();
    let tenant = crate::support::Tenant { store: &store, lease: setup.lease, seq: 1 };
    assert_eq!(tenant.try_commit(&[note(1)], &[]).unwrap_err().kind, StoreErrorKind::ReadOnly);
    assert_eq!(store.rebuild().unwrap_err().kind, StoreErrorKind::ReadOnly);
    check_intact(&store, &run_id("a"), 1);
}

/// As root nothing is read-only, so somebody else has to try.
fn check_read_only(tidy: bool, file_mode: u32) {
    let house = House::new();
    house.start("a", 1_000);
    let path = house.path();
    let directory = path.parent().unwrap().to_owned();
    if !tidy {
        // As if its process still lived, or had been killed: the log stays.
        std::mem::forget(house.store.clone());
    }
    let _keep = house.close();
    let allow =
        |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    allow(&path, file_mode);
    if !tidy {
        allow(&path.with_extension("db-wal"), file_mode & 0o644);
        allow(&path.with_extension("db-shm"), file_mode & 0o644);
    }
    allow(&directory, 0o555);
    if let Some(said) = child::say_as_nobody("list", &path) {
        assert_eq!(said, "Ok(1)", "tidy: {tidy}, mode {file_mode:o}");
        let said = child::say_as_nobody("write", &path).unwrap();
        let refusals = ["Err(ReadOnly)", "Err(Unopenable)"];
        assert!(refusals.contains(&said.as_str()), "{said}, tidy: {tidy}, mode {file_mode:o}");
    }
    allow(&directory, 0o755);
}

#[test]
fn a_read_only_directory_can_be_listed_and_not_written() {
    for tidy in [false, true] {
        for file_mode in [0o444, 0o666] {
            check_read_only(tidy, file_mode);
        }
    }
}

/// How often the write-ahead log was restarted, from the counter in its header.
fn starts_of(log: &Path) -> u32 {
    let header = std::fs::read(log).unwrap();
    u32::from_be_bytes(header[12..16].try_into().unwrap())
}

#[test]
fn a_long_log_is_folded_in_while_others_write_and_read() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    let log = house.path().with_extension("db-wal");
    let first = starts_of(&log);
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let store = BlockingStore::open(&house.path(), Mode::Read).unwrap();
            while !is_done.load(Ordering::Relaxed) {
                store.first_entry(&run_id("a")).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        // When the fold happens depends on the scheduler, so the test waits for it instead of counting pages.
        let mut number = 0;
        while starts_of(&log) < first + 2 && number < 50_000 {
            (0..100).for_each(|offset| tenant.commit(&[note(number + offset)]));
            number += 100;
            // A moment in which the log is not being written, as between the events of a real run.
            std::thread::sleep(Duration::from_millis(1));
        }
        is_done.store(true, Ordering::Relaxed);
        reader.join().unwrap();
    });
    assert!(starts_of(&log) >= first + 2, "the log was never folded in");
    house.store.settle();
    check_intact(&house.store, tenant.run(), tenant.seq);
}

#[test]
fn a_log_that_was_folded_in_is_not_read_by_who_comes_next() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    let log = house.path().with_extension("db-wal");
    let mut number = 0;
    while std::fs::metadata(&log).unwrap().len() < 32 + 2_000 * FRAME as u64 {
        tenant.commit(&[note(number)]);
        number += 1;
    }
    // The commit that made it long was the last.
    house.store.settle();
    let log = std::fs::read(log).unwrap();
    // A page belongs to the log that has its salt in its header.
    let is_new = |page: &usize| log[32 + page * FRAME + 8..][..8] == log[16..24];
    let pages = (0..2_000).take_while(is_new).count();
    assert!((1..10).contains(&pages), "{pages} pages of the log are new");
    check_intact(&house.store, tenant.run(), tenant.seq);
}

/// The files of a database, as `rm escrow.db*` names them.
fn remove(path: &Path, extensions: &[&str]) {
    for extension in extensions {
        std::fs::remove_file(path.with_extension(extension)).unwrap();
    }
}

#[test]
fn a_database_that_was_removed_while_open_takes_no_commit_and_gives_no_answer() {
    let whole = ["db", "db-wal", "db-shm", "db-mark"];
    for removed in [&whole[..], &["db"], &["db-wal"]] {
        for durability in [Durability::Grouped, Durability::Full] {
            let house = House::new();
            let mut tenant = house.start("a", 1_000);
            tenant.commit(&[note(1)]);
            check_intact(&house.store, tenant.run(), 2);
            remove(&house.path(), removed);
            let error = tenant.try_commit_as(durability, &[note(2)], &[]).unwrap_err();
            assert_eq!(error.kind, StoreErrorKind::Replaced, "{removed:?}: {error}");
            assert!(error.message.contains("escrow.db"), "{error}");
            if removed.contains(&"db") {
                assert_eq!(
                    house.store.runs(&RunFilter::default()).unwrap_err().kind,
                    StoreErrorKind::Replaced
                );
                assert_eq!(house.store.version().unwrap_err().kind, StoreErrorKind::Replaced);
                assert!(!house.path().exists(), "it is not made again");
            }
        }
    }
}

#[test]
fn a_database_that_was_replaced_by_another_is_neither_written_nor_read() {
    let (house, other) = (House::new(), House::new());
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[note(1)]);
    other.start("b", 1_000);
    other.tamper(FOLD_IN);
    remove(&house.path(), &["db", "db-wal", "db-shm"]);
    std::fs::copy(other.path(), house.path()).unwrap();
    let before = std::fs::read(house.path()).unwrap();
    assert_eq!(tenant.try_commit(&[note(2)], &[]).unwrap_err().kind, StoreErrorKind::Replaced);
    assert_eq!(house.store.runs(&RunFilter::default()).unwrap_err().kind, StoreErrorKind::Replaced);
    assert_eq!(std::fs::read(house.path()).unwrap(), before, "the other one stays as it was");
}

#[test]
fn a_database_that_was_put_back_is_used_again() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[note(1)]);
    let away = house.path().with_file_name("away.db");
    std::fs::rename(house.path(), &away).unwrap();
    assert_eq!(tenant.try_commit(&[note(2)], &[]).unwrap_err().kind, StoreErrorKind::Replaced);
    std::fs::rename(&away, house.path()).unwrap();
    tenant.commit(&[note(2)]);
    check_intact(&house.store, tenant.run(), 3);
}
