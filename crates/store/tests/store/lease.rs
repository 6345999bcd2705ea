//! One holder at a time.

use std::time::Duration;

use escrow_store::{BlockingStore, Committed, LeaseError, Liveness, Mode, Options, StoreErrorKind};

use crate::support::{House, check_intact, holder, note, run_id};

#[test]
fn a_run_has_one_holder_until_it_is_released() {
    let house = House::new();
    let tenant = house.start("a", 1_000);
    let taken = house.store.acquire(tenant.run(), &holder(2), |_| Liveness::Alive);
    let Err(LeaseError::Held { holder: current, .. }) = taken else { panic!("{taken:?}") };
    assert_eq!(*current, holder(1));
    assert_eq!(house.store.holder(tenant.run()).unwrap(), Some(holder(1)));

    house.store.release(&tenant.lease).unwrap();
    assert_eq!(house.store.holder(tenant.run()).unwrap(), None);
    house.store.acquire(tenant.run(), &holder(2), |_| Liveness::Alive).unwrap();
    assert_eq!(house.store.holder(tenant.run()).unwrap(), Some(holder(2)));
    // Letting go twice must not take the run from the next one.
    house.store.release(&tenant.lease).unwrap();
    assert_eq!(house.store.holder(tenant.run()).unwrap(), Some(holder(2)));
}

#[test]
fn a_stopped_holder_that_wakes_up_is_fenced() {
    let house = House::new();
    let mut sleeper = house.start("a", 1_000);
    sleeper.commit(&[note(1)]);
    let other = BlockingStore::open(&house.path(), Mode::Write).unwrap();
    let lease = other.acquire(sleeper.run(), &holder(2), |_| Liveness::Dead).unwrap();

    assert_eq!(sleeper.try_commit(&[note(2)], &[]).unwrap(), Committed::Fenced);
    assert_eq!(house.store.renew(std::slice::from_ref(&sleeper.lease)).unwrap(), [run_id("a")]);
    // Even a commit that was done: its effects are the new holder's business now.
    sleeper.seq = 1;
    assert_eq!(sleeper.try_commit(&[note(1)], &[]).unwrap(), Committed::Fenced);

    let mut heir = crate::support::Tenant { store: &other, lease, seq: 2 };
    heir.commit(&[note(3)]);
    assert_eq!(other.renew(std::slice::from_ref(&heir.lease)).unwrap(), []);
    check_intact(&house.store, &run_id("a"), 3);
}

#[test]
fn a_holder_that_nobody_can_judge_keeps_its_lease_until_it_expires() {
    let house = House::new();
    let open = |lease_ttl| {
        BlockingStore::open_with(&house.path(), Mode::Write, Options { lease_ttl, ..Options::default() })
            .unwrap()
    };
    let (lasting, brief) = (open(Duration::from_secs(3_600)), open(Duration::ZERO));
    let tenant = house.start("a", 1_000);
    house.store.release(&tenant.lease).unwrap();
    let take = |liveness| lasting.acquire(tenant.run(), &holder(3), |_| liveness);
    let lease = lasting.acquire(tenant.run(), &holder(2), |_| Liveness::Unknown).unwrap();
    let renew = |store: &BlockingStore| store.renew(std::slice::from_ref(&lease)).unwrap();

    assert!(matches!(take(Liveness::Unknown), Err(LeaseError::Held { .. })));
    assert_eq!(renew(&brief), []);
    std::thread::sleep(Duration::from_millis(5));
    // A process that is known to run keeps even an expired lease.
    assert!(take(Liveness::Alive).is_err());
    assert_eq!(renew(&lasting), []);
    assert!(matches!(take(Liveness::Unknown), Err(LeaseError::Held { .. })), "renewed");
    assert_eq!(renew(&brief), []);
    std::thread::sleep(Duration::from_millis(5));
    take(Liveness::Unknown).unwrap();
    assert_eq!(renew(&lasting), [run_id("a")]);
}

#[test]
fn of_many_that_want_a_dead_holders_run_one_gets_it_at_a_time() {
    let house = House::new();
    let tenant = house.start("a", 1_000);
    let run = tenant.run();
    let winners = std::thread::scope(|scope| {
        let contenders: Vec<_> = (10..18)
            .map(|pid| {
                let store = BlockingStore::open(&house.path(), Mode::Write).unwrap();
                let judge = |seen: &escrow_store::Holder| {
                    if seen.pid == 1 { Liveness::Dead } else { Liveness::Alive }
                };
                scope.spawn(move || store.acquire(run, &holder(pid), judge).is_ok())
            })
            .collect();
        contenders.into_iter().map(|thread| thread.join().unwrap()).filter(|won| *won).count()
    });
    assert_eq!(winners, 1);
}

#[test]
fn what_is_not_there_cannot_be_held() {
    let house = House::new();
    let taken = house.store.acquire(&run_id("ghost"), &holder(1), |_| Liveness::Dead);
    assert!(matches!(taken, Err(LeaseError::NoSuchRun(_))), "{taken:?}");
    let tenant = house.start("a", 1_000);
    house.tamper("DELETE FROM journals");
    assert_eq!(tenant.try_commit(&[note(1)], &[]).unwrap_err().kind, StoreErrorKind::NoSuchRun);
}
