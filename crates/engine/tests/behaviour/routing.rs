//! Where a settled check sends the run.

use escrow_testkit::{check, tells};

#[test]
fn run_comes_first_then_transitions() {
    check(
        r#"a {on_success: {run: [b, c], transitions: [{when: "true", to: d}]}}; b; c; d"#,
        &[],
        "started a #1
         succeeded a
         routed a -> b on_success.run
         routed a -> c on_success.run
         started b #1
         started c #1
         succeeded b
         succeeded c
         routed a -> d on_success.transition
         started d #1
         succeeded d
         run.completed.ok",
    );
}

#[test]
fn a_failed_run_target_stops_the_goto() {
    tells(
        "a {on_success: {run: [b], goto: c}}; b; c",
        &["b: exit 1"],
        "
        a succeeded x1
        b failed x1 command/exit_nonzero
        c skipped x0 not_routed
        run.failed.exit_nonzero",
    );
}

#[test]
fn the_first_transition_that_holds_is_taken() {
    tells(
        r#"a {on_success: {transitions: [{when: "output.n > 5", to: b}, {when: "output.n > 1", to: c}, {when: "true", to: b}]}}
           b; c"#,
        &[r#"a: {"n": 2}"#],
        "a succeeded x1
         b skipped x0 not_routed
         c succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_transition_to_null_stops() {
    tells(
        r#"a {on_success: {transitions: [{when: "true", to: null}], goto: b}}; b"#,
        &[],
        "
        a succeeded x1
        b skipped x0 not_routed
        run.completed.ok",
    );
}

#[test]
fn a_when_that_cannot_be_evaluated_does_not_match_and_warns() {
    tells(
        r#"a info {on_success: {transitions: [{when: "output.x.y.z", to: b}], goto: c}}; b; c"#,
        &["a: {}"],
        "a succeeded x1 system/expression_error
         b skipped x0 not_routed
         c succeeded x1
         run.completed.with_warnings",
    );
}

#[test]
fn a_when_of_a_critical_check_that_cannot_be_evaluated_fails_the_run() {
    tells(
        r#"a {on_success: {transitions: [{when: "output.x.y.z", to: b}], goto: c}}; b; c"#,
        &["a: {}"],
        "a succeeded x1 system/expression_error
         b skipped x0 not_routed
         c succeeded x1
         run.failed.expression_error",
    );
}

#[test]
fn transitions_come_before_goto_js_and_goto_js_before_goto() {
    tells(
        r#"a {on_success: {transitions: [{when: "false", to: b}], goto_js: "return 'c'", goto: d}}; b; c {start: false}; d"#,
        &[],
        "a succeeded x1
         b skipped x0 not_routed
         c succeeded x1
         d skipped x0 not_routed
         run.completed.ok",
    );
}

#[test]
fn a_goto_js_that_returns_null_falls_through_to_goto() {
    tells(
        r#"a {on_success: {goto_js: "return null", goto: b}}; b"#,
        &[],
        "
        a succeeded x1
        b succeeded x1
        run.completed.ok",
    );
}

#[test]
fn an_unknown_target_of_goto_js_fails_the_run() {
    tells(
        r#"a {on_success: {goto_js: "return 'nobody'"}}"#,
        &[],
        "
        a succeeded x1 routing/unknown_target
        run.failed.expression_error",
    );
}

#[test]
fn run_js_names_checks_that_run_before_the_goto() {
    check(
        r#"a {on_success: {run_js: "return ['b', 'c']", goto: d}}; b {start: false}; c {start: false}; d"#,
        &[],
        "
        started a #1
        succeeded a
        routed a -> b on_success.run_js
        routed a -> c on_success.run_js
        started b #1
        started c #1
        succeeded b
        succeeded c
        routed a -> d on_success.goto
        started d #1
        succeeded d
        run.completed.ok",
    );
}

#[test]
fn a_route_decides_the_target_and_everything_behind_it_anew() {
    tells(
        r#"a; b<a; c<b {if: "outputs.a.n > 1"}; back<b {on_success: {transitions: [{when: "outputs.a.n < 2", to: a}]}}"#,
        &[r#"a: {"n": 1} then {"n": 2}"#],
        "a succeeded x2
         b succeeded x2
         c succeeded x1
         back succeeded x2
         run.completed.ok",
    );
}

#[test]
fn a_later_skip_does_not_erase_what_ran() {
    let played = tells(
        r#"a {if: "!memory.has('done')"}
           b<a {on_success: {goto_js: "if (memory.has('done')) return null; memory.set('done', 1); return 'a'"}}"#,
        &[r#"a: {"n": 1}"#],
        "a succeeded x1
         b succeeded x1
         run.completed.ok",
    );
    assert_eq!(played.check("a")["output"]["n"], 1);
}

#[test]
fn dependents_wait_while_a_loop_is_open() {
    check(
        r#"ask; refine<ask {fail_if: "output.again", on_fail: {goto: ask}}; finish<refine"#,
        &[r#"refine: {"again": true} then {"again": true} then {"again": false}"#],
        "started ask #1
         succeeded ask
         started refine #1
         failed refine refine_fail_if
         routed refine -> ask on_fail.goto
         started ask #2
         succeeded ask
         started refine #2
         failed refine refine_fail_if
         routed refine -> ask on_fail.goto
         started ask #3
         succeeded ask
         started refine #3
         succeeded refine
         started finish #1
         succeeded finish
         run.completed.ok",
    );
}

#[test]
fn a_route_to_its_own_source_satisfies_a_dependency_on_it() {
    check(
        "a {on_fail: {goto: fix}}; fix<a",
        &["a: exit 1"],
        "
        started a #1
        failed a command/exit_nonzero
        routed a -> fix on_fail.goto
        started fix #1
        succeeded fix
        run.failed.exit_nonzero",
    );
}

#[test]
fn on_fail_run_alone_does_not_attempt_the_failed_check_again() {
    tells(
        "a {on_fail: {run: [fix]}}; fix; b<a",
        &["a: exit 1"],
        "
        a failed x1 command/exit_nonzero
        fix succeeded x1
        b skipped x0 dependency_failed
        run.failed.exit_nonzero",
    );
}

#[test]
fn remediation_by_a_route_back_leaves_a_clean_run() {
    tells(
        "prepare; a<prepare {on_fail: {run: [fix], goto: prepare}}; fix",
        &["a: exit 1 then 1"],
        "
        prepare succeeded x2
        a succeeded x2
        fix succeeded x1
        run.completed.ok",
    );
}

#[test]
fn a_routed_target_sees_what_its_source_gave_without_depending_on_it() {
    tells(
        r#"a {on_success: {goto: b}}; b {guarantee: "outputs.a.n === 7"}"#,
        &[r#"a: {"n": 7}"#],
        "
        a succeeded x1
        b succeeded x1
        run.completed.ok",
    );
}

#[test]
fn a_route_that_was_taken_is_not_lost_when_the_dependencies_of_its_target_run_again() {
    // `x` is sent back while `target`, already routed to, still waits for it.
    tells(
        r#"a {on_success: {goto: target}}
           x; slow; target<x,slow
           back<x {on_success: {transitions: [{when: "attempt < 2", to: x}]}}"#,
        &["slow: 1 after 1m", "back: 1 after 5s"],
        "a succeeded x1
         x succeeded x2
         slow succeeded x1
         target succeeded x1
         back succeeded x2
         run.completed.ok",
    );
}

#[test]
fn on_finish_of_a_plain_check_fires_after_it_settled_however_it_did() {
    check(
        "a {on_finish: {run: [clean]}}; clean; b<a",
        &["a: exit 1"],
        "
        started a #1
        failed a command/exit_nonzero
        routed a -> clean on_finish.run
        skipped b dependency_failed
        started clean #1
        succeeded clean
        run.failed.exit_nonzero",
    );
}

#[test]
fn on_finish_comes_after_on_success() {
    check(
        "a {on_success: {run: [b]}, on_finish: {run: [c]}}; b; c",
        &[],
        "
        started a #1
        succeeded a
        routed a -> b on_success.run
        started b #1
        succeeded b
        routed a -> c on_finish.run
        started c #1
        succeeded c
        run.completed.ok",
    );
}

#[test]
fn what_runs_finishes_before_a_route_pulls_the_ground_from_it() {
    check(
        r#"a; long<a; short<a {on_success: {transitions: [{when: "attempt < 2", to: a}]}}"#,
        &["long: 1 after 9s"],
        "started a #1
         succeeded a
         started long #1
         started short #1
         succeeded short
         succeeded long
         routed short -> a on_success.transition
         started a #2
         succeeded a
         started long #2
         started short #2
         succeeded short
         succeeded long
         run.completed.ok",
    );
}

#[test]
fn two_checks_that_run_the_same_target_run_it_one_after_the_other() {
    check(
        "a {on_success: {run: [t]}}; b {on_success: {run: [t]}}; t; c<a,b",
        &[],
        "
        started a #1
        started b #1
        succeeded a
        routed a -> t on_success.run
        started t #1
        succeeded b
        started c #1
        succeeded t
        routed b -> t on_success.run
        started t #2
        succeeded c
        succeeded t
        run.completed.ok",
    );
}
