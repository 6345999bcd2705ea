//! Timeouts and cancellation.

use escrow_testkit::{Options, check, play, tells};

#[test]
fn a_cancelled_run_ends_what_runs_and_starts_nothing_more() {
    check(
        "a; b<a; c {type: human-input, prompt: p}",
        &["a: never", "cancel"],
        "
        started c #1
        asks c input
        started a #1
        skipped b run_ended
        failed c human-input/cancelled
        failed a command/cancelled
        run.cancelled.user",
    );
}

#[test]
fn an_interrupt_is_a_cancellation_by_the_system() {
    tells(
        "a",
        &["a: never", "interrupt"],
        "
        a failed x1 command/cancelled
        run.cancelled.system",
    );
}

#[test]
fn the_deadline_of_a_run_ends_it() {
    tells(
        "@timeout: 10s\na; b<a",
        &["a: never"],
        "
        a failed x1 command/cancelled
        b skipped x0 run_ended
        run.timed_out.deadline",
    );
}

#[test]
fn the_deadline_also_ends_a_wait() {
    tells(
        "@timeout: 10s\na {requires_approval: true}",
        &["wait 11s"],
        "
        a skipped x0 run_ended
        run.timed_out.deadline",
    );
}

#[test]
fn the_timeout_on_the_command_line_overrides() {
    let mut options = Options::default();
    options.run.timeout_ms = Some(1_000);
    let played = play("@timeout: 10h\na", &["a: never"], &options);
    assert_eq!(played.reason(), "run.timed_out.deadline");
    assert_eq!(played.now_ms, 1_001_000);
}

#[test]
fn the_first_cause_stands() {
    tells(
        "@timeout: 10s\na",
        &["a: never", "cancel", "cancel", "wait 1h"],
        "
        a failed x1 command/cancelled
        run.cancelled.user",
    );
}

#[test]
fn a_cancelled_check_is_not_retried_and_routes_nowhere() {
    tells(
        "a {on_fail: {retry: {max: 3}, run: [fix], goto: fix}}; fix",
        &["a: never", "cancel"],
        "
        a failed x1 command/cancelled
        fix skipped x0 run_ended
        run.cancelled.user",
    );
}

#[test]
fn cancelling_while_a_retry_is_waited_for_leaves_the_failure() {
    tells(
        "a {on_fail: {retry: {max: 3}}}",
        &["a: exit 1", "cancel"],
        "
        a failed x1 command/exit_nonzero
        run.cancelled.user",
    );
}

#[test]
fn items_that_have_not_started_are_skipped_when_the_run_is_cancelled() {
    tells(
        "list forEach {concurrency: 1}; each<list; sum<each",
        &["list: [0, 1]", "each: never", "cancel"],
        "
        list succeeded x1
        each failed x1 command/cancelled
        each[0] failed x1
        each[1] skipped x0 run_ended
        sum skipped x0 run_ended
        run.cancelled.user",
    );
}

#[test]
fn a_run_that_is_cancelled_before_anything_is_known_of_its_items_ends() {
    tells(
        "list forEach; each<list; sum<each",
        &["list: never", "cancel"],
        "
        list failed x1 command/cancelled
        each skipped x0 run_ended
        sum skipped x0 run_ended
        run.cancelled.user",
    );
}
