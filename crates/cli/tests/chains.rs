//! Chains from definition to effect: the chain of the seed, both of its branches, and what stops a step.

mod desk;
mod pull_requests;
mod server;

use std::fs;
use std::process::Command;

use desk::{Desk, Done, signal};
use pull_requests::{Changes, PR_REVIEW, TOKEN, github, write_playbooks, write_reviewer};
use rustix::process::Signal;
use serde_json::{Value, json};
use server::Server;

const EVENT: &str = r#"{"event": "pr.opened", "pr_number": 7, "base": "main", "draft": false,
    "repository": {"full_name": "octo/hello"}, "head_sha": "6dcb09b5b57875f334f61aebed695e2e4193db5e"}"#;

struct Project {
    desk: Desk,
    server: Server,
    changes: Changes,
}

impl Project {
    fn new() -> Project {
        let changes = Changes::default();
        let project = Project { desk: Desk::new(), server: github(&changes), changes };
        write_playbooks(&project.desk);
        project.desk.write("event.json", EVENT);
        project
    }

    /// The stand-in for the harness answers with this verdict.
    fn reviewed_as(self, verdict: &str, summary: &str) -> Project {
        write_reviewer(&self.desk, verdict, summary);
        self
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.desk.command(arguments);
        command.env("GITHUB_TOKEN", TOKEN).env("GITHUB_API_URL", &self.server.url);
        command.env("ESCROW_HARNESS_CLAUDE", self.desk.path().join("bin/claude"));
        command
    }

    fn escrow(&self, arguments: &[&str]) -> Done {
        Done::from(self.command(arguments).output().expect("the binary runs"))
    }

    fn json(&self, arguments: &[&str]) -> Value {
        let mut all = arguments.to_vec();
        all.extend(["--output", "json"]);
        self.escrow(&all).json()
    }

    #[track_caller]
    fn define(&self, chain: &str) -> &Project {
        self.desk.write("chain.yaml", chain);
        let done = self.escrow(&["chain", "define", "chain.yaml"]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        self
    }

    /// Fires by hand, and reads the object of the run.
    fn fire(&self, name: &str) -> (Option<i32>, Value) {
        let done = self.escrow(&["chain", "fire", name, "--event", "event.json", "--output", "json"]);
        (done.code, done.json())
    }

    fn only_run(&self) -> Value {
        let runs = self.json(&["chain", "runs"]);
        assert_eq!(runs["chain_runs"].as_array().map(Vec::len), Some(1), "{runs}");
        runs["chain_runs"][0].clone()
    }
}

fn statuses(run: &Value) -> Vec<&str> {
    run["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .map(|step| step["status"].as_str().expect("a word"))
        .collect()
}

#[test]
fn the_plan_of_a_chain_names_an_approval_inside_a_skill() {
    let project = Project::new();
    project.desk.write(
        ".escrow/playbooks/ext.yaml",
        "name: ext\nchecks:\n  pub: {type: command, criticality: external, requires_approval: true, exec: 'echo pub'}\n",
    );
    project.define("name: n\nsteps: [{skill: ext}]\n");
    let plan = project.desk.escrow(&["chain", "plan", "n", "--output", "json"]).json();
    let stops = &plan["steps"][0]["stopped_by"];
    assert_eq!(
        *stops,
        serde_json::json!(["a person who denies `ext/pub`, or does not answer in time"]),
        "{plan:#}"
    );
}

#[test]
fn a_later_step_reads_why_an_action_failed() {
    let project = Project::new();
    let tell = "exec: 'echo {{ steps.fails.reason.code }} {{ steps.fails.reason.summary }} > told'";
    for (exec, code, words) in [
        ("exec: exit 3", "run.failed.exit_nonzero", "exit code 3"),
        ("exec: sleep 9", "run.failed.check_failed", "still running"),
    ] {
        project.define(&format!(
            "name: tells\nsteps:\n  - {{action: shell, name: fails, timeout: 300ms, idempotent: true, with: {{{exec}}}}}\n  - {{action: \
             shell, name: tell, condition: \"{{{{ steps.fails.status == 'failed' }}}}\", with: {{{tell}}}}}\n"
        ));
        let (_, run) = project.fire("tells");
        assert_eq!(statuses(&run), ["failed", "succeeded"], "{run:#}");
        let told = project.desk.read("told");
        assert!(told.starts_with(code) && told.contains(words), "{told}");
    }
    project.define(
        "name: fine\nsteps:\n  - {action: shell, name: a, with: {exec: 'true'}}\n  - {action: shell, condition: \"{{ steps.a.reason is none \
         }}\", with: {exec: touch none}}\n",
    );
    let (_, run) = project.fire("fine");
    assert_eq!(statuses(&run), ["succeeded", "succeeded"], "what succeeded has no reason: {run:#}");
}

#[test]
fn the_next_command_after_a_failed_step_names_that_step() {
    let project = Project::new();
    project.desk.write(".escrow/playbooks/bad.yaml", "checks: {inner: {type: command, exec: exit 3}}\n");
    project.define("name: fails\nsteps:\n  - skill: bad\n");
    let done = project.escrow(&["chain", "fire", "fails"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    let next =
        done.stderr.lines().find_map(|line| line.trim().strip_prefix("next: ")).expect("a next command");
    for command in next.split("    or  ") {
        let words: Vec<&str> = command.split_whitespace().skip(1).collect();
        assert_eq!(words.last(), Some(&"bad"), "{next}");
        let followed = project.escrow(&words);
        assert_eq!(followed.code, Some(0), "{command}: {}", followed.stderr);
    }
}

#[test]
fn the_chain_of_the_seed_reviews_tests_asks_and_merges_once() {
    let project = Project::new().reviewed_as("APPROVE", "nothing to complain about");
    project.define(PR_REVIEW);
    let (code, run) = project.fire("pr-review-chain");
    assert_eq!(code, Some(0), "a pause is what was asked for: {run}");
    assert_eq!(run["status"], "waiting_approval");
    assert_eq!(run["chain"], "pr-review-chain");
    assert_eq!(run["trigger_event"]["pr_number"], 7);
    assert_eq!(run["current_step"], 2);
    assert_eq!(statuses(&run), ["succeeded", "succeeded", "waiting", "pending"]);
    assert_eq!(run["steps"][0]["outcome"]["verdict"], "APPROVE");
    assert_eq!(run["steps"][1]["outcome"]["passed"], true);
    assert_eq!(project.changes.count(), 0, "nothing happens before the approval");

    let approval = run["steps"][2]["approval_id"].as_str().expect("an approval").to_owned();
    let asked = project.json(&["approvals"]);
    assert_eq!(asked["approvals"][0]["id"], approval.as_str());
    assert_eq!(asked["approvals"][0]["request"]["fields"]["number"], "7");
    let outcomes = asked["approvals"][0]["outcomes"].as_array().expect("what it stands on");
    assert_eq!(outcomes.len(), 2, "{outcomes:?}");

    let approved = project.escrow(&["approve", &approval]);
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    let run = project.only_run();
    assert_eq!(run["status"], "completed", "{run}");
    assert_eq!(statuses(&run), ["succeeded", "succeeded", "succeeded", "skipped"]);
    assert_eq!(run["steps"][3]["skip_reason"], "if_condition");
    let merges = project.changes.of("/pulls/7/merge");
    assert_eq!(merges.len(), 1, "{merges:?}");
    assert_eq!(merges[0]["merge_method"], "squash");
    assert!(project.changes.of("/comments").is_empty());

    let again = project.escrow(&["approve", &approval]);
    assert_eq!(again.code, Some(4), "{}", again.stderr);
    assert_eq!(project.changes.count(), 1);
}

#[test]
fn requested_changes_are_commented_once_and_nothing_is_merged() {
    let project = Project::new().reviewed_as("REQUEST_CHANGES", "the token reaches the log");
    project.define(PR_REVIEW);
    let (code, run) = project.fire("pr-review-chain");
    assert_eq!(code, Some(0), "{run}");
    assert_eq!(run["status"], "completed", "{run}");
    assert_eq!(statuses(&run), ["succeeded", "skipped", "skipped", "succeeded"]);
    assert_eq!(run["steps"][2]["approval_id"], Value::Null, "what is skipped is not asked for");
    let comments = project.changes.of("/issues/7/comments");
    assert_eq!(comments.len(), 1, "{comments:?}");
    assert!(comments[0]["body"].as_str().expect("text").starts_with("the token reaches the log"));
    assert!(project.changes.of("/merge").is_empty());

    // The outcome of the skipped step is empty, and the condition that read it says so.
    let values = run["steps"][2]["condition"]["values"].as_array().expect("values");
    assert_eq!(values[0]["value"], "false");
    assert_eq!(values[1]["value"], "empty (step 1 `ci` was skipped: if_condition)");
    let id = run["id"].as_str().expect("an id");
    let explained = project.escrow(&["explain", id, "gh-merge"]).stdout;
    assert!(explained.contains("empty (step 1 `ci` was skipped: if_condition)"), "{explained}");
}

#[test]
fn a_chain_that_was_killed_is_resumed_and_acts_once() {
    let project = Project::new().reviewed_as("APPROVE", "fine");
    project.desk.write(
        ".escrow/playbooks/ci.yaml",
        "inputs: { scope: { default: quick } }\nchecks:\n  test: { type: command, exec: 'touch started; test -e go || sleep 60; cat ci.json', outcome: ci_result }\n",
    );
    project.define(PR_REVIEW);
    let mut fired = project
        .command(&["chain", "fire", "pr-review-chain", "--event", "event.json", "--quiet"])
        .spawn()
        .expect("the binary starts");
    project.desk.until("the tests run", || project.desk.path().join("started").exists());
    signal(fired.id(), Signal::KILL);
    fired.wait().expect("it is gone");
    project.desk.write("go", "");
    let resumed = project.escrow(&["resume", "--all"]);
    assert_eq!(project.only_run()["status"], "waiting_approval", "{}", resumed.stderr);
    let run = project.only_run();
    let approval = run["steps"][2]["approval_id"].as_str().expect("an approval");
    assert_eq!(project.escrow(&["approve", approval]).code, Some(0));
    assert_eq!(project.only_run()["status"], "completed");
    assert_eq!(project.changes.of("/pulls/7/merge").len(), 1);
    assert_eq!(project.changes.count(), 1);
    let verified = project.escrow(&["verify", "--all"]);
    assert_eq!(verified.code, Some(0), "the tables are those of the journals: {}", verified.stderr);
}

#[test]
fn a_denied_approval_has_no_effect_and_ends_the_chain() {
    let project = Project::new().reviewed_as("APPROVE", "fine");
    project.define(PR_REVIEW);
    let (_, run) = project.fire("pr-review-chain");
    let approval = run["steps"][2]["approval_id"].as_str().expect("an approval");
    let denied = project.escrow(&["deny", approval, "--note", "finance still uses it"]);
    assert_eq!(denied.code, Some(0), "{}", denied.stderr);
    let run = project.only_run();
    assert_eq!(run["status"], "aborted", "{run}");
    assert_eq!(run["reason"]["code"], "run.aborted.denied");
    assert!(run["reason"]["summary"].as_str().expect("a summary").contains("finance still uses it"));
    assert_eq!(project.changes.count(), 0);
    let invocation = project.json(&["invocation", "show", run["invocation_id"].as_str().expect("an id")]);
    assert_eq!(invocation["invocation"]["reason"], run["reason"], "the reason travels unchanged");
}

#[test]
fn an_expired_approval_has_no_effect_and_ends_the_chain() {
    let project = Project::new().reviewed_as("APPROVE", "fine");
    project.define(&PR_REVIEW.replace("requires_approval: true", "requires_approval: { expires: 1ms }"));
    let (_, run) = project.fire("pr-review-chain");
    let approval = run["steps"][2]["approval_id"].as_str().expect("an approval");
    assert_eq!(project.escrow(&["approve", approval]).code, Some(4), "it comes too late");
    assert_eq!(project.escrow(&["chain", "check", "--quiet"]).code, Some(0));
    let run = project.only_run();
    assert_eq!(
        (&run["status"], &run["reason"]["code"]),
        (&json!("aborted"), &json!("run.aborted.denied")),
        "{run}"
    );
    assert_eq!(project.changes.count(), 0);
}

#[test]
fn template_bombs_fail_their_own_step_at_once() {
    let project = Project::new();
    let chain = "name: bombs
steps:
  - { name: text, action: notify, with: { message: '{{ (trigger.x * 1000000) * 1000000 }}', command: 'tee bomb' } }
  - { name: loop, action: shell, condition: '{{ range(1000000000) | sum > 0 }}', with: { exec: 'touch bomb' } }
  - { name: nested, action: shell, condition: \"{{ steps.text.status == 'failed' and (trigger.x | replace('a', trigger.x * 1000) | replace('a', trigger.x * 100000)) }}\", with: { exec: 'touch bomb' } }
";
    project.desk.write("event.json", r#"{"event": "x", "x": "aaaaaaaaaa"}"#);
    let began = std::time::Instant::now();
    let (code, run) = project.define(chain).fire("bombs");
    assert!(began.elapsed().as_secs() < 30, "it took {:?}", began.elapsed());
    assert_eq!((code, &run["status"]), (Some(1), &json!("failed")), "{run}");
    assert_eq!(statuses(&run), ["failed", "skipped", "skipped"]);
    assert!(!project.desk.path().join("bomb").exists());
    let told = project.escrow(&["chain", "fire", "bombs", "--event", "event.json"]).stderr;
    assert!(told.contains("`condition` could not be evaluated") && !told.contains("not needed"), "{told}");
}

#[test]
fn a_step_whose_playbook_does_not_exist_is_refused_at_the_definition() {
    let project = Project::new();
    project
        .desk
        .write("chain.yaml", "name: lost\nsteps:\n  - skill: no-such-skill\n  - skill: ../../etc/passwd\n");
    let refused = project.escrow(&["chain", "define", "chain.yaml"]);
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("no-such-skill") && refused.stderr.contains("2 problems"),
        "{}",
        refused.stderr
    );
    assert_eq!(project.json(&["chain", "list"])["chains"], json!([]));
}

#[test]
fn an_edited_definition_does_not_change_a_run_in_flight() {
    let project = Project::new().reviewed_as("APPROVE", "fine");
    project.define(PR_REVIEW);
    let (_, run) = project.fire("pr-review-chain");
    project.define(&PR_REVIEW.replace("squash", "rebase"));
    project.desk.write(".escrow/playbooks/ci.yaml", "checks: { broken: { type: command, exec: 'false' } }\n");
    let approval = run["steps"][2]["approval_id"].as_str().expect("an approval");
    assert_eq!(project.escrow(&["approve", approval]).code, Some(0));
    assert_eq!(project.only_run()["status"], "completed");
    assert_eq!(project.changes.of("/pulls/7/merge")[0]["merge_method"], "squash");
}

#[test]
fn one_failing_step_with_a_failing_follow_up_makes_exactly_two_runs_of_playbooks() {
    let project = Project::new();
    project.desk.write("playbooks/first.yaml", "checks: { a: { type: command, exec: 'exit 3' } }\n");
    project.desk.write("playbooks/second.yaml", "checks: { b: { type: command, exec: 'exit 4' } }\n");
    project.define(
        "name: storm\nsteps:\n  - { name: first, skill: first }\n  - { skill: second, condition: \"{{ steps.first.status == 'failed' }}\" }\n  - { skill: second }\n",
    );
    let (code, run) = project.fire("storm");
    assert_eq!(code, Some(1), "{run}");
    assert_eq!(run["status"], "failed");
    assert_eq!(statuses(&run), ["failed", "failed", "skipped"]);
    assert_eq!(run["steps"][2]["skip_reason"], "dependency_failed");
    let runs = project.json(&["runs"]);
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(2), "{runs}");
    let all = project.json(&["runs", "--all"]);
    assert_eq!(all["runs"].as_array().map(Vec::len), Some(3), "{all}");
    let kinds: Vec<&Value> = all["runs"].as_array().expect("runs").iter().map(|run| &run["kind"]).collect();
    assert!(kinds.contains(&&json!("chain")) && kinds.contains(&&json!("playbook")), "{kinds:?}");
    // The reason is that of the first failure, unchanged: of the run, its invocation and the chain's run.
    let first = project.desk.show(run["steps"][0]["run_id"].as_str().expect("a run"));
    assert_eq!(first["run"]["reason"], run["reason"]);
}

#[test]
fn each_step_has_an_invocation_of_its_own_and_the_chain_is_one() {
    let project = Project::new().reviewed_as("REQUEST_CHANGES", "no");
    project.define(PR_REVIEW);
    let (_, run) = project.fire("pr-review-chain");
    let of_chain = project.json(&["invocation", "show", run["invocation_id"].as_str().expect("an id")]);
    assert_eq!(of_chain["invocation"]["skill"], "chain");
    let of_step =
        project.json(&["invocation", "show", run["steps"][0]["invocation_id"].as_str().expect("an id")]);
    assert_eq!(of_step["invocation"]["skill"], "codex-pr-review");
    assert_eq!(of_step["invocation"]["chain_run_id"], run["id"]);
    assert_eq!(of_step["invocation"]["step_index"], 0);
    assert_eq!(of_step["invocation"]["runs_count"], 1);
    assert_eq!(run["steps"][3]["invocation_id"], Value::Null, "an action is a call, not a run");
    let inputs = &project.desk.show(run["steps"][0]["run_id"].as_str().expect("a run"))["run"]["inputs"];
    assert_eq!(inputs["pr"], 7, "a value that is one `{{ }}` keeps its type");
}

#[test]
fn a_broken_contract_stops_effects_whose_condition_does_not_read_it() {
    let project = Project::new();
    project.desk.write(
        "playbooks/gate.yaml",
        "checks: { gate: { type: command, exec: 'echo 1', guarantee: 'output === 2' } }\n",
    );
    project.define(
        r#"
name: guarded
steps:
  - { name: gate, skill: gate }
  - { action: shell, condition: "{{ trigger.pr_number == 7 }}", with: { exec: "touch deployed" } }
  - { action: shell, condition: "{{ steps.gate.status == 'failed' }}", with: { exec: "touch told" } }
"#,
    );
    let (code, run) = project.fire("guarded");
    assert_eq!(code, Some(1), "{run}");
    assert_eq!(statuses(&run), ["failed", "skipped", "succeeded"]);
    assert_eq!(run["steps"][1]["skip_reason"], "contract_blocked");
    assert_eq!(run["reason"]["code"], "run.failed.guarantee_failed");
    assert!(!project.desk.path().join("deployed").exists());
    assert!(project.desk.path().join("told").exists());
}

#[test]
fn a_step_that_times_out_counts_as_failed_and_its_reason_travels_outwards() {
    let project = Project::new();
    project.desk.write("playbooks/slow.yaml", "checks: { a: { type: command, exec: 'sleep 60' } }\n");
    project.define(
        r#"
name: slow
steps:
  - { skill: slow, timeout: 200ms }
  - { skill: slow }
  - { action: shell, condition: "{{ steps[0].status == 'failed' and steps[0].timed_out }}", with: { exec: "touch told" } }
"#,
    );
    let (code, run) = project.fire("slow");
    assert_eq!(code, Some(124), "{run}");
    assert_eq!(run["status"], "timed_out");
    assert_eq!(run["reason"]["code"], "run.timed_out.deadline");
    assert_eq!(statuses(&run), ["failed", "skipped", "succeeded"]);
    assert!(project.desk.path().join("told").exists());
}

#[test]
fn an_unknown_effect_shows_as_waiting_and_approvals_lists_it() {
    let project = Project::new();
    project
        .define("name: unsure\nsteps:\n  - { action: shell, timeout: 200ms, with: { exec: 'sleep 60' } }\n");
    let (code, run) = project.fire("unsure");
    assert_eq!(code, Some(0), "{run}");
    assert_eq!(run["status"], "waiting_approval");
    assert_eq!(run["reason"]["code"], "run.waiting.unknown_effect");
    let asked = project.json(&["approvals"]);
    assert_eq!(asked["approvals"][0]["check"], "shell", "{asked}");
    assert_eq!(asked["approvals"][0]["id"], run["steps"][0]["approval_id"]);
}

#[test]
fn a_plan_shows_every_step_and_calls_nothing() {
    let project = Project::new();
    project.define(&PR_REVIEW.replace(
        "  - skill: ci\n    condition: \"{{ steps[0].outcome.verdict == 'APPROVE' }}\"",
        "  - skill: ci\n    condition: \"{{ trigger.base == 'main' }}\"",
    ));
    let plan = project.json(&["chain", "plan", "pr-review-chain", "--event", "event.json"]);
    assert_eq!(plan["steps"].as_array().map(Vec::len), Some(4), "{plan}");
    assert_eq!(plan["steps"][1]["condition"]["value"], true);
    assert_eq!(plan["steps"][1]["condition"]["values"][0]["value"], "\"main\"");
    assert_eq!(plan["steps"][2]["condition"]["value"], Value::Null);
    assert_eq!(plan["steps"][2]["effects"][0]["type"], "github");
    let stops = plan["steps"][2]["stopped_by"].to_string();
    assert!(stops.contains("condition") && stops.contains("denies"), "{stops}");
    assert_eq!(plan["people"][0]["check"], "gh-merge");
    assert_eq!(project.changes.count(), 0);
    assert_eq!(project.json(&["runs", "--all"])["runs"], json!([]));
}

#[test]
fn only_define_activates_a_file_and_list_marks_what_changed_since() {
    let project = Project::new();
    project.define(PR_REVIEW);
    let listed = |project: &Project| project.json(&["chain", "list"])["chains"][0].clone();
    assert_eq!(listed(&project)["file_state"], "same");
    assert_eq!(listed(&project)["version"], 1);
    project.desk.write("chain.yaml", &PR_REVIEW.replace("squash", "merge"));
    assert_eq!(listed(&project)["file_state"], "changed");
    assert!(project.escrow(&["chain", "list"]).stdout.contains("file changed since"));
    let shown = project.json(&["chain", "show", "pr-review-chain"]);
    assert!(
        shown["chain"]["text"].as_str().expect("text").contains("squash"),
        "the file alone activates nothing"
    );
    project.define(&PR_REVIEW.replace("squash", "merge"));
    assert_eq!(listed(&project)["version"], 2);
    fs::remove_file(project.desk.path().join("chain.yaml")).expect("it is there");
    assert_eq!(listed(&project)["file_state"], "missing");
}

#[test]
fn a_disabled_chain_is_not_fired_and_a_paused_one_only_by_hand() {
    let project = Project::new().reviewed_as("REQUEST_CHANGES", "no");
    project.define(PR_REVIEW);
    let status = |project: &Project| project.json(&["chain", "list"])["chains"][0]["status"].clone();
    assert_eq!(project.escrow(&["chain", "disable", "pr-review-chain"]).code, Some(0));
    assert_eq!(status(&project), "disabled");
    assert_eq!(project.escrow(&["chain", "fire", "pr-review-chain"]).code, Some(4));
    assert_eq!(project.escrow(&["chain", "resume", "pr-review-chain"]).code, Some(4));
    project.escrow(&["chain", "enable", "pr-review-chain"]);
    project.escrow(&["chain", "pause", "pr-review-chain"]);
    assert_eq!(status(&project), "paused");
    assert_eq!(project.fire("pr-review-chain").0, Some(0));
    project.escrow(&["chain", "resume", "pr-review-chain"]);
    assert_eq!(status(&project), "active");
    let unknown = project.escrow(&["chain", "fire", "pr-reveiw-chain"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("did you mean `pr-review-chain`?"), "{}", unknown.stderr);
}

#[test]
fn a_bad_chain_is_told_all_its_problems_at_once_with_lines() {
    let project = Project::new();
    project.desk.write(
        "chain.yaml",
        r#"name: bad
trigger: { event: pr.opened }
concurency: skip
steps:
  - { name: review, skill: codex-pr-review, with: { pr: 1 } }
  - { action: gh-merge, condition: "{{ steps.reveiw.outcome.passed }}", with: { pr: 1, methd: squash } }
  - { action: gh-comment, condition: "{{ steps[5].status }}", with: { pr: 1 } }
  - { action: shell, condition: "{{ outputs.x }}", with: { exec: "true" } }
  - { skill: nowhere }
  - { timeout: 5m }
"#,
    );
    let done = project.escrow(&["check", "chain.yaml", "--output", "json"]);
    assert_eq!(done.code, Some(2));
    let document = done.json();
    let found: Vec<(String, u64)> = document["error"]["diagnostics"]
        .as_array()
        .expect("diagnostics")
        .iter()
        .map(|one| (one["code"].as_str().expect("a code").to_owned(), one["line"].as_u64().expect("a line")))
        .collect();
    let expected: &[(&str, u64)] = &[
        ("E0103", 3), // concurency
        ("E0191", 6), // steps.reveiw
        ("E0103", 6), // methd
        ("E0106", 7), // no body
        ("E0191", 7), // steps[5]
        ("E0114", 8), // outputs
        ("E0106", 10),
    ];
    for (code, line) in expected {
        assert!(found.contains(&((*code).to_owned(), *line)), "{code} in line {line}: {found:?}");
    }
    let told = project.escrow(&["chain", "define", "chain.yaml"]);
    assert_eq!(told.code, Some(2));
    assert!(told.stderr.contains("did you mean `review`?"), "{}", told.stderr);
    assert_eq!(project.json(&["chain", "list"])["chains"], json!([]), "nothing is activated");
    assert_eq!(project.escrow(&["run", "chain.yaml"]).code, Some(2));
    let schema = project.json(&["schema", "chain"]);
    assert_eq!(schema["title"], "Escrow chain");
}

#[test]
fn a_person_asked_inside_a_step_decides_the_chain_around_it() {
    let project = Project::new();
    project.desk.write(
        "playbooks/ask.yaml",
        "checks: { act: { type: command, criticality: external, exec: 'echo x >> acted', requires_approval: true } }\n",
    );
    project.define(
        "name: ask\nsteps:\n  - { skill: ask }\n  - { action: shell, with: { exec: 'echo y >> then' } }\n",
    );
    let (code, run) = project.fire("ask");
    assert_eq!((code, &run["status"]), (Some(0), &json!("waiting_approval")), "{run}");
    assert_eq!(statuses(&run), ["waiting", "pending"]);
    let approval = run["steps"][0]["approval_id"].as_str().expect("the approval inside").to_owned();
    assert_eq!(project.escrow(&["approve", &approval]).code, Some(0));
    assert_eq!(project.only_run()["status"], "completed");
    assert_eq!((project.desk.read("acted"), project.desk.read("then")), ("x\n".into(), "y\n".into()));

    let (_, run) = project.fire("ask");
    let approval = run["steps"][0]["approval_id"].as_str().expect("the approval inside");
    assert_eq!(project.escrow(&["deny", approval, "--note", "not today"]).code, Some(0));
    let denied = project.json(&["chain", "runs", "ask", "--limit", "1"])["chain_runs"][0].clone();
    assert_eq!(denied["status"], "aborted", "{denied}");
    let inside = project.desk.show(denied["steps"][0]["run_id"].as_str().expect("a run"));
    assert_eq!(inside["run"]["reason"], denied["reason"], "the reason travels unchanged");
    assert_eq!((project.desk.read("acted"), project.desk.read("then")), ("x\n".into(), "y\n".into()));
}

#[test]
fn a_failed_chain_is_resumed_from_the_step_that_failed() {
    let project = Project::new();
    project.desk.write("playbooks/first.yaml", "checks: { a: { type: command, exec: 'echo a >> ran' } }\n");
    project.desk.write(
        "playbooks/second.yaml",
        "checks: { b: { type: command, exec: 'test -e fixed && echo b >> ran' } }\n",
    );
    project.define(
        "name: again\nsteps:\n  - { skill: first }\n  - { skill: second }\n  - { action: shell, with: { exec: 'echo c >> ran' } }\n",
    );
    let (code, run) = project.fire("again");
    assert_eq!(code, Some(1), "{run}");
    assert_eq!(statuses(&run), ["succeeded", "failed", "skipped"]);
    project.desk.write("fixed", "");
    let resumed = project.escrow(&["resume", run["id"].as_str().expect("an id"), "--failed"]);
    assert_eq!(resumed.code, Some(0), "{}", resumed.stderr);
    assert_eq!(project.only_run()["status"], "completed");
    assert_eq!(project.desk.read("ran"), "a\nb\nc\n");
}

#[test]
fn a_skill_is_found_by_its_name_and_a_step_is_retried() {
    let project = Project::new();
    project.desk.write(
        ".escrow/playbooks/some-file.yaml",
        "name: counted\nchecks: { a: { type: command, exec: 'echo x >> tries; test $(wc -l < tries) -ge 3' } }\n",
    );
    project.define(
        "name: tries\nsteps:\n  - { skill: counted, retry: { max: 3, backoff: { mode: fixed, delay_ms: 1 } } }\n",
    );
    let (code, run) = project.fire("tries");
    assert_eq!(code, Some(0), "{run}");
    assert_eq!(project.desk.read("tries"), "x\nx\nx\n");
    assert_eq!(
        project.json(&["runs"])["runs"].as_array().map(Vec::len),
        Some(1),
        "a retry opens the same run again"
    );
}

#[test]
fn every_action_reaches_its_provider_with_an_effect_of_its_own() {
    let project = Project::new();
    project.desk.write(
        "playbooks/review.yaml",
        r#"checks: { review: { type: command, outcome: review_verdict, exec: "echo '{\"verdict\": \"APPROVE\", \"summary\": \"fine\", \"findings\": []}'" } }"#,
    );
    project.define(&format!(
        r#"
name: all
steps:
  - {{ name: review, skill: review }}
  - {{ action: gh-label, with: {{ pr: "{{{{ trigger.pr_number }}}}", add: [reviewed] }} }}
  - {{ action: gh-issue, with: {{ title: "Follow up {{{{ steps.review.outcome.verdict }}}}", body: text }} }}
  - {{ action: gh-review, with: {{ pr: 7, verdict: review }} }}
  - {{ action: gh-status, with: {{ state: success, context: chain }} }}
  - {{ action: http, with: {{ url: "{url}/hook", method: POST, json: {{ n: "{{{{ trigger.pr_number }}}}" }}, allow_private: true }} }}
  - {{ action: notify, with: {{ message: "done with {{{{ trigger.pr_number }}}}", webhook: "{url}/notify", allow_private: true }} }}
  - {{ action: notify, with: {{ message: "done with {{{{ trigger.pr_number }}}}", command: "cat > told" }} }}
  - {{ action: shell, with: {{ run: "echo {{{{ steps.review.outcome.summary }}}} > said" }} }}
"#,
        url = project.server.url.replace("localhost", "127.0.0.1")
    ));
    let done = project.escrow(&["chain", "fire", "all", "--event", "event.json", "--output", "json"]);
    let run = done.json();
    assert_eq!(run["status"], "completed", "{run:#}");
    assert_eq!(project.changes.of("/issues/7/labels")[0]["labels"], json!(["reviewed"]));
    assert_eq!(project.changes.of("/repos/octo/hello/issues")[0]["title"], "Follow up APPROVE");
    assert_eq!(project.changes.of("/pulls/7/reviews")[0]["event"], "APPROVE");
    assert_eq!(project.changes.of("6dcb09b5b57875f334f61aebed695e2e4193db5e")[0]["state"], "success");
    assert_eq!(project.changes.of("/hook")[0], json!({ "n": 7 }), "one insertion keeps its type");
    assert_eq!(project.changes.of("/notify")[0], json!({ "text": "done with 7" }));
    assert_eq!(project.desk.read("told"), "done with 7");
    assert_eq!(project.desk.read("said"), "fine\n");
    let effects = project.json(&["effects"]);
    let effects = effects["effects"].as_array().expect("effects");
    assert_eq!(effects.len(), 8, "{effects:?}");
    assert!(effects.iter().all(|effect| effect["state"] == "confirmed"), "{effects:?}");
}

#[test]
fn a_notification_goes_where_the_project_says_unless_the_step_does() {
    let project = Project::new();
    let chain = "name: told\nsteps:\n  - { action: notify, with: { message: 'done with {{ trigger.pr_number }}' } }\n";
    project.desk.write("chain.yaml", chain);
    let refused = project.escrow(&["check", "chain.yaml"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("`notify` has no receiver"), "{}", refused.stderr);
    project.desk.write(".escrow/config.toml", "[notify]\ncommand = \"cat > told\"\n");
    project.define(chain);
    let (code, run) = project.fire("told");
    assert_eq!(code, Some(0), "{run}");
    assert_eq!(project.desk.read("told"), "done with 7");
}

#[test]
fn the_example_queues_an_ordinary_issue_and_asks_before_it_pages() {
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/chains");
    let desk = Desk::new();
    for file in [
        "triage.yaml",
        "playbooks/triage.yaml",
        "scripts/triage.sh",
        "events/ordinary.json",
        "events/urgent.json",
    ] {
        desk.write(file, &fs::read_to_string(example.join(file)).expect("a file of the example"));
    }
    let json = |arguments: &[&str]| {
        let done = desk.escrow(arguments);
        assert_eq!(done.code, Some(0), "{arguments:?}: {}", done.stderr);
        done.json()
    };
    json(&["chain", "define", "triage.yaml", "--output", "json"]);
    let plan = json(&["chain", "plan", "triage", "--event", "events/urgent.json", "--output", "json"]);
    assert_eq!(plan["steps"].as_array().map(Vec::len), Some(3));
    let ordinary = json(&["chain", "fire", "triage", "--event", "events/ordinary.json", "--output", "json"]);
    assert_eq!(statuses(&ordinary), ["succeeded", "succeeded", "skipped"]);
    assert_eq!(ordinary["title"], "Triage of #41");
    let urgent = json(&["chain", "fire", "triage", "--event", "events/urgent.json", "--output", "json"]);
    assert_eq!(statuses(&urgent), ["succeeded", "skipped", "waiting"]);
    assert_eq!(desk.read("backlog.txt"), "41\n");
    assert_eq!(desk.read("paged.txt"), "");
    let approval = urgent["steps"][2]["approval_id"].as_str().expect("an approval");
    assert_eq!(desk.escrow(&["approve", approval]).code, Some(0));
    assert_eq!(desk.read("paged.txt"), "42\n");
}
