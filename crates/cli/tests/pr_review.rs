//! The chain of the seed from end to end: a signed webhook, a review, tests, a pause, a killed daemon, an approval from
//! another process, and what GitHub saw of it.
//!
//! The review is done by a stand-in here, so that `cargo test` stays hermetic. `just test-harnesses claude` has it done by
//! the real Claude Code, against a scripted model.

mod daemon;
mod desk;
mod pull_requests;
mod server;

use std::path::PathBuf;
use std::process::Command;

use daemon::{Daemon, SETTINGS, opened};
use desk::{Desk, Done, signal};
use escrow_harness::scripted::Step;
use escrow_runtime::model_server::ModelServer;
use pull_requests::{Changes, PR_REVIEW, REVIEW, TOKEN, github, review, write_playbooks, write_reviewer};
use rustix::process::Signal;
use serde_json::Value;
use server::Server;

const PRAISE: &str = "nothing to complain about";
const COMPLAINT: &str = "the token reaches the log";

/// Who reviews: pull request 7 is approved, and changes are requested in pull request 8.
enum Reviewer {
    StandIn,
    Claude { program: PathBuf, model: ModelServer },
}

impl Reviewer {
    fn claude() -> Reviewer {
        let folder = std::env::var_os("ESCROW_TEST_HARNESSES").map(PathBuf::from).unwrap_or_else(|| {
            PathBuf::from(std::env::var_os("HOME").expect("a home")).join(".cache/escrow-harnesses")
        });
        let program = folder.join("node_modules/.bin/claude");
        assert!(program.exists(), "`{}` is missing; run `just test-harnesses claude`", program.display());
        let steps = [review("APPROVE", PRAISE), review("REQUEST_CHANGES", COMPLAINT)].map(Step::Say);
        Reviewer::Claude { program, model: ModelServer::start(steps.to_vec()).expect("a free port") }
    }
}

struct Project {
    desk: Desk,
    github: Server,
    changes: Changes,
    reviewer: Reviewer,
}

impl Project {
    fn new(reviewer: Reviewer) -> Project {
        let changes = Changes::default();
        let desk = Desk::new();
        write_playbooks(&desk);
        if let Reviewer::Claude { .. } = &reviewer {
            let model = escrow_harness::find("claude").expect("it is known").spec().scripted_model;
            let review = REVIEW.replace("harness: claude", &format!("harness: claude\n    model: {model}"));
            desk.write(".escrow/playbooks/codex-pr-review.yaml", &review);
        }
        desk.write(".escrow/config.toml", SETTINGS);
        desk.write("chain.yaml", PR_REVIEW);
        let project = Project { desk, github: github(&changes), changes, reviewer };
        let defined = project.escrow(&["chain", "define", "chain.yaml"]);
        assert_eq!(defined.code, Some(0), "{}", defined.stderr);
        project
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = self.desk.command(arguments);
        command.env("GITHUB_TOKEN", TOKEN).env("GITHUB_API_URL", &self.github.url);
        match &self.reviewer {
            Reviewer::StandIn => command.env("ESCROW_HARNESS_CLAUDE", self.desk.path().join("bin/claude")),
            Reviewer::Claude { program, model } => {
                let claude = escrow_harness::find("claude").expect("it is known").spec();
                command
                    .env("ESCROW_HARNESS_CLAUDE", program)
                    .env(claude.key_variables[0], "sk-scripted-0123456789")
                    .env(claude.base_url_variable, format!("{}{}", model.url(), claude.api_path))
            }
        };
        command
    }

    fn escrow(&self, arguments: &[&str]) -> Done {
        Done::from(self.command(arguments).output().expect("the binary runs"))
    }

    fn daemon(&self) -> Daemon {
        Daemon::started(self.command(&["chain", "daemon"]), &["--port", "0"])
    }

    /// The stand-in is told what to answer; the model of the real one has it in its script.
    fn next_review(&self, verdict: &str, summary: &str) {
        if let Reviewer::StandIn = &self.reviewer {
            write_reviewer(&self.desk, verdict, summary);
        }
    }

    fn runs(&self) -> Vec<Value> {
        let runs = self.escrow(&["chain", "runs", "--output", "json"]).json();
        runs["chain_runs"].as_array().cloned().unwrap_or_default()
    }

    /// Waits until the newest of this many runs has this status.
    fn newest_is(&self, status: &str, count: usize) -> Value {
        // One answer for both questions: a run that begins between two would make the one before it the newest.
        let found = || {
            let runs = self.runs();
            runs.first().filter(|_| runs.len() == count).cloned()
        };
        self.desk.until(&format!("run {count} is {status}"), || {
            found().is_some_and(|run| {
                let is_over =
                    ["completed", "failed", "aborted"].contains(&run["status"].as_str().unwrap_or(""));
                assert!(!is_over || run["status"] == status, "{run:#}");
                run["status"] == status
            })
        });
        found().expect("it was there")
    }
}

fn statuses(run: &Value) -> Vec<&str> {
    let steps = run["steps"].as_array().into_iter().flatten();
    steps.map(|step| step["status"].as_str().unwrap_or_default()).collect()
}

fn from_webhook_to_merge_and_comment(reviewer: Reviewer) {
    let project = Project::new(reviewer);
    project.next_review("APPROVE", PRAISE);
    let mut first = project.daemon();
    let event = opened(7);
    let (status, answer) = first.deliver("d-1", "pull_request", &event);
    assert_eq!((status, &answer["fires"][0]["chain"]), (202, &"pr-review-chain".into()), "{answer}");
    assert_eq!(first.deliver("d-1", "pull_request", &event).1["status"], "duplicate");

    let run = project.newest_is("waiting_approval", 1);
    assert_eq!(statuses(&run), ["succeeded", "succeeded", "waiting", "pending"], "{run:#}");
    assert_eq!(run["steps"][0]["outcome"]["summary"], PRAISE);
    assert_eq!(run["steps"][1]["outcome"]["passed"], true);
    signal(first.child.id(), Signal::KILL);
    first.child.wait().expect("it is gone");
    drop(first);
    assert_eq!(project.changes.count(), 0, "nothing happens before the approval");

    let second = project.daemon();
    assert_eq!(
        second.deliver("d-1", "pull_request", &event).1["status"],
        "duplicate",
        "it is known for good"
    );
    assert_eq!(project.newest_is("waiting_approval", 1)["id"], run["id"]);
    let approval = run["steps"][2]["approval_id"].as_str().expect("an approval");
    let approved = project.escrow(&["approve", approval, "--no-run", "--note", "looks good"]);
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    let run = project.newest_is("completed", 1);
    assert_eq!(statuses(&run), ["succeeded", "succeeded", "succeeded", "skipped"], "{run:#}");
    let merges = project.changes.of("/pulls/7/merge");
    assert_eq!(merges.len(), 1, "{merges:?}");
    assert_eq!(merges[0]["merge_method"], "squash");
    assert_eq!(project.changes.count(), 1, "and no comment");

    project.next_review("REQUEST_CHANGES", COMPLAINT);
    assert_eq!(second.deliver("d-2", "pull_request", &opened(8)).0, 202);
    let run = project.newest_is("completed", 2);
    assert_eq!(statuses(&run), ["succeeded", "skipped", "skipped", "succeeded"], "{run:#}");
    let comments = project.changes.of("/issues/8/comments");
    assert_eq!(comments.len(), 1, "{comments:?}");
    assert!(comments[0]["body"].as_str().expect("text").starts_with(COMPLAINT));
    assert_eq!(project.changes.count(), 2, "and no merge");
    second.end();

    // A check finds nothing left to do, and both runs are whole.
    assert_eq!(project.escrow(&["chain", "check"]).code, Some(0));
    assert_eq!(project.changes.count(), 2);
    let verified = project.escrow(&["verify", "--all"]);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
}

#[test]
fn a_pull_request_is_reviewed_tested_approved_and_merged_once_though_the_daemon_is_killed() {
    from_webhook_to_merge_and_comment(Reviewer::StandIn);
}

mod claude {
    use super::*;

    #[test]
    #[ignore = "needs the real program: just test-harnesses"]
    fn reviews_a_pull_request_that_is_then_merged_once_though_the_daemon_is_killed() {
        let reviewer = Reviewer::claude();
        from_webhook_to_merge_and_comment(reviewer);
    }
}
