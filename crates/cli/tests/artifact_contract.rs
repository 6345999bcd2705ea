//! The rules of the artifact contract, one by one: what is declared, how it is resolved, what is verified, and what
//! that makes of a run.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

const AGENT: &str = "---\n\
    command: [sh, -c, 'cd \"$ESCROW_ARTIFACTS\"; eval \"$SCRIPT\"']\n\
    artifact_defaults:\n  expected:\n    \
    - {id: report, path: report.md, required: false, min_size: 100, description: what it found}\n    \
    - {id: log, path: log.txt}\n---\n";

/// A run of the agent under this contract of the playbook, with a script that writes into the artifact directory.
fn run(layout: &str, expected: &str, script: &str) -> (Option<i32>, Value) {
    let desk = Desk::new();
    desk.write(layout, AGENT);
    let playbook = format!("agent: worker\nprompt: work\n{expected}");
    desk.write("playbook.yaml", &playbook);
    let done =
        desk.command(&["run", "playbook.yaml", "--quiet", "--output", "json"]).env("SCRIPT", script).output();
    let done = desk::Done::from(done.expect("it runs"));
    (done.code, done.json())
}

fn ids(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|entry| entry["id"].as_str()).collect()
}

const FLAT: &str = ".escrow/agents/worker.md";
const NESTED: &str = ".escrow/agents/worker/worker.md";

#[test]
fn defaults_of_the_agent_join_by_id_and_keep_their_place_in_either_layout() {
    for layout in [FLAT, NESTED] {
        let expected = "artifacts: {expected: [{id: extra, path: x.md}, {id: report, path: r2.md}]}";
        let (code, document) = run(layout, expected, "true");
        let missing = &document["artifacts"]["missing_required"];
        assert_eq!((code, ids(missing)), (Some(1), vec!["report", "log", "extra"]), "{layout}");
        let sources: Vec<&Value> =
            missing.as_array().into_iter().flatten().map(|entry| &entry["source"]).collect();
        assert_eq!(sources, ["playbook", "agent_profile", "playbook"], "{layout}");
        assert_eq!(document["artifacts"]["missing_optional"], json!([]), "the default was optional");
    }
}

#[test]
fn an_entry_of_the_playbook_replaces_that_of_the_agent_entirely() {
    // The default wants 100 bytes and has a description. Nothing of it is left.
    let expected = "artifacts: {expected: [{id: report, path: report.md}]}";
    let (code, document) = run(FLAT, expected, "echo hi > report.md; echo hi > log.txt");
    assert_eq!((code, &document["artifacts"]["status"]), (Some(0), &json!("passed")));
    let (_, document) = run(FLAT, expected, "echo hi > log.txt");
    let missing = &document["artifacts"]["missing_required"][0];
    assert_eq!(
        *missing,
        json!({"id": "report", "path": "report.md", "required": true, "description": "", "source": "playbook", "problem": "absent"})
    );
}

#[test]
fn without_a_playbooks_word_the_default_counts_as_it_is() {
    let (code, document) = run(FLAT, "", "echo hi > log.txt; echo short > report.md");
    assert_eq!((code, &document["artifacts"]["status"]), (Some(0), &json!("warning")));
    let missing = &document["artifacts"]["missing_optional"][0];
    assert_eq!(
        (&missing["problem"], &missing["description"]),
        (&json!("too_small"), &json!("what it found"))
    );
}

/// One command under a contract, with the expected exit code, status, reason and artifact status.
#[test]
fn what_is_verified_decides_only_what_would_have_completed() {
    const TWO: &str = "artifacts: {expected: [{id: r, path: r.md}, {id: o, path: o.md, required: false}]}";
    const OPTIONAL: &str = "artifacts: {expected: [{id: o, path: o.md, required: false}]}";
    const GONE: &str = "rm -rf $ESCROW_ARTIFACTS";
    for (told, contract, script, code, reason, artifacts) in [
        ("no contract: nothing is asked", "", "true", 0, "run.completed.ok", "skipped"),
        (
            "both there",
            TWO,
            "cd $ESCROW_ARTIFACTS; echo 1 > r.md; echo 1 > o.md",
            0,
            "run.completed.ok",
            "passed",
        ),
        (
            "the optional one is missing",
            TWO,
            "echo 1 > $ESCROW_ARTIFACTS/r.md",
            0,
            "run.completed.with_warnings",
            "warning",
        ),
        (
            "the required one is missing",
            TWO,
            "echo 1 > $ESCROW_ARTIFACTS/o.md",
            1,
            "run.failed.missing_artifact",
            "failed",
        ),
        ("both are missing", TWO, "true", 1, "run.failed.missing_artifact", "failed"),
        (
            "zero bytes are no delivery",
            TWO,
            ": > $ESCROW_ARTIFACTS/r.md",
            1,
            "run.failed.missing_artifact",
            "failed",
        ),
        ("the directory is gone", TWO, GONE, 1, "run.failed.missing_artifact", "failed"),
        ("gone, and nothing was required", OPTIONAL, GONE, 0, "run.completed.with_warnings", "warning"),
        ("a crash is a crash", TWO, "exit 3", 1, "run.failed.exit_nonzero", "failed"),
        (
            "a crash that delivered",
            TWO,
            "cd $ESCROW_ARTIFACTS; echo 1 > r.md; echo 1 > o.md; exit 3",
            1,
            "run.failed.exit_nonzero",
            "passed",
        ),
    ] {
        let desk = Desk::new();
        let playbook = format!("{contract}\nchecks: {{work: {{type: command, exec: {}}}}}", json!(script));
        let (exit, document) = desk.run(&playbook);
        assert_eq!(exit, Some(code), "{told}");
        assert_eq!(document["run"]["reason"]["code"], reason, "{told}");
        assert_eq!(document["artifacts"]["status"], artifacts, "{told}");
        let evidence = document["run"]["reason"]["evidence"].as_array().cloned().unwrap_or_default();
        let named: Vec<&Value> =
            evidence.iter().filter(|one| one["kind"] == "expected_artifact" && one["id"] == "r").collect();
        if reason == "run.failed.missing_artifact" {
            let entry = json!({"kind": "expected_artifact", "id": "r", "label": "r.md"});
            assert_eq!(named, [&entry], "{told}: one entry, with these keys");
            assert_eq!(evidence.len(), 1, "{told}: an optional one is no evidence of a failure");
        } else {
            assert!(named.is_empty(), "{told}: the cause is another");
        }
    }
}

#[test]
fn what_was_produced_has_its_size_and_digest() {
    let desk = Desk::new();
    let (_, document) = desk.run(
        "artifacts: {expected: [{id: r, path: r.md}]}\n\
         checks: {work: {type: command, exec: 'printf abc > $ESCROW_ARTIFACTS/r.md'}}",
    );
    assert_eq!(
        document["artifacts"]["produced"],
        json!([{"id": "r", "path": "r.md", "size": 3, "sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}])
    );
}

#[test]
fn a_contract_that_makes_no_sense_stops_the_run_before_anything_runs() {
    for (entry, code) in [
        ("{path: r.md}", "E0106"),
        ("{id: r}", "E0127"),
        ("{id: [r], path: r.md}", "E0124"),
        ("{id: a b, path: r.md}", "E0124"),
        ("{id: r, path: r.md}, {id: r, path: s.md}", "E0125"),
        ("{id: r, path: /r.md}", "E0126"),
        ("{id: r, path: ../r.md}", "E0126"),
        ("{id: r, path: a/../r.md}", "E0126"),
        ("{id: r, path: '*.md'}", "E0126"),
        ("{id: r, glob: '[a'}", "E0126"),
        ("{id: r, path: r.md, mime_type: text}", "E0105"),
        ("{id: r, path: r.md, required: 'yes'}", "E0105"),
        ("{id: r, path: r.md, fresh: 3}", "E0105"),
        ("{id: r, path: r.md, kind: verdict}", "E0153"),
        ("{id: r, path: r.md, schema: {type: nonsense}}", "E0120"),
        ("{id: r, path: r.md, size: 3}", "E0103"),
        ("3", "E0105"),
    ] {
        let desk = Desk::new();
        let playbook = format!(
            "artifacts: {{expected: [{entry}]}}\nchecks: {{work: {{type: command, exec: touch ran}}}}"
        );
        let (exit, document) = desk.run(&playbook);
        assert_eq!(exit, Some(2), "{entry}");
        let first = &document["error"]["diagnostics"][0];
        assert_eq!((&first["code"], &first["line"]), (&json!(code), &json!(1)), "{entry}: {document}");
        assert!(!desk.path().join("ran").exists(), "{entry}: nothing ran");
        assert_eq!(desk.escrow(&["runs", "--output", "json"]).json()["runs"], json!([]), "{entry}");
    }
}
