//! How a run ends, and the one cause it names.

use escrow_testkit::{Options, check, play, tells};

#[test]
fn a_run_in_which_everything_succeeded_is_ok() {
    tells(
        "a; b<a",
        &[],
        "
        a succeeded x1
        b succeeded x1
        run.completed.ok",
    );
}

#[test]
fn a_failed_info_check_fails_the_run_too() {
    tells(
        "a info; b",
        &["a: exit 1"],
        "
        a failed x1 command/exit_nonzero
        b succeeded x1
        run.failed.exit_nonzero",
    );
}

#[test]
fn a_failed_info_check_that_may_fail_leaves_a_warning() {
    let played = tells(
        r#"a info {continue_on_failure: true, fail_if: "true"}; b<a"#,
        &[],
        "
        a failed x1 a_fail_if
        b succeeded x1
        run.completed.with_warnings",
    );
    assert_eq!(played.document()["run"]["warnings"][0]["check"], "a");
}

#[test]
fn continue_on_failure_on_a_critical_check_lets_dependents_continue_and_still_fails_the_run() {
    tells(
        "a policy {continue_on_failure: true}; b<a",
        &["a: exit 1"],
        "
        a failed x1 command/exit_nonzero
        b succeeded x1
        run.failed.exit_nonzero",
    );
}

#[test]
fn the_cause_is_that_of_the_first_decisive_check() {
    let played = tells(
        r#"a info {continue_on_failure: true}; b {guarantee: "false"}; c"#,
        &["a: exit 1", "b: 1 after 1s", "c: exit 1 after 2s"],
        "a failed x1 command/exit_nonzero
         b failed x1 contract/guarantee_failed
         c failed x1 command/exit_nonzero
         run.failed.guarantee_failed",
    );
    let evidence = &played.document()["run"]["reason"]["evidence"];
    assert_eq!(evidence[0]["id"], "b");
    assert_eq!(evidence[1]["id"], "c");
}

#[test]
fn a_loop_budget_outranks_an_expression_error_and_that_a_failed_check() {
    tells(
        r#"a; b policy {if: "event.x.y"}; c {on_success: {goto: c}}"#,
        &["a: exit 1", "c: 1 after 1s"],
        "a failed x1 command/exit_nonzero
         b skipped x0 if_condition system/expression_error
         c succeeded x9 routing/loop_budget_exceeded
         run.failed.loop_budget",
    );
    tells(
        r#"a; b policy {if: "event.x.y"}"#,
        &["a: exit 1"],
        "
        a failed x1 command/exit_nonzero
        b skipped x0 if_condition system/expression_error
        run.failed.expression_error",
    );
}

#[test]
fn a_cancelled_run_is_cancelled_whatever_else_failed() {
    tells(
        "a; b",
        &["a: exit 1", "b: never", "cancel"],
        "
        a failed x1 command/exit_nonzero
        b failed x1 command/cancelled
        run.cancelled.user",
    );
}

#[test]
fn a_run_in_which_nothing_ran_says_so() {
    check(
        r#"a {if: "false"}"#,
        &[],
        "
        skipped a if_condition
        warning - nothing_ran
        run.completed.nothing_ran",
    );
}

#[test]
fn a_later_success_in_the_same_scope_mends_a_failure() {
    tells(
        r#"a {on_fail: {transitions: [{when: "attempt < 2", to: a}]}}"#,
        &["a: exit 1 then 1"],
        "
        a succeeded x2
        run.completed.ok",
    );
}

#[test]
fn a_missing_required_artifact_fails_a_run_that_would_have_completed() {
    let artifacts = "@artifacts: {expected: [{id: review, path: review.md, description: d}]}\na";
    let played = check(
        artifacts,
        &[],
        "
        started a #1
        succeeded a
        delivery failed
        run.failed.missing_artifact",
    );
    let evidence = &played.document()["run"]["reason"]["evidence"];
    assert_eq!(evidence[0]["kind"], "expected_artifact");
    assert_eq!(evidence[0]["label"], "review.md");
    check(
        artifacts,
        &[r#"seen {"review": 10}"#],
        "
        started a #1
        succeeded a
        delivery passed
        run.completed.ok",
    );
}

#[test]
fn a_run_that_was_failing_keeps_its_cause() {
    check(
        "@artifacts: {expected: [{id: review, path: review.md, description: d}]}\na",
        &["a: exit 1"],
        "
        started a #1
        failed a command/exit_nonzero
        delivery failed
        run.failed.exit_nonzero",
    );
}

#[test]
fn artifacts_are_looked_at_on_every_way_out() {
    check(
        "@artifacts: {expected: [{id: review, path: review.md, description: d}]}\na",
        &["a: never", "cancel"],
        "
        started a #1
        failed a command/cancelled
        delivery failed
        run.cancelled.user",
    );
}

#[test]
fn an_optional_artifact_that_is_missing_is_a_warning() {
    tells(
        "@artifacts: {expected: [{id: review, path: review.md, description: d, required: false}]}\na",
        &[],
        "
        a succeeded x1
        run.completed.with_warnings",
    );
}

#[test]
fn an_env_that_cannot_be_rendered_fails_the_run_before_anything_starts() {
    tells(
        "@env: {X: \"{{ inputs.nothing.deep }}\"}\n@inputs: {nothing: {type: any}}\na; list forEach; b<list",
        &[],
        "
        a skipped x0 run_ended system/template_error
        list skipped x0 run_ended
        b skipped x0 run_ended
        run.failed.expression_error",
    );
}

#[test]
fn an_ended_run_takes_no_more_inputs() {
    let played = play("a", &["cancel"], &Options::default());
    assert_eq!(played.reason(), "run.completed.ok");
    assert_eq!(played.run.wake_at(), None);
}

#[test]
fn a_run_whose_time_is_up_is_timed_out_whatever_else_failed() {
    tells(
        "@timeout: 1m\n@routing: {max_loops: 1}\nbad; loop {on_success: {goto: loop}}; slow",
        &["bad: exit 1", "slow: never", "loop: 1 after 1s"],
        "bad failed x1 command/exit_nonzero
         loop succeeded x2 routing/loop_budget_exceeded
         slow failed x1 command/cancelled
         run.timed_out.deadline",
    );
}

#[test]
fn an_expression_that_cannot_be_evaluated_comes_before_an_earlier_failure() {
    tells(
        r#"a policy {continue_on_failure: true}; b<a policy {fail_if: "output.x.y"}"#,
        &["a: exit 1"],
        "
        a failed x1 command/exit_nonzero
        b failed x1 system/expression_error
        run.failed.expression_error",
    );
}

#[test]
fn a_reduce_check_behind_items_that_were_all_held_back_is_named() {
    let played = play(
        r#"list forEach; each<list {assume: "item > 5"}; sum<each"#,
        &["list: [1, 2]"],
        &Options::default(),
    );
    let document = played.document();
    let evidence = document["run"]["reason"]["evidence"].as_array().expect("evidence");
    let named: Vec<&str> = evidence.iter().filter_map(|one| one["id"].as_str()).collect();
    assert_eq!(named, ["each[0]", "each[1]", "sum"]);
}
