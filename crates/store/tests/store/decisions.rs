//! Decisions about waits: the first word wins, in one transaction.

use escrow_model::{Event, Message, ScopePath, WaitKind};
use escrow_store::{Commit, Committed, Decided, Durability, NotAccepted};

use crate::support::{House, entry, run_id};

const FAR_AWAY: u64 = 4_000_000_000_000;

fn asked(id: &str, expires_at: u64) -> Event {
    Event::WaitStarted {
        nested_reason: None,
        check: "post".into(),
        scope: ScopePath::root(),
        kind: WaitKind::Approval,
        id: id.into(),
        digest: String::new(),
        subject: None,
        replaces: None,
        prompt: "publish?".into(),
        choices: Vec::new(),
        expires_at: Some(expires_at),
    }
}

fn approve(id: &str, by: &str) -> Message {
    Message::Approve { id: id.into(), by: Some(by.into()), claim: None, note: None }
}

fn deny(id: &str) -> Message {
    Message::Deny { id: id.into(), by: Some("os:ben".into()), claim: None, note: None }
}

#[test]
fn the_first_decision_is_accepted_and_every_later_one_refused() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[asked("w1", FAR_AWAY)]);
    let run = run_id("a");
    let decide = |message: &Message| house.store.decide(&run, message, "test").unwrap();
    let Decided::Accepted(first) = decide(&approve("w1", "os:ann")) else { panic!("it is the first word") };
    assert_eq!(decide(&deny("w1")), Decided::Refused(NotAccepted::Decided));
    assert_eq!(decide(&approve("w1", "os:cid")), Decided::Refused(NotAccepted::Decided));
    assert!(house.store.waits_named("w1").unwrap()[0].has_recorded_decision);
    let delivered = Event::MessageDelivered {
        message: approve("w1", "os:ann"),
        refused: None,
        refusal: None,
        effect: None,
        sent_at: None,
    };
    tenant.commit_opening(&[delivered], &[first]);
    assert_eq!(decide(&deny("w1")), Decided::Refused(NotAccepted::Resolved("approved".into())));
    assert_eq!(decide(&deny("w9")), Decided::Refused(NotAccepted::Gone));
}

#[test]
fn of_many_processes_at_once_exactly_one_decides() {
    let house = House::new();
    house.start("a", 1_000).commit(&[asked("w1", FAR_AWAY)]);
    let run = run_id("a");
    let accepted = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..8)
            .map(|number| {
                let (run, house) = (&run, &house);
                let message = if number % 2 == 0 { approve("w1", "os:ann") } else { deny("w1") };
                scope.spawn(move || house.store.decide(run, &message, "test").unwrap())
            })
            .collect();
        let decided = racers.into_iter().map(|racer| racer.join().expect("it ends"));
        decided.filter(|decided| matches!(decided, Decided::Accepted(_))).count()
    });
    assert_eq!(accepted, 1);
}

#[test]
fn a_wait_that_was_decided_in_time_cannot_expire() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[asked("w1", FAR_AWAY), asked("w2", 1_001)]);
    let run = run_id("a");
    let Decided::Accepted(id) = house.store.decide(&run, &approve("w1", "os:ann"), "test").unwrap() else {
        panic!("it is in time")
    };
    let late = house.store.decide(&run, &approve("w2", "os:ann"), "test").unwrap();
    assert_eq!(late, Decided::Refused(NotAccepted::Expired));
    let expired = [Event::WaitExpired { id: "w1".into() }];
    assert_eq!(tenant.try_commit(&expired, &[]).unwrap(), Committed::DecidedInTime);
    let delivered = Event::MessageDelivered {
        message: approve("w1", "os:ann"),
        refused: None,
        refusal: None,
        effect: None,
        sent_at: None,
    };
    assert!(matches!(tenant.try_commit(&[delivered], &[id]), Ok(Committed::Done { .. })));
}

#[test]
fn what_is_late_for_the_journal_of_a_run_is_late_for_a_slower_clock_as_well() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[asked("w1", FAR_AWAY)]);
    let later = entry(FAR_AWAY + 1, Event::DeadlinePassed {});
    let commit = Commit {
        lease: &tenant.lease,
        expected_seq: tenant.seq,
        entries: &[later],
        delivered: &[],
        durability: Durability::Grouped,
    };
    assert!(matches!(house.store.commit(commit), Ok(Committed::Done { .. })));
    let decided = house.store.decide(&run_id("a"), &approve("w1", "os:ann"), "test").unwrap();
    assert_eq!(decided, Decided::Refused(NotAccepted::Expired));
}
