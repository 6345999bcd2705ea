//! `depends_on`: who waits for whom, and what a failure or a skip means behind it.

use std::sync::Arc;

use escrow_model::CheckIndex;
use escrow_testkit::{Options, Script, Stage, check, plan, tells, timeline};

#[test]
fn all_dependencies_must_succeed() {
    tells(
        "a; b; c<a,b",
        &["b: exit 1"],
        "
        a succeeded x1
        b failed x1 command/exit_nonzero
        c skipped x0 dependency_failed
        run.failed.exit_nonzero",
    );
}

#[test]
fn any_alternative_will_do() {
    tells(
        "a; b; c<a|b",
        &["a: exit 1"],
        "
        a failed x1 command/exit_nonzero
        b succeeded x1
        c succeeded x1
        run.failed.exit_nonzero",
    );
}

#[test]
fn without_any_alternative_a_check_skips() {
    tells(
        r#"a; b {if: "false"}; c<a|b"#,
        &["a: exit 1"],
        "
        a failed x1 command/exit_nonzero
        b skipped x0 if_condition
        c skipped x0 dependency_failed
        run.failed.exit_nonzero",
    );
}

#[test]
fn a_check_starts_as_soon_as_one_alternative_succeeded() {
    check(
        "a; b; c<a|b",
        &["a: 1 after 1s", "b: 1 after 9s"],
        "
        started a #1
        started b #1
        succeeded a
        started c #1
        succeeded c
        succeeded b
        run.completed.ok",
    );
}

#[test]
fn there_is_no_level_barrier() {
    check(
        "slow; a; b<a; c<b",
        &["slow: 1 after 1m"],
        "
        started slow #1
        started a #1
        succeeded a
        started b #1
        succeeded b
        started c #1
        succeeded c
        succeeded slow
        run.completed.ok",
    );
}

#[test]
fn a_skip_passes_on_through_a_chain() {
    tells(
        r#"a {if: "false"}; b<a; c<b; d"#,
        &[],
        "
        a skipped x0 if_condition
        b skipped x0 dependency_failed
        c skipped x0 dependency_failed
        d succeeded x1
        run.completed.ok",
    );
}

#[test]
fn continue_on_failure_satisfies_dependents_after_a_failure_and_after_a_skip() {
    tells(
        r#"a info {continue_on_failure: true}; b<a; c info {if: "false", continue_on_failure: true}; d<c"#,
        &["a: exit 1"],
        "a failed x1 command/exit_nonzero
         b succeeded x1
         c skipped x0 if_condition
         d succeeded x1
         run.completed.with_warnings",
    );
}

#[test]
fn continue_on_failure_is_about_the_failing_check_and_not_about_those_behind_it() {
    tells(
        r#"a; b<a info {continue_on_failure: true}; c<b"#,
        &["a: exit 1"],
        "
        a failed x1 command/exit_nonzero
        b skipped x0 dependency_failed
        c succeeded x1
        run.failed.exit_nonzero",
    );
}

#[test]
fn no_more_run_at_once_than_the_file_allows() {
    check(
        "@max_parallelism: 2\na; b; c",
        &["a: 1 after 1s", "b: 1 after 2s"],
        "
        started a #1
        started b #1
        succeeded a
        started c #1
        succeeded c
        succeeded b
        run.completed.ok",
    );
}

#[test]
fn pure_checks_need_no_slot() {
    check(
        "@max_parallelism: 1\na; b {type: noop}",
        &["a: 1 after 1s"],
        "
        started b #1
        succeeded b
        started a #1
        succeeded a
        run.completed.ok",
    );
}

/// A chain's steps follow one another: after, not needing, the one before.
fn after(text: &str, world: &[&str]) -> String {
    let mut plan = (*plan(text)).clone();
    for place in 1..plan.checks.len() {
        plan.checks[place].after = vec![CheckIndex::at(place - 1)];
    }
    let mut stage = Stage::start(&Arc::new(plan), &Options::default(), Script::parse(world));
    stage.play(&[]);
    timeline(&stage.drive.journal, "").join(", ")
}

#[test]
fn what_comes_after_another_waits_for_it_however_it_settles() {
    assert_eq!(
        after(r#"a; b {if: "false"}; c"#, &["a: exit 1 after 5s"]),
        "started a #1, failed a command/exit_nonzero, skipped b if_condition, started c #1, succeeded c , \
         run.failed.exit_nonzero"
    );
}
