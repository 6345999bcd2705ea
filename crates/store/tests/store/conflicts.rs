//! Concurrency groups and artifact directories: of two open runs one has them, decided in one transaction.

use std::sync::Arc;

use escrow_model::{Event, ReasonCode, RunId};
use escrow_store::{BlockingStore, Committed, Contested, Created, Durability, Lease, NewRun};

use crate::support::{House, Tenant, answered, attempt, ended, entry, holder, open, run_id, started};

/// The start of a run of this group that delivers into this directory.
fn start(run: &RunId, group: Option<&str>, artifacts: &str, parent: Option<&RunId>) -> Event {
    let Event::RunStarted { plan, options, facts, title, .. } = started(run, None) else {
        panic!("no start")
    };
    let mut options = options.as_ref().clone();
    options.artifacts = artifacts.to_owned();
    options.parent = parent.cloned();
    options.depth = u32::from(parent.is_some());
    Event::RunStarted { plan, options: Arc::new(options), facts, title, group: group.map(str::to_owned) }
}

fn create(store: &BlockingStore, event: Event, parent: Option<&Lease>) -> Created {
    let Event::RunStarted { options, .. } = &event else { panic!("no start") };
    let run = options.run.clone();
    let entries = [entry(1_000, event)];
    let new =
        NewRun { run: &run, holder: &holder(1), entries: &entries, durability: Durability::Grouped, parent };
    store.create_run(new).unwrap()
}

fn in_group(store: &BlockingStore, name: &str) -> Created {
    let run = run_id(name);
    create(store, start(&run, Some("prod"), &format!("/{name}"), None), None)
}

fn tenant(store: &BlockingStore, created: Created) -> Tenant<'_> {
    let Created::Done { lease, seq } = created else { panic!("{created:?}") };
    Tenant { store, lease, seq }
}

#[test]
fn an_open_run_holds_its_group_and_an_ended_one_does_not() {
    let house = House::new();
    let mut first = tenant(&house.store, in_group(&house.store, "first"));
    let Created::Conflict(conflict) = in_group(&house.store, "second") else { panic!("both hold it") };
    assert_eq!(conflict.over, Contested::Group("prod".into()));
    assert_eq!((&conflict.holder, &conflict.root.id), (first.run(), first.run()));
    assert!(house.store.run("second").is_err(), "nothing was created");
    first.commit(&[ended(ReasonCode::CompletedOk)]);
    tenant(&house.store, in_group(&house.store, "second"));
}

#[test]
fn of_many_processes_that_start_at_once_one_gets_the_group() {
    let house = House::new();
    let path = house.path();
    let got: usize = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8)
            .map(|number| {
                let path = &path;
                // A store of its own, as another process has.
                scope.spawn(move || {
                    matches!(in_group(&open(path), &format!("r{number}")), Created::Done { .. })
                })
            })
            .collect();
        starts.into_iter().map(|start| usize::from(start.join().unwrap())).sum()
    });
    assert_eq!(got, 1);
}

#[test]
fn a_run_that_is_opened_again_takes_the_group_in_its_commit() {
    let house = House::new();
    let mut first = tenant(&house.store, in_group(&house.store, "first"));
    first.commit(&[ended(ReasonCode::FailedExit)]);
    let mut second = tenant(&house.store, in_group(&house.store, "second"));
    let reopened = Event::RunReopened { places: Vec::new(), by: None, group: Some("prod".into()) };
    let Committed::Conflict(conflict) = first.try_commit(std::slice::from_ref(&reopened), &[]).unwrap()
    else {
        panic!("both hold it")
    };
    assert_eq!(conflict.holder, *second.run());
    assert!(house.store.conflict(first.run(), Some("prod")).unwrap().is_some());
    second.commit(&[ended(ReasonCode::CompletedOk)]);
    assert!(house.store.conflict(first.run(), Some("prod")).unwrap().is_none());
    first.commit(&[reopened]);
    assert!(matches!(in_group(&house.store, "third"), Created::Conflict(_)));
}

#[test]
fn nested_runs_share_the_hold_of_their_root() {
    let house = House::new();
    let root = tenant(&house.store, in_group(&house.store, "root"));
    let inner = run_id("inner");
    let event = start(&inner, Some("prod"), "/inner", Some(root.run()));
    let inner = tenant(&house.store, create(&house.store, event, Some(&root.lease)));
    let innermost = run_id("innermost");
    let event = start(&innermost, Some("dev"), "/innermost", Some(inner.run()));
    tenant(&house.store, create(&house.store, event, Some(&inner.lease)));
    // A nested run holds a group of its own for its root.
    let other = run_id("other");
    let Created::Conflict(conflict) = create(&house.store, start(&other, Some("dev"), "/other", None), None)
    else {
        panic!("both hold it")
    };
    assert_eq!((&conflict.holder, &conflict.root.id), (&innermost, root.run()));
    house.store.rebuild().unwrap();
    assert!(matches!(in_group(&house.store, "next"), Created::Conflict(_)), "rebuilt tables know it");
}

#[test]
fn a_conflict_says_whether_an_effect_is_under_way() {
    let house = House::new();
    let mut first = tenant(&house.store, in_group(&house.store, "first"));
    let has_open_effects = |name: &str| match in_group(&house.store, name) {
        Created::Conflict(conflict) => conflict.has_open_effects,
        other => panic!("{other:?}"),
    };
    assert!(!has_open_effects("a"));
    let mut intent = attempt("post", &[], 1);
    if let Event::AttemptStarted { effect, external, .. } = &mut intent {
        *external = true;
        *effect = Some(Box::new(escrow_model::EffectIntent {
            key: "key".into(),
            generation: None,
            scope: Vec::new(),
            digest: "d".into(),
            takes_over: None,
        }));
    }
    first.commit(&[intent]);
    assert!(has_open_effects("b"), "it is intended");
    first.commit(&[answered("post", &[], 1, escrow_model::Answer::done(serde_json::json!(1)))]);
    assert!(!has_open_effects("c"), "it is confirmed");
}

#[test]
fn two_open_runs_do_not_share_an_artifact_directory() {
    let house = House::new();
    let at = |name: &str| {
        let run = run_id(name);
        create(&house.store, start(&run, None, "/out", None), None)
    };
    let mut first = tenant(&house.store, at("first"));
    let Created::Conflict(conflict) = at("second") else { panic!("both deliver there") };
    assert_eq!(conflict.over, Contested::Artifacts("/out".into()));
    assert_eq!(conflict.root.id, *first.run());
    first.commit(&[ended(ReasonCode::CompletedOk)]);
    tenant(&house.store, at("second"));
}
