//! Contracts over delivered files, and artifacts that are expected only sometimes.

mod desk;

use desk::Desk;
use serde_json::json;

const MEASURE: &str = r#"
artifacts:
  expected:
    - { id: report, path: report.json }
checks:
  measure:
    type: command
    exec: printf '%s' "$REPORT" > "$ESCROW_ARTIFACTS/report.json"
    artifacts: report
    guarantee: "artifacts.report.json.errors === 0"
  publish:
    type: command
    depends_on: measure
    if: "artifacts.report.size > 3"
    exec: echo "published {{ artifacts.report.json.name }} {{ artifacts.report.sha256 }}"
"#;

fn measure(report: &str) -> (Desk, desk::Done) {
    let desk = Desk::new();
    desk.write("measure.yaml", MEASURE);
    let done =
        desk.command(&["run", "measure.yaml", "--quiet", "--output", "json"]).env("REPORT", report).output();
    (desk, desk::Done::from(done.expect("it runs")))
}

#[test]
fn a_guarantee_judges_the_content_of_a_delivered_file_and_a_dependent_reads_it() {
    let (_, done) = measure(r#"{"errors": 0, "name": "it's; $(x)"}"#);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let document = done.json();
    let digest = document["artifacts"]["produced"][0]["sha256"].as_str().expect("a digest").to_owned();
    assert_eq!(document["checks"]["publish"]["output"], json!(format!("published it's; $(x) {digest}")));
    let (_, done) = measure(r#"{"errors": 1, "name": "x"}"#);
    assert_eq!(done.code, Some(1));
    assert_eq!(done.json()["run"]["reason"]["code"], "run.failed.guarantee_failed");
    assert_eq!(done.json()["checks"]["publish"]["skip_reason"], "dependency_failed");
}

#[test]
fn a_replay_and_explain_see_what_was_journaled_after_the_file_is_gone() {
    let (desk, done) = measure(r#"{"errors": 3}"#);
    let run = done.json()["run"]["id"].as_str().expect("an id").to_owned();
    std::fs::remove_dir_all(desk.path().join(format!(".escrow/artifacts/{run}")))
        .expect("the directory was there");
    let explained = desk.escrow(&["explain", "last", "measure"]);
    assert!(explained.stdout.contains("errors: 3"), "{}", explained.stdout);
    let replayed = desk.escrow(&["replay", "last", "--with", "measure.yaml"]);
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
    desk.write("lenient.yaml", &MEASURE.replace("=== 0", "< 5"));
    let replayed = desk.escrow(&["replay", "last", "--with", "lenient.yaml", "--output", "json"]);
    assert!(replayed.stdout.contains("succeeded"), "{}", replayed.stdout);
}

#[test]
fn a_secret_in_a_file_does_not_reach_the_journal_through_its_content() {
    let desk = Desk::new();
    desk.write(
        "leak.yaml",
        r#"
secrets: [TOKEN]
artifacts: { expected: [{ id: report, path: report.txt }] }
checks:
  leak:
    type: command
    secrets: [TOKEN]
    exec: echo "token=$TOKEN" > "$ESCROW_ARTIFACTS/report.txt"
    artifacts: report
  read:
    type: command
    depends_on: leak
    exec: echo {{ artifacts.report.text }}
"#,
    );
    let done = desk
        .command(&["run", "leak.yaml", "--quiet", "--output", "jsonl"])
        .env("TOKEN", "correct-horse-battery")
        .output();
    let done = desk::Done::from(done.expect("it runs"));
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(!done.stdout.contains("correct-horse"), "{}", done.stdout);
    assert!(done.stdout.contains("token=***"), "{}", done.stdout);
}

const DOCS: &str = r#"
artifacts:
  expected:
    - { id: site, path: site.html, if: "filesChanged.some(file => file.startsWith('docs/'))" }
checks:
  build: { type: command, exec: 'true' }
"#;

#[test]
fn an_artifact_of_path_filtered_ci_is_expected_only_when_its_files_changed() {
    let desk = Desk::new();
    desk.write("ci.yaml", DOCS);
    let with = |files: &str| {
        desk.write("event.json", &format!(r#"{{"filesChanged": {files}}}"#));
        desk.escrow(&["run", "ci.yaml", "--quiet", "--event", "pr_updated=event.json", "--output", "json"])
    };
    let done = with(r#"["src/main.rs"]"#);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let delivery = done.json()["artifacts"].clone();
    assert_eq!(delivery["status"], "skipped");
    assert_eq!(delivery["not_expected"][0]["id"], "site");
    let listed = desk.escrow(&["artifacts", "last"]);
    assert!(listed.stdout.contains("not expected"), "{}", listed.stdout);
    let done = with(r#"["src/main.rs", "docs/index.md"]"#);
    assert_eq!(done.code, Some(1));
    assert_eq!(done.json()["run"]["reason"]["code"], "run.failed.missing_artifact");
}

#[test]
fn files_changed_outside_git_cannot_be_evaluated_so_the_artifact_is_expected() {
    let desk = Desk::new();
    desk.write("ci.yaml", DOCS);
    let done = desk.escrow(&["run", "ci.yaml", "--quiet", "--output", "json"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    let missing = done.json()["artifacts"]["missing_required"][0].clone();
    let detail = missing["detail"].as_str().expect("a detail");
    assert!(detail.starts_with("its `if` cannot be evaluated"), "{detail}");
}

#[test]
fn the_if_of_a_nested_playbook_is_evaluated_by_the_nested_run() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        r#"
artifacts: { expected: [{ id: notes, path: notes.md, if: "outputs.plan.notes" }] }
inputs: { notes: { type: boolean } }
checks:
  plan: { type: script, content: "return {notes: inputs.notes};" }
"#,
    );
    let outer = "checks: { deploy: { type: playbook, playbook: inner.yaml, with: { notes: WANTED } } }";
    for (wanted, code) in [("false", Some(0)), ("true", Some(1))] {
        desk.write("outer.yaml", &outer.replace("WANTED", wanted));
        let done = desk.escrow(&["run", "outer.yaml", "--quiet", "--output", "json"]);
        assert_eq!(done.code, code, "{wanted}: {}", done.stderr);
    }
}

#[test]
fn a_rehearsed_file_has_content() {
    let desk = Desk::new();
    desk.write("measure.yaml", MEASURE);
    desk.write(
        "measure.test.yaml",
        r#"
playbook: measure.yaml
tests:
  errors in the report fail the check:
    artifacts: { report: { content: { errors: 2 } } }
    answers: { measure: {} }
    expect: { run: failed, checks: { measure: failed, publish: { skipped: dependency_failed } } }
"#,
    );
    let done = desk.escrow(&["test", "measure.test.yaml"]);
    assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
}
