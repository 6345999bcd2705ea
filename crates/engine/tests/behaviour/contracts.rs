//! `schema`, `guarantee`, `fail_if`: what an answer must keep.

use escrow_testkit::{Options, check, play, tells};

#[test]
fn a_broken_guarantee_fails_the_check_and_its_dependents_skip() {
    tells(
        r#"a {guarantee: "output.ok"}; b<a"#,
        &[r#"a: {"ok": false}"#],
        "
        a failed x1 contract/guarantee_failed
        b skipped x0 dependency_failed
        run.failed.guarantee_failed",
    );
}

#[test]
fn a_guarantee_that_cannot_be_evaluated_counts_as_broken() {
    tells(
        r#"a {guarantee: "output.a.b.c"}"#,
        &["a: {}"],
        "
        a failed x1 contract/guarantee_failed
        run.failed.guarantee_failed",
    );
}

#[test]
fn an_output_that_breaks_its_schema_fails() {
    tells(
        r#"a {schema: {type: object, required: [x, y], properties: {x: {type: number}}}}"#,
        &[r#"a: {"x": "str"}"#],
        "a failed x1 contract/schema_validation_failed
         run.failed.schema_failed",
    );
}

#[test]
fn fail_if_names_the_check_in_its_issue() {
    tells(
        r#"a {fail_if: "output.n > 2"}"#,
        &[r#"a: {"n": 3}"#],
        "
        a failed x1 a_fail_if
        run.failed.fail_if",
    );
}

#[test]
fn every_contract_speaks_and_none_stops_the_others() {
    tells(
        r#"a {schema: {type: array}, guarantee: ["output.x", "output.y"], fail_if: "true"}"#,
        &["a: {}"],
        "a failed x1 contract/schema_validation_failed contract/guarantee_failed contract/guarantee_failed a_fail_if
         run.failed.schema_failed",
    );
}

#[test]
fn fail_if_that_cannot_be_evaluated_fails_a_critical_check() {
    tells(
        r#"a policy {fail_if: "output.a.b.c"}"#,
        &["a: {}"],
        "
        a failed x1 system/expression_error
        run.failed.expression_error",
    );
}

#[test]
fn fail_if_that_cannot_be_evaluated_fails_an_info_check_too() {
    tells(
        r#"a info {fail_if: "output.a.b.c"}; b<a"#,
        &["a: {}"],
        "
        a failed x1 system/expression_error
        b skipped x0 dependency_failed
        run.failed.expression_error",
    );
}

#[test]
fn output_that_exhausts_the_budget_of_fail_if_buys_no_green() {
    let findings: Vec<String> = (0..200_001).map(|number| number.to_string()).collect();
    let answer = format!("a: [{}]", findings.join(","));
    tells(
        r#"a info {fail_if: "output.filter(x => x > 100).length > 0"}; post<a external"#,
        &[&answer],
        "
        a failed x1 system/expression_error
        post skipped x0 contract_blocked
        run.failed.expression_error",
    );
}

#[test]
fn when_the_provider_faults_only_fail_if_is_judged() {
    tells(
        r#"a {schema: {type: array}, guarantee: "false", fail_if: "output.exitCode === 3"}"#,
        &["a: exit 3"],
        "a failed x1 command/exit_nonzero a_fail_if
         run.failed.exit_nonzero",
    );
}

#[test]
fn a_template_that_fails_fails_the_check_before_its_provider() {
    tells(
        r#"a {note: "{{ outputs.b.deep.deeper }}"}; b"#,
        &[],
        "
        a failed x0 system/template_error
        b succeeded x1
        run.failed.expression_error",
    );
}

#[test]
fn an_error_on_text_output_says_that_it_is_text() {
    let played = tells(
        r#"a {guarantee: "output.items.length > 0"}"#,
        &[r#"a: "hello""#],
        "
        a failed x1 contract/guarantee_failed
        run.failed.guarantee_failed",
    );
    assert!(played.message("a").contains("output is text, not JSON"), "{}", played.message("a"));
}

#[test]
fn output_is_what_it_is_and_never_unwrapped() {
    tells(
        r#"one {guarantee: "Array.isArray(output) && output.length === 1"}
           text {guarantee: "output === 'hello'"}
           number {guarantee: "output === 42"}
           like {guarantee: "output.message === 'hi'"}"#,
        &[r#"one: [{"x": 1}]"#, r#"text: "hello""#, "number: 42", r#"like: {"message": "hi", "issues": []}"#],
        "one succeeded x1
         text succeeded x1
         number succeeded x1
         like succeeded x1
         run.completed.ok",
    );
}

#[test]
fn the_exit_code_answers_where_the_output_has_no_such_member() {
    tells(
        r#"a {fail_if: "output.exitCode !== 0"}; b {guarantee: "output.exitCode === 9 && result.exitCode === 0"}"#,
        &[r#"a: "ok""#, r#"b: {"exitCode": 9}"#],
        "a succeeded x1
         b succeeded x1
         run.completed.ok",
    );
}

#[test]
fn contracts_see_their_own_output_and_history() {
    tells(
        r#"a {guarantee: "outputs.a.n === 1 && outputs_history.a.length === 1 && attempt === 1 && checkName === 'a'"}"#,
        &[r#"a: {"n": 1}"#],
        "a succeeded x1
         run.completed.ok",
    );
}

#[test]
fn a_script_that_throws_is_a_failure_and_routes_on_fail() {
    check(
        r#"a {type: script, content: "throw new Error('x')", on_fail: {run: [fix]}}; fix {type: noop}"#,
        &[],
        "
        started a #1
        failed a script/exception
        routed a -> fix on_fail.run
        started fix #1
        succeeded fix
        run.failed.exception",
    );
}

#[test]
fn an_error_that_has_nothing_to_do_with_the_output_does_not_blame_it() {
    let mut options = Options::default();
    options.facts.git = Some(Err("not a git repository".into()));
    let played = play(r#"a {guarantee: "branch === 'main'"}"#, &[r#"a: "hello""#], &options);
    let message = played.message("a");
    assert!(message.contains("not a git repository") && !message.contains("is text"), "{message}");
}

/// An assumption that fails its check is a contract as a guarantee is.
#[test]
fn a_failed_assumption_blocks_the_external_check_behind_it_although_the_failure_is_let_through() {
    tells(
        r#"a {assume: "false", assume_mode: fail, criticality: info, continue_on_failure: true}; post<a external"#,
        &[],
        "a failed x0 contract/assume_failed
         post skipped x0 contract_blocked
         run.completed.nothing_ran",
    );
}

#[test]
fn an_invalid_outcome_blocks_the_external_check_behind_it_although_the_failure_is_let_through() {
    tells(
        r#"a {outcome: gate_verdict, criticality: info, continue_on_failure: true}; post<a external"#,
        &["a: 1"],
        "a failed x1 contract/outcome_invalid
         post skipped x0 contract_blocked
         run.completed.with_skips",
    );
}

const ALTERNATIVES: &str = r#"bad {guarantee: "false", criticality: info, continue_on_failure: true};
    mid<bad; good; post<mid|good external"#;

#[test]
fn an_alternative_that_stands_on_a_broken_contract_does_not_block_beside_a_sound_one_in_any_order() {
    let ended = "bad failed x1 contract/guarantee_failed
         mid succeeded x1
         good succeeded x1
         post succeeded x1
         run.completed.with_warnings";
    tells(ALTERNATIVES, &["good: 1 after 5s"], ended);
    tells(ALTERNATIVES, &["mid: 1 after 5s"], ended);
}

#[test]
fn an_alternative_that_stands_on_a_broken_contract_blocks_when_the_sound_one_does_not_succeed() {
    tells(
        r#"bad {guarantee: "false", criticality: info, continue_on_failure: true};
           mid<bad; good {criticality: info}; post<mid|good external"#,
        &["good: exit 1 after 5s"],
        "bad failed x1 contract/guarantee_failed
         mid succeeded x1
         good failed x1 command/exit_nonzero
         post skipped x0 contract_blocked
         run.failed.exit_nonzero",
    );
}

#[test]
fn an_effect_further_behind_waits_for_the_sound_alternative_too() {
    let ended = "bad failed x1 contract/guarantee_failed
         mid succeeded x1
         good succeeded x1
         between succeeded x1
         post succeeded x1
         run.completed.with_warnings";
    let plan = r#"bad {guarantee: "false", criticality: info, continue_on_failure: true};
        mid<bad; good; between<mid|good; post<between external"#;
    tells(plan, &["good: 1 after 5s"], ended);
    tells(plan, &["mid: 1 after 5s"], ended);
}
