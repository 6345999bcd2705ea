//! `artifacts` on a check, and the artifacts of parts of a run.

use escrow_testkit::{Options, check, play, tells};

fn with(checks: &str) -> String {
    format!("@artifacts: {{expected: [{{id: review, path: review.md}}]}}\n{checks}")
}

fn with_notes(checks: &str) -> String {
    let notes = "{id: notes, path: n.md, required: false}";
    format!("@artifacts: {{expected: [{{id: review, path: review.md}}, {notes}]}}\n{checks}")
}

#[test]
fn a_check_that_has_not_delivered_what_it_names_fails_before_its_dependents_continue() {
    let played = check(
        &with("a {artifacts: review}; b<a"),
        &[],
        "
        started a #1
        inspected a failed
        failed a contract/artifact_missing
        skipped b dependency_failed
        delivery failed
        run.failed.missing_artifact",
    );
    assert_eq!(played.message("a"), "required artifact `review` (review.md) is absent");
    let evidence = played.document()["run"]["reason"]["evidence"].clone();
    assert_eq!(evidence[0]["kind"], "check");
    assert_eq!(
        evidence[1],
        serde_json::json!({"kind": "expected_artifact", "id": "review", "label": "review.md"})
    );
}

#[test]
fn a_check_that_has_delivered_continues() {
    check(
        &with_notes("a {artifacts: [review, notes]}; b<a"),
        &[r#"seen {"review": 10, "notes": 1}"#],
        "
        started a #1
        inspected a passed
        succeeded a
        started b #1
        succeeded b
        delivery passed
        run.completed.ok",
    );
}

#[test]
fn an_optional_artifact_that_a_check_names_only_warns() {
    tells(
        &with_notes("a {artifacts: notes}; b<a"),
        &[r#"seen {"review": 10}"#],
        "
        a succeeded x1 contract/artifact_missing
        b succeeded x1
        run.completed.with_warnings",
    );
}

#[test]
fn a_missing_artifact_blocks_the_external_check_behind_it() {
    tells(
        &with("a {artifacts: review, continue_on_failure: true}; post<a external"),
        &[],
        "
        a failed x1 contract/artifact_missing
        post skipped x0 contract_blocked
        run.failed.missing_artifact",
    );
}

#[test]
fn a_missing_artifact_is_a_logical_fault_and_is_retried_only_when_that_is_asked() {
    tells(
        &with("a {artifacts: review, on_fail: {retry: {max: 2}}}"),
        &[],
        "
        a failed x1 contract/artifact_missing
        run.failed.missing_artifact",
    );
    tells(
        &with("a {artifacts: review, retry_on: [logical], on_fail: {retry: {max: 2}}}"),
        &[],
        "
        a failed x3 contract/artifact_missing
        run.failed.missing_artifact",
    );
}

#[test]
fn when_the_provider_faults_nothing_is_looked_at() {
    check(
        &with("a {artifacts: review}"),
        &["a: exit 1", r#"seen {"review": 10}"#],
        "
        started a #1
        failed a command/exit_nonzero
        delivery passed
        run.failed.exit_nonzero",
    );
}

#[test]
fn artifacts_speak_beside_the_other_contracts() {
    tells(
        &with(r#"a {artifacts: review, guarantee: "output.ok", fail_if: "true"}"#),
        &["a: {}"],
        "
        a failed x1 contract/guarantee_failed contract/artifact_missing a_fail_if
        run.failed.guarantee_failed",
    );
}

#[test]
fn checks_without_hands_are_looked_at_too() {
    tells(
        &with("a {type: noop, artifacts: review}"),
        &[],
        "
        a failed x1 contract/artifact_missing
        run.failed.missing_artifact",
    );
}

#[test]
fn a_run_that_is_cancelled_while_it_looks_is_still_judged() {
    check(
        &with("a {artifacts: review}; slow"),
        &["slow: never", "cancel"],
        "
        started a #1
        started slow #1
        inspected a failed
        failed a contract/artifact_missing
        failed slow command/cancelled
        delivery failed
        run.cancelled.user",
    );
}

#[test]
fn a_nested_run_owes_its_artifacts_under_its_own_name() {
    let nested = "deploy {type: playbook, playbook: promises.yaml}";
    let played = tells(
        nested,
        &[],
        "
        deploy succeeded x1
        run.failed.missing_artifact",
    );
    let missing = played.document()["artifacts"]["missing_required"].clone();
    assert_eq!(
        (missing[0]["id"].as_str(), missing[0]["path"].as_str()),
        (Some("deploy__notes"), Some("deploy/notes.md"))
    );
    tells(
        nested,
        &[r#"seen {"deploy__notes": 5}"#],
        "
        deploy succeeded x1
        run.completed.ok",
    );
}

#[test]
fn a_part_that_did_not_run_owes_nothing() {
    let played = tells(
        r#"deploy {type: playbook, playbook: promises.yaml, if: "false && event"}; a"#,
        &[],
        "
        deploy skipped x0 if_condition
        a succeeded x1
        run.completed.ok",
    );
    assert_eq!(played.document()["artifacts"]["status"], "skipped");
}

#[test]
fn a_part_that_may_fail_and_did_leaves_a_warning() {
    tells(
        "deploy info {type: playbook, playbook: promises.yaml, continue_on_failure: true}; a",
        &["deploy: exit 1"],
        "
        deploy failed x1 playbook/exit_nonzero
        a succeeded x1
        run.completed.with_warnings",
    );
}

#[test]
fn each_item_owes_its_own_and_is_looked_at_by_itself() {
    let played = tells(
        "list forEach; each<list {type: playbook, playbook: promises.yaml, artifacts: notes}; sum<each reduce",
        &["list: [1, 2]", r#"seen {"each__1__notes": 5}"#],
        "
        list succeeded x1
        each failed x2 contract/artifact_missing
        each[0] failed x1
        each[1] succeeded x1
        sum succeeded x1
        run.failed.missing_artifact",
    );
    let delivery = played.document()["artifacts"].clone();
    assert_eq!(delivery["missing_required"][0]["id"], "each__0__notes");
    assert_eq!(delivery["missing_required"][0]["path"], "each/0/notes.md");
    assert_eq!(delivery["produced"][0]["id"], "each__1__notes");
}

#[test]
fn a_look_that_a_crash_cut_off_is_taken_again() {
    use escrow_testkit::{Script, Stage, document, plan};
    let plan = plan(&with("a {artifacts: review}; b<a"));
    let script = Script::parse(&[r#"seen {"review": 10}"#]);
    let whole = play(&with("a {artifacts: review}; b<a"), &[r#"seen {"review": 10}"#], &Options::default());
    let mut stage = Stage::start(&plan, &Options::default(), script.clone());
    stage.play(&[]);
    for commit in stage.drive.commits.clone() {
        let mut again = Stage::resume(&stage.drive.journal[..commit], script.clone(), true);
        again.play(&[]);
        assert_eq!(again.drive.run.status(), whole.run.status(), "broken off after entry {commit}");
        assert_eq!(document(&again.drive.run)["artifacts"]["status"], "passed");
    }
}
