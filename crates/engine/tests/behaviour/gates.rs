//! `if` and `assume`: who may run at all.

use escrow_testkit::{Options, check, play, tells};

#[test]
fn a_false_if_skips_and_is_not_a_run() {
    tells(
        r#"a {if: "false"}; b<a"#,
        &[],
        "
        a skipped x0 if_condition
        b skipped x0 dependency_failed
        run.completed.nothing_ran",
    );
}

#[test]
fn an_if_that_cannot_be_evaluated_skips_and_says_so() {
    tells(
        r#"a info {if: "event.nosuch.thing > 1"}; b"#,
        &[],
        "
        a skipped x0 if_condition system/expression_error
        b succeeded x1
        run.completed.with_warnings",
    );
}

#[test]
fn an_if_that_cannot_be_evaluated_on_a_critical_check_fails_the_run() {
    tells(
        r#"a policy {if: "event.nosuch.thing > 1"}; b"#,
        &[],
        "
        a skipped x0 if_condition system/expression_error
        b succeeded x1
        run.failed.expression_error",
    );
}

#[test]
fn a_broken_assumption_skips() {
    tells(
        r#"a {assume: ["true", "event.x === 1"]}; b<a"#,
        &[],
        "
        a skipped x0 assume
        b skipped x0 dependency_failed
        run.completed.nothing_ran",
    );
}

#[test]
fn an_assumption_that_cannot_be_evaluated_skips_and_on_a_critical_check_fails_the_run() {
    tells(
        r#"a policy {assume: "outputs.b.deep.deeper"}; b"#,
        &[],
        "
        a skipped x0 assume system/expression_error
        b succeeded x1
        run.failed.expression_error",
    );
}

#[test]
fn with_assume_mode_fail_a_broken_assumption_fails_without_a_run_and_routes_on_fail() {
    check(
        r#"a {assume: "false", assume_mode: fail, on_fail: {run: [fix]}}; fix"#,
        &[],
        "
        failed a contract/assume_failed
        routed a -> fix on_fail.run
        started fix #1
        succeeded fix
        run.failed.check_failed",
    );
}

#[test]
fn with_assume_mode_fail_an_assumption_that_cannot_be_evaluated_fails_as_an_expression_error() {
    tells(
        r#"a info {assume: "event.no.such", assume_mode: fail}"#,
        &[],
        "
        a failed x0 system/expression_error contract/assume_failed
        run.failed.expression_error",
    );
}

#[test]
fn assumptions_see_the_results_of_dependencies() {
    tells(
        r#"a; b<a {assume: "outputs.a.n > 1"}; c<a {assume: "outputs['a'].n > 2"}"#,
        &[r#"a: {"n": 2}"#],
        "
        a succeeded x1
        b succeeded x1
        c skipped x0 assume
        run.completed.with_skips",
    );
}

#[test]
fn conditions_see_the_environment_of_the_file_and_of_the_check() {
    tells(
        r#"@env: {READY: "yes"}
           a {if: "env.READY === 'yes'"}; b {env: {OWN: "1"}, if: "env.OWN === '1'"}; c {if: "env.NONE"}"#,
        &[],
        "a succeeded x1
         b succeeded x1
         c skipped x0 if_condition
         run.completed.ok",
    );
}

#[test]
fn outputs_history_is_an_empty_list_before_anything_ran() {
    tells(
        r#"a {if: "Array.isArray(outputs_history['b']) && outputs_history.b.length === 0"}; b"#,
        &[],
        "
        a succeeded x1
        b succeeded x1
        run.completed.ok",
    );
}

#[test]
fn changed_files_outside_git_are_an_evaluation_error() {
    let mut options = Options::default();
    options.facts.git = Some(Err("not a git repository".into()));
    let played = play(r#"a info {if: "filesCount > 0"}"#, &[], &options);
    assert_eq!(played.check("a")["skip_reason"], "if_condition");
    assert!(played.message("a").contains("not a git repository"), "{}", played.message("a"));
}

#[test]
fn a_secret_reads_as_stars_and_one_that_is_not_set_as_undefined() {
    let mut options = Options::default();
    options.facts.env.insert("TOKEN".into(), "s3cret".into());
    let played = play(
        r#"@secrets: [TOKEN, OTHER]
           a {if: "env.TOKEN === '***' && env.OTHER === undefined"}"#,
        &[],
        &options,
    );
    assert_eq!(played.check("a")["status"], "succeeded");
}

#[test]
fn an_endless_expression_is_an_evaluation_error() {
    tells(
        r#"a info {if: "(() => { while (true) {} })()"}"#,
        &[],
        "
        a skipped x0 if_condition system/expression_error
        run.completed.nothing_ran",
    );
}
