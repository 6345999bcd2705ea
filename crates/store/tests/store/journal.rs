//! The hash chain, and every way to break it.

use escrow_model::{Event, ReasonCode};
use escrow_store::{Break, Committed, Hash, Imported, StoreErrorKind, Verification};
use proptest::prelude::proptest;
use proptest::prop_assert_eq;

use crate::support::{House, check_intact, ended, note, run_id};

#[test]
fn entries_come_back_as_the_bytes_that_were_hashed() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[note(1), note(2)]);
    let run = tenant.run().clone();

    let journal = house.store.journal(&run).unwrap();
    let mut hash = Hash::origin(&run);
    for (stored, seq) in journal.iter().zip(1..) {
        hash = hash.next(seq, &stored.bytes);
        assert_eq!((stored.seq, stored.hash), (seq, hash));
    }
    let entries = house.store.entries(&run, 2).unwrap();
    assert_eq!(entries.len(), 2);
    for (stored, (seq, entry)) in journal[1..].iter().zip(&entries) {
        assert_eq!((stored.seq, &stored.bytes), (*seq, &escrow_store::encode_entry(entry).unwrap()));
    }
    assert_eq!(house.store.verify(&run).unwrap(), Verification::Intact { entries: 3, hash });
}

/// A journal of five entries that is changed behind the store's back breaks as told.
fn check(sql: &str, expected: Result<(), (u64, Break)>) {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    (1..=4).for_each(|number| tenant.commit(&[note(number)]));
    house.tamper(sql);
    let found = match house.store.verify(&run_id("a")).unwrap() {
        Verification::Intact { .. } => Ok(()),
        Verification::Broken { seq, reason } => Err((seq, reason)),
        Verification::NoSuchRun => panic!("the run is gone"),
    };
    assert_eq!(found, expected, "{sql}");
}

/// Changes the last entry and everything that vouches for it.
fn forge_last(bytes: &str) -> String {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    (1..=4).for_each(|number| tenant.commit(&[note(number)]));
    let before = house.store.journal(tenant.run()).unwrap()[3].hash;
    let hash = before.next(5, bytes.as_bytes());
    format!(
        "UPDATE entries SET bytes = CAST('{bytes}' AS BLOB), hash = x'{hash}' WHERE seq = 5;
         UPDATE journals SET hash = x'{hash}'"
    )
}

#[test]
fn every_kind_of_tampering_is_found_at_its_first_entry() {
    use Break::{CutOff, Gap, HashMismatch, NotJson, NotRecorded, UnknownVersion};
    check("UPDATE runs SET status = 'completed'", Ok(()));
    check("UPDATE entries SET bytes = CAST('{}' AS BLOB) WHERE seq = 3", Err((3, HashMismatch)));
    check("UPDATE entries SET hash = zeroblob(32) WHERE seq = 2", Err((2, HashMismatch)));
    check("UPDATE entries SET hash = x'00' WHERE seq = 2", Err((2, HashMismatch)));
    check("DELETE FROM entries WHERE seq = 1", Err((1, Gap { found: 2 })));
    check("DELETE FROM entries WHERE seq = 3", Err((3, Gap { found: 4 })));
    check(
        "DELETE FROM entries WHERE seq = 3; UPDATE entries SET seq = seq - 1 WHERE seq > 3",
        Err((3, HashMismatch)),
    );
    check("DELETE FROM entries WHERE seq > 3", Err((4, CutOff { recorded: 5 })));
    check("DELETE FROM entries", Err((1, CutOff { recorded: 5 })));
    check(
        "INSERT INTO entries (journal, seq, bytes, hash) SELECT journal, 6, bytes, hash FROM entries WHERE seq = 5",
        Err((6, HashMismatch)),
    );
    check("UPDATE journals SET seq = 4", Err((5, NotRecorded)));
    check("UPDATE journals SET hash = zeroblob(32)", Err((5, NotRecorded)));
    check(&forge_last("nonsense"), Err((5, NotJson)));
    check(
        &forge_last(r#"{"v":99,"at":1,"event":"from the future"}"#),
        Err((5, UnknownVersion { found: 99 })),
    );
}

#[test]
fn an_entry_that_cannot_be_read_is_an_error_and_not_a_guess() {
    for (bytes, kind) in [
        ("nonsense", StoreErrorKind::Corrupt),
        (r#"{"v":99,"at":1}"#, StoreErrorKind::NewerVersion { found: 99, known: 3 }),
    ] {
        let house = House::new();
        let mut tenant = house.start("a", 1_000);
        (1..=4).for_each(|number| tenant.commit(&[note(number)]));
        house.tamper(&forge_last(bytes));
        let error = house.store.entries(tenant.run(), 1).unwrap_err();
        assert_eq!(error.kind, kind);
        assert!(error.message.contains("entry 5 of `r_a`"), "{error}");
        assert_eq!(house.store.rebuild().unwrap_err().kind, kind);
    }
}

#[test]
fn repeating_a_commit_says_that_it_was_done() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[note(1), note(2)]);
    let after = tenant.seq;
    tenant.seq = 1;
    let again = tenant.try_commit(&[note(1), note(2)], &[]);
    assert_eq!(again.unwrap(), Committed::AlreadyDone { seq: after });

    // A part of it was done as well; anything else is a caller that lost count.
    assert_eq!(tenant.try_commit(&[note(1)], &[]).unwrap(), Committed::AlreadyDone { seq: 2 });
    for wrong in [&[note(3)][..], &[note(1), note(3)], &[note(1), note(2), note(3)], &[]] {
        let error = tenant.try_commit(wrong, &[]).unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::OutOfStep { expected: 1, actual: 3 });
    }
    tenant.seq = 9;
    let error = tenant.try_commit(&[note(1)], &[]).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::OutOfStep { expected: 9, actual: 3 });
    check_intact(&house.store, &run_id("a"), 3);
}

#[test]
fn the_feed_shows_the_entries_of_all_runs_in_the_order_of_their_commits() {
    let house = House::new();
    assert_eq!(house.store.feed_end().unwrap(), 0);
    let mut first = house.start("a", 1_000);
    let mut second = house.start("b", 1_000);
    first.commit(&[note(1)]);
    second.commit(&[note(2), Event::DeadlinePassed {}]);
    let shown: Vec<_> = house.store.feed(0, 100).unwrap();
    let order: Vec<_> = shown.iter().map(|entry| (entry.run.as_str(), entry.seq)).collect();
    assert_eq!(order, [("r_a", 1), ("r_b", 1), ("r_a", 2), ("r_b", 2), ("r_b", 3)]);

    let (mut after, mut paged) = (0, Vec::new());
    loop {
        let page = house.store.feed(after, 2).unwrap();
        let Some(last) = page.last() else { break };
        after = last.global_seq;
        paged.extend(page);
    }
    assert_eq!(paged, shown);
    assert_eq!(house.store.feed_end().unwrap(), after);
}

#[test]
fn a_journal_moves_to_another_store_byte_for_byte() {
    let (here, there) = (House::new(), House::new());
    let mut tenant = here.start("a", 1_000);
    tenant.commit(&[note(1), ended(ReasonCode::FailedCheck)]);
    let run = tenant.run();
    let journal = here.store.journal(run).unwrap();

    assert_eq!(there.store.import(run, &journal, None).unwrap(), Imported::Done { seq: 3 });
    assert_eq!(there.store.journal(run).unwrap(), journal);
    assert_eq!(there.store.run("a").unwrap(), here.store.run("a").unwrap());
    assert_eq!(there.store.holder(run).unwrap(), None);
    assert_eq!(there.store.import(run, &journal, None).unwrap(), Imported::AlreadyThere);
    assert_eq!(there.store.import(run, &journal[..2], None).unwrap(), Imported::Differs);

    let mut changed = journal;
    changed[1].bytes[0] ^= 1;
    let error = there.store.import(&run_id("b"), &changed, None).unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Corrupt);
    assert!(there.store.run("b").is_err());
}

proptest! {
    #![proptest_config(proptest::test_runner::Config { cases: 48, ..Default::default() })]

    #[test]
    fn any_bit_that_flips_is_found(seq in 1..=5_u64, place in 0..10_000_usize, bit in 0..8_u32) {
        let house = House::new();
        let mut tenant = house.start("a", 1_000);
        (1..=4).for_each(|number| tenant.commit(&[note(number)]));
        let mut bytes = house.store.journal(tenant.run()).unwrap().swap_remove(usize::try_from(seq - 1).unwrap()).bytes;
        let place = place % bytes.len();
        bytes[place] ^= 1 << bit;
        rusqlite::Connection::open(house.path())
            .unwrap()
            .execute("UPDATE entries SET bytes = ?1 WHERE seq = ?2", (bytes, seq))
            .unwrap();
        let found = house.store.verify(tenant.run()).unwrap();
        prop_assert_eq!(found, Verification::Broken { seq, reason: Break::HashMismatch });
    }
}
