//! Several writers, in threads and in processes, on one database.

use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use escrow_model::Entry;
use escrow_store::{
    BlockingStore, Commit, Committed, Durability, Journal, Lease, Mode, RunFilter, Store, StoreError,
    StoreFuture,
};

use crate::child;
use crate::support::{House, check_intact, entry, note, open, run_id};

#[test]
fn many_runs_commit_through_one_store_and_none_loses_an_entry() {
    let house = House::new();
    std::thread::scope(|scope| {
        for number in 0..16 {
            let house = &house;
            scope.spawn(move || {
                let mut tenant = house.start(&format!("t{number}"), 1_000);
                (0..50).for_each(|number| tenant.commit(&[note(number)]));
            });
        }
    });
    (0..16).for_each(|number| check_intact(&house.store, &run_id(&format!("t{number}")), 51));
    assert_eq!(house.store.feed(0, 10_000).unwrap().len(), 16 * 51);
}

#[test]
fn several_processes_commit_to_one_database() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("escrow.db");
    // They also race to make it.
    let children: Vec<_> = (0..4).map(|_| child::command("commit 200", &path).spawn().unwrap()).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
    let store = BlockingStore::open(&path, Mode::Read).unwrap();
    let runs = store.runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len(), 4);
    runs.iter().for_each(|run| check_intact(&store, &run.id, 201));
}

#[test]
fn many_may_make_the_database_at_once() {
    for _ in 0..5 {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("escrow.db");
        std::thread::scope(|scope| {
            (0..8).for_each(|_| {
                scope.spawn(|| open(&path));
            });
        });
        open(&path).rebuild().unwrap();
    }
}

#[test]
fn commits_are_answered_in_their_order_when_they_are_polled_in_it() {
    let house = House::new();
    let tenant = house.start("a", 1_000);
    let entries: Vec<_> = (0..100).map(|number| [entry(2_000, note(number))]).collect();
    let mut commits: Vec<_> = (0..)
        .zip(&entries)
        .map(|(number, entries)| {
            let durability = if number % 10 == 0 { Durability::Full } else { Durability::Grouped };
            commit(&house.shared, &tenant.lease, 1 + number, entries, durability)
        })
        .collect();
    let mut ready: Vec<_> = commits.iter_mut().map(poll_once).collect();
    for (answer, commit) in ready.iter_mut().zip(commits) {
        answer.get_or_insert_with(|| block_on(commit));
    }
    let expected: Vec<_> = (0..100).map(|number| Committed::Done { seq: 2 + number }).collect();
    assert_eq!(ready.into_iter().flatten().map(Result::unwrap).collect::<Vec<_>>(), expected);
}

#[test]
fn a_grouped_commit_is_done_at_its_first_poll() {
    let house = House::new();
    let tenant = house.start("a", 1_000);
    let entries = [entry(2_000, note(1))];
    let mut grouped = commit(&house.shared, &tenant.lease, 1, &entries, Durability::Grouped);
    let answer = poll_once(&mut grouped).expect("nothing keeps it from being written").unwrap();
    assert_eq!(answer, Committed::Done { seq: 2 });
}

#[test]
fn a_task_is_not_blocked_while_another_process_writes() {
    let house = House::new();
    let tenant = house.start("a", 1_000);
    let other = rusqlite::Connection::open(house.path()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let entries = [entry(2_000, note(1))];
    let mut waiting = commit(&house.shared, &tenant.lease, 1, &entries, Durability::Grouped);
    let asked = Instant::now();
    assert!(poll_once(&mut waiting).is_none(), "the database is locked");
    assert!(asked.elapsed() < Duration::from_secs(5), "the writer's thread waits, the task does not");
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(block_on(waiting).unwrap(), Committed::Done { seq: 2 });
}

#[test]
fn a_queued_commit_is_written_before_the_store_is_gone() {
    let house = House::new();
    let path = house.path();
    let other = Store::open(&path, Mode::Write).unwrap();
    let tenant = crate::support::start_in(other.blocking(), "a", 1_000);
    for number in 0..50 {
        let entries = [entry(2_000, note(number))];
        // The answer is not waited for.
        let durability = if number % 2 == 0 { Durability::Full } else { Durability::Grouped };
        drop(poll_once(&mut commit(&other, &tenant.lease, 1 + number, &entries, durability)));
    }
    drop(other);
    check_intact(&house.store, &run_id("a"), 51);
}

type Answer = Result<Committed, StoreError>;

fn commit<'a>(
    store: &'a Store,
    lease: &'a Lease,
    expected_seq: u64,
    entries: &'a [Entry],
    durability: Durability,
) -> StoreFuture<'a, Answer> {
    Journal::commit(store, Commit { lease, expected_seq, entries, delivered: &[], durability })
}

fn poll_once(future: &mut StoreFuture<'_, Answer>) -> Option<Answer> {
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}
