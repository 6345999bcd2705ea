//! Several writers, in threads and in processes, on one database.

use std::sync::mpsc::channel;

use escrow_store::{Commit, Committed, Durability, Mode, RunFilter, Store};

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
    let store = Store::open(&path, Mode::Read).unwrap();
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
fn answers_reach_a_callback_in_the_order_of_the_commits() {
    let house = House::new();
    let tenant = house.start("a", 1_000);
    let (sender, answers) = channel();
    for number in 0..100 {
        let sender = sender.clone();
        let commit = Commit {
            lease: &tenant.lease,
            expected_seq: 1 + number,
            entries: &[entry(2_000, note(number))],
            delivered: &[],
            durability: if number % 10 == 0 { Durability::Full } else { Durability::Grouped },
        };
        house.store.commit_with(commit, move |answer| sender.send(answer.unwrap()).unwrap());
    }
    drop(sender);
    let expected: Vec<_> = (0..100).map(|number| Committed::Done { seq: 2 + number }).collect();
    assert_eq!(answers.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn what_is_queued_is_written_before_the_store_is_gone() {
    let house = House::new();
    let path = house.path();
    let other = open(&path);
    let tenant = crate::support::start_in(&other, "a", 1_000);
    for number in 0..50 {
        let commit = Commit {
            lease: &tenant.lease,
            expected_seq: 1 + number,
            entries: &[entry(2_000, note(number))],
            delivered: &[],
            durability: Durability::Grouped,
        };
        other.commit_with(commit, |_| {});
    }
    drop(other);
    check_intact(&house.store, &run_id("a"), 51);
}
