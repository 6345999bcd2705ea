//! The playbooks of examples/agents, run with scripts in place of the programs.

mod desk;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use desk::{Desk, Done};
use serde_json::Value;

const CLAUDE: &str = r#"#!/bin/sh
prompt=$(cat)
for word in "$@"; do
  case $last in --session-id) id=$word;; --resume) id=$word; resumed=yes;; esac
  last=$word
done
result() {
  printf '%s\n' '{"type":"system","subtype":"init","session_id":"'$id'","model":"opus"}'
  printf '%s\n' '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"'"$1"'","session_id":"'$id'","total_cost_usd":0.25,"modelUsage":{"opus":{"inputTokens":100,"outputTokens":20}},"permission_denials":[]}'
}
"#;

const CODEX: &str = r#"#!/bin/sh
prompt=$(cat)
result() {
  printf '%s\n' '{"type":"thread.started","thread_id":"t1"}' '{"type":"turn.started"}'
  printf '%s\n' '{"type":"item.completed","item":{"id":"i1","type":"agent_message","text":"'"$1"'"}}'
  printf '%s\n' '{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":0,"output_tokens":20}}'
}
"#;

/// Runs an example in a folder with these files, programs that do this, and gives the document.
fn run(example: &str, files: &[(&str, &str)], claude: &str, codex: &str) -> Value {
    let desk = Desk::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/agents");
    desk.write(example, &fs::read_to_string(folder.join(example)).expect("an example"));
    for (name, text) in files {
        executable(&desk, name, text);
    }
    let claude = executable(&desk, "bin/claude", &format!("{CLAUDE}{claude}\n"));
    let codex = executable(&desk, "bin/codex", &format!("{CODEX}{codex}\n"));
    let output = desk
        .command(&["run", example, "--output", "json", "--quiet"])
        .env("ESCROW_HARNESS_CLAUDE", claude)
        .env("ESCROW_HARNESS_CODEX", codex)
        .output();
    Done::from(output.expect("the binary runs")).json()
}

fn executable(desk: &Desk, name: &str, text: &str) -> std::path::PathBuf {
    let path = desk.write(name, text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be made executable");
    path
}

#[track_caller]
fn reason(document: &Value) -> &str {
    document["run"]["reason"]["code"].as_str().unwrap_or_else(|| panic!("{document:#}"))
}

const REVIEWS: &str = "echo 'a.rs:1 is wrong' > \"$ESCROW_ARTIFACTS/review.md\"; result Done.";

#[test]
fn a_review_is_published_when_the_other_harness_accepts_it() {
    let verdict =
        r#"case $prompt in *'a.rs:1 is wrong'*) result '{\"gate_passed\": true, \"criteria\": []}';; esac"#;
    let document = run("judged-review.yaml", &[], REVIEWS, verdict);
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    assert_eq!(document["checks"]["publish"]["output"], "a.rs:1 is wrong");
    assert_eq!(document["outcomes"][0]["kind"], "gate_verdict");
    assert_eq!(document["totals"]["attempts"], 2);
    assert_eq!(document["totals"]["input_tokens"], 200);
}

#[test]
fn a_review_that_the_judge_rejects_is_not_published() {
    let verdict = r#"result '{\"gate_passed\": false, \"blocking_reason\": \"invented\"}'"#;
    let document = run("judged-review.yaml", &[], REVIEWS, verdict);
    assert_eq!(reason(&document), "run.failed.fail_if", "{document:#}");
    assert_eq!(document["checks"]["publish"]["status"], "skipped");
}

/// Fails until the file `fixed` is there.
const TEST: &str =
    "#!/bin/sh\nif [ -e fixed ]; then echo '{\"failed\": 0}'; else echo '{\"failed\": 1}'; fi\n";

#[test]
fn an_implementer_is_sent_back_until_the_tests_pass() {
    let body = "if [ -n \"$resumed\" ]; then touch fixed; fi
        ./test.sh > \"$ESCROW_ARTIFACTS/tests.json\"; echo changed > \"$ESCROW_ARTIFACTS/summary.md\"; result Done.";
    let document = run("implementer.yaml", &[("test.sh", TEST)], body, "");
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    assert_eq!(document["checks"]["implement"]["runs"], 2);
    assert_eq!(document["checks"]["verify"]["output"]["failed"], 0);
}

#[test]
fn an_implementer_that_fakes_the_result_of_the_tests_is_found_out() {
    let body = "echo '{\"failed\": 0}' > \"$ESCROW_ARTIFACTS/tests.json\"; echo x > \"$ESCROW_ARTIFACTS/summary.md\"; result Done.";
    let document = run("implementer.yaml", &[("test.sh", TEST)], body, "");
    assert_eq!(reason(&document), "run.failed.guarantee_failed", "{document:#}");
    assert_eq!(document["checks"]["verify"]["status"], "failed");
}

#[test]
fn a_fact_check_covers_every_page_within_its_budget() {
    let pages = [("docs/a.md", "A."), ("docs/b.md", "B.")];
    let body = r#"result '{\"page\": \"p\", \"false_claims\": []}'"#;
    let document = run("fact-check.yaml", &pages, body, "");
    assert_eq!(reason(&document), "run.completed.ok", "{document:#}");
    assert_eq!(document["checks"]["check"]["runs"], 2);
    assert_eq!(document["totals"]["cost_usd"], 0.5);
    let dear = body.replace("result", "sed() { command sed \"$@\"; }; result() { printf '%s\\n' '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"num_turns\":2,\"result\":\"x\",\"session_id\":\"'$id'\",\"total_cost_usd\":0.75}'; }; result");
    let document = run("fact-check.yaml", &pages, &dear, "");
    assert_eq!(reason(&document), "run.failed.budget_exhausted", "{document:#}");
}
