//! `outcome`: an output that is stored as a typed result.

use escrow_engine::{Run, redecide};
use escrow_testkit::{Options, check, plan, play, tells};
use serde_json::json;

#[test]
fn an_output_of_its_kind_is_stored() {
    let played = check(
        "review {outcome: review_verdict}",
        &[r#"review: {"verdict": "REQUEST CHANGES", "findings": []}"#],
        "
        started review #1
        outcome review review_verdict
        succeeded review
        run.completed.ok",
    );
    let outcomes = &played.document()["outcomes"];
    assert_eq!(outcomes.as_array().map(Vec::len), Some(1));
    assert_eq!(outcomes[0]["kind"], "review_verdict");
    assert_eq!(outcomes[0]["passed"], false);
    assert_eq!(outcomes[0]["content"]["verdict"], "REQUEST_CHANGES");
    assert_eq!(outcomes[0]["run_id"], played.document()["run"]["id"]);
}

#[test]
fn an_output_that_its_kind_forbids_fails_the_check_and_is_not_stored() {
    let played = check(
        "review {outcome: review_verdict}; post<review",
        &[r#"review: {"verdict": "APPROVE", "passed": false}"#],
        "
        started review #1
        failed review contract/outcome_invalid
        skipped post dependency_failed
        run.failed.outcome_invalid",
    );
    assert_eq!(played.message("review"), "`passed` is false, but the verdict is APPROVE");
    assert_eq!(played.document()["outcomes"], json!([]));
}

#[test]
fn text_is_no_outcome() {
    let played = tells(
        "gate {outcome: gate_verdict}",
        &[r#"gate: "looks good to me""#],
        "gate failed x1 contract/outcome_invalid
         run.failed.outcome_invalid",
    );
    assert_eq!(played.message("gate"), "an outcome must be an object (this is text, not JSON)");
}

#[test]
fn a_verdict_against_the_work_does_not_fail_the_check() {
    tells(
        "gate {outcome: gate_verdict}; next<gate",
        &[r#"gate: {"gate_passed": false}"#],
        "gate succeeded x1
         next succeeded x1
         run.completed.ok",
    );
}

#[test]
fn fail_if_lets_a_verdict_fail_the_check_and_the_verdict_is_stored_all_the_same() {
    check(
        r#"gate {outcome: gate_verdict, fail_if: "!output.gate_passed"}"#,
        &[r#"gate: {"gate_passed": false}"#],
        "
        started gate #1
        outcome gate gate_verdict
        failed gate gate_fail_if
        run.failed.fail_if",
    );
}

#[test]
fn when_the_provider_faults_nothing_is_stored() {
    let played = tells(
        "gate {outcome: gate_verdict}",
        &[r#"gate: exit 1 {"gate_passed": false}"#],
        "gate failed x1 command/exit_nonzero
         run.failed.exit_nonzero",
    );
    assert_eq!(played.document()["outcomes"], json!([]));
}

#[test]
fn every_attempt_stores_its_own_version() {
    let played = check(
        r#"gate {outcome: gate_verdict, guarantee: "output.gate_passed", retry_on: [logical], on_fail: {retry: {max: 1}}}"#,
        &[r#"gate: {"gate_passed": false} then {"gate_passed": true}"#],
        "
        started gate #1
        outcome gate gate_verdict
        failed gate contract/guarantee_failed
        retry gate #1
        started gate #2
        outcome gate gate_verdict
        succeeded gate
        run.completed.ok",
    );
    let outcomes = played.document()["outcomes"].clone();
    assert_eq!(
        (&outcomes[0]["passed"], &outcomes[1]["passed"]),
        (&json!(true), &json!(false)),
        "newest first"
    );
    assert_ne!(outcomes[0]["id"], outcomes[1]["id"]);
}

#[test]
fn each_item_of_a_fan_out_stores_its_own() {
    let played = play(
        "list forEach; each<list {outcome: gate_verdict}",
        &["list: [1, 2]", r#"each[0]: {"gate_passed": true}"#, r#"each[1]: {"gate_passed": false}"#],
        &Options::default(),
    );
    let names: Vec<_> = played.document()["outcomes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|outcome| outcome["name"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(names.len(), 2);
    assert!(names.contains(&"each[0]".to_owned()) && names.contains(&"each[1]".to_owned()), "{names:?}");
}

#[test]
fn an_invalid_outcome_is_retried_when_logical_faults_are() {
    tells(
        "gate {outcome: gate_verdict, retry_on: [logical], on_fail: {retry: {max: 1}}}",
        &[r#"gate: {} then {"gate_passed": true}"#],
        "gate succeeded x2
         run.completed.ok",
    );
}

#[test]
fn a_schema_that_names_a_kind_is_judged_and_stores_nothing() {
    let played = tells(
        "a {schema: ci_result}; b {schema: ci_result}; c {schema: markdown}",
        &[r#"a: {"lint_passed": "yes"}"#, r#"b: {"lint_passed": true}"#, r##"c: "# notes""##],
        "a failed x1 contract/schema_validation_failed
         b succeeded x1
         c succeeded x1
         run.failed.schema_failed",
    );
    assert_eq!(played.document()["outcomes"], json!([]));
}

#[test]
fn a_ci_result_without_checks_is_stored_as_neither_good_nor_bad() {
    let played = play("ci {outcome: ci_result}", &["ci: {}"], &Options::default());
    assert_eq!(played.document()["outcomes"][0]["passed"], json!(null));
}

#[test]
fn a_recorded_run_can_be_decided_again_with_an_outcome() {
    let recorded = play("ci", &[r#"ci: {"lint_passed": false}"#], &Options::default());
    for (text, reason, stored) in [
        ("ci {outcome: ci_result}", "run.completed.ok", 1),
        ("ci {outcome: gate_verdict}", "run.failed.outcome_invalid", 0),
    ] {
        let again = redecide(&recorded.journal, plan(text)).expect("it can be decided again");
        let run = Run::replay(&again.entries).expect("it replays");
        assert_eq!(run.reason().map(|reason| reason.code.as_str()), Some(reason));
        assert_eq!(run.outcomes().count(), stored);
    }
}
