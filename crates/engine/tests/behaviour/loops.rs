//! Loop budgets: how often routing may run something again.

use escrow_testkit::{Options, check, play, tells};

#[test]
fn max_loops_5_runs_a_check_that_goes_to_itself_six_times() {
    tells(
        r#"@routing: {max_loops: 5}
             a {on_success: {transitions: [{when: "true", to: a}]}}"#,
        &[],
        "
        a succeeded x6 routing/loop_budget_exceeded
        run.failed.loop_budget",
    );
}

#[test]
fn without_max_loops_an_info_check_may_loop_ten_times_and_a_critical_one_eight() {
    tells(
        "a info {on_success: {goto: a}}",
        &[],
        "
        a succeeded x11 routing/loop_budget_exceeded
        run.failed.loop_budget",
    );
    tells(
        "a {on_success: {goto: a}}",
        &[],
        "
        a succeeded x9 routing/loop_budget_exceeded
        run.failed.loop_budget",
    );
}

#[test]
fn strict_safety_halves_the_default_loop_budget_and_the_default_retries() {
    tells(
        r#"@safety: strict
             a info {on_success: {transitions: [{when: "outputs_history.a.length < 99", to: a}]}}"#,
        &[],
        "
        a succeeded x6 routing/loop_budget_exceeded
        run.failed.loop_budget",
    );
    tells(
        "@safety: strict\na info {on_fail: {retry: {}}}",
        &["a: exit 1"],
        "
        a failed x2 command/exit_nonzero
        run.failed.exit_nonzero",
    );
}

#[test]
fn the_first_run_of_a_target_costs_nothing() {
    tells(
        "@routing: {max_loops: 0}\na {on_success: {run: [b], goto: c}}; b; c",
        &[],
        "
        a succeeded x1
        b succeeded x1
        c succeeded x1
        run.completed.ok",
    );
}

#[test]
fn over_the_budget_what_runs_finishes_and_nothing_new_starts_in_that_scope() {
    tells(
        r#"@routing: {max_loops: 1}
           slow; a {on_success: {goto: a}}; after<slow"#,
        &["slow: 1 after 1m"],
        "slow succeeded x1
         a succeeded x2 routing/loop_budget_exceeded
         after skipped x0 loop_budget
         run.failed.loop_budget",
    );
}

#[test]
fn a_check_that_is_ready_when_the_budget_is_spent_starts_whatever_runs_the_loop() {
    // A loop in this process spends its budget before any command can start.
    for provider in ["noop", "command"] {
        for jobs in [1, 4] {
            let mut options = Options::default();
            options.run.parallelism = jobs;
            let plan = format!(
                "@routing: {{max_loops: 2}}
                 a {{type: {provider}, on_success: {{goto: a}}}}
                 beside; list forEach; each<list; after<beside"
            );
            let played = play(&plan, &["beside: 1 after 1m", "list: [1, 2] after 1m"], &options);
            assert_eq!(played.reason(), "run.failed.loop_budget");
            let told = |name: &str| played.check(name)["status"].as_str().unwrap_or_default().to_owned();
            assert_eq!(
                (told("beside"), told("list")),
                ("succeeded".into(), "succeeded".into()),
                "{provider} {jobs}"
            );
            for name in ["each", "after"] {
                assert_eq!(played.check(name)["skip_reason"], "loop_budget", "{provider} {jobs}: {name}");
            }
        }
    }
}

#[test]
fn each_item_has_its_own_budget() {
    let played = play(
        r#"@routing: {max_loops: 5}
           list forEach
           each<list {on_fail: {run: [fix], goto: each}}
           fix map {start: false}"#,
        &["list: [0, 1, 2]", "each: exit 1 then exit 1 then exit 1 then 1"],
        &Options::default(),
    );
    assert_eq!(played.reason(), "run.completed.ok");
    assert_eq!(played.check("each")["runs"], 12);
}

#[test]
fn an_item_over_its_budget_halts_that_item_and_no_other() {
    tells(
        r#"@routing: {max_loops: 1}
           list forEach
           each<list {on_fail: {goto: each}}
           after<each map"#,
        &["list: [0, 1]", "each[0]: exit 1", "each[1]: 1"],
        "list succeeded x1
         each failed x3 command/exit_nonzero routing/loop_budget_exceeded
         each[0] failed x2
         each[1] succeeded x1
         after succeeded x1
         after[0] skipped x0 loop_budget
         after[1] succeeded x1
         run.failed.loop_budget",
    );
}

#[test]
fn two_checks_that_send_the_run_back_share_the_budget_of_their_scope() {
    let played = check(
        r#"@routing: {max_loops: 3}
           a; b<a {on_success: {goto: a}}; c<a {on_success: {goto: a}}"#,
        &["b: 1 after 1s"],
        "started a #1
         succeeded a
         started b #1
         started c #1
         succeeded c
         succeeded b
         routed b -> a on_success.goto
         started a #2
         succeeded a
         started b #2
         started c #2
         succeeded c
         succeeded b
         routed b -> a on_success.goto
         started a #3
         succeeded a
         started b #3
         started c #3
         succeeded c
         succeeded b
         routed b -> a on_success.goto
         started a #4
         succeeded a
         started b #4
         started c #4
         succeeded c
         succeeded b
         loop_budget b -> a 3
         run.failed.loop_budget",
    );
    assert_eq!(played.check("a")["runs"], 4);
}

#[test]
fn equal_indices_of_two_lists_are_two_scopes() {
    tells(
        r#"@routing: {max_loops: 1}
           one forEach; a<one {on_fail: {goto: a}}
           two forEach; b<two {on_fail: {goto: b}}; after<b map"#,
        &["one: [0]", "two: [0]", "a: exit 1", "b: exit 1 then 1"],
        "one succeeded x1
         a failed x2 command/exit_nonzero routing/loop_budget_exceeded
         a[0] failed x2
         two succeeded x1
         b succeeded x2
         b[0] succeeded x2
         after succeeded x1
         after[0] succeeded x1
         run.failed.loop_budget",
    );
}

#[test]
fn a_target_that_never_runs_costs_budget_when_its_source_runs_again() {
    // `x` is always skipped, and each route to it decides `a`, which may pass it over, anew.
    tells(
        r#"@routing: {max_loops: 2}
           x {if: "false", continue_on_failure: true}; a<x {on_finish: {goto: x}}"#,
        &[],
        "x skipped x0 if_condition
         a succeeded x3 routing/loop_budget_exceeded
         run.failed.loop_budget",
    );
    tells(
        r#"@routing: {max_loops: 2}
           a {assume: "false", assume_mode: fail, on_fail: {goto: a}}"#,
        &[],
        "a failed x0 contract/assume_failed routing/loop_budget_exceeded
         run.failed.loop_budget",
    );
}

#[test]
fn a_route_to_a_check_that_waits_to_be_routed_to_counts_once_it_has_run() {
    tells(
        r#"
        @routing: {max_loops: 3}
        a {fail_if: "true", on_fail: {goto: fix}}
        fix {on_success: {goto: a}}"#,
        &[],
        "
        a failed x3 a_fail_if routing/loop_budget_exceeded
        fix succeeded x2
        run.failed.loop_budget",
    );
}
