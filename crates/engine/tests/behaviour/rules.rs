//! `rules`: what they say of an output, beside every other contract.

use escrow_engine::{Run, redecide};
use escrow_testkit::{Options, check, plan, play, tells};

#[test]
fn a_broken_rule_fails_the_check_and_its_dependents_skip() {
    let played = tells(
        r#"a {rules: [{rule_id: age, field: age, check: range, params: {min: 0}}]}; b<a"#,
        &[r#"a: {"age": -1}"#],
        "
        a failed x1 contract/rule_failed
        b skipped x0 dependency_failed
        run.failed.rule_failed",
    );
    assert_eq!(played.message("a"), "Field 'age' = -1 is below minimum 0.");
    let issue = &played.check("a")["issues"][0];
    assert_eq!(issue["rule"]["rule_id"], "age");
    assert_eq!((&issue["rule"]["field"], &issue["rule"]["check"]), (&"age".into(), &"range".into()));
}

#[test]
fn rules_that_are_kept_or_switched_off_say_nothing() {
    tells(
        r#"a {rules: [{rule_id: n, field: name, check: required}, {rule_id: o, field: x, check: required, enabled: false}]}"#,
        &[r#"a: {"name": "Ada"}"#],
        "a succeeded x1
         run.completed.ok",
    );
}

#[test]
fn every_rule_speaks_in_the_order_of_the_file() {
    let played = tells(
        r#"a {rules: [{rule_id: z, field: name, check: required}, {rule_id: a, field: "tags[1]", check: type, params: {type: int}}, {rule_id: m, field: age, check: custom, params: {expr: "value > item.least", error: too young}}]}"#,
        &[r#"a: {"age": 3, "least": 5, "tags": [1, "x"]}"#],
        "a failed x1 contract/rule_failed contract/rule_failed contract/rule_failed
         run.failed.rule_failed",
    );
    let issues = played.check("a")["issues"].clone();
    let messages: Vec<&str> = (0..3).filter_map(|place| issues[place]["message"].as_str()).collect();
    assert_eq!(
        messages,
        [
            "Field 'name' is required but missing or None.",
            "Field 'tags[1]' must be type 'int', got 'str'.",
            "too young"
        ]
    );
}

#[test]
fn schema_rules_guarantee_fail_if_and_outcome_all_speak_in_this_order() {
    tells(
        r#"a {schema: {type: array}, rules: [{rule_id: n, field: name, check: required}], guarantee: "output.ok", fail_if: "true", outcome: ci_result}"#,
        &[r#"a: {"stars": 5}"#],
        "a failed x1 contract/schema_validation_failed contract/rule_failed contract/guarantee_failed a_fail_if contract/outcome_invalid
         run.failed.schema_failed",
    );
}

#[test]
fn when_the_provider_faults_rules_are_not_judged() {
    tells(
        r#"a {rules: [{rule_id: n, field: name, check: required}]}"#,
        &["a: exit 3"],
        "a failed x1 command/exit_nonzero
         run.failed.exit_nonzero",
    );
}

#[test]
fn a_broken_rule_keeps_an_external_check_from_acting() {
    tells(
        r#"a policy {rules: [{rule_id: n, field: name, check: required}], continue_on_failure: true}; post<a external"#,
        &["a: {}"],
        "a failed x1 contract/rule_failed
         post skipped x0 contract_blocked
         run.failed.rule_failed",
    );
}

#[test]
fn a_broken_rule_is_a_logical_fault_and_retried_only_when_asked() {
    let rules = r#"rules: [{rule_id: n, field: n, check: range, params: {min: 2}}]"#;
    check(
        &format!("a {{{rules}, on_fail: {{retry: {{max: 2}}}}}}"),
        &[r#"a: {"n": 1} then {"n": 2}"#],
        "
        started a #1
        failed a contract/rule_failed
        run.failed.rule_failed",
    );
    check(
        &format!("a {{{rules}, retry_on: [logical], on_fail: {{retry: {{max: 2}}}}}}"),
        &[r#"a: {"n": 1} then {"n": 2}"#],
        "
        started a #1
        failed a contract/rule_failed
        retry a #1
        started a #2
        succeeded a
        run.completed.ok",
    );
}

#[test]
fn each_item_of_a_fan_out_is_judged_by_itself() {
    tells(
        r#"list forEach; each<list {rules: [{rule_id: n, field: n, check: range, params: {max: 1}}]}"#,
        &["list: [1, 2]", r#"each[0]: {"n": 1}"#, r#"each[1]: {"n": 2}"#],
        "list succeeded x1
         each failed x2 contract/rule_failed
         each[0] succeeded x1
         each[1] failed x1
         run.failed.rule_failed",
    );
}

#[test]
fn text_that_should_have_been_json_is_named_as_such() {
    let played = play(
        r#"a {rules: [{rule_id: n, field: name, check: required}]}"#,
        &[r#"a: "hello""#],
        &Options::default(),
    );
    assert!(played.message("a").ends_with("(output is text, not JSON)"), "{}", played.message("a"));
}

#[test]
fn a_recorded_run_can_be_decided_again_under_other_rules() {
    let played = play(r#"a {type: command, exec: "x"}"#, &[r#"a: {"age": 200}"#], &Options::default());
    let stricter = plan(
        r#"a {type: command, exec: "x", rules: [{rule_id: age, field: age, check: range, params: {max: 150}}]}"#,
    );
    let again = redecide(&played.journal, stricter).expect("it can be decided again");
    let run = Run::replay(&again.entries).expect("it replays");
    assert_eq!(run.reason().map(|reason| reason.code.as_str()), Some("run.failed.rule_failed"));
}
