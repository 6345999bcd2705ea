//! What a skip means: a check was not needed, or something held it back.

use escrow_testkit::{Options, play, tells};

#[test]
fn behind_a_check_that_was_not_needed_continue_on_skip_lets_dependents_start() {
    tells(
        r#"docs {if: "false", continue_on_skip: true}; deploy<docs"#,
        &[],
        "
        docs skipped x0 if_condition
        deploy succeeded x1
        run.completed.ok",
    );
}

#[test]
fn behind_a_failure_continue_on_skip_lets_nothing_start() {
    tells(
        "docs {continue_on_skip: true}; deploy<docs",
        &["docs: exit 1"],
        "
        docs failed x1 command/exit_nonzero
        deploy skipped x0 dependency_failed
        run.failed.exit_nonzero",
    );
}

#[test]
fn an_if_that_cannot_be_evaluated_does_not_say_that_a_check_was_not_needed() {
    tells(
        r#"ok; docs info {if: "event.a.b.c", continue_on_skip: true}; deploy<docs"#,
        &[],
        "
        ok succeeded x1
        docs skipped x0 if_condition system/expression_error
        deploy skipped x0 dependency_failed
        run.completed.with_warnings",
    );
}

#[test]
fn a_false_assume_does_not_say_that_a_check_was_not_needed() {
    tells(
        r#"ok; docs {assume: "false", continue_on_skip: true}; deploy<docs"#,
        &[],
        "
        ok succeeded x1
        docs skipped x0 assume
        deploy skipped x0 dependency_failed
        run.completed.with_skips",
    );
}

/// The result must not depend on which alternative settles first.
#[test]
fn a_skip_counts_among_alternatives_only_when_none_can_still_succeed() {
    tells(
        r#"a {if: "false", continue_on_skip: true}; b; c<a|b"#,
        &["b: exit 1 after 5s"],
        "
        a skipped x0 if_condition
        b failed x1 command/exit_nonzero
        c succeeded x1
        run.failed.exit_nonzero",
    );
}

#[test]
fn items_that_were_not_needed_let_what_stands_behind_all_of_them_start() {
    tells(
        r#"list forEach; each<list {if: "false", continue_on_skip: true}; after<each {fanout: reduce}"#,
        &["list: [1, 2]"],
        "
        list succeeded x1
        each skipped x0 if_condition
        each[0] skipped x0 if_condition
        each[1] skipped x0 if_condition
        after succeeded x1
        run.completed.ok",
    );
}

#[test]
fn what_was_held_back_is_named_with_everything_behind_it() {
    let played = tells(
        r#"ok; gate {assume: "false"}; publish<gate; announce<publish"#,
        &[],
        "
        ok succeeded x1
        gate skipped x0 assume
        publish skipped x0 dependency_failed
        announce skipped x0 dependency_failed
        run.completed.with_skips",
    );
    let reason = &played.document()["run"]["reason"];
    let named: Vec<&str> = reason["evidence"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|evidence| evidence["id"].as_str())
        .collect();
    assert_eq!(named, ["gate", "publish", "announce"]);
    assert_eq!(reason["summary"], "not everything happened: `gate` (assume), and 2 more");
}

#[test]
fn what_was_not_needed_is_no_skip_to_speak_of() {
    tells(
        r#"ok; docs {if: "false"}; publish<docs"#,
        &[],
        "
        ok succeeded x1
        docs skipped x0 if_condition
        publish skipped x0 dependency_failed
        run.completed.ok",
    );
}

#[test]
fn what_was_held_back_says_more_than_a_warning() {
    tells(
        r#"soft info {continue_on_failure: true}; gate {assume: "false"}"#,
        &["soft: exit 1"],
        "
        soft failed x1 command/exit_nonzero
        gate skipped x0 assume
        run.completed.with_skips",
    );
}

#[test]
fn only_a_run_with_nothing_to_do_did_nothing_as_asked() {
    for (text, as_asked) in [
        (r#"a {if: "false"}; b<a"#, true),
        (r#"a {if: "false"}; b {on: push}"#, true),
        (r#"a {assume: "false"}; b<a"#, false),
        (r#"a {if: "false"}; b {assume: "false"}"#, false),
        (r#"a {if: "event.a.b.c"}"#, false),
        // A target that no check has routed to is no filter and no false `if`.
        (r#"a {if: "false", on_success: {goto: b}}; b"#, false),
    ] {
        let mut options = Options::default();
        options.run.event = Some("tag".into());
        let played = play(text, &[], &options);
        assert_eq!(played.reason(), "run.completed.nothing_ran", "{text}");
        assert_eq!(played.run.had_nothing_to_do(), as_asked, "{text}");
    }
}

#[test]
fn items_behind_a_fan_out_that_was_not_needed_start() {
    let mut options = Options::default();
    options.run.exclude_tags = vec!["slow".into()];
    options.run.event = Some("push".into());
    for filter in ["tags: [slow]", "on: tag"] {
        let plan = format!(
            "list forEach
             each<list {{{filter}, continue_on_skip: true}}
             after<each map; post<each external map; sum<after reduce"
        );
        let played = play(&plan, &["list: [1, 2]"], &options);
        for (name, runs) in [("each", 0), ("after", 2), ("post", 2), ("sum", 1)] {
            assert_eq!(played.check(name)["runs"], runs, "{filter}: {name}");
        }
        // Without `continue_on_skip` they do not.
        let played = play(&plan.replace(", continue_on_skip: true", ""), &["list: [1, 2]"], &options);
        assert_eq!(played.check("after")["skip_reason"], "dependency_failed", "{filter}");
        assert_eq!(played.check("post")["runs"], 0, "{filter}");
    }
}

#[test]
fn an_effect_waits_for_what_stands_before_a_check_that_a_filter_skips() {
    let event = |event: &str| {
        let mut options = Options::default();
        options.run.event = Some(event.into());
        options
    };
    let plan = r#"test {guarantee: output.ok}
                  pack<test {on: tag, continue_on_skip: true}
                  publish<pack external"#;
    for (test, publish) in
        [(r#"{"ok": false}"#, "skipped x0 contract_blocked"), (r#"{"ok": true}"#, "succeeded x1")]
    {
        let played = play(plan, &[&format!("test: {test} after 1m")], &event("push"));
        let publish_now =
            escrow_testkit::state(&played.run).into_iter().find(|line| line.starts_with("publish"));
        assert_eq!(publish_now, Some(format!("publish {publish}")), "{test}");
    }
    let mut options = Options::default();
    options.run.exclude_tags = vec!["slow".into()];
    let plan = r#"test {guarantee: output.ok}
                  pack<test {tags: [slow], continue_on_skip: true}
                  publish<pack external"#;
    let played = play(plan, &[r#"test: {"ok": false} after 1m"#], &options);
    assert_eq!(played.check("publish")["skip_reason"], "contract_blocked");
}

#[test]
fn an_effect_waits_for_what_stands_before_the_items_of_an_empty_list() {
    tells(
        "test {guarantee: output.ok}; list forEach; each<list,test; publish<each external",
        &[r#"test: {"ok": false} after 1m"#, "list: []"],
        "
        test failed x1 contract/guarantee_failed
        list succeeded x1
        each skipped x0 forEach_empty
        publish skipped x0 contract_blocked
        run.failed.guarantee_failed",
    );
    // Other checks start as soon as their own dependencies have settled.
    tells(
        "test; list forEach; each<list,test; report<each; publish<report external",
        &["test: 1 after 1m", "list: []"],
        "
        test succeeded x1
        list succeeded x1
        each skipped x0 forEach_empty
        report succeeded x1
        publish succeeded x1
        run.completed.ok",
    );
}

#[test]
fn an_effect_that_a_loop_leads_back_to_does_not_wait_for_what_depends_on_it() {
    tells(
        r#"@routing: {max_loops: 1}
           post external {idempotent: true}
           seen<post
           again<seen {on_success: {transitions: [{when: "attempt < 2", to: post}]}}"#,
        &[],
        "
        post succeeded x2
        seen succeeded x2
        again succeeded x2
        run.completed.ok",
    );
}

#[test]
fn an_effect_does_not_wait_for_a_target_that_no_check_routes_to() {
    let mut options = Options::default();
    options.run.event = Some("push".into());
    let plan = r#"ok {on_fail: {run: [mend]}}; mend
                  pack<mend {on: tag, continue_on_skip: true}
                  publish<pack external"#;
    let played = play(plan, &[], &options);
    assert_eq!(played.check("mend")["skip_reason"], "not_routed");
    assert_eq!(played.check("publish")["status"], "succeeded");
}
