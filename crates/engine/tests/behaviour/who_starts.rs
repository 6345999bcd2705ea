//! Who starts by itself, and who waits to be routed to.

use escrow_testkit::{check, tells};

#[test]
fn a_routing_target_that_nobody_routed_to_skips() {
    tells(
        r#"a {on_fail: {run: [fix]}}; fix; after<fix"#,
        &[],
        "
        a succeeded x1
        fix skipped x0 not_routed
        after skipped x0 dependency_failed
        run.completed.ok",
    );
}

#[test]
fn a_target_that_its_source_depends_on_starts_by_itself() {
    tells(
        r#"build; test<build {on_fail: {transitions: [{when: "attempt < 2", to: build}]}}"#,
        &["test: exit 1 then 1"],
        "build succeeded x2
         test succeeded x2
         run.completed.ok",
    );
}

#[test]
fn a_check_that_routes_to_itself_starts_by_itself() {
    tells(
        r#"a {on_success: {transitions: [{when: "attempt < 3", to: a}]}}"#,
        &[],
        "
        a succeeded x3
        run.completed.ok",
    );
}

#[test]
fn a_ring_starts_at_its_first_check_that_no_on_fail_leads_to() {
    check(
        r#"fix {on_success: {goto: try}}
           try {on_fail: {goto: fix}}"#,
        &["try: exit 1 then 1"],
        "started try #1
         failed try command/exit_nonzero
         routed try -> fix on_fail.goto
         started fix #1
         succeeded fix
         routed fix -> try on_success.goto
         started try #2
         succeeded try
         run.completed.ok",
    );
}

#[test]
fn start_overrides() {
    tells(
        r#"a {on_success: {run: [b]}}; b {start: true}; c {start: false}"#,
        &[],
        "
        a succeeded x1
        b succeeded x2
        c skipped x0 not_routed
        run.completed.ok",
    );
}
