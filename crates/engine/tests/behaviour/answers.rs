//! Answers that come twice, late or to something else; and what the journal says of an attempt.

use escrow_engine::{AttemptKey, Input};
use escrow_model::{Answer, Assumption, Event, Message, ScopePath};
use escrow_testkit::{Options, Script, Stage, document, plan, play};
use serde_json::json;

fn stage(text: &str, script: &[&str]) -> Stage<Script> {
    let script = Script::parse(script);
    let steps = script.steps.clone();
    let mut stage = Stage::start(&plan(text), &Options::default(), script);
    stage.play(&steps);
    stage
}

/// Hands an answer in, and tells whether the journal took notice.
fn is_noticed(stage: &mut Stage<Script>, check: &str, number: u32) -> bool {
    let entries = stage.drive.journal.len();
    let check = stage.drive.run.plan_of().find(check).expect("it is in the plan");
    let attempt = AttemptKey { check, scope: ScopePath::root(), number };
    stage.input(Input::Answered { attempt, answer: Answer::done(json!("again")) });
    stage.drive.journal.len() > entries
}

#[test]
fn an_answer_that_comes_twice_is_dropped() {
    let mut stage = stage("a; b<a", &["b: never"]);
    assert!(!is_noticed(&mut stage, "a", 1));
    assert!(is_noticed(&mut stage, "b", 1), "the first one counts");
}

#[test]
fn an_answer_to_an_attempt_before_the_last_is_dropped() {
    let mut stage = stage("a {on_fail: {retry: {max: 1}}}", &["a: exit 1 then never", "wait 5s"]);
    assert!(stage.has_started("a"));
    assert!(!is_noticed(&mut stage, "a", 1));
    assert!(is_noticed(&mut stage, "a", 2));
}

#[test]
fn an_answer_does_not_settle_what_a_person_was_asked_about() {
    let mut stage = stage("post external", &["post: lost"]);
    assert!(!is_noticed(&mut stage, "post", 1), "an unknown effect is a person's to settle");
    let mut stage = self::stage("post external {requires_approval: true}", &[]);
    assert!(!is_noticed(&mut stage, "post", 0), "nothing was asked for yet");
}

#[test]
fn an_answer_to_what_never_ran_is_dropped() {
    let mut stage = stage("a; b<a", &["a: never"]);
    assert!(!is_noticed(&mut stage, "b", 1));
    assert!(!is_noticed(&mut stage, "b", 0));
}

/// Only external intents are synced before they are acted on.
#[test]
fn the_journal_says_which_intents_are_external() {
    let played = play("look; post<look external", &[], &Options::default());
    let intents: Vec<(String, bool)> = played
        .journal
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::AttemptStarted { check, external, .. } => Some((check.clone(), *external)),
            _ => None,
        })
        .collect();
    assert_eq!(intents, [("look".to_owned(), false), ("post".to_owned(), true)]);
}

#[test]
fn what_a_person_assumes_is_said_of_the_attempt_that_was_cut_off() {
    for word in ["done", "failed"] {
        let assume = format!("assume post {word}");
        let played = play(
            "post external {retry_on: [transient, logical]}",
            &["post: exit 1 then lost", "reopen", &assume],
            &Options::default(),
        );
        let judged = played.journal.iter().rev().find_map(|entry| match &entry.event {
            Event::CheckJudged { attempt, .. } => Some(*attempt),
            _ => None,
        });
        assert_eq!(judged, Some(2), "{word}");
    }
}

#[test]
fn whoever_wakes_up_too_early_changes_nothing() {
    let mut stage = stage("a {on_fail: {retry: {max: 1}}}", &["a: exit 1 then 1", "wait 10ms"]);
    let entries = stage.drive.journal.len();
    stage.input(Input::Wake);
    assert_eq!(stage.drive.journal.len(), entries);
    stage.play(&[]);
    assert!(stage.drive.run.status().is_terminal());
}

#[test]
fn a_message_to_a_run_that_has_ended_changes_nothing() {
    let mut stage = stage("a", &[]);
    let entries = stage.drive.journal.len();
    stage.message(Message::Cancel { by: None, system: false, successor: None, inside: None, patient: false });
    assert_eq!(stage.drive.journal.len(), entries);
}

/// The run stops for the denial, and what waited has been put away. A simulated run counted it twice.
#[test]
fn nobody_is_asked_about_an_effect_once_the_run_is_stopping() {
    let text = "list forEach; post<list external; gate {requires_approval: true}; slow";
    let script = Script::parse(&["list: [0, 1]", "post: lost", "slow: never"]);
    let mut stage = Stage::start(&plan(text), &Options::default(), script);
    while stage.advance(stage.drive.now_ms) {}
    let gate = stage.drive.run.waits().into_iter().find(|wait| wait.check == "gate").expect("it waits");
    let assume = |index: u32, assumption| Message::Assume {
        check: "post".into(),
        scope: ScopePath::new(vec![index]),
        assumption,
        by: None,
        why: None,
    };
    let refused = |stage: &Stage<Script>| {
        matches!(
            stage.drive.journal.last().map(|entry| &entry.event),
            Some(Event::MessageDelivered { refused: Some(_), .. })
        )
    };
    stage.message(Message::Deny { id: gate.id, by: None, claim: None, note: None });
    assert!(!stage.drive.run.status().is_terminal(), "something still runs");
    for assumption in [Assumption::Done, Assumption::Failed, Assumption::Retry] {
        stage.message(assume(0, assumption));
        assert!(refused(&stage), "{assumption:?}");
    }
    stage.play(&[]);
    assert_eq!(stage.drive.run.reason().expect("it ended").code.as_str(), "run.aborted.denied");
}

/// No process drove the run when its deadline passed, and the approval had arrived before.
#[test]
fn an_approval_that_comes_after_the_deadline_sets_nothing_going() {
    let mut stage = stage("@timeout: 10s\na external {requires_approval: true}", &[]);
    let id = stage.drive.run.waits().first().expect("it waits").id.clone();
    stage.drive.now_ms += 11_000;
    stage.message(Message::Approve { id, by: None, claim: None, note: None });
    assert!(!stage.has_started("a"));
    assert_eq!(document(&stage.drive.run)["run"]["reason"]["code"], "run.timed_out.deadline");
    assert_eq!(document(&stage.drive.run)["checks"]["a"]["skip_reason"], "run_ended");
}

#[test]
fn whoever_cancels_after_the_deadline_has_cancelled() {
    let mut stage = stage("@timeout: 10s\na {requires_approval: true}", &[]);
    stage.drive.now_ms += 11_000;
    stage.message(Message::Cancel { by: None, system: false, successor: None, inside: None, patient: false });
    assert_eq!(document(&stage.drive.run)["run"]["reason"]["code"], "run.cancelled.user");
}
