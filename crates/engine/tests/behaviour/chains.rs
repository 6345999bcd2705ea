//! Steps of a chain: they follow one another, and conditions decide which of them run.

use escrow_engine::{Question, explain};
use escrow_model::{CheckStatus, Event};
use escrow_testkit::{Options, Played, play};
use serde_json::{Map, Value, json};

fn fired(payload: &Value) -> Options {
    let mut options = Options::default();
    options.run.event = Some("pr.opened".into());
    options.run.payload = payload.as_object().cloned().unwrap_or_else(Map::new);
    options
}

/// Each step with its status, and why it was skipped.
fn told(played: &Played) -> Vec<String> {
    let told = played.run.check_reports().map(|report| match report.skip_reason {
        Some(reason) => format!("{} {}", report.name, reason.as_str()),
        None => format!("{} {}", report.name, report.status.as_str()),
    });
    told.collect()
}

/// The checks in the order in which they started.
fn started(played: &Played) -> Vec<&str> {
    let started = played.journal.iter().filter_map(|entry| match &entry.event {
        Event::AttemptStarted { check, .. } => Some(check.as_str()),
        _ => None,
    });
    started.collect()
}

const THREE: &str = "
name: test
steps:
  - { name: a, action: shell, with: { exec: a } }
  - { name: b, action: shell, with: { exec: b } }
  - { name: c, action: shell, with: { exec: c } }
";

#[test]
fn steps_follow_one_another_whatever_the_capacity() {
    let played = play(THREE, &["a: 1 after 5s"], &fired(&json!({})));
    assert_eq!(started(&played), ["a", "b", "c"]);
    assert_eq!(told(&played), ["a succeeded", "b succeeded", "c succeeded"]);
}

#[test]
fn after_a_failed_step_those_without_a_condition_skip_and_the_others_are_evaluated() {
    let text = "
name: test
steps:
  - { name: a, action: shell, with: { exec: a } }
  - { name: b, action: shell, with: { exec: b } }
  - { name: c, action: shell, condition: \"{{ steps.a.status == 'failed' }}\", with: { exec: c } }
  - { name: d, action: shell, condition: \"{{ steps[0].status == 'succeeded' }}\", with: { exec: d } }
";
    let played = play(text, &["a: exit 3"], &fired(&json!({})));
    assert_eq!(told(&played), ["a failed", "b dependency_failed", "c succeeded", "d if_condition"]);
    assert_eq!(played.run.reason().expect("it ended").code.as_str(), "run.failed.exit_nonzero");
}

#[test]
fn a_skipped_step_does_not_stop_the_ones_behind_it() {
    let text = "
name: test
steps:
  - { name: a, action: shell, condition: \"{{ trigger.draft }}\", with: { exec: a } }
  - { name: b, action: shell, with: { exec: b } }
";
    let played = play(text, &[], &fired(&json!({ "draft": false })));
    assert_eq!(told(&played), ["a if_condition", "b succeeded"]);
    assert_eq!(played.run.reason().expect("it ended").code.as_str(), "run.completed.ok");
}

#[test]
fn the_outcome_of_a_skipped_step_is_empty_and_explain_notes_it() {
    let text = "
name: test
steps:
  - { name: a, action: shell, condition: \"{{ false }}\", with: { exec: a } }
  - { name: b, action: shell, condition: \"{{ steps.a.outcome.findings[0].severity == 'high' }}\", with: { exec: b } }
  - { name: c, action: shell, condition: \"{{ not steps.a.outcome.passed }}\", with: { exec: \"c {{ steps.a.outcome.summary }}\" } }
";
    let played = play(text, &[], &fired(&json!({})));
    assert_eq!(told(&played), ["a if_condition", "b if_condition", "c succeeded"]);
    assert_eq!(played.run.reason().expect("it ended").code.as_str(), "run.completed.ok", "never an error");
    for (check, held) in [("b", false), ("c", true)] {
        let question = Question { check: check.into(), scope: None };
        let account = explain(&played.journal, Some(&question)).expect("it is explained");
        let evaluation = &account.cause.evaluations[0];
        assert_eq!((evaluation.construct.as_str(), evaluation.held), ("condition", Some(held)));
        let value = evaluation.explanation.walk()[0].value.clone().expect("a note");
        assert_eq!(value, "empty (step 0 `a` was skipped: if_condition)");
    }
}

#[test]
fn a_condition_that_cannot_be_evaluated_skips_and_fails_the_run_of_an_action() {
    let text = "
name: test
steps:
  - { name: a, action: shell, condition: \"{{ trigger.nothing > 3 }}\", with: { exec: a } }
  - { name: b, action: shell, with: { exec: b } }
";
    let played = play(text, &[], &fired(&json!({})));
    assert_eq!(
        told(&played),
        ["a if_condition", "b dependency_failed"],
        "what was not decided counts as failed"
    );
    assert_eq!(played.run.reason().expect("it ended").code.as_str(), "run.failed.expression_error");
}

#[test]
fn an_action_whose_effect_is_unknown_waits_and_the_steps_behind_it_wait_too() {
    let played = play(THREE, &["a: timeout"], &fired(&json!({})));
    assert_eq!(told(&played), ["a unknown", "b pending", "c pending"]);
    let played = play(THREE, &["a: timeout", "assume a done"], &fired(&json!({})));
    assert_eq!(told(&played), ["a succeeded", "b succeeded", "c succeeded"]);
}

#[test]
fn a_denied_step_ends_the_chain() {
    let text = "
name: test
steps:
  - { name: a, action: shell, requires_approval: true, with: { exec: a } }
  - { name: b, action: shell, condition: \"{{ true }}\", with: { exec: b } }
";
    let played = play(text, &["deny a"], &fired(&json!({})));
    assert_eq!(started(&played), Vec::<&str>::new());
    assert_eq!(played.run.reason().expect("it ended").code.as_str(), "run.aborted.denied");
    assert_ne!(
        played.run.check_report(played.run.plan_of().find("b").expect("a step")).status,
        CheckStatus::Succeeded
    );
}
