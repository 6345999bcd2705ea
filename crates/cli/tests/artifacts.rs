//! The artifact contract, through the binary: what counts as a delivery, on every way out, and how it is fetched.

mod desk;

use std::fs;
use std::process::Stdio;

use desk::{Desk, signal};
use serde_json::{Value, json};

/// A run whose one command is this script, under this contract.
fn run(desk: &Desk, expected: &str, script: &str) -> (Option<i32>, Value) {
    run_with(desk, expected, script, &[])
}

fn run_with(desk: &Desk, expected: &str, script: &str, more: &[&str]) -> (Option<i32>, Value) {
    let script = json!(script);
    let playbook =
        format!("artifacts: {{expected: [{expected}]}}\nchecks: {{work: {{type: command, exec: {script}}}}}");
    desk.run_with(&playbook, more)
}

/// What became of one artifact: `passed`, or the problem of the first that is missing.
fn verdict(expected: &str, script: &str) -> String {
    let (_, document) = run(&Desk::new(), expected, script);
    let artifacts = &document["artifacts"];
    let missing =
        artifacts["missing_required"].as_array().into_iter().chain(artifacts["missing_optional"].as_array());
    missing.flatten().next().map_or_else(
        || artifacts["status"].as_str().unwrap_or_default().to_owned(),
        |missing| missing["problem"].as_str().unwrap_or_default().to_owned(),
    )
}

#[test]
fn a_file_counts_when_it_is_there_new_and_what_was_promised() {
    const CD: &str = "cd \"$ESCROW_ARTIFACTS\"; ";
    for (expected, script, told) in [
        ("{id: r, path: r.md}", "echo hi > r.md", "passed"),
        ("{id: r, path: r.md}", "true", "absent"),
        ("{id: r, path: r.md}", ": > r.md", "empty"),
        ("{id: r, path: r.md, min_size: 0}", ": > r.md", "passed"),
        ("{id: r, path: r.md, min_size: 10}", "echo hi > r.md", "too_small"),
        ("{id: r, path: r.md, min_size: 3}", "echo hi > r.md", "passed"),
        ("{id: r, path: r.md}", "mkdir r.md", "wrong_type"),
        ("{id: r, path: r.md}", "mkfifo r.md", "wrong_type"),
        ("{id: r, path: r.md}", "ln -s /etc/passwd r.md", "outside"),
        ("{id: r, path: r.md}", "ln -s ../../../../x r.md", "outside"),
        ("{id: r, path: r.md}", "echo hi > f; ln -s f r.md", "passed"),
        ("{id: r, path: r.md}", "echo hi > R.md", "absent"),
        ("{id: r, path: d/e/r.md}", "mkdir -p d/e; echo hi > d/e/r.md", "passed"),
        ("{id: r, path: d/r.md}", "echo hi > r.md", "absent"),
        ("{id: r, path: r.md}", "mkdir d; echo hi > d/r.md", "absent"),
        ("{id: r, path: r.json, mime_type: application/json}", "echo '{}' > r.json", "passed"),
        ("{id: r, path: r.json, mime_type: application/json}", "echo '{' > r.json", "wrong_type"),
        ("{id: r, path: r.md, mime_type: text/markdown}", "echo '# hi' > r.md", "passed"),
        ("{id: r, path: r.png, mime_type: image/png}", "echo hi > r.png", "wrong_type"),
        (
            "{id: r, path: r.json, schema: {type: object, required: [a]}}",
            "echo '{\"a\": 1}' > r.json",
            "passed",
        ),
        ("{id: r, path: r.json, schema: {type: object, required: [a]}}", "echo '{}' > r.json", "schema"),
        ("{id: r, path: r.json, schema: {type: object}}", "echo no > r.json", "schema"),
        ("{id: r, path: r.json, kind: gate_verdict}", "echo '{\"gate_passed\": true}' > r.json", "passed"),
        ("{id: r, path: r.json, kind: gate_verdict}", "echo '{\"gate_passed\": 1}' > r.json", "schema"),
        ("{id: r, glob: 'n/*.md'}", "mkdir n; echo 1 > n/a.md; echo 2 > n/b.md", "passed"),
        ("{id: r, glob: 'n/*.md'}", "mkdir n", "absent"),
        ("{id: r, glob: 'n/*.md', count: {min: 3}}", "mkdir n; echo 1 > n/a.md; echo 2 > n/b.md", "count"),
        ("{id: r, glob: 'n/*.md', count: {max: 1}}", "mkdir n; echo 1 > n/a.md; echo 2 > n/b.md", "count"),
        ("{id: r, glob: 'n/*.md', count: {min: 2}}", "mkdir n; echo 1 > n/a.md; : > n/b.md", "empty"),
        ("{id: r, path: r.md, required: false}", "true", "absent"),
    ] {
        assert_eq!(verdict(expected, &format!("{CD}{script}")), told, "{expected} after {script}");
    }
}

#[test]
fn last_weeks_file_is_not_a_delivery_unless_that_is_asked() {
    let desk = Desk::new();
    desk.write("out/r.md", "last week");
    let (code, document) = run_with(&desk, "{id: r, path: r.md}", "true", &["--artifacts", "out"]);
    assert_eq!(code, Some(1));
    assert_eq!(document["artifacts"]["missing_required"][0]["problem"], "stale");
    let (code, _) = run_with(&desk, "{id: r, path: r.md, fresh: false}", "true", &["--artifacts", "out"]);
    assert_eq!(code, Some(0));
    let rewrite = "cat \"$ESCROW_ARTIFACTS/r.md\" > t; cat t > \"$ESCROW_ARTIFACTS/r.md\"";
    let (code, _) = run_with(&desk, "{id: r, path: r.md}", rewrite, &["--artifacts", "out"]);
    assert_eq!(code, Some(0), "written again, even with the same bytes, it is new");
    let (code, _) = run_with(&desk, "{id: r, glob: '*.md'}", "true", &["--artifacts", "out"]);
    assert_eq!(code, Some(1), "a pattern finds no old file new either");
}

#[test]
fn a_missing_required_artifact_overrides_a_clean_exit_with_one_evidence_each() {
    let desk = Desk::new();
    let (code, document) =
        run(&desk, "{id: a, path: a.md, description: the A}, {id: b, path: d/b.md}", "true");
    assert_eq!(code, Some(1));
    assert_eq!(document["run"]["reason"]["code"], "run.failed.missing_artifact");
    assert_eq!(
        document["run"]["reason"]["evidence"],
        json!([
            {"kind": "expected_artifact", "id": "a", "label": "a.md"},
            {"kind": "expected_artifact", "id": "b", "label": "d/b.md"},
        ])
    );
    let missing = &document["artifacts"]["missing_required"][0];
    assert_eq!((&missing["description"], &missing["source"]), (&json!("the A"), &json!("playbook")));
}

#[test]
fn a_run_that_was_failing_keeps_its_cause_and_says_what_is_missing_too() {
    let desk = Desk::new();
    let (code, document) = run(&desk, "{id: a, path: a.md}", "exit 3");
    assert_eq!(code, Some(1));
    assert_eq!(document["run"]["reason"]["code"], "run.failed.exit_nonzero");
    assert_eq!(document["artifacts"]["status"], "failed");
    let told = desk.escrow(&["runs", "show", "last"]).stdout;
    assert!(told.contains("Missing required artifacts:\n  a (a.md) — playbook\n"), "{told}");
    assert!(!told.contains("completed cleanly"), "{told}");
}

#[test]
fn artifacts_are_verified_on_every_way_out() {
    let desk = Desk::new();
    let expected = "{id: a, path: a.md}";
    let write = "echo hi > \"$ESCROW_ARTIFACTS/a.md\"; ";
    for (script, more, code, reason) in [
        ("true", &[][..], 0, "run.completed.ok"),
        ("exit 1", &[], 1, "run.failed.exit_nonzero"),
        ("kill -9 $$", &[], 1, "run.failed.check_failed"),
        ("sleep 60", &["--timeout", "300ms"], 124, "run.timed_out.deadline"),
    ] {
        let (exit, document) = run_with(&desk, expected, &format!("{write}{script}"), more);
        assert_eq!(exit, Some(code), "{script}");
        assert_eq!(document["run"]["reason"]["code"], reason, "{script}");
        assert_eq!(document["artifacts"]["status"], "passed", "{script}");
        assert!(document["artifacts"]["checked_at"].is_string(), "{script}");
    }
}

#[test]
fn a_run_that_is_interrupted_denied_or_killed_is_verified_as_well() {
    let desk = Desk::new();
    let contract = "artifacts: {expected: [{id: a, path: a.md}]}\n";
    desk.write(
        "slow.yaml",
        &format!(
            "{contract}checks: {{a: {{type: command, exec: \"echo hi > $ESCROW_ARTIFACTS/a.md; sleep 60\"}}}}"
        ),
    );
    for how in [rustix::process::Signal::INT, rustix::process::Signal::KILL] {
        let known = fs::read_dir(desk.path().join(".escrow/artifacts")).map_or(0, Iterator::count);
        let mut child = desk.command(&["run", "slow.yaml"]).stderr(Stdio::null()).spawn().expect("it starts");
        let made = || {
            let runs = fs::read_dir(desk.path().join(".escrow/artifacts")).into_iter().flatten().flatten();
            runs.filter(|run| run.path().join("a.md").is_file()).count() > known
        };
        desk.until("the file is there", made);
        signal(child.id(), how);
        child.wait().expect("it ends");
        if how == rustix::process::Signal::KILL {
            // The one who takes over is told to end it, and looks.
            desk.escrow(&["cancel", "last"]);
            desk.escrow(&["resume", "last"]);
        }
        let document = desk.show("last");
        assert!(document["run"]["status"] == "cancelled", "{how:?}: {}", document["run"]);
        assert_eq!(document["artifacts"]["status"], "passed", "{how:?}");
    }
    desk.write("ask.yaml", &format!("{contract}checks: {{a: {{type: noop, requires_approval: true}}}}"));
    assert_eq!(desk.escrow(&["run", "ask.yaml"]).code, Some(4));
    let id = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["id"].clone();
    desk.escrow(&["deny", id.as_str().expect("a wait")]);
    let document = desk.show("last");
    assert_eq!(document["run"]["reason"]["code"], "run.aborted.denied");
    assert_eq!(document["artifacts"]["status"], "failed");
}

#[test]
fn the_contract_of_a_run_is_what_it_was_when_it_started() {
    let desk = Desk::new();
    let edit = "printf 'checks: {a: {type: noop}}' > playbook.yaml";
    let (code, document) = run(&desk, "{id: a, path: a.md}", edit);
    assert_eq!(code, Some(1), "editing the playbook mid-run changes nothing");
    assert_eq!(document["run"]["reason"]["code"], "run.failed.missing_artifact");
}

#[test]
fn what_is_missing_is_told_as_the_contract_has_it_with_the_next_command() {
    let desk = Desk::new();
    desk.write(
        ".escrow/agents/scribe.md",
        "---\nartifact_defaults: {expected: [{id: report, path: report.md}]}\n---\n",
    );
    desk.write(
        "p.yaml",
        "agent: scribe\nartifacts: {expected: [{id: review, path: review.md}]}\nchecks: {a: {type: noop}}",
    );
    let done = desk.escrow(&["run", "p.yaml"]);
    let id = desk.show("last")["run"]["id"].as_str().expect("an id").to_owned();
    let text = format!(
        "Run failed: missing required artifacts.\n  report (report.md) — agent_profile\n  review (review.md) — playbook\n\n\
         Run completed cleanly otherwise. Inspect with:\n  escrow runs show {id}\n"
    );
    assert!(done.stderr.contains(&text), "{}", done.stderr);
}

#[test]
fn a_check_whose_artifacts_are_missing_stops_what_depends_on_it() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        "
artifacts: {expected: [{id: review, path: review.md}]}
checks:
  write: {type: command, exec: 'true', artifacts: review}
  publish: {type: command, depends_on: write, exec: 'echo published > published'}
",
    );
    assert_eq!(code, Some(1));
    assert_eq!(document["run"]["reason"]["code"], "run.failed.missing_artifact");
    let issue = &document["checks"]["write"]["issues"][0];
    assert_eq!(issue["rule_id"], "contract/artifact_missing");
    assert_eq!(issue["message"], "required artifact `review` (review.md) is absent");
    assert_eq!(document["checks"]["publish"]["skip_reason"], "dependency_failed");
    assert!(!desk.path().join("published").exists());
    let told = desk.escrow(&["explain", "last", "write"]).stdout;
    assert!(told.contains("`review` (review.md) is absent"), "{told}");
}

#[test]
fn nested_runs_and_items_deliver_into_folders_of_their_own() {
    let desk = Desk::new();
    desk.write(
        "part.yaml",
        "
inputs: {what: {type: number, required: true}}
artifacts: {expected: [{id: notes, path: notes.md}]}
checks:
  write: {type: command, exec: 'test {{ inputs.what }} = 2 || echo {{ inputs.what }} > \"$ESCROW_ARTIFACTS/notes.md\"'}
",
    );
    let (code, document) = desk.run(
        "
checks:
  list: {type: script, content: 'return [1, 2, 3]', forEach: true}
  part: {type: playbook, playbook: part.yaml, depends_on: list, with: {what: '{{ item }}'}}
",
    );
    assert_eq!(code, Some(1));
    assert_eq!(
        document["run"]["reason"]["code"], "run.failed.missing_artifact",
        "the nested reason travels up unchanged"
    );
    let artifacts = &document["artifacts"];
    let ids: Vec<&str> = artifacts["produced"]
        .as_array()
        .expect("files")
        .iter()
        .filter_map(|file| file["id"].as_str())
        .collect();
    assert_eq!(ids, ["part__0__notes", "part__2__notes"]);
    assert_eq!(artifacts["missing_required"][0]["path"], "part/1/notes.md");
    let id = document["run"]["id"].as_str().expect("an id");
    assert_eq!(desk.escrow(&["artifacts", id, "--get", "part__2__notes"]).stdout, "3\n");
}

/// The outer run does not know the items of a nested one, so the nested run verifies their artifacts.
#[test]
fn items_inside_of_a_nested_run_are_verified_by_that_run() {
    let desk = Desk::new();
    let part = "
inputs: {what: {type: number, required: true}}
artifacts: {expected: [{id: notes, path: notes.md}]}
checks: {write: {type: command, exec: 'test {{ inputs.what }} = 2 || echo hi > \"$ESCROW_ARTIFACTS/notes.md\"'}}
";
    desk.write("part.yaml", part);
    desk.write(
        "all.yaml",
        "
checks:
  list: {type: script, content: 'return [1, 2]', forEach: true}
  part: {type: playbook, playbook: part.yaml, depends_on: list, with: {what: '{{ item }}'}}
",
    );
    let (code, document) = desk.run("checks: {all: {type: playbook, playbook: all.yaml}}");
    assert_eq!(code, Some(1), "{document}");
    let reason = &document["run"]["reason"];
    assert_eq!(reason["code"], "run.failed.missing_artifact");
    let runs = desk.escrow(&["runs", "--output", "json"]).json();
    let id = runs["runs"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|run| run["playbook"] == "all")
        .and_then(|run| run["id"].as_str().map(str::to_owned))
        .expect("the run between");
    let between = desk.show(&id);
    assert_eq!(between["artifacts"]["missing_required"][0]["path"], "part/1/notes.md");
    assert_eq!(between["artifacts"]["produced"][0]["path"], "part/0/notes.md");
}

#[test]
fn a_nested_playbook_that_was_not_needed_owes_nothing() {
    let desk = Desk::new();
    desk.write("part.yaml", "artifacts: {expected: [{id: notes, path: n.md}]}\nchecks: {a: {type: noop}}");
    let (code, document) = desk.run(
        "
checks:
  a: {type: noop}
  part: {type: playbook, playbook: part.yaml, if: \"event.name === 'other'\"}
",
    );
    assert_eq!(code, Some(0), "{document}");
}

#[test]
fn a_check_called_dot_dot_stays_beneath() {
    let desk = Desk::new();
    desk.write(
        "part.yaml",
        "artifacts: {expected: [{id: n, path: n.md}]}\nchecks: {w: {type: command, exec: 'echo hi > $ESCROW_ARTIFACTS/n.md'}}",
    );
    let (code, document) = desk.run("checks: {'..': {type: playbook, playbook: part.yaml}}");
    assert_eq!(code, Some(0), "{document}");
    assert!(!desk.path().join(".escrow/artifacts/n.md").exists());
    assert_eq!(document["artifacts"]["status"], "passed");
}

#[test]
fn outcomes_in_files_are_stored_with_own_kinds_too() {
    let desk = Desk::new();
    desk.write(
        ".escrow/outcomes/poem.json",
        r#"{"type": "object", "required": ["lines"], "properties": {"lines": {"type": "integer"}}}"#,
    );
    let (code, document) = run(
        &desk,
        "{id: poem, path: poem.json, kind: poem}, {id: gate, path: gate.json, kind: gate_verdict}",
        "cd $ESCROW_ARTIFACTS; echo '{\"lines\": 4, \"summary\": \"short\"}' > poem.json; echo '{\"gate_passed\": false}' > gate.json",
    );
    assert_eq!(code, Some(0), "{document}");
    let stored: Vec<(Value, Value)> = document["outcomes"]
        .as_array()
        .expect("outcomes")
        .iter()
        .map(|outcome| (outcome["kind"].clone(), outcome["file_path"].clone()))
        .collect();
    assert!(stored.contains(&(json!("poem"), json!("poem.json"))), "{stored:?}");
    assert!(stored.contains(&(json!("gate_verdict"), json!("gate.json"))), "{stored:?}");
    assert_eq!(desk.show("last")["outcomes"], document["outcomes"]);
}

#[test]
fn an_unknown_kind_is_refused_before_anything_runs() {
    let desk = Desk::new();
    desk.write(
        "p.yaml",
        "artifacts: {expected: [{id: a, path: a.json, kind: reveiw_verdict}]}\nchecks: {a: {type: noop}}",
    );
    let done = desk.escrow(&["check", "p.yaml"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("did you mean `review_verdict`?"), "{}", done.stderr);
}

#[test]
fn artifacts_are_listed_with_their_digests_and_fetched_by_id_path_or_digest() {
    let desk = Desk::new();
    run(
        &desk,
        "{id: r, path: r.md}, {id: n, glob: 'n/*'}, {id: o, path: o.md, required: false, description: maybe}",
        "cd $ESCROW_ARTIFACTS; printf one > r.md; mkdir n; printf two > n/a; printf three > n/b",
    );
    let listed = desk.escrow(&["artifacts", "--output", "json"]).json();
    assert_eq!(listed["status"], "warning");
    let row = |number: usize| listed["artifacts"][number].clone();
    assert_eq!(row(0)["sha256"], "7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed");
    assert_eq!(
        (&row(0)["size"], &row(0)["status"], &row(0)["now"]),
        (&json!(3), &json!("delivered"), &json!("unchanged"))
    );
    assert_eq!(
        (&row(3)["id"], &row(3)["status"], &row(3)["source"]),
        (&json!("o"), &json!("absent"), &json!("playbook"))
    );
    assert_eq!(desk.escrow(&["artifacts", "--output", "jsonl"]).stdout.lines().count(), 4);
    let told = desk.escrow(&["artifacts"]).stdout;
    assert!(told.contains("r.md") && told.contains("7692c3ad3540") && told.contains("optional"), "{told}");
    for wanted in
        ["r", "r.md", "7692c3ad", "7692C3AD3540BB803C020B3AEE66CD8887123234EA0C6E7143C0ADD73FF431ED"]
    {
        assert_eq!(desk.escrow(&["artifacts", "last", "--get", wanted]).stdout, "one", "{wanted}");
    }
    assert_eq!(desk.escrow(&["artifacts", "--get", "n/b"]).stdout, "three");
    let several = desk.escrow(&["artifacts", "--get", "n"]);
    assert_eq!(several.code, Some(2));
    assert!(several.stderr.contains("`n/a`, `n/b`"), "{}", several.stderr);
    for (wanted, says) in
        [("o", "was not delivered"), ("zzz", "delivered no artifact"), ("7692", "no artifact")]
    {
        let done = desk.escrow(&["artifacts", "--get", wanted]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{wanted}");
        assert!(done.stderr.contains(says), "{wanted}: {}", done.stderr);
    }
    assert_eq!(desk.escrow(&["artifacts", "--get", "r", "--to", "here.md"]).code, Some(0));
    assert_eq!(desk.read("here.md"), "one");
}

#[test]
fn what_changed_since_it_was_verified_is_not_handed_out_as_if_it_had_not() {
    let desk = Desk::new();
    let (_, document) = run(
        &desk,
        "{id: r, path: r.md}, {id: s, path: s.md}",
        "cd $ESCROW_ARTIFACTS; printf one > r.md; printf two > s.md",
    );
    let folder = desk.path().join(".escrow/artifacts").join(document["run"]["id"].as_str().expect("an id"));
    fs::write(folder.join("r.md"), "ONE").expect("it can be written");
    fs::remove_file(folder.join("s.md")).expect("it can be removed");
    let listed = desk.escrow(&["artifacts", "--output", "json"]).json();
    assert_eq!(
        (&listed["artifacts"][0]["now"], &listed["artifacts"][1]["now"]),
        (&json!("changed"), &json!("gone"))
    );
    let done = desk.escrow(&["artifacts", "--get", "r"]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(4), ""));
    assert!(done.stderr.contains("has changed since it was verified"), "{}", done.stderr);
    assert_eq!(desk.escrow(&["artifacts", "--get", "r", "--changed"]).stdout, "ONE");
    let gone = desk.escrow(&["artifacts", "--get", "s"]);
    assert_eq!((gone.code, gone.stdout.as_str()), (Some(3), ""));
    // A link in its place leads nowhere.
    std::os::unix::fs::symlink("/etc/passwd", folder.join("s.md")).expect("a link");
    assert_eq!(desk.escrow(&["artifacts", "--get", "s", "--changed"]).code, Some(3));
}

#[test]
fn what_went_wrong_elsewhere_goes_right_here() {
    // Each of these was reproduced in another implementation of the same contract.
    let told = |playbook: &str| {
        let desk = Desk::new();
        desk.write("p.yaml", playbook);
        let done = desk.escrow(&["check", "p.yaml"]);
        (done.code, done.stderr)
    };
    for (name, playbook, says) in [
        (
            "an entry without an id",
            "artifacts: {expected: [{path: a}]}\nchecks: {a: {type: noop}}",
            "needs `id`",
        ),
        (
            "artifacts as a list",
            "artifacts: [{id: a, path: a}]\nchecks: {a: {type: noop}}",
            "`artifacts` must be a map",
        ),
        (
            "an id that is a list",
            "artifacts: {expected: [{id: [a], path: a}]}\nchecks: {a: {type: noop}}",
            "identifier",
        ),
        (
            "two entries of one id",
            "artifacts: {expected: [{id: a, path: a}, {id: a, path: b}]}\nchecks: {a: {type: noop}}",
            "duplicate artifact id `a`",
        ),
        (
            "a path that leads up",
            "artifacts: {expected: [{id: a, path: ../a}]}\nchecks: {a: {type: noop}}",
            "`..` is not allowed",
        ),
    ] {
        let (code, stderr) = told(playbook);
        assert_eq!(code, Some(2), "{name}");
        assert!(stderr.contains(says), "{name}: {stderr}");
        assert!(stderr.contains("p.yaml:1:"), "{name} has its line: {stderr}");
        assert!(!stderr.contains("panicked"), "{name}");
    }
    // An empty file at the top hides nothing: a qualified path is exact, and a file elsewhere is no delivery.
    assert_eq!(
        verdict("{id: r, path: w/r.md}", "cd $ESCROW_ARTIFACTS; mkdir w; : > r.md; echo hi > w/r.md"),
        "passed"
    );
    assert_eq!(
        verdict("{id: r, path: r.md}", "cd $ESCROW_ARTIFACTS; mkdir w; : > r.md; echo hi > w/r.md"),
        "empty"
    );
    // Two entries that one file would satisfy are told.
    let (_, stderr) =
        told("artifacts: {expected: [{id: a, path: x}, {id: b, path: x}]}\nchecks: {a: {type: noop}}");
    assert!(stderr.contains("two artifacts have the same path"), "{stderr}");
}

#[test]
fn what_was_missing_may_be_delivered_when_what_failed_is_run_again() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        "
artifacts: {expected: [{id: review, path: review.md}, {id: gate, path: gate.json, kind: gate_verdict}]}
checks:
  write: {type: command, exec: 'echo {} > $ESCROW_ARTIFACTS/x; test ! -e ready || echo fine > $ESCROW_ARTIFACTS/review.md', artifacts: review}
  gate: {type: command, exec: \"echo '{\\\"gate_passed\\\": true}' > $ESCROW_ARTIFACTS/gate.json\"}
",
    );
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["artifacts"]["status"], "failed");
    desk.write("ready", "");
    let done = desk.escrow(&["resume", "last", "--failed", "--quiet"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let document = desk.show("last");
    assert_eq!(document["artifacts"]["status"], "passed", "it is looked at again, before the new end");
    assert_eq!(document["checks"]["write"]["runs"], 2);
    assert_eq!(
        document["outcomes"].as_array().map(Vec::len),
        Some(1),
        "an outcome that was stored is not stored twice"
    );
}

#[test]
fn a_replay_knows_what_was_delivered_and_makes_nothing_up() {
    let desk = Desk::new();
    let playbook = "
artifacts: {expected: [{id: review, path: review.md}, {id: notes, path: notes.md, required: false}]}
checks:
  write: {type: command, exec: 'echo fine > $ESCROW_ARTIFACTS/review.md', artifacts: review}
  after: {type: noop, depends_on: write}
";
    assert_eq!(desk.run(playbook).0, Some(0));
    let replay = |edited: &str| {
        desk.write("edited.yaml", edited);
        desk.escrow(&["replay", "last", "--with", "edited.yaml", "--fail-on-diff"])
    };
    let same = replay(playbook);
    assert_eq!(same.code, Some(0), "{}{}", same.stdout, same.stderr);
    let stricter = replay(&playbook.replace("path: review.md}", "path: review.md, min_size: 100}"));
    assert_eq!(stricter.code, Some(1), "{}", stricter.stdout);
    assert!(stricter.stdout.contains("artifact_missing"), "{}", stricter.stdout);
    let unseen = replay(&playbook.replace("artifacts: review}", "artifacts: [review, notes]}"));
    assert!(unseen.stdout.contains("`notes` was not looked for"), "{}", unseen.stdout);
}

/// What a gate has verified is there for all who come after it, and the last look adds nothing unless it changed.
#[test]
fn an_outcome_in_a_file_is_stored_at_the_gate_and_once_for_each_version() {
    let stored = |later: &str| {
        let desk = Desk::new();
        let escrow = env!("CARGO_BIN_EXE_escrow");
        let (code, document) = desk.run(&format!(
            "
artifacts: {{expected: [{{id: gate, path: gate.json, kind: gate_verdict}}]}}
checks:
  write: {{type: command, exec: \"echo '{{\\\"gate_passed\\\": false}}' > $ESCROW_ARTIFACTS/gate.json\", artifacts: gate}}
  count: {{type: command, depends_on: write, exec: '{escrow} outcomes --run $ESCROW_RUN --output json'}}
  later: {{type: command, depends_on: count, exec: \"{later}\"}}
"
        ));
        assert_eq!(code, Some(0), "{document}");
        let at_the_gate = &document["checks"]["count"]["output"]["outcomes"];
        assert_eq!(at_the_gate.as_array().map(Vec::len), Some(1), "{at_the_gate}");
        assert_eq!(at_the_gate[0]["file_path"], "gate.json");
        let all = document["outcomes"].as_array().cloned().unwrap_or_default();
        all.iter().map(|outcome| outcome["passed"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(stored("true"), [false]);
    assert_eq!(stored("touch $ESCROW_ARTIFACTS/gate.json"), [false]);
    let changed = stored("echo '{\\\"gate_passed\\\": true}' > $ESCROW_ARTIFACTS/gate.json");
    assert_eq!(changed, [true, false], "the newest first");
}

/// A file with a hole of 20 GiB takes no room and a long time to hash.
#[test]
fn hashing_a_large_delivery_does_not_outlive_a_signal() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "version: '1.0'
artifacts:
  expected: [{id: large, path: large.bin}]
checks:
  deliver:
    type: command
    exec: truncate -s 20G \"$ESCROW_ARTIFACTS/large.bin\"; touch delivered
",
    );
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("the file is delivered", || desk.path().join("delivered").exists());
    // It is being hashed by now, or soon.
    std::thread::sleep(std::time::Duration::from_millis(500));
    let asked = std::time::Instant::now();
    signal(child.id(), rustix::process::Signal::TERM);
    let ended = child.wait().expect("it ends");
    assert!(asked.elapsed() < std::time::Duration::from_secs(5), "{:?}", asked.elapsed());
    assert_ne!(ended.code(), Some(0));
}
