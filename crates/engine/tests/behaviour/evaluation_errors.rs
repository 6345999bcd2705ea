//! What an expression that cannot be evaluated does to its check and to the run: every construct, every kind of
//! error, every criticality.
//!
//! The table is for readers. The invariants below it hold for every row: no row is a success without a trace, and an
//! external check behind the undecided check never starts.

use escrow_testkit::{Options, Played, play};

const CRITICALITIES: [&str; 4] = ["info", "policy", "internal", "external"];

/// Each with an expression that fails in this way. `event.list` is an empty list.
const KINDS: [(&str, &str); 6] = [
    ("type", "event.list.missing.member"),
    ("range", "'x'.repeat(-1)"),
    ("syntax", "JSON.parse('{')"),
    ("thrown", "(() => { throw 1 })()"),
    ("budget", "(() => { while (true) {} })()"),
    ("no git", "branch === 'main'"),
];

/// Each with the check that it makes of an expression. `post` is external, and behind it.
const CONSTRUCTS: [(&str, &str); 10] = [
    ("if", r#"{if: "EXPR"}"#),
    ("assume", r#"{assume: "EXPR"}"#),
    ("assume, fail", r#"{assume: "EXPR", assume_mode: fail}"#),
    ("guarantee", r#"{guarantee: "EXPR"}"#),
    ("fail_if", r#"{fail_if: "EXPR"}"#),
    ("template", r#"{env: {X: "{{ nosuch.EXPR }}"}}"#),
    ("when", r#"{on_success: {transitions: [{when: "EXPR", to: other}]}}"#),
    ("goto_js", r#"{on_success: {goto_js: "return EXPR"}}"#),
    ("run_js", r#"{on_success: {run_js: "return EXPR"}}"#),
    ("when, on_fail", r#"{fail_if: "true", on_fail: {transitions: [{when: "EXPR", to: other}]}}"#),
];

fn undecided(construct: &str, expression: &str, criticality: &str) -> Played {
    let keys = if construct.contains("{{") {
        // Templates have no statements: a name that is undefined at run time stands for every kind.
        construct.replace("nosuch.EXPR", "event.list.missing.member")
    } else {
        construct.replace("EXPR", expression)
    };
    let mut options = Options::default();
    options.run.payload.insert("list".into(), serde_json::json!([]));
    options.facts.git = Some(Err("not a git repository".into()));
    play(&format!("a {criticality} {keys}; other {{start: false}}; post<a external"), &["a: {}"], &options)
}

fn row(played: &Played) -> String {
    let status = |name: &str| played.check(name)["status"].as_str().unwrap_or_default().to_owned();
    format!("{:9} {:28} post {}", status("a"), played.reason(), status("post"))
}

#[test]
fn every_construct_answers_an_evaluation_error_as_the_table_says() {
    let mut table = String::new();
    for (name, construct) in CONSTRUCTS {
        for criticality in CRITICALITIES {
            let rows: Vec<String> = KINDS
                .iter()
                .map(|(_, expression)| row(&undecided(construct, expression, criticality)))
                .collect();
            // The verdict does not depend on how the evaluation failed.
            assert!(rows.iter().all(|other| *other == rows[0]), "{name} {criticality}: {rows:#?}");
            table.push_str(&format!("{name:13} {criticality:8} {}\n", rows[0]));
        }
    }
    insta::assert_snapshot!(table, @r"
    if            info     skipped   run.completed.nothing_ran    post skipped
    if            policy   skipped   run.failed.expression_error  post skipped
    if            internal skipped   run.failed.expression_error  post skipped
    if            external skipped   run.failed.expression_error  post skipped
    assume        info     skipped   run.completed.nothing_ran    post skipped
    assume        policy   skipped   run.failed.expression_error  post skipped
    assume        internal skipped   run.failed.expression_error  post skipped
    assume        external skipped   run.failed.expression_error  post skipped
    assume, fail  info     failed    run.failed.expression_error  post skipped
    assume, fail  policy   failed    run.failed.expression_error  post skipped
    assume, fail  internal failed    run.failed.expression_error  post skipped
    assume, fail  external failed    run.failed.expression_error  post skipped
    guarantee     info     failed    run.failed.guarantee_failed  post skipped
    guarantee     policy   failed    run.failed.guarantee_failed  post skipped
    guarantee     internal failed    run.failed.guarantee_failed  post skipped
    guarantee     external failed    run.failed.guarantee_failed  post skipped
    fail_if       info     failed    run.failed.expression_error  post skipped
    fail_if       policy   failed    run.failed.expression_error  post skipped
    fail_if       internal failed    run.failed.expression_error  post skipped
    fail_if       external failed    run.failed.expression_error  post skipped
    template      info     failed    run.failed.expression_error  post skipped
    template      policy   failed    run.failed.expression_error  post skipped
    template      internal failed    run.failed.expression_error  post skipped
    template      external failed    run.failed.expression_error  post skipped
    when          info     succeeded run.completed.with_warnings  post succeeded
    when          policy   succeeded run.failed.expression_error  post succeeded
    when          internal succeeded run.failed.expression_error  post succeeded
    when          external succeeded run.failed.expression_error  post succeeded
    goto_js       info     succeeded run.completed.with_warnings  post succeeded
    goto_js       policy   succeeded run.failed.expression_error  post succeeded
    goto_js       internal succeeded run.failed.expression_error  post succeeded
    goto_js       external succeeded run.failed.expression_error  post succeeded
    run_js        info     succeeded run.completed.with_warnings  post succeeded
    run_js        policy   succeeded run.failed.expression_error  post succeeded
    run_js        internal succeeded run.failed.expression_error  post succeeded
    run_js        external succeeded run.failed.expression_error  post succeeded
    when, on_fail info     failed    run.failed.fail_if           post skipped
    when, on_fail policy   failed    run.failed.expression_error  post skipped
    when, on_fail internal failed    run.failed.expression_error  post skipped
    when, on_fail external failed    run.failed.expression_error  post skipped
    ");
}

#[test]
fn an_evaluation_error_is_never_a_plain_success() {
    for (name, construct) in CONSTRUCTS {
        for (kind, expression) in KINDS {
            for criticality in CRITICALITIES {
                let played = undecided(construct, expression, criticality);
                let at = format!("{name}, {kind}, {criticality}");
                assert_ne!(played.reason(), "run.completed.ok", "{at}");
                let issues = played.check("a")["issues"].to_string();
                let is_said =
                    ["system/expression_error", "system/template_error", "contract/guarantee_failed"]
                        .iter()
                        .any(|code| issues.contains(code));
                assert!(is_said, "{at}: {issues}");
                let decides_routing = ["when", "goto_js", "run_js"].contains(&name);
                let post = played.check("post")["status"].clone();
                assert!(decides_routing || post == "skipped", "{at}: post {post}");
                if criticality != "info" {
                    assert!(played.reason().starts_with("run.failed."), "{at}: {}", played.reason());
                }
            }
        }
    }
}
