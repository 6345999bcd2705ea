//! Every example loads, fits the schema, runs as its comment says, and survives a crash after any commit.

mod desk;
mod replayed;
mod server;

use std::fs;
use std::path::{Path, PathBuf};

use desk::Desk;
use escrow_contract::Schema;
use escrow_playbook::yaml_to_json;
use serde_json::{Value, json};
use server::{Says, Server};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")
}

/// Every playbook below `examples/`, with its folder. Chains have a test of their own.
fn playbooks() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let folders = fs::read_dir(folder()).expect("examples").map(|entry| entry.expect("an entry").path());
    for folder in folders.filter(|path| path.is_dir() && !path.ends_with("chains")) {
        for file in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry")) {
            let name = file.file_name().to_string_lossy().into_owned();
            if name.ends_with(".yaml") && !name.ends_with(".test.yaml") {
                found.push((folder.clone(), name));
            }
        }
    }
    found.sort();
    found
}

/// A copy of an example's folder, so that nothing is written into the repository.
fn copy(example: &str) -> Desk {
    fn below(from: &Path, to: &Path) {
        fs::create_dir_all(to).expect("a folder can be made");
        for entry in fs::read_dir(from).expect("a folder").map(|entry| entry.expect("an entry")) {
            let target = to.join(entry.file_name());
            if entry.file_type().expect("a type").is_dir() {
                below(&entry.path(), &target);
            } else {
                fs::copy(entry.path(), target).expect("a file can be copied");
            }
        }
    }
    let desk = Desk::new();
    below(&folder().join(example), desk.path());
    fs::create_dir_all(desk.path().join(".escrow")).expect("a folder can be made");
    desk
}

#[test]
fn the_guide_is_whole() {
    let blocks = playbooks().into_iter().filter(|(folder, _)| folder.ends_with("guide"));
    let numbers: Vec<String> = blocks.map(|(_, name)| name[..2].to_owned()).collect();
    assert_eq!(numbers, (1..=20).map(|number| format!("{number:02}")).collect::<Vec<_>>());
}

#[test]
fn every_example_loads_without_a_warning() {
    let desk = Desk::new();
    for (folder, name) in playbooks() {
        let file = folder.join(&name);
        let done = desk.escrow(&["check", &file.display().to_string(), "--output", "json"]);
        assert_eq!(done.code, Some(0), "{name}: {}", done.stderr);
        assert_eq!(done.json()["diagnostics"], json!([]), "{name}");
    }
}

#[test]
fn the_schema_for_editors_accepts_every_example() {
    let schema = Desk::new().escrow(&["schema", "playbook"]).json();
    let schema = Schema::compile(&schema).expect("a schema");
    for (folder, name) in playbooks() {
        let text = fs::read_to_string(folder.join(&name)).expect("a playbook");
        let value = yaml_to_json(&text, &name).expect("YAML");
        assert_eq!(schema.violations(&value), Vec::<String>::new(), "{name}");
    }
    let wrong = json!({"checks": {"a": {"type": "command", "exec": "true", "gaurantee": "true"}}});
    assert!(!schema.violations(&wrong).is_empty(), "it also refuses");
}

/// A real run: how it is asked for, how it ends, and what of its document must be so.
struct Case {
    folder: &'static str,
    arguments: &'static [&'static str],
    env: &'static [(&'static str, &'static str)],
    code: i32,
    reason: &'static str,
    /// Pointers into the document, with what stands there as JSON.
    facts: &'static [(&'static str, &'static str)],
}

const fn guide(arguments: &'static [&'static str], code: i32, reason: &'static str) -> Case {
    Case { folder: "guide", arguments, env: &[], code, reason, facts: &[] }
}

impl Case {
    const fn with(mut self, facts: &'static [(&'static str, &'static str)]) -> Case {
        self.facts = facts;
        self
    }

    const fn env(mut self, env: &'static [(&'static str, &'static str)]) -> Case {
        self.env = env;
        self
    }

    const fn of(mut self, folder: &'static str) -> Case {
        self.folder = folder;
        self
    }
}

const OK: &str = "run.completed.ok";
const NOTHING: &str = "run.completed.nothing_ran";
const PULL: &str = "pr_opened=events/pull-request.json";
const EMPTY: &str = "pr_opened=events/empty-pull-request.json";
const ISSUE: &str = "issue_opened=events/issue.json";
const COMMENT: &str = "issue_comment=events/issue.json";
const MISSING: &str = "second=scripts/missing.sh exists";

const GUIDE: &[Case] = &[
    guide(&["01-declare-criticality.yaml", "--event", PULL], 0, OK)
        .with(&[("/checks/post-comment/criticality", "\"external\"")]),
    guide(&["02-if.yaml", "--event", PULL], 0, OK).env(&[("CI", "true")]),
    guide(&["02-if.yaml", "--event", EMPTY], 0, NOTHING)
        .env(&[("CI", "true")])
        .with(&[("/checks/lint/skip_reason", "\"if_condition\"")]),
    guide(&["03-assume.yaml"], 0, OK).with(&[("/checks/analyze/runs", "1")]),
    guide(&["04-guarantee.yaml"], 0, OK).with(&[("/checks/recompute/skip_reason", "\"not_routed\"")]),
    guide(&["04-guarantee.yaml", "--input", "items=[]"], 1, "run.failed.guarantee_failed").with(&[
        ("/checks/recompute/runs", "1"),
        ("/checks/summarize/runs", "1"),
        ("/checks/summarize/issues/0/rule_id", "\"contract/guarantee_failed\""),
    ]),
    guide(&["05-fail-if.yaml"], 0, OK).with(&[("/checks/tests/output/summary/failed", "0")]),
    guide(&["06-fact-validation.yaml", "--event", ISSUE], 0, OK).with(&[
        ("/checks/issue-assistant/runs", "1"),
        ("/checks/comment-assistant/runs", "0"),
        ("/checks/overview/skip_reason", "\"not_routed\""),
    ]),
    guide(&["06-fact-validation.yaml", "--event", COMMENT], 0, OK)
        .with(&[("/checks/comment-assistant/runs", "1"), ("/checks/overview/runs", "1")]),
    guide(&["07-critical-by-tag.yaml", "--event", PULL], 0, OK).env(&[("ALLOW_POST", "true")]),
    guide(&["07-critical-by-tag.yaml", "--event", PULL], 4, NOTHING)
        .with(&[("/checks/post-comment/skip_reason", "\"assume\"")]),
    guide(&["08-label.yaml", "--event", PULL], 0, OK)
        .with(&[("/checks/label/output/labels/0", "\"reviewed\"")]),
    guide(&["09-soft-failure.yaml", "--event", "pr_opened"], 0, "run.completed.with_warnings")
        .with(&[("/checks/summarize/status", "\"failed\""), ("/checks/publish-notes/runs", "1")]),
    guide(&["10-external-comment.yaml", "--event", PULL], 0, OK).with(&[("/checks/post-comment/runs", "1")]),
    guide(&["10-external-comment.yaml", "--event", PULL, "--safe-mode"], 4, NOTHING)
        .with(&[("/checks/post-comment/skip_reason", "\"safe_mode\"")]),
    guide(&["11-control-plane.yaml"], 0, OK)
        .with(&[("/checks/validate/runs", "3"), ("/checks/remediate/runs", "1")]),
    guide(&["12-for-each-retries.yaml"], 0, OK)
        .with(&[("/checks/process/items/0/runs", "1"), ("/checks/process/items/1/runs", "2")]),
    guide(&["13-critical-external-step.yaml", "--event", PULL], 0, OK)
        .with(&[("/checks/post-comment/output/id", "4711")]),
    guide(&["14-control-plane-transitions.yaml"], 0, OK).with(&[("/checks/remediate/runs", "1")]),
    guide(&["15-skip-by-if.yaml", "--event", EMPTY], 0, NOTHING)
        .with(&[("/checks/summarize/skip_reason", "\"if_condition\"")]),
    guide(&["15-skip-by-if.yaml", "--event", PULL], 0, OK),
    guide(&["16-skip-by-assume.yaml", "--event", EMPTY], 4, NOTHING)
        .with(&[("/checks/summarize/skip_reason", "\"assume\"")]),
    guide(&["17-invariants-by-guarantee.yaml"], 0, OK),
    guide(&["17-invariants-by-guarantee.yaml", "--input", "what=nothing"], 1, "run.failed.guarantee_failed")
        .with(&[("/checks/recompute/runs", "1")]),
    guide(&["18-invariants-by-fail-if.yaml", "--input", "what=nothing"], 1, "run.failed.fail_if").with(&[
        ("/checks/collect/issues/0/rule_id", "\"collect_fail_if\""),
        ("/checks/recompute/runs", "1"),
    ]),
    guide(&["19-guard-step.yaml"], 0, OK),
    guide(&["19-guard-step.yaml", "--input", "tool=no-such-tool"], 1, "run.failed.exit_nonzero")
        .with(&[("/checks/analyze/skip_reason", "\"dependency_failed\"")]),
    guide(&["20-comprehensive.yaml", "--event", ISSUE], 0, OK)
        .with(&[("/checks/post-comment/output/id", "4711"), ("/checks/permission-check/runs", "1")]),
    guide(&["20-comprehensive.yaml", "--event", ISSUE, "--input", MISSING], 1, "run.failed.fail_if").with(&[
        ("/checks/issue-assistant/runs", "1"),
        ("/checks/post-comment/runs", "0"),
        ("/checks/validate-fact/items/0/status", "\"succeeded\""),
        ("/checks/validate-fact/items/1/status", "\"failed\""),
    ]),
];

const WORK: &[Case] = &[
    guide(&["playbook.yaml", "--event", "pr_opened=events/member.json"], 0, OK).of("pr-review-gate").with(&[
        ("/checks/comment/output/id", "1"),
        ("/checks/verdict/output/findings/0/severity", "\"low\""),
        ("/outcomes/0/kind", "\"gate_verdict\""),
        ("/outcomes/1/passed", "true"),
        ("/artifacts/status", "\"passed\""),
    ]),
    guide(
        &["playbook.yaml", "--event", "pr_opened=events/member.json", "--input", "patch=patches/leak.patch"],
        1,
        "run.failed.fail_if",
    )
    .of("pr-review-gate")
    .with(&[
        ("/checks/comment/skip_reason", "\"contract_blocked\""),
        ("/checks/verdict/output/findings/0/line", "2"),
        ("/outcomes/0/passed", "false"),
        ("/outcomes/1/content/verdict", "\"REQUEST_CHANGES\""),
        ("/artifacts/status", "\"passed\""),
    ]),
    guide(&["playbook.yaml"], 4, "run.waiting.approval").of("release-gate"),
    guide(&["playbook.yaml"], 0, OK).of("fact-validation").with(&[
        ("/checks/claims/runs", "3"),
        ("/checks/check-claim/runs", "12"),
        ("/checks/deliver/output/corrections", "2"),
    ]),
    guide(&["playbook.yaml", "--input", "loops=endless"], 1, "run.failed.loop_budget")
        .of("fact-validation")
        .with(&[("/artifacts/missing_required/0/id", "\"article\"")]),
    guide(&["playbook.yaml"], 0, OK).of("data-check").with(&[
        ("/checks/fetch/items/0/runs", "2"),
        ("/checks/fetch/items/1/runs", "1"),
        ("/checks/totals/output", r#"{"files": 3, "rows": 6, "amount": 183.75}"#),
    ]),
    guide(&["playbook.yaml", "--input", "source=broken"], 1, "run.failed.fail_if")
        .of("data-check")
        .with(&[("/checks/totals/output/files", "1"), ("/checks/validate/items/1/runs", "1")]),
    guide(&["playbook.yaml"], 0, "run.completed.with_warnings").of("nightly-report").with(&[
        ("/checks/forecast/status", "\"failed\""),
        ("/artifacts/status", "\"warning\""),
        ("/artifacts/missing_optional/0/id", "\"forecast\""),
    ]),
    guide(&["playbook.yaml"], 0, OK).of("agent-review").with(&[
        ("/outcomes/0/kind", "\"review_verdict\""),
        ("/outcomes/0/content/findings/0/line", "2"),
        ("/artifacts/produced/2/path", "\"sum-up/summary.md\""),
    ]),
    guide(&["playbook.yaml", "--input", "patch=patches/leak.patch"], 1, "run.failed.fail_if")
        .of("agent-review")
        .with(&[("/outcomes/0/passed", "false"), ("/checks/sum-up/skip_reason", "\"dependency_failed\"")]),
    guide(&["playbook.yaml", "--input", "patch=patches/empty.patch"], 1, "run.failed.missing_artifact")
        .of("agent-review")
        .with(&[
            ("/checks/review/issues/0/rule_id", "\"contract/artifact_missing\""),
            ("/checks/decide/runs", "0"),
            ("/artifacts/missing_required/0/id", "\"review__verdict\""),
        ]),
    guide(&["playbook.yaml", "--input", "log=logs/quiet.log"], 1, "run.failed.guarantee_failed")
        .of("nightly-report")
        .with(&[("/artifacts/missing_required/0/id", "\"report\"")]),
];

/// Runs a case for real, compares what it came to, and breaks it off after every commit: as a play, and with the
/// real supervisor, which is killed there. Says how many kills there were.
fn check(case: &Case) -> u64 {
    check_in(&copy(case.folder), case)
}

fn check_in(desk: &Desk, case: &Case) -> u64 {
    let mut arguments = vec!["run", "--output", "jsonl", "--quiet"];
    arguments.extend(case.arguments);
    let mut command = desk.command(&arguments);
    for name in ["CI", "DRY_RUN", "ALLOW_POST"] {
        command.env_remove(name);
    }
    let github = github();
    command.env("GITHUB_API_URL", &github.url).env("GITHUB_TOKEN", "ghs_t0ken-of-a-test");
    let output = command.envs(case.env.iter().copied()).output().expect("the binary runs");
    let told = format!("{} {:?}", case.folder, case.arguments);
    let lines: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect();
    let document = &lines.last().expect("a document")["document"];
    assert_eq!(document["run"]["reason"]["code"], case.reason, "{told}: {document:#}");
    assert_eq!(output.status.code(), Some(case.code), "{told}");
    for (pointer, expected) in case.facts {
        let expected: Value = serde_json::from_str(expected).expect("JSON");
        assert_eq!(document.pointer(pointer), Some(&expected), "{told} {pointer}: {document:#}");
    }
    replayed::recorded(&told, &lines, document)
}

/// Answers as GitHub does to a comment and to a label.
fn github() -> Server {
    Server::start(|got| match got.path.rsplit('/').next() {
        Some("comments") => Says::json(201, &json!({ "id": 4711, "html_url": "https://github.test/4711" })),
        Some("labels") => Says::json(200, &json!([{ "name": "reviewed" }])),
        Some(_) | None => Says::status(404),
    })
}

#[test]
fn every_block_of_the_guide_shows_what_it_promises() {
    let kills: u64 = GUIDE.iter().map(check).sum();
    assert!(kills > 90, "{kills} kills");
    for (_, name) in playbooks().into_iter().filter(|(folder, _)| folder.ends_with("guide")) {
        assert!(GUIDE.iter().any(|case| case.arguments[0] == name), "`{name}` is not run");
    }
}

#[test]
fn every_other_example_does_its_work() {
    let kills: u64 = WORK.iter().map(check).sum();
    assert!(kills > 90, "{kills} kills");
    for (folder, name) in playbooks() {
        let folder = folder.file_name().expect("a name").to_string_lossy().into_owned();
        // The agents have tests of their own, with stand-ins for their programs.
        let run = ["guide", "review", "agents"].contains(&folder.as_str())
            || WORK.iter().any(|case| case.folder == folder);
        assert!(run, "`{folder}/{name}` is not run");
    }
}

#[test]
fn a_repository_is_reviewed() {
    let desk = copy("review");
    desk.write("LICENSE", "do as you like\n");
    for arguments in [&["init", "-q"][..], &["add", "-A"]] {
        let done = std::process::Command::new("git").args(arguments).current_dir(desk.path()).status();
        assert!(done.is_ok_and(|status| status.success()), "git {arguments:?}");
    }
    let good = guide(&["playbook.yaml"], 0, OK)
        .with(&[("/checks/inventory/output/files", "2"), ("/artifacts/status", "\"passed\"")]);
    check_in(&desk, &good);
    desk.write("key.pem", concat!("-----BEGIN ", "PRIVATE KEY-----\n"));
    let added = std::process::Command::new("git").args(["add", "key.pem"]).current_dir(desk.path()).status();
    assert!(added.is_ok_and(|status| status.success()));
    let leak = guide(&["playbook.yaml"], 1, "run.failed.guarantee_failed").with(&[
        ("/checks/secrets/output/found", "1"),
        ("/checks/report/skip_reason", "\"dependency_failed\""),
    ]);
    check_in(&desk, &leak);
}

#[test]
fn a_release_is_published_once_it_is_approved() {
    let desk = copy("release-gate");
    assert_eq!(desk.escrow(&["run", "playbook.yaml", "--quiet"]).code, Some(4));
    assert!(!desk.path().join("registry").exists());
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = waits["approvals"][0]["id"].as_str().expect("a wait").to_owned();
    let approved = desk.escrow(&["approve", &id]);
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert!(desk.path().join("registry/greet-1.2.0.tar").exists());
    let document = desk.show("last");
    assert_eq!(document["run"]["reason"]["code"], OK);
    assert_eq!(document["checks"]["publish"]["runs"], 1);
}

#[test]
fn every_test_of_the_examples_passes() {
    let done = Desk::new().escrow(&["test", &folder().display().to_string(), "--output", "json"]);
    let results = done.json();
    for test in results["files"].as_array().expect("files").iter().flat_map(|file| file["tests"].as_array()) {
        for test in test {
            assert_eq!(test["status"], "passed", "{test:#}");
        }
    }
    assert_eq!(done.code, Some(0));
    assert!(results["passed"].as_u64() >= Some(25), "{results}");
}

#[test]
fn whatever_is_left_of_a_test_file_is_answered() {
    let mut answered = 0;
    for (folder, name) in playbooks() {
        let tests = folder.join(name.replace(".yaml", ".test.yaml"));
        if tests.exists() {
            answered += replayed::cut_short(&folder.join(&name), &tests);
        }
    }
    assert!(answered > 500, "only {answered} files");
}

#[test]
fn a_crash_after_any_commit_of_any_test_changes_nothing() {
    let mut crashes = 0;
    for (folder, name) in playbooks() {
        let tests = folder.join(name.replace(".yaml", ".test.yaml"));
        if tests.exists() {
            crashes += replayed::scripted(&folder.join(&name), &tests);
        }
    }
    assert!(crashes > 200, "only {crashes} crashes");
}
