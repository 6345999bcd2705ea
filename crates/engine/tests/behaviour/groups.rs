//! Titles and concurrency groups: what a run is called, which group it holds, and how it makes way.

use std::sync::Arc;

use escrow_engine::{Refusal, Run, redecide};
use escrow_model::{Event, Evidence, Facts, Message, Reason, ReasonCode, RunId, RunStatus, SkipReason};
use escrow_testkit::{Options, Script, Stage, plan};
use serde_json::json;

const NAMED: &str = "@title: \"Release {{ inputs.v }} ({{ event.name }})\"\n\
    @concurrency: {group: \"release-{{ inputs.v }}\"}\n@inputs: {v: {default: one}}\n";

fn stage(text: &str, script: &[&str]) -> Stage<Script> {
    let script = Script::parse(script);
    let steps = script.steps.clone();
    let mut stage = Stage::start(&plan(text), &Options::default(), script);
    stage.play(&steps);
    stage
}

fn successor() -> RunId {
    RunId::new(2_000_000, 9)
}

/// From a newer run of the same group.
fn make_way() -> Message {
    Message::Cancel { by: None, system: true, successor: Some(successor()), inside: None, patient: false }
}

#[test]
fn title_and_group_are_rendered_at_the_start_and_journaled() {
    let stage = stage(&format!("{NAMED}a"), &[]);
    let Event::RunStarted { title, group, .. } = &stage.drive.journal[0].event else { panic!("no start") };
    assert_eq!(title.as_deref(), Some("Release one (manual)"));
    assert_eq!(group.as_deref(), Some("release-one"));
    assert_eq!((stage.drive.run.title(), stage.drive.run.group()), (title.as_deref(), group.as_deref()));
}

#[test]
fn the_title_of_a_journal_stands_whatever_its_template_gives_later() {
    let mut journal = stage(&format!("{NAMED}a"), &[]).drive.journal;
    let Event::RunStarted { title, .. } = &mut journal[0].event else { panic!("no start") };
    *title = Some("as it was".into());
    assert_eq!(Run::replay(&journal).expect("it replays").title(), Some("as it was"));
}

#[test]
fn a_name_that_cannot_be_rendered_fails_the_run_and_holds_no_group() {
    for broken in ["@title: \"{{ event.a.b }}\"\n", "@title: x\n@concurrency: {group: \"{{ event.a }}\"}\n"] {
        let stage = stage(&format!("{broken}a; b<a"), &[]);
        let run = &stage.drive.run;
        assert_eq!(run.reason().map(|reason| reason.code), Some(ReasonCode::FailedExpression), "{broken}");
        assert_eq!(run.group(), None, "{broken}");
        assert!(!stage.has_started("a"), "{broken}");
    }
}

/// A run that is in the way of another one ends at once.
fn refused() -> (Run, Vec<escrow_model::Entry>) {
    let options = Options::default();
    let reason = Reason {
        code: ReasonCode::FailedConflict,
        summary: "another run holds the group".into(),
        evidence: vec![Evidence::run("r_other", "holds it")],
    };
    let text = format!(
        "{NAMED}@artifacts: {{expected: [{{id: r, path: r.md}}]}}\nlist forEach; each<list; post external"
    );
    let (run, turn) =
        Run::refuse(plan(&text), Arc::new(options.run), Arc::new(Facts::default()), 1_000_000, reason);
    assert!(turn.effects.is_empty(), "nothing is performed or inspected");
    (run, turn.entries)
}

#[test]
fn a_refused_run_decides_nothing_and_holds_no_group() {
    let (run, entries) = refused();
    assert_eq!((run.status(), run.group()), (RunStatus::Failed, None));
    assert_eq!(run.title(), Some("Release one (manual)"));
    let skips = entries
        .iter()
        .filter(|entry| matches!(&entry.event, Event::CheckSkipped { reason: SkipReason::RunEnded, .. }));
    assert_eq!(skips.count(), 3);
    assert!(run.delivery().is_none());
    assert!(Run::replay(&entries).expect("it replays") == run);
}

#[test]
fn a_refused_run_that_is_opened_again_wants_its_group() {
    let (mut run, _) = refused();
    assert_eq!(run.wanted_group(), Some("release-one"));
    let turn = run.retry_failed(2_000_000, None).expect("it can be opened");
    let Event::RunReopened { places, group, .. } = &turn.entries[0].event else { panic!("not reopened") };
    assert_eq!(places.len(), 3);
    assert_eq!(group.as_deref(), Some("release-one"));
    assert_eq!(run.group(), Some("release-one"));
}

#[test]
fn a_refused_run_is_refused_under_another_plan_too() {
    let (run, entries) = refused();
    let other = redecide(&entries, plan("list forEach; each<list; post external; more")).expect("it replays");
    assert_eq!(other.run.reason(), run.reason());
    assert!(other.unknown.is_empty());
}

#[test]
fn a_run_makes_way_for_its_successor() {
    let mut stage = stage(&format!("{NAMED}a; b<a"), &["a: never"]);
    stage.message(make_way());
    stage.play(&[]);
    let reason = stage.drive.run.reason().expect("it has ended").clone();
    assert_eq!(reason.code, ReasonCode::CancelledSystem);
    assert!(reason.summary.contains(successor().as_str()) && reason.summary.contains("`release-one`"));
    assert!(reason.evidence.iter().any(|one| one.kind == "run" && one.id == successor().as_str()));
}

#[test]
fn a_run_does_not_make_way_while_an_effect_is_under_way_or_unknown() {
    for script in [&["post: never"][..], &["post: lost"]] {
        let mut stage = stage(&format!("{NAMED}post external"), script);
        assert_eq!(stage.drive.run.refusal(&make_way()), Some(Refusal::EffectUnderWay), "{script:?}");
        let status = stage.drive.run.status();
        stage.message(make_way());
        assert_eq!(stage.drive.run.status(), status, "{script:?}");
        // A person may.
        let cancel =
            Message::Cancel { by: None, system: false, successor: None, inside: None, patient: false };
        assert_eq!(stage.drive.run.refusal(&cancel), None, "{script:?}");
    }
    let stage = stage(&format!("{NAMED}post external; slow<post"), &["slow: never"]);
    assert_eq!(stage.drive.run.refusal(&make_way()), None, "a confirmed effect is over");
}

/// From a newer fire of the same chain.
fn make_way_patiently() -> Message {
    Message::Cancel { by: None, system: true, successor: Some(successor()), inside: None, patient: true }
}

/// Plays a run that is asked to make way after half a second.
fn asked_to_make_way(text: &str, script: &[&str], then: &[&str]) -> Stage<Script> {
    let script = Script::parse(script);
    let mut stage = Stage::start(&plan(text), &Options::default(), script);
    stage.play_one(&Script::parse(&["wait 500ms"]).steps[0]);
    stage.message(make_way_patiently());
    stage.play(&Script::parse(then).steps);
    stage
}

#[test]
fn a_run_that_makes_way_ends_its_effect_and_begins_nothing_further() {
    let two = "one external; two<one external; three<two";
    let stage = asked_to_make_way(two, &["one: 1 after 1s"], &[]);
    assert!(!stage.has_started("two") && !stage.has_started("three"));
    let reason = stage.drive.run.reason().expect("it has ended");
    assert_eq!(reason.code, ReasonCode::CancelledSystem);
    assert!(reason.evidence.iter().any(|one| one.kind == "run" && one.id == successor().as_str()));

    let beside = "one external; other external; two<one external; last<other external";
    let stage = asked_to_make_way(beside, &["one: 1 after 1s", "other: 1 after 2s"], &[]);
    assert!(!stage.has_started("two") && !stage.has_started("last"), "the other effect may end, too");
    assert_eq!(stage.drive.run.status(), RunStatus::Cancelled);
}

#[test]
fn a_run_that_makes_way_completes_when_nothing_is_left_to_do() {
    let stage = asked_to_make_way("one external; never {start: false}", &["one: 1 after 1s"], &[]);
    assert_eq!(stage.drive.run.status(), RunStatus::Completed);
}

#[test]
fn a_run_that_makes_way_neither_retries_nor_waits_for_a_person() {
    let retries = "one external {on_fail: {retry: {max: 3}}}";
    let stage = asked_to_make_way(retries, &["one: exit 1 after 1s"], &[]);
    assert_eq!(stage.drive.run.status(), RunStatus::Cancelled);
    let asks = "one external; two<one {requires_approval: true}; beside {requires_approval: true}";
    let stage = asked_to_make_way(asks, &["one: 1 after 1s"], &[]);
    assert_eq!(stage.drive.run.status(), RunStatus::Cancelled);
    assert_eq!(stage.drive.run.waits(), []);
}

#[test]
fn a_run_that_makes_way_first_learns_what_became_of_an_unknown_effect() {
    let two = "one external; two<one external";
    let stage = asked_to_make_way(two, &["one: lost after 1s"], &[]);
    assert_eq!(stage.drive.run.status(), RunStatus::Waiting);
    let stage = asked_to_make_way(two, &["one: lost after 1s"], &["wait 1s", "assume one done"]);
    assert_eq!(stage.drive.run.status(), RunStatus::Cancelled);
    assert!(!stage.has_started("two"));
}

#[test]
fn a_run_that_makes_way_attempts_nothing_again_after_retry_and_ends() {
    let two = "one external; two<one external";
    let stage = asked_to_make_way(two, &["one: lost after 1s"], &["wait 1s", "assume one retry"]);
    assert_eq!(stage.drive.run.status(), RunStatus::Cancelled);
    assert!(!stage.has_started("two"));
}

#[test]
fn a_run_that_makes_way_does_so_after_a_crash() {
    let two = "one external; two<one external";
    let stage = asked_to_make_way(two, &["one: 1 after 1s"], &["crash", "assume one done"]);
    assert_eq!(stage.drive.run.status(), RunStatus::Cancelled);
    assert!(!stage.has_started("two"));
}

#[test]
fn an_approval_covers_the_title() {
    let digest = |title: &str| {
        let stage = stage(&format!("@title: {title}\na {{requires_approval: true}}"), &[]);
        let wait = stage.drive.journal.iter().find_map(|entry| match &entry.event {
            Event::WaitStarted { digest, subject, .. } => Some((digest.clone(), subject.clone())),
            _ => None,
        });
        let (digest, subject) = wait.expect("it asks");
        assert_eq!(json!(subject)["title"], title);
        digest
    };
    assert_ne!(digest("one"), digest("two"));
}
