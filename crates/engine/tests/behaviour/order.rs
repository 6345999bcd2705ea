//! The order in which a check is judged: who speaks first, speaks alone.

use escrow_model::{Entry, Event};
use escrow_testkit::{Options, play, tells};

fn at_event(event: &str) -> Options {
    let mut options = Options::default();
    options.run.event = Some(event.into());
    options
}

#[test]
fn filters_come_before_dependencies() {
    let played = play("dep; a<dep {on: [issue_opened]}", &["dep: exit 1"], &at_event("pr_opened"));
    assert_eq!(played.check("a")["skip_reason"], "event");
}

#[test]
fn dependencies_come_before_if() {
    tells(
        r#"dep; a<dep {if: "false"}"#,
        &["dep: exit 1"],
        "
        dep failed x1 command/exit_nonzero
        a skipped x0 dependency_failed
        run.failed.exit_nonzero",
    );
}

#[test]
fn if_comes_before_assume() {
    tells(
        r#"b; a {if: "outputs.b === 2", assume: "false", assume_mode: fail}"#,
        &["b: 1"],
        "
        b succeeded x1
        a skipped x0 if_condition
        run.completed.ok",
    );
}

#[test]
fn assume_comes_before_templates() {
    tells(
        r#"b; a<b {exec: "echo {{ outputs.b.no.such }}", assume: "outputs.b === 2"}"#,
        &["b: 1"],
        "
        b succeeded x1
        a skipped x0 assume
        run.completed.with_skips",
    );
}

#[test]
fn templates_come_before_approval() {
    let played = tells(
        r#"b; a<b {exec: "echo {{ outputs.b.no.such }}", requires_approval: true}"#,
        &["b: 1"],
        "
        b succeeded x1
        a failed x0 system/template_error
        run.failed.expression_error",
    );
    let asked = |entry: &Entry| matches!(entry.event, Event::WaitStarted { .. });
    assert!(!played.journal.iter().any(asked), "no approval is asked for a request that cannot be rendered");
}

#[test]
fn contracts_come_before_retries_and_retries_before_routes() {
    tells(
        r#"a {guarantee: "output === 1", retry_on: [transient, logical],
              on_fail: {retry: {max: 1, backoff: {delay_ms: 10}}, goto: mend}}
           mend"#,
        &["a: 2"],
        "
        a failed x2 contract/guarantee_failed
        mend succeeded x1
        run.failed.guarantee_failed",
    );
}

#[test]
fn routes_come_before_dependents() {
    tells(
        r#"a {fail_if: "output === 1", on_fail: {run: [mend], goto: a}}; mend; b<a"#,
        &["a: 1 then 2"],
        "
        a succeeded x2
        mend succeeded x1
        b succeeded x1
        run.completed.ok",
    );
}
