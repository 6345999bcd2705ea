//! `artifacts.<id>` in expressions and templates, and the `if` of an expected artifact.

use escrow_testkit::{check, plan, play, tells, try_plan};
use serde_json::json;

fn with(checks: &str) -> String {
    format!("@artifacts: {{expected: [{{id: report, path: report.json}}]}}\n{checks}")
}

#[test]
fn a_contract_reads_what_its_own_check_has_delivered() {
    let guarded = with(r#"a {artifacts: report, guarantee: "artifacts.report.json.errors === 0"}"#);
    tells(&guarded, &[r#"seen {"report": {"errors": 0}}"#], "a succeeded x1\nrun.completed.ok");
    let played = tells(
        &guarded,
        &[r#"seen {"report": {"errors": 2}}"#],
        "a failed x1 contract/guarantee_failed
         run.failed.guarantee_failed",
    );
    assert_eq!(played.message("a"), "`artifacts.report.json.errors === 0` does not hold");
    tells(
        &with(r#"a {artifacts: report, fail_if: "artifacts.report.text.includes('FIXME')"}"#),
        &[r#"seen {"report": "FIXME: later"}"#],
        "a failed x1 a_fail_if
         run.failed.fail_if",
    );
}

#[test]
fn path_size_and_digest_are_read_without_the_content() {
    let text = with(
        r#"a {artifacts: report, guarantee: "artifacts.report.path === 'report.json' && artifacts.report.size === 7 && artifacts.report.sha256.length === 64"}"#,
    );
    assert!(!plan(&text).artifacts.expected[0].content_read);
    tells(&text, &[r#"seen {"report": 7}"#], "a succeeded x1\nrun.completed.ok");
}

#[test]
fn a_dependent_reads_what_was_verified_in_gates_and_templates() {
    let text = with(
        r#"a {artifacts: report}; between<a; b<between {if: "artifacts.report.json.count > 1", exec: 'echo {{ artifacts.report.json.count }}'}"#,
    );
    tells(
        &text,
        &[r#"seen {"report": {"count": 3}}"#],
        "a succeeded x1\nbetween succeeded x1\nb succeeded x1\nrun.completed.ok",
    );
    tells(
        &text,
        &[r#"seen {"report": {"count": 1}}"#],
        "a succeeded x1\nbetween succeeded x1\nb skipped x0 if_condition\nrun.completed.ok",
    );
}

#[test]
fn of_several_checks_that_verify_an_artifact_the_last_one_counts() {
    tells(
        &with(
            r#"a {artifacts: report}; b<a {artifacts: report}; c<b {if: "artifacts.report.text === 'new'"}"#,
        ),
        &[r#"seen {"report": "old"}"#, r#"seen from 2 {"report": "new"}"#],
        "a succeeded x1\nb succeeded x1\nc succeeded x1\nrun.completed.ok",
    );
}

#[test]
fn an_artifact_that_is_absent_fails_the_contracts_that_read_it() {
    // The artifact is optional: without the contract the check would succeed.
    let optional = |contract: &str| {
        format!(
            "@artifacts: {{expected: [{{id: report, path: r, required: false}}]}}\na {{artifacts: report, {contract}}}"
        )
    };
    for broken in [
        r#"guarantee: "artifacts.report.size !== 5""#,
        r#"guarantee: "!artifacts.report.text.includes('x')""#,
        r#"guarantee: "artifacts.report.json !== null""#,
    ] {
        let played = play(&optional(broken), &[], &escrow_testkit::Options::default());
        assert_eq!(played.reason(), "run.failed.guarantee_failed", "{broken}");
    }
    tells(
        &optional(r#"fail_if: "contains(artifacts.report.text, 'x')""#),
        &[],
        "a failed x1 contract/artifact_missing system/expression_error
         run.failed.expression_error",
    );
    tells(
        &optional(r#"guarantee: "artifacts.report === undefined || artifacts.report.size > 3""#),
        &[],
        "a succeeded x1 contract/artifact_missing
         run.completed.with_warnings",
    );
}

#[test]
fn content_that_cannot_be_given_is_an_error_and_not_undefined() {
    // 2 MiB, of which a look brings no text along.
    let large = r#"seen {"report": 2097152}"#;
    let played = tells(
        &with(r#"a {artifacts: report, guarantee: "artifacts.report.text !== 'x'"}"#),
        &[large],
        "a failed x1 contract/guarantee_failed
         run.failed.guarantee_failed",
    );
    assert_eq!(
        played.message("a"),
        "`artifacts.report.text !== 'x'` cannot be evaluated: TypeError: Cannot read 'text': the file is larger than 1 MiB"
    );
    let played = tells(
        &with(r#"a {artifacts: report, guarantee: "artifacts.report.json !== 1"}"#),
        &[r#"seen {"report": "not json"}"#],
        "a failed x1 contract/guarantee_failed
         run.failed.guarantee_failed",
    );
    assert!(
        played.message("a").ends_with("Cannot read 'json': the file is not JSON"),
        "{}",
        played.message("a")
    );
    let twice = with(r#"a {artifacts: report, guarantee: "artifacts.report.json.ok"}"#);
    let played = play(&twice, &[r#"seen {"report": "{\"ok\": false, \"ok\": true}"}"#], &Default::default());
    assert!(played.message("a").ends_with("as JSON it names a member twice"), "{}", played.message("a"));
    // A template fails before the provider.
    tells(
        &with("a {artifacts: report}; b<a {exec: 'echo {{ artifacts.report.json.n }}'}"),
        &[r#"seen {"report": "text"}"#],
        "a succeeded x1\nb failed x0 system/template_error\nrun.failed.expression_error",
    );
}

#[test]
fn a_look_brings_content_along_only_when_a_source_names_it() {
    for (source, wanted) in [
        ("artifacts.report.text !== ''", true),
        ("artifacts.report.json.a", true),
        ("const {json} = artifacts.report; json.a", true),
        ("let file = artifacts.report; file['text']", true),
        ("artifacts.report.size > 0", false),
        ("artifacts.report !== undefined", false),
    ] {
        let text = with(&format!("a {{artifacts: report, guarantee: {}}}", json!(source)));
        assert_eq!(plan(&text).artifacts.expected[0].content_read, wanted, "{source}");
    }
}

#[test]
fn the_files_of_a_pattern_are_a_list() {
    tells(
        "@artifacts: {expected: [{id: notes, glob: 'n/*.md', count: {min: 0}}]}
         a {artifacts: notes, guarantee: 'artifacts.notes.every(note => note.text.length > 3)'}; b<a {if: 'artifacts.notes.length === 1'}",
        &[r#"seen {"notes": "long enough"}"#],
        "a succeeded x1\nb succeeded x1\nrun.completed.ok",
    );
    tells(
        "@artifacts: {expected: [{id: notes, glob: 'n/*.md', count: {min: 0}}]}
         a {artifacts: notes}; b<a {if: 'artifacts.notes.length === 0'}",
        &[],
        "a succeeded x1\nb succeeded x1\nrun.completed.ok",
    );
}

#[test]
fn an_item_reads_its_own_artifact_and_a_reduce_reads_all_of_them() {
    tells(
        r#"list forEach; each<list {type: playbook, playbook: promises.yaml, artifacts: notes, guarantee: "artifacts.notes.text === 'n' + item"}; next<each map {if: "artifacts.each__notes.text === 'n' + item"}; sum<each reduce {if: "artifacts.each__notes.map(one => one.text).join() === 'n1,n2'"}"#,
        &["list: [1, 2]", r#"seen {"each__0__notes": "n1", "each__1__notes": "n2"}"#],
        "list succeeded x1
         each succeeded x2
         each[0] succeeded x1
         each[1] succeeded x1
         next succeeded x2
         next[0] succeeded x1
         next[1] succeeded x1
         sum succeeded x1
         run.completed.ok",
    );
}

#[test]
fn routing_reads_what_the_attempt_delivered_even_when_it_failed() {
    tells(
        &with(
            r#"a {artifacts: report, fail_if: "artifacts.report.json.bad", on_fail: {transitions: [{when: "artifacts.report.json.fix", to: fix}]}}; fix"#,
        ),
        &[r#"seen {"report": {"bad": true, "fix": true}}"#],
        "a failed x1 a_fail_if\nfix succeeded x1\nrun.failed.fail_if",
    );
}

#[test]
fn a_check_cannot_read_what_nothing_before_it_has_verified() {
    for (checks, code) in [
        (r#"a {artifacts: report}; b {if: "artifacts.report.size > 1"}"#, "E0172"),
        (r#"a {guarantee: "artifacts.report.size > 1"}"#, "E0172"),
        (r#"a {artifacts: report, if: "artifacts.report.size > 1"}"#, "E0116"),
        (r#"a {artifacts: report, guarantee: "artifacts.reprot.size > 1"}"#, "E0166"),
        (r#"a {artifacts: report, guarantee: "artifacts[checkName].size > 1"}"#, "E0172"),
        (r#"a {artifacts: report, guarantee: "artifacts.report.txet === ''"}"#, "E0114"),
    ] {
        let problems = try_plan(&with(checks)).expect_err(checks);
        assert!(problems.contains(code), "{checks}: {problems}");
    }
}

fn expected_if(condition: &str) -> String {
    format!(
        "@artifacts: {{expected: [{{id: report, path: report.json, if: {}}}]}}\nplan; a<plan {{artifacts: report}}",
        json!(condition)
    )
}

#[test]
fn an_artifact_with_an_if_is_expected_only_when_it_holds() {
    let text = expected_if("outputs.plan.report");
    let played = check(
        &text,
        &[r#"plan: {"report": false}"#],
        "started plan #1
         succeeded plan
         started a #1
         inspected a skipped
         succeeded a
         delivery skipped
         run.completed.ok",
    );
    let delivery = played.document()["artifacts"].clone();
    assert_eq!(
        delivery["not_expected"],
        json!([{"id": "report", "path": "report.json", "if": "outputs.plan.report"}])
    );
    tells(
        &text,
        &[r#"plan: {"report": true}"#],
        "plan succeeded x1
         a failed x1 contract/artifact_missing
         run.failed.missing_artifact",
    );
    // What is there all the same is recorded.
    let played = tells(
        &text,
        &[r#"plan: {"report": false}"#, r#"seen {"report": 5}"#],
        "plan succeeded x1\na succeeded x1\nrun.completed.ok",
    );
    assert_eq!(played.document()["artifacts"]["produced"][0]["id"], "report");
}

#[test]
fn an_if_that_cannot_be_evaluated_means_expected() {
    let played = tells(
        &expected_if("outputs.plan.report.needed"),
        &["plan: {}"],
        "plan succeeded x1
         a failed x1 contract/artifact_missing
         run.failed.missing_artifact",
    );
    assert!(
        played
            .message("a")
            .contains("its `if` cannot be evaluated: TypeError: Cannot read properties of undefined"),
        "{}",
        played.message("a")
    );
}

#[test]
fn at_the_end_the_if_is_judged_over_the_finished_run() {
    // At the look of `a`, `late` has not answered; at the end it has.
    let text =
        "@artifacts: {expected: [{id: report, path: report.json, if: 'outputs.late === 1'}]}\na; late<a";
    tells(text, &["late: 1"], "a succeeded x1\nlate succeeded x1\nrun.failed.missing_artifact");
    tells(text, &["late: 2"], "a succeeded x1\nlate succeeded x1\nrun.completed.ok");
}
