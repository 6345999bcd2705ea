//! `resume --failed`: failed checks run again, and no confirmed effect is repeated.

use escrow_engine::CannotRetry;
use escrow_testkit::{Options, check, play, tells};

#[test]
fn what_failed_runs_again_with_what_depends_on_it() {
    tells(
        "a; b<a; c<b",
        &["b: exit 1 then 1", "reopen"],
        "
        a succeeded x1
        b succeeded x2
        c succeeded x1
        run.completed.ok",
    );
}

#[test]
fn a_confirmed_effect_is_not_repeated() {
    tells(
        "a {continue_on_failure: true, criticality: policy}; post<a external",
        &["a: exit 1 then 1", "reopen"],
        "
        a succeeded x2
        post succeeded x1
        run.completed.ok",
    );
}

#[test]
fn a_list_without_effects_is_made_anew() {
    tells(
        "a {continue_on_failure: true, criticality: policy}; list<a forEach; each<list",
        &["a: exit 1 then 1", "list: [0, 1] then [0]", "reopen"],
        "
        a succeeded x2
        list succeeded x2
        each succeeded x3
        each[0] succeeded x2
        run.completed.ok",
    );
}

/// The run was cancelled while the effect was unknown. That is no reason to repeat it.
#[test]
fn an_unknown_effect_is_asked_about_again() {
    let timeline = check(
        "a {continue_on_failure: true, criticality: policy}; post<a external",
        &["a: exit 1 then 1", "post: lost then 1", "cancel", "reopen", "assume post done"],
        "
        started a #1
        failed a command/exit_nonzero
        started post #1
        asks post unknown_effect
        run.waiting.unknown_effect
        run.cancelled.user
        reopened a
        asks post unknown_effect
        started a #2
        succeeded a
        run.waiting.unknown_effect
        succeeded post
        run.completed.ok",
    );
    assert_eq!(timeline.check("post")["runs"], 1);
}

#[test]
fn an_effect_that_nobody_knows_of_may_be_tried_again_by_a_person() {
    tells(
        "post external; after<post",
        &["post: lost then 1", "cancel", "reopen", "assume post retry"],
        "
        post succeeded x2
        after succeeded x1
        run.completed.ok",
    );
}

#[test]
fn an_item_that_nobody_knows_of_is_asked_about_again() {
    tells(
        "list forEach; post<list external; sum<post",
        &["list: [0, 1]", "post[0]: lost", "cancel", "reopen", "assume post[0] done"],
        "
        list succeeded x1
        post succeeded x2
        post[0] succeeded x1
        post[1] succeeded x1
        sum succeeded x1
        run.completed.ok",
    );
}

#[test]
fn a_failure_that_is_tolerated_is_not_run_again() {
    tells(
        "a info {continue_on_failure: true}; b",
        &["a: exit 1 then 1", "b: exit 1 then 1", "reopen"],
        "
        a failed x1 command/exit_nonzero
        b succeeded x2
        run.completed.with_warnings",
    );
}

#[test]
fn what_the_end_of_the_run_kept_from_running_runs() {
    tells(
        "a; b<a",
        &["a: 1 after 5s", "cancel", "reopen"],
        "
        a succeeded x2
        b succeeded x1
        run.completed.ok",
    );
}

#[test]
fn what_the_loop_budget_kept_from_running_runs() {
    let played = play(
        "@routing: {max_loops: 1}\na {fail_if: \"output === 0\", on_fail: {goto: a}}; b<a",
        &["a: 0 then 0 then 1", "reopen"],
        &Options::default(),
    );
    assert_eq!(played.reason(), "run.completed.ok");
    assert_eq!(played.check("b")["runs"], 1);
}

#[test]
fn a_gate_that_could_not_be_evaluated_is_asked_again() {
    tells(
        "a {criticality: policy, if: \"event.no.such\"}",
        &["reopen"],
        "
        a skipped x0 if_condition system/expression_error
        run.failed.expression_error",
    );
}

#[test]
fn only_what_ended_without_success_can_be_opened_again() {
    let refused = |text: &str, script: &[&str]| {
        let mut played = play(text, script, &Options::default());
        played.run.retry_failed(played.now_ms, None).map(|_| ())
    };
    assert_eq!(refused("a", &[]), Err(CannotRetry::Completed));
    assert_eq!(refused("a {requires_approval: true}", &[]), Err(CannotRetry::NotEnded));
    assert_eq!(refused("a {requires_approval: true}", &["deny a"]), Err(CannotRetry::Denied));
    for script in [&["a: exit 1"][..], &["a: 1 after 5s", "cancel"]] {
        assert_eq!(refused("a", script), Ok(()), "{script:?}");
    }
}
