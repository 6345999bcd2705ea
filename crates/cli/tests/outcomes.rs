//! `escrow outcomes`, and checks that store them.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

const REVIEW: &str = r#"{"outcome_kind": "review_verdict", "verdict": "REQUEST CHANGES", "summary": "two things",
  "findings": [{"severity": "high", "category": "security", "file": "src/main.rs", "line": 3, "description": "a secret in the log", "required_fix": "redact it"}]}"#;

fn playbook(kind: &str, output: &str) -> String {
    format!(
        "checks:\n  verdict:\n    type: command\n    exec: cat verdict.json\n    outcome: {kind}\n# {output}\n"
    )
}

fn list(desk: &Desk, more: &[&str]) -> Vec<Value> {
    let mut arguments = vec!["outcomes", "--output", "json"];
    arguments.extend(more);
    let done = desk.escrow(&arguments);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done.json()["outcomes"].as_array().cloned().unwrap_or_default()
}

fn add(desk: &Desk, content: &str, more: &[&str]) -> Value {
    let mut arguments = vec!["outcomes", "add", "--name", "Round 1 verdict", "--output", "json"];
    arguments.extend(more);
    let done = desk.escrow_given(&arguments, content);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done.json()["outcome"].clone()
}

#[test]
fn what_is_added_is_listed_with_every_field() {
    let desk = Desk::new();
    assert_eq!(list(&desk, &[]), Vec::<Value>::new());
    let added = add(&desk, REVIEW, &["--invocation", "i_1"]);
    let listed = list(&desk, &["--kind", "review_verdict"]);
    assert_eq!(listed, std::slice::from_ref(&added));
    let keys: Vec<&str> = added.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
    assert_eq!(
        keys,
        [
            "id",
            "kind",
            "name",
            "created_at",
            "passed",
            "summary",
            "content",
            "run_id",
            "invocation_id",
            "file_path"
        ]
    );
    assert_eq!((&added["passed"], &added["summary"]), (&json!(false), &json!("two things")));
    assert_eq!((&added["name"], &added["invocation_id"]), (&json!("Round 1 verdict"), &json!("i_1")));
    assert_eq!(added["content"]["verdict"], "REQUEST_CHANGES");
}

#[test]
fn what_a_kind_forbids_is_refused_with_every_reason_and_not_kept() {
    let desk = Desk::new();
    for (content, why) in [
        (
            r#"{"outcome_kind": "review_verdict", "verdict": "APPROVE", "passed": false}"#,
            "`passed` is false, but the verdict is APPROVE",
        ),
        (r#"{"outcome_kind": "review_verdict", "verdict": "APPROVE", "stars": 5}"#, "stars"),
        (r#"{"outcome_kind": "gate_verdict"}"#, "gate_passed"),
        (r#"{"outcome_kind": "ci_result", "test_count": -1}"#, "/test_count"),
        (r#"{"outcome_kind": "nonsense"}"#, "unknown outcome kind `nonsense`"),
        (r#"{"verdict": "APPROVE"}"#, "`outcome_kind` is missing"),
        ("{", "not valid JSON"),
        ("", "the outcome is empty"),
        (&"[".repeat(200_000), "not valid JSON"),
    ] {
        let done = desk.escrow_given(&["outcomes", "add", "--name", "x", "--output", "json"], content);
        assert_eq!(done.code, Some(2), "{why}");
        assert!(done.stderr.contains(why), "{why}: {}", done.stderr);
        assert!(done.json()["error"]["message"].as_str().is_some_and(|message| message.contains(why)));
    }
    for name in ["", " ", "a\nb"] {
        assert_eq!(desk.escrow_given(&["outcomes", "add", "--name", name], REVIEW).code, Some(2));
    }
    assert_eq!(
        desk.escrow_given(&["outcomes", "add", "--name", "x", "--run", "r_nowhere"], REVIEW).code,
        Some(2)
    );
    assert_eq!(
        desk.escrow_given(&["outcomes", "add", "--name", "x", "--file", "../x"], REVIEW).code,
        Some(2)
    );
    assert_eq!(list(&desk, &[]).len(), 0);
}

#[test]
fn writing_a_verdict_again_keeps_both_versions_newest_first() {
    let desk = Desk::new();
    let first = add(&desk, REVIEW, &[]);
    let second = add(&desk, r#"{"outcome_kind": "review_verdict", "verdict": "APPROVE"}"#, &[]);
    let ids: Vec<Value> = list(&desk, &[]).iter().map(|outcome| outcome["id"].clone()).collect();
    assert_eq!(ids, [second["id"].clone(), first["id"].clone()]);
}

#[test]
fn outcomes_are_narrowed_by_kind_verdict_age_and_run() {
    let desk = Desk::new();
    desk.write("verdict.json", REVIEW);
    let (code, document) = desk.run(&playbook("review_verdict", ""));
    assert_eq!(code, Some(0), "{document}");
    add(&desk, r#"{"outcome_kind": "gate_verdict", "gate_passed": true}"#, &["--run", "last"]);
    add(&desk, r#"{"outcome_kind": "ci_result"}"#, &[]);
    for (more, number) in [
        (&["--kind", "review_verdict"][..], 1),
        (&["--passed"], 1),
        (&["--failed"], 1),
        (&["--kind", "review_verdict", "--passed"], 0),
        (&["--since", "7d"], 3),
        (&["--run", "last"], 2),
        (&["--run", "last", "--kind", "gate_verdict", "--passed", "--since", "1h"], 1),
        (&["--limit", "1"], 1),
    ] {
        assert_eq!(list(&desk, more).len(), number, "{more:?}");
    }
    assert_eq!(desk.escrow(&["outcomes", "--since", "soon"]).code, Some(2));
    assert_eq!(desk.escrow(&["outcomes", "--passed", "--failed"]).code, Some(2));
    assert_eq!(desk.escrow(&["outcomes", "--run", "r_nowhere"]).code, Some(2));
    let lines = desk.escrow(&["outcomes", "--output", "jsonl"]).stdout;
    assert_eq!(lines.lines().count(), 3);
}

#[test]
fn a_check_stores_its_output_and_the_run_tells_of_it_now_and_later() {
    let desk = Desk::new();
    desk.write("verdict.json", REVIEW);
    let (code, document) = desk.run_with(&playbook("review_verdict", ""), &["--invocation", "i_7"]);
    assert_eq!(code, Some(0), "a verdict against the work does not fail the check: {document}");
    let stored = document["outcomes"][0].clone();
    assert_eq!(
        (&stored["kind"], &stored["name"], &stored["passed"]),
        (&json!("review_verdict"), &json!("verdict"), &json!(false))
    );
    assert_eq!((&stored["run_id"], &stored["invocation_id"]), (&document["run"]["id"], &json!("i_7")));
    assert_eq!(list(&desk, &[]), std::slice::from_ref(&stored));
    assert_eq!(desk.show("last")["outcomes"], json!([stored]));
    let explained = desk.escrow(&["explain", "last", "verdict"]).stdout;
    assert!(explained.contains("stored as review_verdict: two things"), "{explained}");
    let people = desk.escrow(&["runs", "show", "last"]).stdout;
    assert!(people.contains("review_verdict ✗ verdict  two things"), "{people}");
}

#[test]
fn an_output_that_its_kind_forbids_fails_the_run() {
    let desk = Desk::new();
    desk.write("verdict.json", r#"{"verdict": "MAYBE"}"#);
    let (code, document) = desk.run(&playbook("review_verdict", ""));
    assert_eq!(code, Some(1));
    assert_eq!(document["run"]["reason"]["code"], "run.failed.outcome_invalid");
    assert_eq!(document["checks"]["verdict"]["issues"][0]["rule_id"], "contract/outcome_invalid");
    assert_eq!(list(&desk, &[]).len(), 0);
    let page = desk.escrow(&["explain", "run.failed.outcome_invalid"]);
    assert_eq!(page.code, Some(0), "{}", page.stderr);
}

#[test]
fn a_command_adds_outcomes_to_its_own_run() {
    let desk = Desk::new();
    let escrow = env!("CARGO_BIN_EXE_escrow");
    let text = format!(
        "checks:\n  ci:\n    type: command\n    exec: |\n      echo '{{\"outcome_kind\": \"ci_result\", \"lint_passed\": true}}' | {escrow} outcomes add --name lint >/dev/null\n"
    );
    let (code, document) = desk.run(&text);
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(
        (&document["outcomes"][0]["name"], &document["outcomes"][0]["run_id"]),
        (&json!("lint"), &document["run"]["id"])
    );
}

#[test]
fn a_nested_run_hands_its_outcomes_up() {
    let desk = Desk::new();
    desk.write("verdict.json", r#"{"gate_passed": true}"#);
    desk.write("inner.yaml", &playbook("gate_verdict", ""));
    let (code, document) = desk.run(
        "checks:\n  inner:\n    type: playbook\n    playbook: inner.yaml\n    guarantee: output.outcomes[0].passed === true && output.outcomes[0].kind === 'gate_verdict'\n",
    );
    assert_eq!(code, Some(0), "{document}");
}

#[test]
fn a_card_is_drawn_for_people_and_told_to_tools() {
    let desk = Desk::new();
    let id = add(&desk, REVIEW, &[])["id"].as_str().expect("an id").to_owned();
    let card = desk.escrow(&["outcomes", "show", &id]).stdout;
    for part in ["REQUEST CHANGES", "Blocking findings", "src/main.rs:3", "Required: redact it", "security 1"]
    {
        assert!(card.contains(part), "{part}: {card}");
    }
    let told = desk.escrow(&["outcomes", "show", "last", "--output", "json"]).json();
    assert_eq!((&told["outcome"]["id"], &told["card"]["tone"]), (&json!(id), &json!("bad")));
    assert_eq!(desk.escrow(&["outcomes", "show", "o_nothing"]).code, Some(2));
    let people = desk.escrow(&["outcomes"]).stdout;
    assert!(people.contains("review_verdict") && people.contains("two things"), "{people}");
}

#[test]
fn a_ci_result_without_checks_is_never_shown_as_passed() {
    let desk = Desk::new();
    assert_eq!(add(&desk, r#"{"outcome_kind": "ci_result"}"#, &[])["passed"], json!(null));
    let card = desk.escrow(&["outcomes", "show"]).stdout;
    assert!(card.contains("CI RESULT: NOTHING CHECKED") && !card.contains("PASSED"), "{card}");
}

#[test]
fn a_project_declares_its_own_kinds() {
    let desk = Desk::new();
    desk.write(
        ".escrow/outcomes/load_test.json",
        r#"{"type": "object", "required": ["p99_ms"], "properties": {"p99_ms": {"type": "number"}}, "additionalProperties": false}"#,
    );
    desk.write("verdict.json", r#"{"p99_ms": 812, "passed": false}"#);
    let (code, document) = desk.run(&playbook("load_test", ""));
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["outcomes"][0]["passed"], false);
    // The schema went into the journal: the run can be told again without the file.
    let bad = desk.escrow_given(
        &["outcomes", "add", "--name", "x"],
        r#"{"outcome_kind": "load_test", "p99_ms": "fast"}"#,
    );
    assert_eq!(bad.code, Some(2));
    assert!(bad.stderr.contains("/p99_ms"), "{}", bad.stderr);
    add(&desk, r#"{"outcome_kind": "load_test", "p99_ms": 3}"#, &[]);
    assert_eq!(list(&desk, &["--kind", "load_test"]).len(), 2);
    assert!(desk.escrow(&["outcomes", "show", "last"]).stdout.contains("LOAD TEST"));
    assert_eq!(desk.escrow(&["schema", "load_test"]).json()["required"], json!(["p99_ms"]));
    desk.write(".escrow/outcomes/broken.json", r#"{"type": "objekt"}"#);
    let (code, document) = desk.run(&playbook("broken", ""));
    assert_eq!((code, &document["error"]["diagnostics"][0]["code"]), (Some(2), &json!("E0154")));
}

#[test]
fn export_writes_every_outcome_a_line_each_oldest_first() {
    let desk = Desk::new();
    let first = add(&desk, REVIEW, &[]);
    let second = add(&desk, r#"{"outcome_kind": "ci_result"}"#, &[]);
    let lines: Vec<Value> = desk
        .escrow(&["outcomes", "export"])
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(lines, [first.clone(), second]);
    let done = desk.escrow(&["outcomes", "export", "--kind", "review_verdict", "--out", "all.jsonl"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(serde_json::from_str::<Value>(&desk.read("all.jsonl")).expect("JSON"), first);
}

#[test]
fn an_exported_run_takes_its_outcomes_along() {
    let desk = Desk::new();
    desk.write("verdict.json", REVIEW);
    let (_, document) = desk.run(&playbook("review_verdict", ""));
    add(&desk, r#"{"outcome_kind": "gate_verdict", "gate_passed": true}"#, &["--run", "last"]);
    assert_eq!(desk.escrow(&["runs", "export", "last", "--out", "run.json"]).code, Some(0));
    let elsewhere = Desk::new();
    elsewhere.write("run.json", &desk.read("run.json"));
    assert_eq!(elsewhere.escrow(&["runs", "import", "run.json"]).code, Some(0));
    assert_eq!(elsewhere.escrow(&["runs", "import", "run.json"]).code, Some(0), "twice is once");
    assert_eq!(list(&elsewhere, &[]), list(&desk, &[]));
    assert_eq!(list(&elsewhere, &[]).len(), 2);
    assert_eq!(document["outcomes"].as_array().map(Vec::len), Some(1));
    // What was added by hand is believed only as far as its kind admits it.
    let forged = desk.read("run.json").replace("\"gate_passed\": true", "\"gate_passed\": false");
    desk.write("forged.json", &forged);
    let refused = desk.escrow(&["verify", "forged.json"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    assert!(refused.stderr.contains("outcome `o_"), "{}", refused.stderr);
}

#[test]
fn a_secret_of_the_run_is_not_kept_in_an_added_outcome() {
    let desk = Desk::new();
    desk.write("token", "hunter2-hunter2\n");
    desk.run("secrets:\n  TOKEN: { file: token }\nchecks:\n  a:\n    type: command\n    exec: echo hi\n    secrets: [TOKEN]\n");
    let added = add(
        &desk,
        r#"{"outcome_kind": "ci_result", "summary": "it said hunter2-hunter2", "failure_summary": "hunter2-hunter2"}"#,
        &["--run", "last"],
    );
    assert!(!added.to_string().contains("hunter2"), "{added}");
}

/// Two readers may believe different halves of it, so it is no verdict at all, whichever way it comes.
#[test]
fn a_verdict_that_says_two_things_under_one_name_is_refused() {
    let twice = r#"{"outcome_kind": "gate_verdict", "gate_passed": false, "gate_passed": true}"#;
    let desk = Desk::new();
    let done = desk.escrow_given(&["outcomes", "add", "--name", "gate"], twice);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("duplicate key `gate_passed`"), "{}", done.stderr);

    desk.write("verdict.json", twice);
    let (code, document) = desk.run(&playbook("gate_verdict", ""));
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["checks"]["verdict"]["issues"][0]["message"], "duplicate key `gate_passed`");

    let (code, document) = desk.run(
        "
artifacts: {expected: [{id: gate, path: gate.json, kind: gate_verdict}]}
checks: {write: {type: command, exec: 'cat verdict.json > $ESCROW_ARTIFACTS/gate.json'}}
",
    );
    assert_eq!(code, Some(1), "{document}");
    let missing = &document["artifacts"]["missing_required"][0];
    assert_eq!(
        (&missing["problem"], &missing["detail"]),
        (&json!("schema"), &json!("duplicate key `gate_passed`"))
    );
    assert_eq!(list(&desk, &[]), Vec::<Value>::new(), "nothing of it was kept");
}

#[test]
fn a_command_adds_outcomes_to_its_run_wherever_the_run_is_kept() {
    let desk = Desk::new();
    desk.write("verdict.json", REVIEW);
    let escrow = env!("CARGO_BIN_EXE_escrow");
    for safety in ["standard", "strict"] {
        let (code, document) = desk.run_with(
            &format!(
                "safety: {safety}\nchecks: {{add: {{type: command, exec: 'cd / && {escrow} outcomes add --name verdict < {}', guarantee: 'true'}}}}",
                desk.path().join("verdict.json").display()
            ),
            &["--state", "kept/here"],
        );
        assert_eq!(code, Some(0), "{document}");
        let listed = list(&desk, &["--state", "kept/here", "--run", "last"]);
        assert_eq!(listed.len(), 1);
        assert_eq!(listed[0]["run_id"], document["run"]["id"]);
    }
    assert!(!desk.path().join(".escrow").exists(), "no second state was made");
}
