//! Faults, and what is tried again.

use escrow_model::Event;
use escrow_testkit::{Options, Played, check, play, tells};

fn delays_ms(played: &Played) -> Vec<u64> {
    let due = played.journal.iter().filter_map(|entry| match &entry.event {
        Event::RetryScheduled { at, .. } => Some(at - entry.at),
        _ => None,
    });
    due.collect()
}

#[test]
fn nothing_is_retried_unless_it_says_so() {
    tells(
        "a",
        &["a: exit 1 then 1"],
        "
        a failed x1 command/exit_nonzero
        run.failed.exit_nonzero",
    );
}

#[test]
fn max_counts_retries_after_the_first_attempt() {
    check(
        "a {on_fail: {retry: {max: 2}}}",
        &["a: exit 1"],
        "
        started a #1
        failed a command/exit_nonzero
        retry a #1
        started a #2
        failed a command/exit_nonzero
        retry a #2
        started a #3
        failed a command/exit_nonzero
        run.failed.exit_nonzero",
    );
}

#[test]
fn without_max_an_info_check_is_retried_three_times_and_a_critical_one_twice() {
    tells(
        "a info {on_fail: {retry: {}}}; b policy {on_fail: {retry: {}}}",
        &["a: exit 1", "b: exit 1"],
        "
        a failed x4 command/exit_nonzero
        b failed x3 command/exit_nonzero
        run.failed.exit_nonzero",
    );
}

#[test]
fn a_retry_that_succeeds_leaves_no_trace_of_failure() {
    tells(
        "a {on_fail: {retry: {max: 1}}}; b<a",
        &["a: exit 1 then 1"],
        "
        a succeeded x2
        b succeeded x1
        run.completed.ok",
    );
}

#[test]
fn dependents_wait_for_the_retries() {
    check(
        "a {on_fail: {retry: {max: 1}}}; b<a",
        &["a: exit 1 then 1"],
        "
        started a #1
        failed a command/exit_nonzero
        retry a #1
        started a #2
        succeeded a
        started b #1
        succeeded b
        run.completed.ok",
    );
}

#[test]
fn logical_faults_are_not_retried() {
    for world in ["a: broken", r#"a: {"bad": true}"#, "a: http 404"] {
        let played = play(
            r#"a {fail_if: "output && output.bad", on_fail: {retry: {max: 2}}}"#,
            &[world],
            &Options::default(),
        );
        assert_eq!(played.check("a")["runs"], 1, "{world}");
    }
}

#[test]
fn logical_faults_are_retried_when_retry_on_says_so() {
    tells(
        r#"a {guarantee: "output.ok", retry_on: [transient, logical], on_fail: {retry: {max: 2}}}"#,
        &[r#"a: {"ok": false} then {"ok": true}"#],
        "a succeeded x2
         run.completed.ok",
    );
}

#[test]
fn retry_on_logical_alone_leaves_transient_faults() {
    tells(
        "a {retry_on: [logical], on_fail: {retry: {max: 2}}}",
        &["a: exit 1"],
        "
        a failed x1 command/exit_nonzero
        run.failed.exit_nonzero",
    );
}

#[test]
fn a_transient_fault_that_fail_if_calls_a_failure_is_logical() {
    tells(
        r#"a {fail_if: "output.exitCode === 2", on_fail: {retry: {max: 2}}}"#,
        &["a: exit 1 then exit 2"],
        "
        a failed x2 command/exit_nonzero a_fail_if
        run.failed.exit_nonzero",
    );
}

#[test]
fn timeouts_signals_and_busy_servers_are_transient() {
    for world in ["a: timeout then 1", "a: signal then 1", "a: http 503 then 1", "a: http 429 then 1"] {
        let played = play("a {on_fail: {retry: {max: 1}}}", &[world], &Options::default());
        assert_eq!(played.reason(), "run.completed.ok", "{world}");
    }
}

#[test]
fn backoff_is_one_second_and_jitters_by_a_tenth() {
    let played = play("a {on_fail: {retry: {max: 1}}}", &["a: exit 1"], &Options::default());
    let delays = delays_ms(&played);
    assert!((900..=1100).contains(&delays[0]), "{delays:?}");
}

#[test]
fn exponential_backoff_doubles() {
    let text = "a {on_fail: {retry: {max: 4, backoff: {mode: exponential, delay_ms: 1000}}}}";
    let delays = delays_ms(&play(text, &["a: exit 1"], &Options::default()));
    for (delay, nominal) in delays.iter().zip([1000, 2000, 4000, 8000]) {
        assert!((nominal * 9 / 10..=nominal * 11 / 10).contains(delay), "{delays:?}");
    }
    assert_eq!(delays.len(), 4);
}

#[test]
fn a_retry_waits_as_long_as_the_other_side_asks_but_not_for_ever() {
    let text = "a {on_fail: {retry: {max: 3, backoff: {mode: fixed, delay_ms: 1000}}}}";
    let answers = ["a: http 429 pause 30s then http 503 pause 10ms then http 503 pause 48h"];
    let delays = delays_ms(&play(text, &answers, &Options::default()));
    assert_eq!((delays[0], delays[2]), (30_000, 60 * 60 * 1000), "{delays:?}");
    assert!((900..=1100).contains(&delays[1]), "a shorter pause does not shorten the backoff: {delays:?}");
}

#[test]
fn fixed_backoff_stays() {
    let text = "a {on_fail: {retry: {max: 3, backoff: {mode: fixed, delay_ms: 500}}}}";
    let delays = delays_ms(&play(text, &["a: exit 1"], &Options::default()));
    assert!(delays.iter().all(|delay| (450..=550).contains(delay)), "{delays:?}");
    assert_eq!(delays.len(), 3);
}

#[test]
fn run_targets_come_before_the_retry() {
    check(
        "a {on_fail: {run: [fix], retry: {max: 1}}}; fix",
        &["a: exit 1 then 1"],
        "
        started a #1
        failed a command/exit_nonzero
        routed a -> fix on_fail.run
        started fix #1
        succeeded fix
        retry a #1
        started a #2
        succeeded a
        run.completed.ok",
    );
}

#[test]
fn when_retries_are_used_up_the_goto_follows() {
    check(
        "a {on_fail: {retry: {max: 1}, goto: fix}}; fix",
        &["a: exit 1"],
        "
        started a #1
        failed a command/exit_nonzero
        retry a #1
        started a #2
        failed a command/exit_nonzero
        routed a -> fix on_fail.goto
        started fix #1
        succeeded fix
        run.failed.exit_nonzero",
    );
}

#[test]
fn a_check_that_is_routed_to_again_has_its_retries_again() {
    tells(
        r#"a {on_fail: {retry: {max: 1}, transitions: [{when: "attempt < 4", to: a}]}}"#,
        &["a: exit 1 then exit 1 then exit 1 then 1"],
        "a succeeded x4
         run.completed.ok",
    );
}

#[test]
fn faults_are_journaled_from_detection_to_recovery() {
    check(
        "a {on_fail: {retry: {max: 1}}}; b<a",
        &["a: exit 1 then 1"],
        "
        started a #1
        fault a transient
        failed a command/exit_nonzero
        recovery a started retry
        retry a #1
        started a #2
        succeeded a
        recovery a succeeded
        started b #1
        succeeded b
        run.completed.ok",
    );
}

#[test]
fn faults_that_recovery_does_not_mend_are_exhausted_and_isolated() {
    check(
        "a {on_fail: {retry: {max: 1}}}; b<a",
        &["a: exit 1"],
        "
        started a #1
        fault a transient
        failed a command/exit_nonzero
        recovery a started retry
        retry a #1
        started a #2
        fault a transient
        failed a command/exit_nonzero
        recovery a exhausted
        isolated a
        skipped b dependency_failed
        run.failed.exit_nonzero",
    );
}

#[test]
fn a_fault_without_recovery_is_detected_and_isolated_at_once() {
    check(
        "a; b<a; c",
        &["a: exit 1"],
        "
        started a #1
        started c #1
        fault a transient
        failed a command/exit_nonzero
        isolated a
        skipped b dependency_failed
        succeeded c
        run.failed.exit_nonzero",
    );
}

#[test]
fn a_fault_that_keeps_nothing_from_running_is_not_isolated() {
    check(
        "a info {continue_on_failure: true}; b<a",
        &["a: exit 1"],
        "
        started a #1
        fault a transient
        failed a command/exit_nonzero
        started b #1
        succeeded b
        warning a check_failed
        run.completed.with_warnings",
    );
}

#[test]
fn recovery_by_a_route_that_runs_out_of_budget_is_exhausted() {
    let played =
        play("@routing: {max_loops: 1}\na {on_fail: {goto: a}}", &["a: exit 1"], &Options::default());
    let events: Vec<&Event> = played.journal.iter().map(|entry| &entry.event).collect();
    let exhausted = events.iter().filter(|event| matches!(event, Event::RecoveryExhausted { .. })).count();
    let started = events.iter().filter(|event| matches!(event, Event::RecoveryStarted { .. })).count();
    assert_eq!((started, exhausted), (1, 1));
}

#[test]
fn the_key_of_an_effect_is_the_same_for_every_retry_and_new_for_every_decision() {
    let played = play(
        r#"a {on_fail: {retry: {max: 1}, transitions: [{when: "attempt < 4", to: a}]}}"#,
        &["a: exit 1 then exit 1 then exit 1 then 1"],
        &Options::default(),
    );
    let keys: Vec<&str> = played
        .journal
        .iter()
        .filter_map(|entry| match &entry.event {
            Event::AttemptStarted { request, .. } => Some(request.idempotency_key.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(keys.len(), 4);
    assert_eq!(keys[0], keys[1]);
    assert_ne!(keys[1], keys[2]);
    assert_eq!(keys[2], keys[3]);
}

#[test]
fn a_fail_if_that_cannot_be_evaluated_on_a_crash_does_not_keep_it_from_being_tried_again() {
    let played = play(
        "a internal {fail_if: output.summary.failed > 0, on_fail: {retry: {max: 2}}}",
        &["a: exit 137 then exit 137 then {\"summary\": {\"failed\": 0}}"],
        &Options::default(),
    );
    assert_eq!(played.document()["checks"]["a"]["runs"], 3);
    assert_eq!(played.reason(), "run.completed.ok");
}

#[test]
fn jitter_spreads_over_the_whole_fifth() {
    let items: Vec<String> = (0..60).map(|index| index.to_string()).collect();
    let list = format!("list: [{}]", items.join(", "));
    let played = play(
        "list forEach; each<list {on_fail: {retry: {max: 1}}}",
        &[&list, "each: exit 1"],
        &Options::default(),
    );
    let delays = delays_ms(&played);
    assert_eq!(delays.len(), 60);
    assert!(delays.iter().all(|delay| (900..=1_100).contains(delay)), "{delays:?}");
    assert!(delays.iter().any(|delay| *delay < 930), "{delays:?}");
    assert!(delays.iter().any(|delay| (970..1_030).contains(delay)), "{delays:?}");
    assert!(delays.iter().any(|delay| *delay > 1_070), "{delays:?}");
}

#[test]
fn no_backoff_is_longer_than_an_hour() {
    let played = play(
        "a {on_fail: {retry: {max: 3, backoff: {mode: exponential, delay_ms: 3000000}}}}",
        &["a: exit 1"],
        &Options::default(),
    );
    let delays = delays_ms(&played);
    let hour = 60 * 60 * 1_000;
    assert!(delays[0] < hour, "{delays:?}");
    assert!(delays[1..].iter().all(|delay| (hour * 9 / 10..=hour * 11 / 10).contains(delay)), "{delays:?}");
}
