//! The promises of the guide that other engines make and do not keep, by number.

use escrow_model::Event;
use escrow_testkit::{Options, check, play, tells};

#[test]
fn g1_a_broken_guarantee_fails_the_check_and_blocks_what_is_behind_it() {
    tells(
        r#"produce {guarantee: ["output && Array.isArray(output.items)", "output.items.length > 0"],
                    on_fail: {run: [recompute]}, on_success: {run: [celebrate]}}
           dependent<produce; recompute; celebrate"#,
        &[r#"produce: {"items": []}"#],
        "produce failed x1 contract/guarantee_failed
         dependent skipped x0 dependency_failed
         recompute succeeded x1
         celebrate skipped x0 not_routed
         run.failed.guarantee_failed",
    );
}

#[test]
fn g2_a_broken_schema_fails_the_check_like_any_contract() {
    tells(
        r#"a {schema: {type: object, required: [y]}, on_fail: {run: [fix]}}; dep<a; fix"#,
        &[r#"a: {"x": "str"}"#],
        "a failed x1 contract/schema_validation_failed
         dep skipped x0 dependency_failed
         fix succeeded x1
         run.failed.schema_failed",
    );
}

#[test]
fn g3_retries_wait_and_have_numeric_defaults() {
    let played = play("a info {on_fail: {retry: {}}}", &["a: exit 3"], &Options::default());
    assert_eq!(played.check("a")["runs"], 4);
    assert!(played.now_ms >= 1_000_000 + 3 * 900, "three waits of a second");
}

#[test]
fn g4_only_transient_faults_are_retried_whatever_the_criticality() {
    for criticality in ["external", "internal", "policy", "info"] {
        let text =
            format!(r#"a {criticality} {{fail_if: "output.failed > 0", on_fail: {{retry: {{max: 2}}}}}}"#);
        let played = play(&text, &[r#"a: {"failed": 1}"#], &Options::default());
        assert_eq!(played.check("a")["runs"], 1, "{criticality}");
    }
}

#[test]
fn g5_loop_budgets_are_per_scope_and_starve_no_other_branch() {
    // Fourteen items are each repaired once: more than ten routes, none of them a loop.
    let played = play(
        r#"list forEach {type: script, content: "return Array.from({length: 14}, (_, i) => i)"}
           process<list {on_fail: {run: [fix]}}; fix map
           unrelated<list reduce {on_success: {run: [after]}}; after"#,
        &["process: exit 1"],
        &Options::default(),
    );
    assert_eq!(played.check("fix")["runs"], 14);
    assert_eq!(played.check("after")["runs"], 1);
    assert_eq!(played.reason(), "run.failed.exit_nonzero");
}

#[test]
fn g6_a_retry_of_one_item_runs_no_other_item_again() {
    let played = play(
        "list forEach; process<list {on_fail: {retry: {max: 1}}}; agg<process",
        &[r#"list: ["a", "b", "c"]"#, "process: 1", "process[1]: exit 1"],
        &Options::default(),
    );
    let items = played.check("process")["items"].clone();
    let runs: Vec<i64> = (0..3).filter_map(|index| items[index]["runs"].as_i64()).collect();
    assert_eq!(runs, [1, 2, 1]);
    assert_eq!(played.check("agg")["status"], "succeeded");
}

#[test]
fn g7_assumptions_on_the_environment_files_and_history_hold() {
    let mut options = Options::default();
    options.run.payload.insert("filesChanged".into(), serde_json::json!(["x"]));
    let played = play(
        r#"@env: {TOOLING_READY: "true"}
           analyze {assume: ["env.TOOLING_READY === 'true'", "filesCount > 0", "Array.isArray(outputs_history['x']) ? true : true"]}
           x"#,
        &[],
        &options,
    );
    assert_eq!(played.check("analyze")["status"], "succeeded");
}

#[test]
fn g8_the_guard_step_example_works() {
    let text = r#"prechecks {fail_if: "output.exitCode !== 0"}; analyze<prechecks"#;
    tells(
        text,
        &[r#"prechecks: "ok""#],
        "
        prechecks succeeded x1
        analyze succeeded x1
        run.completed.ok",
    );
    tells(
        text,
        &["prechecks: exit 1"],
        "
        prechecks failed x1 command/exit_nonzero prechecks_fail_if
        analyze skipped x0 dependency_failed
        run.failed.exit_nonzero",
    );
}

#[test]
fn g9_criticality_is_inferred_from_provider_routing_and_tags() {
    let played = play(
        r#"gate {fail_if: "false"}; post<gate {type: http, url: u, method: POST}; list forEach; route {on_success: {goto: t}}; t
           tagged {tags: [critical]}; word {tags: [internal]}; plain"#,
        &["list: []"],
        &Options::default(),
    );
    let expected = [
        ("gate", "policy"),
        ("post", "external"),
        ("list", "internal"),
        ("route", "internal"),
        ("tagged", "policy"),
        ("word", "internal"),
        ("plain", "info"),
    ];
    for (name, criticality) in expected {
        assert_eq!(played.check(name)["criticality"], criticality, "{name}");
    }
}

#[test]
fn g10_mutating_actions_behind_a_broken_contract_are_suppressed() {
    tells(
        r#"a {guarantee: "false", continue_on_failure: true}; b<a {type: http, url: u, method: POST}; c<a {type: http, url: u}"#,
        &[],
        "a failed x1 contract/guarantee_failed
         b skipped x0 contract_blocked
         c succeeded x1
         run.failed.guarantee_failed",
    );
}

#[test]
fn g11_assume_mode_retry_on_and_safe_mode_are_there() {
    let mut options = Options::default();
    options.run.safe_mode = true;
    let played = play(
        r#"a {assume: "false", assume_mode: fail}
           b {guarantee: "attempt > 1", retry_on: [logical], on_fail: {retry: {max: 1}}}
           c external"#,
        &[],
        &options,
    );
    assert_eq!(played.check("a")["status"], "failed");
    assert_eq!(played.check("b")["runs"], 2);
    assert_eq!(played.check("c")["skip_reason"], "safe_mode");
}

#[test]
fn g12_faults_leave_structured_events() {
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
fn g13_every_decision_is_in_the_journal_with_its_cause_and_time() {
    let played = play(r#"a; b<a {if: "outputs.a > 5"}"#, &["a: 1 after 3s"], &Options::default());
    let skipped = played.journal.iter().find_map(|entry| match &entry.event {
        Event::CheckSkipped { detail, .. } => Some((entry.at, detail.clone())),
        _ => None,
    });
    assert_eq!(skipped, Some((1_003_000, "`outputs.a > 5` is false".to_owned())));
}

#[test]
fn g14_expressions_are_pure_and_end() {
    for impure in
        ["Math.random() >= 0", "Date.now() > 0", "new Date().getTime() > 0", "(() => { for (;;) {} })()"]
    {
        let text = format!(r#"a info {{if: "{impure}"}}"#);
        // What the reader of playbooks refuses cannot run at all.
        if escrow_testkit::try_plan(&text).is_ok() {
            let played = play(&text, &[], &Options::default());
            assert_eq!(played.check("a")["skip_reason"], "if_condition", "{impure}");
        }
    }
}

#[test]
fn g16_a_loop_ends_at_its_budget_and_an_unknown_target_fails_the_run() {
    tells(
        r#"@routing: {max_loops: 2}
             a {on_success: {goto: a}}"#,
        &[],
        "
        a succeeded x3 routing/loop_budget_exceeded
        run.failed.loop_budget",
    );
    tells(
        r#"a {on_success: {goto_js: "return 'nobody'"}}"#,
        &[],
        "
        a succeeded x1 routing/unknown_target
        run.failed.expression_error",
    );
}

#[test]
fn g18_goto_event_simulates_an_event() {
    tells(
        r#"@routing: {max_loops: 3}
           a; b<a {on_success: {transitions: [{when: "event.name !== 'pr_updated'", to: a, goto_event: pr_updated}]}}
           c<a {on: [pr_updated]}; d<a {if: "event.event_name === 'pr_updated'"}"#,
        &[],
        "a succeeded x2
         b succeeded x2
         c succeeded x2
         d succeeded x1
         run.completed.ok",
    );
}

#[test]
fn g19_the_comprehensive_example_of_the_guide_runs() {
    let text = r#"
version: "1.0"
routing: { max_loops: 8 }
checks:
  extract-facts:
    type: command
    criticality: internal
    on: [issue_opened, issue_comment]
    forEach: true
    guarantee:
      - "Array.isArray(output)"
      - "output.every(x => typeof x.id === 'number' && typeof x.claim === 'string')"
      - "output.length <= 50"
    on_finish:
      transitions:
        - when: "any(outputs_history['validate-fact'], v => v && v.is_valid === false) && event.name === 'issue_opened'"
          to: issue-assistant
  validate-fact:
    type: command
    depends_on: [extract-facts]
    fanout: map
    fail_if: "output && output.is_valid === false"
    on_fail:
      retry: { max: 1, backoff: { mode: exponential, delay_ms: 1000 } }
  aggregate:
    type: command
    criticality: internal
    depends_on: [validate-fact]
    guarantee: "output && typeof output.all_valid === 'boolean'"
    on_success:
      transitions: [{ when: "output.all_valid === true", to: permission-check }]
  permission-check:
    type: command
    criticality: policy
    guarantee: "typeof output.allowed === 'boolean'"
  post-comment:
    type: http
    method: POST
    url: "https://example.org"
    criticality: external
    depends_on: [permission-check]
    on: [issue_opened]
    if: "outputs['permission-check'] && outputs['permission-check'].allowed === true"
    assume:
      - "outputs['permission-check'] && outputs['permission-check'].allowed === true"
      - "env.DRY_RUN !== 'true'"
    guarantee: "output && typeof output.id === 'number'"
  issue-assistant: { type: command }
  summarize:
    type: command
    criticality: info
    on: [issue_opened]
    continue_on_failure: true
    fail_if: "(output.errors || []).length > 0"
"#;
    let mut options = Options::default();
    options.run.event = Some("issue_opened".into());
    let facts = r#"extract-facts: [{"id": 1, "claim": "A"}, {"id": 2, "claim": "B"}]"#;
    let world = [
        facts,
        r#"validate-fact: {"is_valid": true}"#,
        r#"aggregate: {"all_valid": true}"#,
        r#"permission-check: {"allowed": true}"#,
        r#"post-comment: {"id": 7}"#,
        r#"summarize: {"errors": [1]}"#,
    ];
    let played = play(text, &world, &options);
    assert_eq!(played.reason(), "run.completed.with_warnings", "{:#}", played.document());
    assert_eq!(played.check("post-comment")["status"], "succeeded");
    assert_eq!(played.check("issue-assistant")["skip_reason"], "not_routed");

    let world = [
        facts,
        r#"validate-fact: {"is_valid": false}"#,
        r#"aggregate: {"all_valid": false}"#,
        r#"permission-check: {"allowed": true}"#,
        r#"summarize: {}"#,
    ];
    let played = play(text, &world, &options);
    assert_eq!(played.check("issue-assistant")["status"], "succeeded", "{:#}", played.document());
    assert_ne!(played.check("post-comment")["status"], "succeeded");
    assert_eq!(played.reason(), "run.failed.fail_if");
}

#[test]
fn g20_if_is_decided_per_item() {
    tells(
        r#"outer forEach; big<outer {if: "outputs.outer.length > 2"}"#,
        &["outer: [[1, 2], [3, 4, 5]]"],
        "
        outer succeeded x1
        big succeeded x1
        big[0] skipped x0 if_condition
        big[1] succeeded x1
        run.completed.ok",
    );
}

#[test]
fn g21_expressions_that_cannot_be_evaluated_leave_an_issue_of_the_system() {
    tells(
        r#"a info {fail_if: "output.a.b"}; b info {if: "event.a.b"}; c info {assume: "event.a.b"}"#,
        &["a: {}"],
        "
        a failed x1 system/expression_error
        b skipped x0 if_condition system/expression_error
        c skipped x0 assume system/expression_error
        run.failed.expression_error",
    );
}
