//! Effect safety: what an external check must never act on.

use escrow_testkit::{Options, check, play, tells};

#[test]
fn a_failed_guarantee_blocks_the_external_check_behind_it() {
    check(
        r#"gate {guarantee: "output.ok"}; post<gate external"#,
        &[r#"gate: {"ok": false}"#],
        "
        started gate #1
        failed  gate   contract/guarantee_failed
        skipped post   contract_blocked
        run.failed.guarantee_failed",
    );
}

#[test]
fn a_broken_contract_blocks_even_behind_continue_on_failure() {
    tells(
        r#"gate {fail_if: "true", continue_on_failure: true}; middle<gate; post<middle external"#,
        &[],
        "gate failed x1 gate_fail_if
         middle succeeded x1
         post skipped x0 contract_blocked
         run.failed.fail_if",
    );
}

#[test]
fn an_ordinary_fault_behind_continue_on_failure_blocks_nothing() {
    tells(
        "gate {continue_on_failure: true}; post<gate external",
        &["gate: exit 1"],
        "
        gate failed x1 command/exit_nonzero
        post succeeded x1
        run.completed.with_warnings",
    );
}

#[test]
fn a_schema_that_was_broken_blocks_too() {
    tells(
        "gate {schema: {type: array}, continue_on_failure: true}; post<gate external",
        &["gate: {}"],
        "
        gate failed x1 contract/schema_validation_failed
        post skipped x0 contract_blocked
        run.completed.with_skips",
    );
}

#[test]
fn a_violation_that_was_remedied_blocks_no_more() {
    tells(
        r#"gate {guarantee: "output.ok", retry_on: [logical], on_fail: {retry: {max: 1}}}; post<gate external"#,
        &[r#"gate: {"ok": false} then {"ok": true}"#],
        "gate succeeded x2
         post succeeded x1
         run.completed.ok",
    );
}

#[test]
fn the_check_whose_route_started_an_external_check_counts() {
    tells(
        r#"gate {fail_if: "true", on_fail: {run: [post]}}; post external"#,
        &[],
        "
        gate failed x1 gate_fail_if
        post skipped x0 contract_blocked
        run.failed.fail_if",
    );
}

#[test]
fn what_stands_behind_the_source_of_a_route_counts_too() {
    tells(
        r#"gate {fail_if: "true", continue_on_failure: true}; next<gate {on_success: {goto: post}}; post external"#,
        &[],
        "gate failed x1 gate_fail_if
         next succeeded x1
         post skipped x0 contract_blocked
         run.failed.fail_if",
    );
}

#[test]
fn alternatives_that_were_not_needed_do_not_count() {
    tells(
        r#"a {fail_if: "true"}; b; post<a|b external"#,
        &[],
        "
        a failed x1 a_fail_if
        b succeeded x1
        post succeeded x1
        run.failed.fail_if",
    );
    tells(
        r#"a info {fail_if: "true", continue_on_failure: true}; b; post<a|b external"#,
        &["b: 1"],
        "
        a failed x1 a_fail_if
        b succeeded x1
        post succeeded x1
        run.completed.with_warnings",
    );
}

#[test]
fn contract_blocked_beats_dependency_failed() {
    tells(
        r#"gate {fail_if: "true"}; middle<gate; post<middle external"#,
        &[],
        "
        gate failed x1 gate_fail_if
        middle skipped x0 dependency_failed
        post skipped x0 contract_blocked
        run.failed.fail_if",
    );
}

#[test]
fn only_external_checks_are_blocked() {
    tells(
        r#"gate {fail_if: "true", continue_on_failure: true}; read<gate"#,
        &[],
        "
        gate failed x1 gate_fail_if
        read succeeded x1
        run.completed.with_warnings",
    );
}

#[test]
fn an_item_is_blocked_by_its_own_violation_and_a_reduce_by_any() {
    tells(
        r#"list forEach; gate<list {guarantee: "output"}; post<gate map external; all<gate external"#,
        &["list: [0, 1]", "gate[0]: true", "gate[1]: false"],
        "list succeeded x1
         gate failed x2 contract/guarantee_failed
         gate[0] succeeded x1
         gate[1] failed x1
         post succeeded x1
         post[0] succeeded x1
         post[1] skipped x0 contract_blocked
         all skipped x0 contract_blocked
         run.failed.guarantee_failed",
    );
}

#[test]
fn safe_mode_skips_what_changes_the_world_and_says_what_it_would_have_done() {
    let mut options = Options::default();
    options.run.safe_mode = true;
    let text = r#"read; post<read {type: http, method: POST, url: "https://x/{{ outputs.read }}", criticality: external}"#;
    let played = play(text, &[r#"read: "path""#], &options);
    assert_eq!(played.check("read")["status"], "succeeded");
    assert_eq!(played.check("post")["skip_reason"], "safe_mode");
    let request = played.journal.iter().find_map(|entry| match &entry.event {
        escrow_model::Event::CheckSkipped { request, .. } => request.clone(),
        _ => None,
    });
    assert_eq!(request.expect("it is told").fields["url"], "https://x/path");
}

#[test]
fn http_that_only_reads_does_not_change_the_world() {
    let mut options = Options::default();
    options.run.safe_mode = true;
    let played = play(r#"a {type: http, url: "u"}; b {type: http, url: "u", method: POST}"#, &[], &options);
    assert_eq!(played.check("a")["status"], "succeeded");
    assert_eq!(played.check("b")["skip_reason"], "safe_mode");
    assert_eq!(played.check("b")["criticality"], "external");
}
