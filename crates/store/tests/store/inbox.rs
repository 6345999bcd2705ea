//! Messages are delivered exactly once, by the commit that acts on them.

use escrow_model::{Event, Message};
use escrow_store::{Committed, StoreErrorKind, Watch};

use crate::support::{House, note, open, run_id};

fn cancel(by: &str) -> Message {
    Message::Cancel { by: Some(by.into()), system: false, successor: None, inside: None, patient: false }
}

#[test]
fn a_message_waits_until_a_commit_delivers_it() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    let elsewhere = open(&house.path());
    let first = elsewhere.send(tenant.run(), &cancel("ann"), "cli").unwrap();
    let second = elsewhere.send(tenant.run(), &cancel("bob"), "studio").unwrap();

    let found = house.store.undelivered(tenant.run()).unwrap();
    let seen: Vec<_> = found.iter().map(|sent| (sent.id, sent.message.clone(), sent.from.as_str())).collect();
    assert_eq!(seen, [(first, cancel("ann"), "cli"), (second, cancel("bob"), "studio")]);

    let opening = Event::MessageDelivered {
        message: cancel("ann"),
        refused: None,
        refusal: None,
        effect: None,
        sent_at: None,
    };
    tenant.commit_opening(std::slice::from_ref(&opening), &[first]);
    assert_eq!(house.store.undelivered(tenant.run()).unwrap().len(), 1);

    // Opening it again fails, and the entries that came with it are not written either.
    let error = tenant.try_commit(&[opening], &[first]).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::MessageGone);
    assert_eq!(house.store.journal(tenant.run()).unwrap().len(), 2);
    tenant.commit_opening(&[note(1)], &[second]);
    assert_eq!(house.store.undelivered(tenant.run()).unwrap(), []);
}

#[test]
fn a_repeated_commit_does_not_deliver_its_messages_again() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    let id = house.store.send(tenant.run(), &cancel("ann"), "cli").unwrap();
    tenant.commit_opening(&[note(1)], &[id]);
    tenant.seq -= 1;
    assert_eq!(tenant.try_commit(&[note(1)], &[id]).unwrap(), Committed::AlreadyDone { seq: 2 });
}

#[test]
fn a_message_belongs_to_its_run() {
    let house = House::new();
    let tenant = house.start("a", 1_000);
    let other = house.start("b", 1_000);
    let id = house.store.send(tenant.run(), &cancel("ann"), "cli").unwrap();
    assert_eq!(other.try_commit(&[note(1)], &[id]).unwrap_err().kind, StoreErrorKind::MessageGone);
    let lost = house.store.send(&run_id("ghost"), &cancel("ann"), "cli").unwrap_err();
    assert_eq!(lost.kind, StoreErrorKind::NoSuchRun);
}

#[test]
fn a_watch_notices_what_another_process_writes() {
    let house = House::new();
    let tenant = house.start("a", 1_000);
    let elsewhere = open(&house.path());
    let mut watch = Watch::new();
    assert!(watch.changed(house.store.version().unwrap()), "the first look");
    assert!(!watch.changed(house.store.version().unwrap()));
    elsewhere.send(tenant.run(), &cancel("ann"), "cli").unwrap();
    assert!(watch.changed(house.store.version().unwrap()));
    assert!(!watch.changed(house.store.version().unwrap()));
    assert!(matches!(tenant.try_commit(&[note(1)], &[]), Ok(Committed::Done { .. })));
    assert!(watch.changed(house.store.version().unwrap()), "its own commits count");
}
