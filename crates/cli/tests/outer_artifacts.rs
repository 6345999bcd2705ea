//! What the outer run has verified is looked at again before the effects of a nested run.

mod desk;

use std::fs;
use std::path::PathBuf;

use desk::Desk;
use serde_json::Value;

const OUTER: &str = r#"
artifacts: {expected: [{id: package, path: package.txt}]}
checks:
  build: {type: command, artifacts: package, exec: 'echo built > "$ESCROW_ARTIFACTS/package.txt"'}
  ship: {type: playbook, depends_on: build, playbook: ship.yaml}
"#;

const SHIP: &str = "checks:
  ship: {type: command, criticality: external, requires_approval: true, exec: 'echo shipped >> shipped'}
";

/// A run that waits inside a nested one, and its question.
struct Waiting {
    desk: Desk,
    run: String,
    question: Value,
}

impl Waiting {
    fn new() -> Waiting {
        Waiting::with(SHIP)
    }

    fn with(ship: &str) -> Waiting {
        let desk = Desk::new();
        desk.write("ship.yaml", ship);
        let (code, document) = desk.run(OUTER);
        assert_eq!(code, Some(4), "{document}");
        let run = document["run"]["id"].as_str().expect("an id").to_owned();
        let question = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0].clone();
        Waiting { desk, run, question }
    }

    fn package(&self) -> PathBuf {
        self.desk.path().join(".escrow/artifacts").join(&self.run).join("package.txt")
    }

    /// Gives the reason of the outer run afterwards.
    fn approve(&self) -> String {
        let id = self.question["id"].as_str().expect("an id");
        assert_eq!(self.desk.escrow(&["approve", id]).code, Some(0), "the decision is accepted");
        self.desk.show(&self.run)["run"]["reason"]["code"].as_str().expect("a code").to_owned()
    }

    fn shipped(&self) -> bool {
        self.desk.path().join("shipped").exists()
    }
}

#[test]
fn a_question_inside_a_nested_run_shows_what_the_outer_run_has_verified() {
    let waiting = Waiting::new();
    let artifact = &waiting.question["artifacts"][0];
    assert_eq!(artifact["id"], "package", "{}", waiting.question);
    assert_eq!(artifact["check"], "build");
    assert!(artifact["path"].as_str().is_some_and(|path| path.ends_with("/package.txt")), "{artifact}");
    assert_eq!(waiting.approve(), "run.completed.ok");
    assert!(waiting.shipped());
}

#[test]
fn a_file_of_the_outer_run_that_is_swapped_blocks_the_effect_of_the_nested_one() {
    let waiting = Waiting::new();
    fs::write(waiting.package(), "swapped\n").expect("the file can be swapped");
    assert_eq!(waiting.approve(), "run.failed.artifact_changed");
    assert!(!waiting.shipped());
}

#[test]
fn a_file_of_the_outer_run_that_is_gone_blocks_the_effect_of_the_nested_one() {
    let waiting = Waiting::new();
    fs::remove_file(waiting.package()).expect("it is there");
    assert_eq!(waiting.approve(), "run.failed.artifact_changed");
    assert!(!waiting.shipped());
}

#[test]
fn runs_that_nest_twice_look_at_the_files_of_every_run_around_them() {
    let desk = Desk::new();
    desk.write("inner.yaml", SHIP);
    let middle = "checks: {inner: {type: playbook, playbook: inner.yaml}}\n";
    desk.write("ship.yaml", middle);
    let (_, document) = desk.run(OUTER);
    let run = document["run"]["id"].as_str().expect("an id").to_owned();
    let question = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0].clone();
    let waiting = Waiting { desk, run, question };
    fs::write(waiting.package(), "swapped\n").expect("the file can be swapped");
    assert_eq!(waiting.approve(), "run.failed.artifact_changed");
    assert!(!waiting.shipped());
}

#[test]
fn a_file_that_was_swapped_ships_once_it_is_verified_again() {
    let waiting = Waiting::new();
    fs::write(waiting.package(), "swapped\n").expect("the file can be swapped");
    assert_eq!(waiting.approve(), "run.failed.artifact_changed");
    let resumed = waiting.desk.escrow(&["resume", &waiting.run, "--failed"]);
    assert_eq!(resumed.code, Some(4), "it asks again: {} {}", resumed.stdout, resumed.stderr);
    let question = waiting.desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0].clone();
    let waiting = Waiting { question, ..waiting };
    assert_eq!(waiting.approve(), "run.completed.ok");
    assert!(waiting.shipped());
}
