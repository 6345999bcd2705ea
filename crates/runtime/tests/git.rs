//! Git facts, from real repositories.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

mod support;

use std::path::Path;
use std::process::Command;

use escrow_model::GitFacts;
use escrow_runtime::git::{Comparison, git_facts};
use serde_json::{Value, json};
use support::block_on;
use tempfile::TempDir;

/// A directory in which the script ran.
fn repository(script: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let script = format!("set -e; {script}");
    let output = Command::new("bash")
        .args(["-c", &script])
        .current_dir(folder.path())
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_NAME"), "a")))
        .envs(["AUTHOR", "COMMITTER"].map(|who| (format!("GIT_{who}_EMAIL"), "a@b.c")))
        .output()
        .unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    folder
}

fn facts(directory: &Path) -> Result<GitFacts, String> {
    block_on(git_facts(directory, &Comparison::Branch))
}

/// `branch <- base: files`
fn check(script: &str, expected: &str) {
    let folder = repository(script);
    assert_eq!(told(folder.path()), expected, "{script}");
}

fn told(directory: &Path) -> String {
    let facts = facts(directory).unwrap();
    let name = |branch: Option<String>| branch.unwrap_or_else(|| "-".into());
    format!("{} <- {}: {}", name(facts.branch), name(facts.base_branch), facts.files_changed.join(" "))
}

const COMMIT: &str = "git init -q -b main; echo 1 > kept; echo 1 > gone; git add .; git commit -qm 1;";

#[test]
fn a_branch_shows_what_it_changed_committed_or_not() {
    check(
        &format!(
            "{COMMIT} git switch -qc work; echo 1 > committed; git add .; git commit -qm 2; git rm -q gone; \
             echo 1 > staged; git add staged; echo 2 > kept; mkdir d; echo 1 > d/untracked; \
             echo d2 > .gitignore; mkdir d2; echo 1 > d2/ignored"
        ),
        "work <- main: .gitignore committed d/untracked gone kept staged",
    );
}

#[test]
fn what_happened_on_the_base_since_is_not_ours() {
    check(
        &format!(
            "{COMMIT} git switch -qc work; echo 1 > ours; git add .; git commit -qm 2; git switch -q main; \
             echo 1 > theirs; git add .; git commit -qm 3; git switch -q work"
        ),
        "work <- main: ours",
    );
}

#[test]
fn on_the_base_itself_only_what_is_not_committed_counts() {
    check(&format!("{COMMIT} echo 2 > kept"), "main <- main: kept");
    check(COMMIT, "main <- main: ");
}

#[test]
fn the_remote_says_which_branch_is_the_base() {
    let script = "git init -q -b trunk up; cd up; echo 1 > f; git add .; git commit -qm 1; cd ..; \
                  git clone -q up down; cd down; echo 1 > g; git add .; git commit -qm 2";
    let folder = repository(script);
    assert_eq!(told(&folder.path().join("down")), "trunk <- trunk: g", "what was not pushed counts");
}

#[test]
fn master_is_a_base_too_and_without_either_only_the_worktree_counts() {
    check(
        "git init -q -b master; echo 1 > f; git add .; git commit -qm 1; git switch -qc w; echo 2 > f",
        "w <- master: f",
    );
    check("git init -q -b odd; echo 1 > f; git add .; git commit -qm 1; echo 2 > g", "odd <- -: g");
}

#[test]
fn before_the_first_commit_everything_is_new() {
    check("git init -q -b main; echo 1 > a; git add a; echo 1 > b", "main <- -: a b");
    check("git init -q -b main", "main <- -: ");
}

#[test]
fn a_detached_head_has_no_branch() {
    check(&format!("{COMMIT} git switch -q --detach; echo 2 > kept"), "- <- main: kept");
}

#[test]
fn the_state_of_escrow_is_no_change() {
    check(
        &format!("{COMMIT} mkdir -p .escrow d/.escrow; touch .escrow/x d/.escrow/y d/.escrows"),
        "main <- main: d/.escrows",
    );
}

#[test]
fn odd_names_come_through_whole() {
    check(
        &format!("{COMMIT} touch 'a b' ünï $'tab\\t' '\"quoted\"'"),
        "main <- main: \"quoted\" a b tab\t ünï",
    );
}

#[test]
fn a_folder_inside_sees_the_whole_repository() {
    let folder = repository(&format!("{COMMIT} mkdir -p d/e; touch d/e/x y"));
    assert_eq!(told(&folder.path().join("d/e")), "main <- main: d/e/x y");
}

#[test]
fn outside_a_repository_there_are_no_facts() {
    let folder = tempfile::tempdir().unwrap();
    let problem = facts(folder.path()).unwrap_err();
    assert!(problem.contains("not a git repository"), "{problem}");
    let problem = facts(&folder.path().join("gone")).unwrap_err();
    assert!(problem.contains("does not exist"), "{problem}");
}

#[test]
fn histories_without_a_common_commit_are_told() {
    let script = format!("{COMMIT} git checkout -q --orphan other; git commit -qm 2");
    let problem = facts(repository(&script).path()).unwrap_err();
    assert!(problem.contains("no common commit with `main`"), "{problem}");
}

#[test]
fn asking_changes_nothing_in_the_repository() {
    let folder = repository(&format!("{COMMIT} sleep 0.01; touch kept"));
    let index = || std::fs::read(folder.path().join(".git/index")).unwrap();
    let before = index();
    facts(folder.path()).unwrap();
    assert_eq!(before, index());
}

/// The id of a commit.
fn id(directory: &Path, name: &str) -> String {
    let output = Command::new("git").args(["rev-parse", name]).current_dir(directory).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

fn files(directory: &Path, payload: &Value) -> Result<Vec<String>, String> {
    let comparison = Comparison::of(payload.as_object().unwrap());
    block_on(git_facts(directory, &comparison)).map(|facts| facts.files_changed)
}

fn pull_request(base: &str, head: &str) -> Value {
    json!({ "pull_request": { "base": { "sha": base, "ref": "release" }, "head": { "sha": head, "ref": "topic" } } })
}

/// `release` has left `main`, and `topic` has left `release`.
const TOPIC: &str = "git switch -qc release; echo 1 > released; git add .; git commit -qm 2; \
                     git switch -qc topic; echo 1 > mine; git add .; git commit -qm 3;";

#[test]
fn the_files_of_a_pull_request_are_those_between_its_commits_whatever_is_checked_out() {
    for checkout in ["topic", "release", "main", "--detach release"] {
        let folder = repository(&format!("{COMMIT} {TOPIC} git switch -q {checkout}"));
        let payload = pull_request(&id(folder.path(), "release"), &id(folder.path(), "topic"));
        assert_eq!(files(folder.path(), &payload).unwrap(), ["mine"], "{checkout}");
    }
}

#[test]
fn the_files_of_a_push_are_those_between_its_commits_also_when_it_goes_back() {
    let folder = repository(&format!("{COMMIT} {TOPIC} git switch -q main; git merge -q topic"));
    let push = |before: &str, after: &str| json!({ "before": before, "after": after });
    let (first, last) = (id(folder.path(), "main~2"), id(folder.path(), "main"));
    assert_eq!(files(folder.path(), &push(&first, &last)).unwrap(), ["mine", "released"]);
    assert_eq!(files(folder.path(), &push(&last, &first)).unwrap(), ["mine", "released"]);
    let created = push(&"0".repeat(40), &id(folder.path(), "topic"));
    let folder = repository(&format!("{COMMIT} {TOPIC} git switch -q main"));
    let created_here = push(&"0".repeat(40), &id(folder.path(), "topic"));
    assert_eq!(files(folder.path(), &created_here).unwrap(), ["mine", "released"]);
    assert!(files(tempfile::tempdir().unwrap().path(), &created).is_err());
}

#[test]
fn a_commit_that_a_shallow_clone_lacks_is_told_and_never_taken_for_no_change() {
    let origin = repository(&format!("{COMMIT} {TOPIC}"));
    let clone = repository(&format!("git clone -q --depth 1 file://{} here", origin.path().display()));
    let here = clone.path().join("here");
    let (base, head) = (id(origin.path(), "release"), id(origin.path(), "topic"));
    for payload in [pull_request(&base, &head), json!({ "before": base, "after": head })] {
        let told = files(&here, &payload).unwrap_err();
        assert!(told.contains(&base) && told.contains("fetch-depth: 0"), "{told}");
    }
    // Only ids of commits become arguments of git.
    for odd in ["--output=/tmp/x", "main", "HEAD", ""] {
        assert_eq!(Comparison::of(pull_request(odd, odd).as_object().unwrap()), Comparison::Branch);
    }
}
