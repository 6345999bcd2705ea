//! Outcomes: of runs and added by hand, every version, found by one index.

use escrow_model::{Event, ReasonCode};
use escrow_store::{BlockingStore, Created, Durability, NewRun, OutcomeFilter};

use crate::support::{House, Tenant, added, ended, entry, holder, recorded, run_id, started};

fn stored(at: u64, chance: u64, kind: &str, passed: Option<bool>) -> Event {
    Event::OutcomeStored { outcome: Box::new(recorded(at, chance, kind, passed)) }
}

/// The summaries of what a filter finds, in order.
fn check(store: &BlockingStore, filter: &OutcomeFilter, expected: &[&str]) {
    let rows = store.outcomes(filter).unwrap();
    let found: Vec<&str> = rows.iter().map(|row| row.outcome.outcome.summary.as_str()).collect();
    assert_eq!(found, expected);
}

fn all() -> OutcomeFilter {
    OutcomeFilter::default()
}

#[test]
fn outcomes_are_found_newest_first_by_kind_verdict_age_and_run() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[
        stored(1_000, 1, "ci_result", Some(true)),
        stored(2_000, 2, "review_verdict", Some(false)),
        stored(3_000, 3, "ci_result", Some(false)),
    ]);
    house.store.add_outcome(&added(4_000, 4, "ci_result", None, None)).unwrap();
    let (kind, run) = (Some("ci_result".to_owned()), Some(run_id("a")));
    check(&house.store, &all(), &["outcome 4", "outcome 3", "outcome 2", "outcome 1"]);
    check(
        &house.store,
        &OutcomeFilter { kind: kind.clone(), ..all() },
        &["outcome 4", "outcome 3", "outcome 1"],
    );
    check(&house.store, &OutcomeFilter { kind, passed: Some(false), ..all() }, &["outcome 3"]);
    check(&house.store, &OutcomeFilter { passed: Some(true), ..all() }, &["outcome 1"]);
    check(&house.store, &OutcomeFilter { since: Some(3_000), ..all() }, &["outcome 4", "outcome 3"]);
    check(&house.store, &OutcomeFilter { run, since: Some(1_500), ..all() }, &["outcome 3", "outcome 2"]);
    check(&house.store, &OutcomeFilter { limit: Some(1), ..all() }, &["outcome 4"]);
}

#[test]
fn writing_a_verdict_again_keeps_both_versions() {
    let house = House::new();
    house.store.add_outcome(&added(1_000, 1, "review_verdict", Some(false), None)).unwrap();
    house.store.add_outcome(&added(2_000, 2, "review_verdict", Some(true), None)).unwrap();
    check(&house.store, &all(), &["outcome 2", "outcome 1"]);
    // The same one twice is one.
    assert_eq!(house.store.add_outcomes(&[added(2_000, 2, "x", None, None)], Durability::Full).unwrap(), 0);
    check(&house.store, &all(), &["outcome 2", "outcome 1"]);
}

#[test]
fn what_was_added_by_hand_survives_a_rebuild_and_goes_with_its_run() {
    let house = House::new();
    let mut tenant = house.start("a", 1_000);
    tenant.commit(&[stored(1_000, 1, "ci_result", None), ended(ReasonCode::CompletedOk)]);
    let mine = added(2_000, 2, "ci_result", Some(true), Some(run_id("a").as_str()));
    house.store.add_outcome(&mine).unwrap();
    house.store.add_outcome(&added(3_000, 3, "gate_verdict", None, None)).unwrap();
    house.store.rebuild().unwrap();
    check(&house.store, &all(), &["outcome 3", "outcome 2", "outcome 1"]);
    assert_eq!(house.store.added_to(&run_id("a")).unwrap(), [mine]);
    house.store.remove(&[run_id("a")]).unwrap();
    check(&house.store, &all(), &["outcome 3"]);
}

#[test]
fn the_primary_outcome_of_an_invocation_is_its_newest() {
    let house = House::new();
    assert_eq!(house.store.primary_outcome("i1").unwrap(), None);
    let run = run_id("a");
    let entries = [entry(1_000, started(&run, Some("i1")))];
    let new = NewRun {
        run: &run,
        holder: &holder(1),
        entries: &entries,
        durability: Durability::Grouped,
        parent: None,
    };
    let Created::Done { lease, seq } = house.store.create_run(new).unwrap() else { panic!("exists") };
    let mut tenant = Tenant { store: &house.store, lease, seq };
    tenant.commit(&[stored(1_000, 1, "ci_result", None), stored(2_000, 2, "gate_verdict", Some(true))]);
    let mut by_hand = added(3_000, 3, "review_verdict", None, None);
    by_hand.invocation_id = Some("i2".into());
    house.store.add_outcome(&by_hand).unwrap();
    let primary = house.store.primary_outcome("i1").unwrap().unwrap();
    assert_eq!(primary.outcome.outcome.kind, "gate_verdict");
    assert_eq!((primary.run_id, primary.invocation_id.as_deref()), (Some(run), Some("i1")));
    assert_eq!(house.store.primary_outcome("i2").unwrap().unwrap().outcome.outcome.kind, "review_verdict");
}

#[test]
fn an_outcome_is_found_by_a_unique_beginning_of_its_id() {
    let house = House::new();
    for (at, chance) in [(1_000, 1), (1_700_000_000_000, 2), (1_700_000_000_000, 3)] {
        house.store.add_outcome(&added(at, chance, "ci_result", None, None)).unwrap();
    }
    let whole = recorded(1_000, 1, "ci_result", None).id;
    assert_eq!(house.store.outcomes_named(whole.as_str()).unwrap().len(), 1);
    assert_eq!(house.store.outcomes_named(&whole.as_str()[2..]).unwrap().len(), 1);
    let young = recorded(1_700_000_000_000, 2, "ci_result", None).id;
    assert_eq!(house.store.outcomes_named(&young.as_str()[..8]).unwrap().len(), 2);
    assert_eq!(house.store.outcomes_named("nothing").unwrap().len(), 0);
}
