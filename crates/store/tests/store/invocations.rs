//! Invocations: begun and ended by people, carried by their runs.

use escrow_model::{Event, Evidence, InvocationId, Reason, ReasonCode, RunStatus};
use escrow_store::{BlockingStore, EndInvocation, InvocationEnd, InvocationFilter, InvocationRow};

use crate::support::{House, ended, open, overridden, run_id, start_of, started_by};

fn begin(house: &House) -> String {
    let id = InvocationId::new(1_700_000_000_000, 7);
    house.store.start_invocation(&id, &started_by("ann", 900)).unwrap();
    id.as_str().to_owned()
}

fn row(store: &BlockingStore, id: &str) -> InvocationRow {
    store.invocation(id).unwrap().unwrap()
}

fn wish(status: Option<RunStatus>) -> EndInvocation {
    EndInvocation { at: 9_000, status, by: Some("ann".into()), why: None }
}

fn end(house: &House, id: &str, wish: &EndInvocation) -> InvocationEnd {
    house.store.end_invocation(id, wish).unwrap()
}

#[test]
fn an_invocation_without_runs_is_open_and_knows_what_was_asked() {
    let house = House::new();
    let id = begin(&house);
    let row = row(&house.store, &id);
    assert_eq!((row.status, row.health, row.runs()), (RunStatus::Running, None, 0));
    assert_eq!((row.name.as_deref(), row.started_by.as_deref()), (Some("review"), Some("ann")));
    assert_eq!(house.store.invocation("i_ghost").unwrap(), None);
}

#[test]
fn an_invocation_is_as_well_as_the_worst_of_its_runs() {
    use ReasonCode::{AbortedWorld, CancelledUser, CompletedOk, FailedCheck, TimedOutDeadline};
    let order = [CompletedOk, CancelledUser, TimedOutDeadline, AbortedWorld, FailedCheck];
    for (better, worse) in order
        .iter()
        .enumerate()
        .flat_map(|(place, better)| order[place + 1..].iter().map(move |worse| (*better, *worse)))
    {
        for codes in [[better, worse], [worse, better]] {
            let house = House::new();
            let id = begin(&house);
            for (number, code) in codes.into_iter().enumerate() {
                start_of(&house.store, &id, &format!("{number}"), 1_000).commit(&[ended(code)]);
            }
            let row = row(&house.store, &id);
            assert_eq!((row.status, row.health), (worse.status(), Some(worse.status())));
            assert_eq!(row.reason.unwrap().code, worse.as_str());
        }
    }
}

/// lionagi told every failed invocation `run.failed.exit_nonzero`, whatever its session had said.
#[test]
fn a_reason_is_not_flattened_on_its_way_up() {
    let house = House::new();
    let id = begin(&house);
    let reason = Reason {
        code: ReasonCode::FailedMissingArtifact,
        summary: "Missing required artifact: review (review.md).".into(),
        evidence: vec![Evidence::expected_artifact("review", "review.md")],
    };
    start_of(&house.store, &id, "a", 1_000).commit(&[Event::RunEnded { reason: reason.clone() }]);
    start_of(&house.store, &id, "b", 2_000).commit(&[ended(ReasonCode::CompletedOk)]);
    let told = row(&house.store, &id);
    assert_eq!(told.decisive_run, Some(run_id("a")));
    let up = told.reason.unwrap();
    assert_eq!(
        (up.code.as_str(), up.summary, up.evidence),
        (reason.code.as_str(), reason.summary, reason.evidence)
    );
    // Ending it without another word leaves the reason as it is.
    let InvocationEnd::Done(closed) = end(&house, &id, &wish(None)) else { panic!("not ended") };
    assert_eq!(closed.reason.unwrap().code, "run.failed.missing_artifact");
}

#[test]
fn a_run_that_is_resumed_to_success_heals_its_invocation() {
    let house = House::new();
    let id = begin(&house);
    let mut tenant = start_of(&house.store, &id, "a", 1_000);
    tenant.commit(&[ended(ReasonCode::FailedCheck)]);
    assert_eq!(row(&house.store, &id).status, RunStatus::Failed);
    tenant.commit(&[Event::RunReopened { places: Vec::new(), by: None, group: None }]);
    assert_eq!(row(&house.store, &id).status, RunStatus::Running);
    tenant.commit(&[ended(ReasonCode::CompletedOk)]);
    let healed = row(&house.store, &id);
    assert_eq!(
        (healed.status, healed.reason.unwrap().code.as_str()),
        (RunStatus::Completed, "run.completed.ok")
    );
    let history = house.store.transitions("invocation", &id).unwrap();
    let told: Vec<_> = history.iter().map(|row| format!("{} {}", row.to_status, row.source)).collect();
    assert_eq!(told, ["running start", "failed runs", "running runs", "completed runs"]);
}

#[test]
fn one_that_did_nothing_speaks_before_one_that_is_fine() {
    let house = House::new();
    let id = begin(&house);
    for (name, code) in [("a", ReasonCode::CompletedNothingRan), ("b", ReasonCode::CompletedOk)] {
        start_of(&house.store, &id, name, 1_000).commit(&[ended(code)]);
    }
    assert_eq!(row(&house.store, &id).reason.unwrap().code, "run.completed.nothing_ran");
}

#[test]
fn what_a_person_says_counts_and_is_final() {
    let house = House::new();
    let id = begin(&house);
    assert!(matches!(end(&house, &id, &wish(None)), InvocationEnd::NothingRan(_)));
    let InvocationEnd::Done(row) = end(&house, &id, &wish(Some(RunStatus::Cancelled))) else {
        panic!("no end")
    };
    assert_eq!(row.reason.unwrap().code, "invocation.cancelled.by_hand");
    assert!(matches!(end(&house, &id, &wish(Some(RunStatus::Failed))), InvocationEnd::EndedBefore(_)));
    let why = EndInvocation { why: Some("wrong button".into()), ..wish(Some(RunStatus::Completed)) };
    let InvocationEnd::Done(row) = end(&house, &id, &why) else { panic!("no override") };
    assert_eq!(row.reason.unwrap().evidence[1].id, "invocation.cancelled.by_hand");
    let history = house.store.transitions("invocation", &id).unwrap();
    assert_eq!(history.last().unwrap().source, "override");
    assert_eq!(end(&house, "i_ghost", &wish(None)), InvocationEnd::Unknown);
}

#[test]
fn nobody_ends_what_runs_nor_calls_good_what_failed_without_a_word() {
    let house = House::new();
    let id = begin(&house);
    let mut tenant = start_of(&house.store, &id, "a", 1_000);
    assert!(matches!(end(&house, &id, &wish(Some(RunStatus::Cancelled))), InvocationEnd::StillOpen(_)));
    tenant.commit(&[ended(ReasonCode::FailedCheck)]);
    let good = wish(Some(RunStatus::Completed));
    assert!(matches!(end(&house, &id, &good), InvocationEnd::BetterThanItsRuns(_)));
    let why = EndInvocation { why: Some("known flake".into()), ..good };
    let InvocationEnd::Done(row) = end(&house, &id, &why) else { panic!("no end") };
    assert_eq!((row.status, row.health), (RunStatus::Completed, Some(RunStatus::Failed)));
    assert_eq!(row.reason.unwrap().evidence[1].id, "run.failed.check_failed");
    let timed_out = EndInvocation { why: why.why, ..wish(Some(RunStatus::TimedOut)) };
    assert!(matches!(end(&house, &id, &timed_out), InvocationEnd::NotForPeople(_)));
}

#[test]
fn of_many_who_end_an_invocation_at_once_exactly_one_does() {
    let house = House::new();
    let id = begin(&house);
    let path = house.path();
    let ends: Vec<InvocationEnd> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| open(&path).end_invocation(&id, &wish(Some(RunStatus::Completed))).unwrap())
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(ends.iter().filter(|end| matches!(end, InvocationEnd::Done(_))).count(), 1);
    assert_eq!(ends.iter().filter(|end| matches!(end, InvocationEnd::EndedBefore(_))).count(), 7);
}

#[test]
fn what_was_said_survives_a_rebuild_and_goes_with_the_last_run() {
    let house = House::new();
    let id = begin(&house);
    let mut tenant = start_of(&house.store, &id, "a", 1_000);
    tenant.commit(&[ended(ReasonCode::FailedCheck)]);
    let why = EndInvocation { why: Some("done with it".into()), ..wish(Some(RunStatus::Cancelled)) };
    assert!(matches!(end(&house, &id, &why), InvocationEnd::Done(_)));
    // A run that is overridden later does not speak for an invocation that was ended.
    tenant.commit(&[overridden(ReasonCode::CompletedOverridden, "ben")]);
    let (grown, history) = (row(&house.store, &id), house.store.transitions("invocation", &id).unwrap());
    assert_eq!((grown.status, grown.health), (RunStatus::Cancelled, Some(RunStatus::Completed)));
    house.store.rebuild().unwrap();
    assert_eq!(row(&house.store, &id), grown);
    assert_eq!(house.store.transitions("invocation", &id).unwrap(), history);
    house.store.remove(&[run_id("a")]).unwrap();
    assert_eq!(house.store.invocation(&id).unwrap(), None);
}

#[test]
fn invocations_are_listed_newest_first_and_found_by_a_beginning() {
    let house = House::new();
    for (at, chance) in [(1_000, 1), (1_700_000_000_000, 2), (1_700_000_000_000, 3)] {
        house
            .store
            .start_invocation(&InvocationId::new(at, chance), &started_by("ann", at + chance))
            .unwrap();
    }
    let all = house.store.invocations(&InvocationFilter::default()).unwrap();
    assert_eq!(all.iter().map(|row| row.started_at % 10).collect::<Vec<_>>(), [3, 2, 1]);
    let failed = InvocationFilter { status: Some(RunStatus::Failed), ..InvocationFilter::default() };
    assert!(house.store.invocations(&failed).unwrap().is_empty());
    assert_eq!(house.store.invocations_named("last").unwrap(), all[..1]);
    assert_eq!(house.store.invocations_named(&all[2].id[2..]).unwrap(), all[2..]);
    assert_eq!(house.store.invocations_named(&all[0].id[..8]).unwrap().len(), 2);
    assert!(house.store.invocations_named("nothing").unwrap().is_empty());
}
