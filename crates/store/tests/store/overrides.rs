//! A person's word about a run that has ended, and who wins when two speak at once.

use std::sync::atomic::{AtomicUsize, Ordering};

use escrow_model::{Event, Message, ReasonCode, RunStatus, ScopePath, WaitKind};
use escrow_store::{Commit, Committed, Durability, Liveness, StoreErrorKind};

use crate::support::{House, ended, entry, holder, open, overridden, reason};

#[test]
fn an_override_leads_out_of_a_terminal_status_and_names_who() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[ended(ReasonCode::FailedCheck)]);
    let before = house.store.run("a").unwrap();
    assert_eq!(before.overridden, None);
    tenant.commit(&[overridden(ReasonCode::CompletedOverridden, "ann")]);
    let row = house.store.run("a").unwrap();
    assert_eq!(row.status, RunStatus::Completed);
    assert_eq!(row.ended_at, before.ended_at, "when it ended stays as it was");
    let word = row.overridden.unwrap();
    assert_eq!((word["from"].as_str(), word["by"].as_str()), (Some("failed"), Some("ann")));
    let history = house.store.transitions("run", "r_a").unwrap();
    let told: Vec<_> = history
        .iter()
        .map(|row| {
            format!(
                "{} {} {} {}",
                row.from_status.as_deref().unwrap_or("-"),
                row.to_status,
                row.source,
                row.actor
            )
        })
        .collect();
    assert_eq!(
        told,
        ["- running start escrow", "running failed engine escrow", "failed completed override ann"]
    );
}

#[test]
fn of_many_who_override_at_once_from_one_status_exactly_one_is_heard() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[ended(ReasonCode::FailedCheck)]);
    house.store.release(&tenant.lease).unwrap();
    let (path, run, seq) = (house.path(), tenant.run().clone(), tenant.seq);
    let heard = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..8 {
            let (path, run, heard) = (&path, &run, &heard);
            scope.spawn(move || {
                let store = open(path);
                let me = holder(100 + number);
                // Each process saw `failed` at this entry and tries to append to it.
                let Ok(lease) = store.acquire(run, &me, |_| Liveness::Alive) else { return };
                let entries =
                    [entry(5_000, overridden(ReasonCode::CancelledOverridden, &format!("p{number}")))];
                let commit = Commit {
                    lease: &lease,
                    expected_seq: seq,
                    entries: &entries,
                    delivered: &[],
                    durability: Durability::Full,
                };
                match store.commit(commit) {
                    Ok(Committed::Done { .. }) => drop(heard.fetch_add(1, Ordering::SeqCst)),
                    Ok(
                        Committed::Fenced
                        | Committed::DecidedInTime
                        | Committed::Taken(_)
                        | Committed::Conflict(_)
                        | Committed::AlreadyDone { .. },
                    ) => {}
                    Err(error) => assert!(matches!(error.kind, StoreErrorKind::OutOfStep { .. }), "{error}"),
                }
                store.release(&lease).unwrap();
            });
        }
    });
    assert_eq!(heard.load(Ordering::SeqCst), 1);
    assert_eq!(house.store.transitions("run", "r_a").unwrap().len(), 3);
}

#[test]
fn an_approval_has_a_history_and_resolves_once() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    let message = |message| Event::MessageDelivered {
        message,
        refused: None,
        refusal: None,
        effect: None,
        sent_at: None,
    };
    let (id, by) = ("w1".to_owned(), Some("ann".to_owned()));
    tenant.commit(&[Event::WaitStarted {
        nested_reason: None,
        check: "post".into(),
        scope: ScopePath::root(),
        kind: WaitKind::Approval,
        id: id.clone(),
        digest: String::new(),
        subject: None,
        replaces: None,
        prompt: "publish?".into(),
        choices: Vec::new(),
        expires_at: None,
    }]);
    tenant.commit(&[Event::RunWaiting { reason: reason(ReasonCode::WaitingApproval) }]);
    assert_eq!(house.store.run("a").unwrap().status, RunStatus::Waiting);
    tenant.commit(&[message(Message::Approve { id: id.clone(), by, claim: None, note: None })]);
    let continues = house.store.transitions("run", "r_a").unwrap().pop().unwrap();
    assert_eq!(
        (continues.to_status.as_str(), continues.actor.as_str()),
        ("running", "ann"),
        "the run goes on"
    );
    tenant.commit(&[message(Message::Deny { id, by: Some("ben".into()), claim: None, note: None })]);
    let history = house.store.transitions("approval", "w1").unwrap();
    let told: Vec<_> = history
        .iter()
        .map(|row| format!("{} {} {}", row.reason_code.as_deref().unwrap(), row.source, row.actor))
        .collect();
    assert_eq!(told, ["approval.pending.asked engine escrow", "approval.approved.person message ann"]);
}
