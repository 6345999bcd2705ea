//! Agents through the binary: profiles, what they are told, what they deliver, and what is said when they cannot run.

mod desk;

use desk::Desk;
use serde_json::json;

const REVIEWER: &str = r#"---
description: reviews what it is told to
command: |
  cat > "$ESCROW_ARTIFACTS/prompt.txt"
  printf '{"verdict": "APPROVE"}' > "$ESCROW_ARTIFACTS/verdict.json"
artifact_defaults:
  expected:
    - { id: verdict, path: verdict.json, kind: review_verdict }
    - { id: prompt, path: prompt.txt }
---
You review {{ carefully }}.
"#;

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write(".escrow/agents/reviewer.md", REVIEWER);
    desk
}

#[test]
fn an_agent_gets_the_task_as_it_was_typed_and_delivers_under_its_profile() {
    let desk = desk();
    let task =
        "look at 'this' \"and\" $(touch pwned) `touch pwned`; {{ inputs.nothing }} {% x\n=second line=";
    let done = desk.escrow(&["agent", "reviewer", task, "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let document = done.json();
    assert_eq!(document["run"]["playbook"], "reviewer");
    assert_eq!(document["outcomes"][0]["kind"], "review_verdict");
    let told = desk.escrow(&["artifacts", "last", "--get", "prompt"]).stdout;
    assert_eq!(told, format!("You review {{{{ carefully }}}}.\n\n{task}"));
    assert!(!desk.path().join("pwned").exists(), "nothing of it reached a shell");
    assert_eq!(desk.escrow(&["runs", "--output", "json"]).json()["runs"][0]["playbook"], "reviewer");
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0), "it is journaled like any run");
}

#[test]
fn a_task_may_come_from_stdin_and_an_empty_one_is_refused() {
    let desk = desk();
    let mut child = desk
        .command(&["agent", "reviewer", "-", "--quiet"])
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    std::io::Write::write_all(&mut child.stdin.take().expect("a pipe"), b"from stdin").expect("it reads");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    assert!(desk.escrow(&["artifacts", "last", "--get", "prompt"]).stdout.ends_with("from stdin"));
    for task in ["", "  \n", "-"] {
        assert_eq!(desk.escrow(&["agent", "reviewer", task]).code, Some(2), "{task:?}");
    }
}

#[test]
fn an_agent_that_does_not_deliver_has_failed_though_it_exits_with_0() {
    let desk = desk();
    desk.write(".escrow/agents/idle/idle.md", "---\ncommand: [echo, All done.]\nartifact_defaults: {expected: [{id: report, path: report.md}]}\n---\n");
    let done = desk.escrow(&["agent", "idle", "write the report"]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("report (report.md) — agent_profile"), "{}", done.stderr);
}

#[test]
fn an_agent_that_cannot_be_run_is_told_clearly() {
    let desk = desk();
    desk.write(".escrow/agents/thinker.md", "---\nmodel: claude/opus\n---\nThink.\n");
    desk.write(".escrow/agents/broken.md", "---\ncomand: x\nartifact_defaults: {expected: [{id: a}]}\n---\n");
    for (name, says) in [
        ("reveiwer", &["unknown agent `reveiwer`", "did you mean `reviewer`?"][..]),
        ("zzz", &["the agents are `broken`, `critic`, `implementer`, `reviewer`, `thinker`"]),
        ("../reviewer", &["unknown agent"]),
        ("broken", &["broken.md:2:1", "did you mean `command`?", "broken.md:3:", "needs `path` or `glob`"]),
    ] {
        let done = desk.escrow(&["agent", name, "x"]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(2), ""), "{name}: {}", done.stderr);
        for text in says {
            assert!(done.stderr.contains(text), "{name}: {}", done.stderr);
        }
    }
    assert_eq!(desk.escrow(&["runs", "--output", "json"]).json(), json!({"runs": []}), "nothing was run");
    let machine = desk.escrow(&["agent", "broken", "x", "--output", "json"]).json();
    assert_eq!(machine["error"]["diagnostics"][0]["line"], 2);
}

#[test]
fn agents_in_a_playbook_have_folders_of_their_own_and_their_items_too() {
    let desk = desk();
    let (code, document) = desk.run(
        "
artifacts: {expected: [{id: summary, path: summary.md}]}
checks:
  first: {type: agent, agent: reviewer, prompt: 'about {{ event.name }}', artifacts: [verdict, prompt]}
  list: {type: script, content: \"return ['a', 'b']\", forEach: true}
  each: {type: agent, agent: reviewer, prompt: 'item {{ item }}', depends_on: list}
  sum: {type: command, depends_on: [first, each], fanout: reduce, exec: 'cat $ESCROW_ARTIFACTS/each/*/prompt.txt > $ESCROW_ARTIFACTS/summary.md'}
",
    );
    assert_eq!(code, Some(0), "{document}");
    let produced: Vec<String> = document["artifacts"]["produced"]
        .as_array()
        .expect("files")
        .iter()
        .map(|file| format!("{} {}", file["id"].as_str().unwrap_or(""), file["path"].as_str().unwrap_or("")))
        .collect();
    assert_eq!(
        produced,
        [
            "summary summary.md",
            "first__verdict first/verdict.json",
            "first__prompt first/prompt.txt",
            "each__0__verdict each/0/verdict.json",
            "each__1__verdict each/1/verdict.json",
            "each__0__prompt each/0/prompt.txt",
            "each__1__prompt each/1/prompt.txt",
        ]
    );
    assert_eq!(
        desk.escrow(&["artifacts", "--get", "each__1__prompt"]).stdout,
        "You review {{ carefully }}.\n\nitem b"
    );
    assert_eq!(document["outcomes"].as_array().map(Vec::len), Some(3));
}

#[test]
fn the_check_of_a_playbook_reports_the_resolved_contract() {
    let desk = desk();
    desk.write(
        "p.yaml",
        "agent: reviewer\nartifacts: {expected: [{id: prompt, path: p.txt, description: ours}, {id: more, path: m, required: false}]}\nchecks: {a: {type: noop}}",
    );
    let told = desk.escrow(&["check", "p.yaml"]).stdout;
    assert!(
        told.contains(
            "  → contract resolved (3 expected: 2 required, 1 optional)
  → sources: 2 from playbook, 1 from agent_profile
  → all paths relative-OK
  → `prompt` of the playbook replaces that of the agent_profile
    [REQUIRED] verdict  →  verdict.json  (agent_profile)
    [REQUIRED] prompt  →  p.txt  (playbook) — ours
    [OPTIONAL] more  →  m  (playbook)"
        ),
        "{told}"
    );
    let report = desk.escrow(&["check", "p.yaml", "--output", "json"]).json();
    assert_eq!(report["report"]["artifacts"]["expected"][1]["replaces"], "agent_profile");
}

#[test]
fn a_prompt_with_an_agent_runs_it() {
    let desk = desk();
    desk.write("p.yaml", "agent: reviewer\nprompt: Review {target}.\n");
    let done = desk.escrow(&["run", "p.yaml", "--input", "target=main", "--quiet"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(desk.escrow(&["artifacts", "--get", "prompt"]).stdout.ends_with("Review main."));
}

#[test]
fn a_task_that_took_too_long_is_verified_and_said_to_be_late() {
    let desk = desk();
    desk.write(
        ".escrow/agents/slow.md",
        "---\ncommand: sleep 60\ntimeout: 200ms\nartifact_defaults: {expected: [{id: r, path: r}]}\n---\n",
    );
    let done = desk.escrow(&["agent", "slow", "x", "--output", "json", "--quiet"]);
    assert_eq!(done.code, Some(1));
    let document = done.json();
    assert_eq!(document["checks"]["main"]["issues"][0]["rule_id"], "command/timeout");
    assert_eq!(document["artifacts"]["status"], "failed");
}
