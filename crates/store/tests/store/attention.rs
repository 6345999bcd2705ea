//! What needs a person: grouped by cause, cleared by a success, dismissed until it recurs.

use std::time::Instant;

use escrow_model::{
    Delivery, DeliveryStatus, Event, Evidence, Reason, ReasonCode, ScopePath, WaitKind, Warning,
};
use escrow_store::{AttentionItem, AttentionKind, BlockingStore, Liveness};

use crate::support::{House, Tenant, ended, overridden};

fn attention(store: &BlockingStore) -> Vec<AttentionItem> {
    store.attention(|_| Liveness::Alive).unwrap()
}

/// `kind code subject xCOUNT`, a line for each that nobody dismissed.
fn check(store: &BlockingStore, expected: &[&str]) {
    let mut told: Vec<String> = attention(store)
        .iter()
        .filter(|item| item.dismissed.is_none())
        .map(|item| {
            let subject = item.subject.as_ref().map_or("-", |subject| &subject.id);
            let code = item.reason_code.as_deref().unwrap_or("-");
            format!("{:?} {code} {subject} x{}", item.kind, item.count)
        })
        .collect();
    told.sort();
    assert_eq!(told, expected);
}

fn failed_at(name: &str) -> Event {
    let reason = Reason {
        code: ReasonCode::FailedCheck,
        summary: format!("`{name}` failed"),
        evidence: vec![Evidence::check(name, "it failed")],
    };
    Event::RunEnded { reason }
}

fn run<'a>(house: &'a House, name: &str, events: &[Event]) -> Tenant<'a> {
    let mut tenant = house.start(name, 1_000);
    tenant.commit(events);
    tenant
}

fn asked(kind: WaitKind, id: &str) -> Event {
    Event::WaitStarted {
        nested_reason: None,
        check: "post".into(),
        scope: ScopePath::root(),
        kind,
        id: id.into(),
        digest: String::new(),
        subject: None,
        replaces: None,
        prompt: "publish?".into(),
        choices: Vec::new(),
        expires_at: None,
    }
}

#[test]
fn trouble_is_grouped_by_its_cause_and_good_runs_need_nobody() {
    let house = House::new();
    run(&house, "a", &[failed_at("lint")]);
    run(&house, "b", &[failed_at("lint")]);
    run(&house, "c", &[failed_at("post")]);
    run(&house, "d", &[ended(ReasonCode::TimedOutDeadline)]);
    run(&house, "e", &[ended(ReasonCode::CancelledUser)]);
    let all = attention(&house.store);
    assert_eq!(all.len(), 3);
    let lint = all.iter().find(|item| item.count == 2).unwrap();
    assert_eq!(lint.runs.iter().map(|run| run.as_str()).collect::<Vec<_>>(), ["r_b", "r_a"]);
    assert_eq!((lint.summary.as_str(), lint.playbook.as_str()), ("`lint` failed", "review"));
    assert!(lint.fingerprint.starts_with("f_") && lint.fingerprint.len() == 14);
}

#[test]
fn a_later_success_of_the_same_request_clears_what_failed_before() {
    let house = House::new();
    run(&house, "a", &[failed_at("lint")]);
    check(&house.store, &["Failed run.failed.check_failed lint x1"]);
    run(&house, "b", &[ended(ReasonCode::CompletedNothingRan)]);
    check(&house.store, &["Failed run.failed.check_failed lint x1"]);
    run(&house, "c", &[ended(ReasonCode::CompletedOk)]);
    check(&house.store, &[]);
    run(&house, "d", &[failed_at("lint")]);
    check(&house.store, &["Failed run.failed.check_failed lint x1"]);
    house.store.rebuild().unwrap();
    check(&house.store, &["Failed run.failed.check_failed lint x1"]);
}

#[test]
fn a_run_that_was_resumed_to_success_or_overridden_needs_nobody() {
    let house = House::new();
    let mut a = run(&house, "a", &[failed_at("lint")]);
    a.commit(&[Event::RunReopened { places: Vec::new(), by: None, group: None }]);
    check(&house.store, &[]);
    a.commit(&[ended(ReasonCode::FailedFailIf)]);
    check(&house.store, &["Failed run.failed.fail_if - x1"]);
    a.commit(&[overridden(ReasonCode::CancelledOverridden, "ann")]);
    check(&house.store, &[]);
}

#[test]
fn what_is_dismissed_returns_when_it_recurs_and_counts_from_there() {
    let house = House::new();
    run(&house, "a", &[failed_at("lint")]);
    run(&house, "b", &[failed_at("lint")]);
    let item = attention(&house.store).remove(0);
    let by = Some("ann".to_owned());
    house.store.dismiss(&item, 5_000, by, "known, ticket 7".into()).unwrap();
    check(&house.store, &[]);
    let seen = attention(&house.store).remove(0).dismissed.unwrap();
    assert_eq!((seen.note.as_str(), seen.by.as_deref()), ("known, ticket 7", Some("ann")));
    // Another cause is another matter.
    run(&house, "c", &[failed_at("post")]);
    check(&house.store, &["Failed run.failed.check_failed post x1"]);
    run(&house, "d", &[failed_at("lint")]);
    let again = attention(&house.store).into_iter().find(|one| one.fingerprint == item.fingerprint).unwrap();
    assert_eq!((again.count, again.dismissed), (1, None));
    assert_eq!(again.runs.iter().map(|run| run.as_str()).collect::<Vec<_>>(), ["r_d"]);
    house.store.rebuild().unwrap();
    assert_eq!(attention(&house.store).len(), 2);
}

#[test]
fn what_waits_and_who_died_are_listed_until_they_are_answered() {
    let house = House::new();
    let mut a = run(&house, "a", &[asked(WaitKind::Approval, "w1"), asked(WaitKind::UnknownEffect, "w2")]);
    a.commit(&[Event::RunWaiting { reason: crate::support::reason(ReasonCode::WaitingApproval) }]);
    let _b = run(&house, "b", &[crate::support::note(1)]);
    check(
        &house.store,
        &["Waiting run.waiting.approval post x1", "Waiting run.waiting.unknown_effect post x1"],
    );
    let dead = house.store.attention(|_| Liveness::Dead).unwrap();
    let gone: Vec<_> = dead.iter().filter(|item| item.kind == AttentionKind::Interrupted).collect();
    assert_eq!(gone.len(), 1);
    assert_eq!(gone[0].runs[0].as_str(), "r_b");
    a.commit(&[ended(ReasonCode::CancelledUser)]);
    check(&house.store, &[]);
}

#[test]
fn a_lost_login_is_listed_however_its_run_ended_until_one_completes() {
    let house = House::new();
    let lost = Event::WarningRaised {
        warning: Warning {
            code: "login_lost".into(),
            message: "`main`: log in again".into(),
            check: Some("main".into()),
        },
    };
    run(&house, "a", &[lost.clone(), ended(ReasonCode::CancelledUser)]);
    check(&house.store, &["Warning login_lost main x1"]);
    run(&house, "b", &[lost, failed_at("main")]);
    check(&house.store, &["Failed run.failed.check_failed main x1", "Warning login_lost main x2"]);
    let mut later = house.start("c", 2_000);
    later.commit(&[ended(ReasonCode::CompletedOk)]);
    check(&house.store, &[]);
}

#[test]
fn a_delivery_with_warnings_is_worth_a_look() {
    let house = House::new();
    let delivery = Delivery {
        status: DeliveryStatus::Warning,
        checked_at_ms: 1_000,
        missing_required: Vec::new(),
        missing_optional: Vec::new(),
        produced: Vec::new(),
        not_expected: Vec::new(),
    };
    let verified = Event::ArtifactsVerified { delivery };
    run(&house, "a", &[verified, ended(ReasonCode::CompletedWithWarnings)]);
    check(&house.store, &["Warning run.completed.with_warnings - x1"]);
    run(&house, "b", &[ended(ReasonCode::CompletedOk)]);
    check(&house.store, &[]);
}

#[test]
fn a_hundred_thousand_runs_are_looked_through_in_a_moment() {
    let house = House::new();
    run(&house, "a", &[failed_at("lint")]);
    // Copies of one row: writing as many journals would take minutes and show nothing else.
    house.tamper(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
         INSERT INTO runs SELECT 'r_x' || i, 'book ' || (i % 40), status, 'run.failed.check_failed', reason_summary,
             reason_evidence, invocation_id, event, root, concurrency_group, depth, kind, outermost, safe_mode, directory, artifacts_directory,
             artifacts_status, last_message_by, overridden, request,
             CASE WHEN i % 3 = 0 THEN 'failed' END, 'check c' || (i % 5), started_at, 10000 + i, title, inputs, payload
         FROM n JOIN runs ON runs.id = 'r_a'",
    );
    let began = Instant::now();
    let all = attention(&house.store);
    let took = began.elapsed();
    assert_eq!(all.len(), 41);
    assert_eq!(all.iter().map(|item| item.count).sum::<u64>(), 33_334);
    assert_eq!(all[0].last_at, 109_999);
    assert!(took.as_millis() < 1_500, "{took:?}, and that is a debug build");
}

#[test]
fn a_dismissal_goes_with_the_last_run_of_its_cause() {
    let house = House::new();
    let older = run(&house, "a", &[failed_at("lint")]).run().clone();
    let newer = run(&house, "b", &[failed_at("lint")]).run().clone();
    let other = run(&house, "c", &[failed_at("post")]).run().clone();
    for item in attention(&house.store) {
        house.store.dismiss(&item, 5_000, None, "known".into()).unwrap();
    }
    let journals = [&older, &newer, &other].map(|run| (run, house.store.journal(run).unwrap()));
    // As long as one occurrence is left that somebody has seen, it stays dismissed.
    house.store.remove(std::slice::from_ref(&newer)).unwrap();
    check(&house.store, &[]);
    house.store.remove(std::slice::from_ref(&older)).unwrap();
    for (run, journal) in &journals {
        house.store.import(run, journal, None).unwrap();
    }
    check(&house.store, &["Failed run.failed.check_failed lint x2"]);
}
