//! The chain of the seed, the playbooks of its steps, and a GitHub for them that keeps what it was asked to change.

#![allow(dead_code, reason = "each test file uses the part that it needs")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::desk::Desk;
use crate::server::{Received, Says, Server};

/// As the seed has it.
pub(crate) const PR_REVIEW: &str = r#"# ~/.lionagi/chains/pr-review.yaml
name: pr-review-chain
trigger:
  event: pr.opened # GitHub webhook or poll
  filter:
    base: main
    draft: false
steps:
  - skill: codex-pr-review
    with:
      pr: "{{ trigger.pr_number }}"
      effort: high
    timeout: 30m
  - skill: ci
    condition: "{{ steps[0].outcome.verdict == 'APPROVE' }}"
    with:
      scope: full
  - action: gh-merge
    condition: "{{ steps[0].outcome.passed and steps[1].outcome.passed }}"
    with:
      pr: "{{ trigger.pr_number }}"
      method: squash
    requires_approval: true # pause and ask Ocean
  - action: gh-comment
    condition: "{{ steps[0].outcome.verdict == 'REQUEST_CHANGES' }}"
    with:
      pr: "{{ trigger.pr_number }}"
      body: "{{ steps[0].outcome.summary }}"
"#;

pub(crate) const REVIEW: &str = r#"
inputs:
  pr: { type: number, required: true }
  effort: { type: string, default: low }
checks:
  review:
    type: ai
    harness: claude
    prompt: Review pull request {{ inputs.pr }} with {{ inputs.effort }} effort.
    outcome: review_verdict
"#;

pub(crate) const CI: &str = r#"
inputs: { scope: { default: quick } }
checks:
  test: { type: command, exec: "cat ci.json", outcome: ci_result }
"#;

pub(crate) const TOKEN: &str = "ghs_t0ken-for-tests";

/// What GitHub was asked to change.
#[derive(Clone, Default)]
pub(crate) struct Changes(Arc<Mutex<Vec<(String, Value)>>>);

impl Changes {
    pub(crate) fn of(&self, path: &str) -> Vec<Value> {
        let all = self.0.lock().expect("no panic");
        all.iter().filter(|(known, _)| known.ends_with(path)).map(|(_, body)| body.clone()).collect()
    }

    pub(crate) fn count(&self) -> usize {
        self.0.lock().expect("no panic").len()
    }
}

/// A server that knows every pull request and merges what it is asked to merge.
pub(crate) fn github(changes: &Changes) -> Server {
    let seen = changes.clone();
    Server::start(move |got: &Received| {
        let path = got.path.split('?').next().unwrap_or_default();
        if got.method == "GET" {
            let lists = ["/comments", "/issues", "/labels", "/reviews", "/statuses"];
            if lists.iter().any(|list| path.ends_with(list)) {
                return Says::json(200, &json!([]));
            }
            let number: u64 = path.rsplit('/').next().and_then(|word| word.parse().ok()).unwrap_or(7);
            let merged = !seen.of(&format!("/pulls/{number}/merge")).is_empty();
            return Says::json(200, &json!({ "number": number, "merged": merged }));
        }
        let is_github = got.path.starts_with("/repos/");
        assert!(!is_github || got.header("authorization").contains(TOKEN), "they are granted the token");
        let body = if got.body.is_empty() { Value::Null } else { got.json() };
        let labels =
            body["labels"].as_array().map(|names| names.iter().map(|name| json!({ "name": name })).collect());
        seen.0.lock().expect("no panic").push((got.path.clone(), body));
        if path.ends_with("/labels") {
            return Says::json(200, &Value::Array(labels.unwrap_or_default()));
        }
        Says::json(
            200,
            &json!({ "merged": true, "id": 1, "number": 1, "state": "success", "html_url": "https://github.test/1" }),
        )
    })
}

/// Writes the playbooks of the chain, and what the tests of the project say.
pub(crate) fn write_playbooks(desk: &Desk) {
    desk.write(".escrow/playbooks/codex-pr-review.yaml", REVIEW);
    desk.write(".escrow/playbooks/ci.yaml", CI);
    desk.write("ci.json", r#"{"summary": "all green", "tests_passed": true, "lint_passed": true}"#);
}

/// A stand-in for Claude Code, `bin/claude`, that answers with this verdict.
pub(crate) fn write_reviewer(desk: &Desk, verdict: &str, summary: &str) {
    let text = review(verdict, summary);
    let quoted = serde_json::to_string(&text).expect("text");
    let script = format!(
        r#"#!/bin/sh
cat > /dev/null
for word in "$@"; do
  case $last in --session-id) id=$word;; esac
  last=$word
done
printf '%s\n' '{{"type":"system","subtype":"init","session_id":"'$id'","model":"opus"}}'
printf '%s\n' '{{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":{quoted},"session_id":"'$id'","total_cost_usd":0.25,"modelUsage":{{"opus":{{"inputTokens":10,"outputTokens":2}}}},"permission_denials":[]}}'
"#
    );
    let path = desk.write("bin/claude", &script);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be made executable");
}

/// The answer of a reviewer, as JSON.
pub(crate) fn review(verdict: &str, summary: &str) -> String {
    json!({ "verdict": verdict, "summary": summary, "findings": [] }).to_string()
}
