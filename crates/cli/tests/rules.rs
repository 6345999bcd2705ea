//! `escrow rules check`, and rules in playbooks.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

const RULES: &str = "
- { rule_id: name, field: name, check: required }
- { rule_id: age, field: age, check: range, params: { min: 0, max: 150 } }
- { rule_id: mail, field: contact.mail, check: pattern, params: { pattern: '^[^@]+@[^@]+$' } }
- { rule_id: even, field: age, check: custom, params: { expr: 'value % 2 === 0', error: odd } }
";

const GOOD: &str = r#"{"name": "Ada", "age": 36, "contact": {"mail": "ada@example.org"}}"#;
const BAD: &str = r#"{"age": 151, "contact": {"mail": "nope"}}"#;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("rules.yaml", RULES);
    desk
}

/// The answers to these lines, as JSON, with the exit code.
fn check(lines: &str) -> (Option<i32>, Vec<Value>) {
    let done = desk().escrow_given(&["rules", "check", "rules.yaml", "--output", "jsonl"], lines);
    let answers = done.stdout.lines().map(|line| serde_json::from_str(line).expect(line)).collect();
    (done.code, answers)
}

#[test]
fn an_item_that_keeps_every_rule_passes() {
    let done = desk().escrow_given(&["rules", "check", "rules.yaml", "--output", "json"], GOOD);
    assert_eq!((done.code, done.json()), (Some(0), json!({"item": 1, "passed": true, "errors": []})));
}

#[test]
fn every_broken_rule_is_told_in_order_with_its_id_field_and_check() {
    let done = desk().escrow_given(&["rules", "check", "rules.yaml", "--output", "json"], BAD);
    assert_eq!(done.code, Some(1));
    assert_eq!(
        done.json()["errors"],
        json!([
            {"rule_id": "name", "field": "name", "check": "required", "message": "Field 'name' is required but missing or None."},
            {"rule_id": "age", "field": "age", "check": "range", "message": "Field 'age' = 151 exceeds maximum 150."},
            {"rule_id": "mail", "field": "contact.mail", "check": "pattern", "message": "Field 'contact.mail' value 'nope' does not match pattern '^[^@]+@[^@]+$'."},
            {"rule_id": "even", "field": "age", "check": "custom", "message": "odd"},
        ])
    );
}

#[test]
fn lines_are_answered_one_by_one_in_order() {
    let (code, answers) = check(&format!("{GOOD}\n\n{BAD}\n{GOOD}"));
    assert_eq!(code, Some(1));
    let passed: Vec<&Value> = answers.iter().map(|answer| &answer["passed"]).collect();
    assert_eq!(passed, [&json!(true), &json!(false), &json!(true)]);
    assert_eq!(answers[1]["item"], 2);
    assert_eq!(check(&format!("{GOOD}\n{GOOD}\n")).0, Some(0));
}

#[test]
fn an_item_may_take_several_lines() {
    let pretty =
        serde_json::to_string_pretty(&serde_json::from_str::<Value>(BAD).expect("JSON")).expect("JSON");
    let (code, answers) = check(&pretty);
    assert_eq!((code, answers.len()), (Some(1), 1));
}

#[test]
fn a_line_that_is_not_json_is_told_and_the_next_one_is_judged() {
    let (code, answers) = check(&format!("{GOOD}\n{{\"age\": NaN}}\nnope\n{BAD}\n"));
    assert_eq!(code, Some(2));
    assert_eq!(answers.len(), 4);
    assert!(answers[1]["error"].as_str().is_some_and(|why| why.starts_with("not JSON")));
    assert_eq!((&answers[2]["passed"], &answers[3]["passed"]), (&json!(null), &json!(false)));
}

#[test]
fn many_items_are_one_document_when_json_is_asked_for() {
    let lines = format!("{GOOD}\n{BAD}\n{GOOD}\n");
    let document = desk().escrow_given(&["rules", "check", "rules.yaml", "--output", "json"], &lines).json();
    assert_eq!(document["results"].as_array().map(Vec::len), Some(3));
    assert_eq!((&document["items"], &document["failed"]), (&json!(3), &json!(1)));
}

#[test]
fn people_read_what_is_broken_and_a_last_line() {
    let done = desk().escrow_given(&["rules", "check", "rules.yaml"], &format!("{GOOD}\n{BAD}\n"));
    assert!(
        done.stdout.contains("item 2: Field 'age' = 151 exceeds maximum 150. (age, range)"),
        "{}",
        done.stdout
    );
    assert!(!done.stdout.contains("item 1"), "{}", done.stdout);
    assert!(done.stderr.contains("2 items judged by 4 rules: 1 failed"), "{}", done.stderr);
}

#[test]
fn bad_rules_are_the_authors_fault_and_shown_at_their_line() {
    let desk = Desk::new();
    desk.write("rules.yaml", "rules:\n  - { rule_id: a, field: x, check: type, params: { type: decimal } }\n  - { rule_id: a, field: y, check: pattern, params: { pattern: '(' } }\n");
    let done = desk.escrow_given(&["rules", "check", "rules.yaml", "--output", "json"], GOOD);
    assert_eq!(done.code, Some(2));
    let diagnostics = done.json()["error"]["diagnostics"].clone();
    let told: Vec<(u64, String)> = diagnostics
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| {
            (one["line"].as_u64().unwrap_or(0), one["message"].as_str().unwrap_or_default().to_owned())
        })
        .collect();
    assert_eq!(
        told,
        [
            (2, "Rule 'a': unknown type 'decimal'.".to_owned()),
            (3, "RuleSet already contains a rule with rule_id='a'. Use a unique rule_id or remove the existing rule first.".to_owned()),
            (3, "Rule 'a': invalid regex pattern — unclosed group.".to_owned()),
        ]
    );
    assert!(done.stderr.contains("rules.yaml:2:58"), "{}", done.stderr);
    for (file, text) in [
        ("empty.yaml", ""),
        ("text.yaml", "just text"),
        ("deep.yaml", &"[".repeat(10_000)),
        ("list.json", "[1, 2]"),
    ] {
        desk.write(file, text);
        assert_eq!(desk.escrow_given(&["rules", "check", file], GOOD).code, Some(2), "{file}");
    }
    assert_eq!(desk.escrow_given(&["rules", "check", "nowhere.yaml"], GOOD).code, Some(2));
}

#[test]
fn nothing_on_stdin_is_no_item() {
    assert_eq!(desk().escrow_given(&["rules", "check", "rules.yaml"], "\n").code, Some(2));
}

#[test]
fn rules_may_be_json_and_have_a_name_in_the_project() {
    let desk = Desk::new();
    desk.write(
        ".escrow/rules/person.json",
        r#"{"name": "person", "rules": [{"rule_id": "n", "field": "name", "check": "required"}]}"#,
    );
    assert_eq!(desk.escrow_given(&["rules", "check", "person"], "{}").code, Some(1));
    assert_eq!(desk.escrow_given(&["rules", "check", "person"], GOOD).code, Some(0));
}

#[test]
fn a_playbook_takes_its_rules_from_a_file_and_the_run_keeps_them() {
    let desk = desk();
    desk.write("item.json", BAD);
    let (code, document) =
        desk.run("checks:\n  person:\n    type: command\n    exec: cat item.json\n    rules: rules.yaml\n");
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["run"]["reason"]["code"], "run.failed.rule_failed");
    let issues = document["checks"]["person"]["issues"].as_array().cloned().unwrap_or_default();
    assert!(issues.iter().all(|issue| issue["rule_id"] == "contract/rule_failed"));
    assert_eq!(issues.len(), 4);
    assert_eq!(issues[1]["rule"]["rule_id"], "age");
    // The rules went into the journal: it needs no file to be told again.
    std::fs::remove_file(desk.path().join("rules.yaml")).expect("it can be removed");
    assert_eq!(desk.show("last")["checks"], document["checks"]);
    desk.write("other.yaml", "checks:\n  person:\n    type: command\n    exec: cat item.json\n    rules: [{ rule_id: mail, field: contact.mail, check: required }]\n");
    let replayed = desk.escrow(&["replay", "last", "--with", "other.yaml", "--output", "json"]);
    assert_eq!(replayed.code, Some(0), "{}", replayed.stderr);
    assert!(replayed.stdout.contains("run.completed.ok"), "{}", replayed.stdout);
}

#[test]
fn a_playbook_whose_rules_cannot_be_used_does_not_start() {
    let desk = Desk::new();
    desk.write("rules.yaml", "- { rule_id: a, field: x, check: range, params: { min: low } }\n");
    let (code, document) =
        desk.run("checks:\n  a:\n    type: command\n    exec: echo {}\n    rules: rules.yaml\n");
    assert_eq!(code, Some(2));
    let diagnostic = &document["error"]["diagnostics"][0];
    assert_eq!((&diagnostic["code"], &diagnostic["line"]), (&json!("E0152"), &json!(5)));
    assert!(
        diagnostic["label"]
            .as_str()
            .is_some_and(|label| label.contains("rules.yaml:1:56: Rule 'a': 'min' must be a number")),
        "{diagnostic}"
    );
}

#[test]
fn the_schema_of_rules_is_for_editors() {
    let schema = Desk::new().escrow(&["schema", "rules"]).json();
    assert_eq!(schema["anyOf"][0]["items"]["required"], json!(["rule_id", "field", "check"]));
}

#[test]
fn rules_that_judge_nothing_warn() {
    let desk = Desk::new();
    let disabled = "- { rule_id: name, field: name, check: required, enabled: false }";
    for rules in ["[]", disabled] {
        desk.write("rules.yaml", rules);
        let done = desk.escrow_given(&["rules", "check", "rules.yaml"], "{}");
        assert_eq!(done.code, Some(0));
        assert!(done.stderr.contains("warning: no rule is enabled"), "{}", done.stderr);
        desk.write("book.yaml", "checks:\n  a: { type: noop, rules: rules.yaml }\n");
        let done = desk.escrow(&["check", "book.yaml"]);
        assert!(done.stderr.contains("W0231") || done.stdout.contains("W0231"), "{}", done.stderr);
    }
}
