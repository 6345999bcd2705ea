//! Shows: plays with gates, a redo with feedback, and a person for a gate that stays closed.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

const SHOW: &str = "
name: release
plays:
  build: {playbook: build.yaml, gate: accept.yaml}
  announce: {playbook: announce.yaml, depends_on: build}
";

/// Keeps the feedback that it was given, and succeeds.
const BUILD: &str = "inputs: {feedback: {default: ''}}
checks: {main: {type: command, exec: 'printf \"<%s>\" {{ inputs.feedback }} >> feedback'}}";

const ANNOUNCE: &str = "checks: {main: {type: command, exec: touch announced}}";

/// Gives the verdicts of a list, one for each run.
fn gate(verdicts: &[Value]) -> String {
    let lines: Vec<String> = verdicts.iter().map(Value::to_string).collect();
    format!(
        "checks:
  judge:
    type: command
    outcome: gate_verdict
    exec: |
      echo x >> judged
      sed -n \"$(wc -l < judged)p\" <<'END'
      {}
      END
",
        lines.join("\n      ")
    )
}

fn desk(show: &str, gate: &str) -> Desk {
    let desk = Desk::new();
    desk.write("show.yaml", show);
    desk.write("build.yaml", BUILD);
    desk.write("announce.yaml", ANNOUNCE);
    desk.write("accept.yaml", gate);
    desk
}

fn status(desk: &Desk) -> Value {
    desk.escrow(&["play", "status", "last", "--output", "json"]).json()["shows"][0].clone()
}

fn exists(desk: &Desk, name: &str) -> bool {
    desk.path().join(name).exists()
}

#[test]
fn plays_run_in_order_behind_an_open_gate() {
    let desk = desk(SHOW, &gate(&[json!({"gate_passed": true})]));
    let done = desk.escrow(&["play", "run", "show.yaml", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    assert!(exists(&desk, "announced"));
    let show = status(&desk);
    assert_eq!(show["show"], "release");
    assert_eq!(show["status"], "completed");
    assert_eq!(show["reason"]["code"], "run.completed.ok", "{show}");
    assert_eq!(show["plays"][0]["gate"]["state"], "open");
    assert_eq!(show["plays"][0]["gate"]["verdict"]["gate_passed"], true);
    assert_eq!(show["plays"][1]["depends_on"], json!(["build"]));
    assert_eq!(show["plays"][1]["gate"], Value::Null);
}

#[test]
fn a_closed_gate_redoes_its_play_once_with_the_feedback() {
    let verdicts = [json!({"gate_passed": false, "feedback": "add tests"}), json!({"gate_passed": true})];
    let desk = desk(SHOW, &gate(&verdicts));
    let done = desk.escrow(&["play", "run", "show.yaml"]);
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    assert_eq!(desk.read("feedback"), "<><add tests>");
    let show = status(&desk);
    assert_eq!(show["plays"][0]["runs"], 2, "{show}");
    assert_eq!(show["plays"][0]["gate"]["state"], "open");
    assert!(exists(&desk, "announced"));
}

#[test]
fn a_gate_that_stays_closed_asks_a_person_who_can_open_it() {
    let closed = json!({"gate_passed": false, "blocking_reason": "no tests"});
    let desk = desk(SHOW, &gate(&[closed.clone(), closed]));
    let done = desk.escrow(&["play", "run", "show.yaml"]);
    assert_eq!(done.code, Some(4), "{} {}", done.stdout, done.stderr);
    assert_eq!(desk.read("feedback"), "<><no tests>", "it was done twice");
    assert!(!exists(&desk, "announced"));
    assert_eq!(status(&desk)["plays"][0]["gate"]["state"], "waiting");
    let question = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0].clone();
    assert_eq!(question["check"], "build-approval");
    assert!(
        question["outcomes"].to_string().contains("no tests")
            || question["outputs"].to_string().contains("no tests"),
        "{question}"
    );
    assert_eq!(desk.escrow(&["approve", question["id"].as_str().expect("an id")]).code, Some(0));
    assert!(exists(&desk, "announced"));
    let show = status(&desk);
    assert_eq!(show["status"], "completed", "{show}");
    assert_eq!(show["plays"][0]["gate"]["state"], "opened_by_person");
}

#[test]
fn a_person_who_denies_keeps_the_gate_closed() {
    let closed = json!({"gate_passed": false});
    let desk = desk(SHOW, &gate(&[closed.clone(), closed]));
    assert_eq!(desk.escrow(&["play", "run", "show.yaml"]).code, Some(4));
    let question = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0].clone();
    assert_eq!(desk.escrow(&["deny", question["id"].as_str().expect("an id")]).code, Some(0));
    assert!(!exists(&desk, "announced"));
    let show = status(&desk);
    assert_eq!((&show["status"], &show["reason"]["code"]), (&json!("aborted"), &json!("run.aborted.denied")));
}

#[test]
fn a_gate_without_a_verdict_stays_closed() {
    let desk = desk(SHOW, "checks: {judge: {type: command, exec: 'true'}}");
    assert_eq!(desk.escrow(&["play", "run", "show.yaml"]).code, Some(4));
    assert_eq!(desk.read("feedback"), "<><the gate gave no verdict>");
    assert!(!exists(&desk, "announced"));
}

#[test]
fn a_failed_gate_playbook_fails_the_show() {
    let desk = desk(SHOW, "checks: {judge: {type: command, exec: 'false'}}");
    assert_eq!(desk.escrow(&["play", "run", "show.yaml"]).code, Some(1));
    assert!(!exists(&desk, "announced"));
}

#[test]
fn a_show_is_an_invocation_that_keeps_its_plan() {
    let desk = desk(SHOW, &gate(&[json!({"gate_passed": true})]));
    desk.escrow(&["play", "run", "show.yaml"]);
    let invocations = desk.escrow(&["invocation", "list", "--output", "json"]).json();
    let invocation = &invocations["invocations"][0];
    assert_eq!(invocation["skill"], "show", "{invocations}");
    let plans = desk.escrow(&["outcomes", "--kind", "show_plan", "--output", "json"]).json();
    let plan = &plans["outcomes"][0];
    assert_eq!(plan["invocation_id"], invocation["id"]);
    assert_eq!(
        plan["content"]["plays"],
        json!([
            {"name": "build", "playbook": "build.yaml", "depends_on": []},
            {"name": "announce", "playbook": "announce.yaml", "depends_on": ["build"]}
        ])
    );
    let listed = desk.escrow(&["runs", "--output", "json"]).json()["runs"].clone();
    assert!(!listed.to_string().contains("\"release\""), "`runs` lists runs of playbooks: {listed}");
    assert!(desk.escrow(&["runs", "--all"]).stdout.contains("release"));
}

#[test]
fn a_play_can_work_in_a_worktree_that_is_merged_behind_its_gate() {
    let show = SHOW.replace("gate: accept.yaml", "gate: accept.yaml, worktree: true");
    let desk = desk(&show, "");
    desk.write(
        "build.yaml",
        "inputs: {feedback: {default: ''}}\nchecks: {main: {type: command, exec: 'echo work >> result.txt'}}",
    );
    desk.write("accept.yaml", &format!(
        "checks:\n  judge:\n    type: command\n    outcome: gate_verdict\n    exec: |\n      if [ \"$(wc -l < result.txt)\" = 2 ]; then echo '{}'; else echo '{}'; fi\n",
        json!({"gate_passed": true}), json!({"gate_passed": false})
    ));
    repository(&desk);
    let done = desk.escrow(&["play", "run", "show.yaml"]);
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    assert_eq!(desk.read("result.txt"), "work\nwork\n", "merged once, after both attempts");
    assert!(git(&desk, &["log", "--oneline"]).contains("Merge build"));
    assert!(!git(&desk, &["worktree", "list"]).contains("worktrees"), "the worktree is gone");
    assert_eq!(status(&desk)["plays"][0]["merged"], true);
    let left = || std::fs::read_dir(desk.path().join(".escrow/worktrees")).map_or(0, Iterator::count);
    assert_eq!(left(), 1, "the note of the merge");
    let removed = desk.escrow(&["gc", "--keep", "0"]);
    assert_eq!((removed.code, left()), (Some(0), 0), "{}{}", removed.stdout, removed.stderr);
}

/// What git prints, whether or not it succeeds.
fn git(desk: &Desk, arguments: &[&str]) -> String {
    let done = std::process::Command::new("git").args(arguments).current_dir(desk.path()).output();
    let done = done.expect("git runs");
    String::from_utf8_lossy(&done.stdout).into_owned()
}

/// Makes a repository of everything that the desk has.
fn repository(desk: &Desk) {
    git(desk, &["init", "-q", "-b", "main"]);
    git(desk, &["config", "user.email", "escrow@example.com"]);
    git(desk, &["config", "user.name", "Escrow"]);
    desk.write(".gitignore", ".escrow/\n");
    git(desk, &["add", "-A"]);
    git(desk, &["commit", "-q", "-m", "first"]);
}

/// A show whose plays each write a file of their own, side by side.
fn side_by_side(names: &[&str]) -> String {
    let plays: String = names
        .iter()
        .map(|name| format!("  {name}: {{playbook: write.yaml, with: {{name: {name}}}, worktree: true}}\n"))
        .collect();
    format!("plays:\n{plays}")
}

const WRITE: &str = "inputs: {name: {default: x}}
checks: {main: {type: command, exec: 'echo hello > {{ inputs.name }}.txt'}}";

#[test]
fn plays_that_end_at_the_same_time_are_merged_one_after_another() {
    let desk = Desk::new();
    desk.write("write.yaml", WRITE);
    desk.write("one.yaml", &side_by_side(&["a", "b", "c", "d"]));
    desk.write("two.yaml", &side_by_side(&["e", "f", "g", "h"]));
    repository(&desk);
    desk.write("draft.txt", "not committed");
    let done = std::thread::scope(|scope| {
        let one = scope.spawn(|| desk.escrow(&["play", "run", "one.yaml"]));
        let two = desk.escrow(&["play", "run", "two.yaml"]);
        [one.join().expect("it ran"), two]
    });
    for done in done {
        assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    }
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        assert_eq!(git(&desk, &["show", &format!("HEAD:{name}.txt")]), "hello\n", "{name}");
    }
    assert_eq!(git(&desk, &["status", "--short"]), "?? draft.txt\n", "the checkout has nothing else");
    assert_eq!(git(&desk, &["branch"]), "* main\n", "the branches are gone");
}

#[test]
fn a_merge_that_fails_leaves_the_checkout_as_it_was() {
    let desk = Desk::new();
    desk.write("write.yaml", WRITE);
    desk.write("show.yaml", &side_by_side(&["a"]));
    repository(&desk);
    git(&desk, &["checkout", "-q", "-b", "theirs"]);
    desk.write("a.txt", "theirs");
    desk.write("other.txt", "theirs");
    git(&desk, &["add", "a.txt", "other.txt"]);
    git(&desk, &["commit", "-q", "-m", "theirs"]);
    git(&desk, &["checkout", "-q", "main"]);
    desk.write("other.txt", "ours");
    git(&desk, &["add", "other.txt"]);
    git(&desk, &["commit", "-q", "-m", "ours"]);
    // A person is in the middle of a merge, and has resolved half of it.
    git(&desk, &["merge", "theirs"]);
    desk.write("other.txt", "resolved by hand");
    let before = git(&desk, &["status", "--short"]);
    let failed = desk.escrow(&["play", "run", "show.yaml"]);
    assert_eq!(failed.code, Some(1), "{} {}", failed.stdout, failed.stderr);
    assert_eq!(git(&desk, &["status", "--short"]), before, "{}", failed.stderr);
    assert_eq!(desk.read("other.txt"), "resolved by hand");
    // Now with a conflict of its own.
    git(&desk, &["add", "-A"]);
    git(&desk, &["commit", "-q", "-m", "resolved"]);
    let head = git(&desk, &["rev-parse", "HEAD"]);
    let conflict = desk.escrow(&["resume", "last", "--failed"]);
    assert_eq!(conflict.code, Some(1), "{} {}", conflict.stdout, conflict.stderr);
    assert_eq!(
        (git(&desk, &["rev-parse", "HEAD"]), git(&desk, &["status", "--short"])),
        (head, String::new())
    );
    assert!(git(&desk, &["branch"]).contains("escrow/"), "the work stays");
    desk.write("a.txt", "hello\n");
    git(&desk, &["add", "a.txt"]);
    git(&desk, &["commit", "-q", "-m", "as the play has it"]);
    let done = desk.escrow(&["resume", "last", "--failed"]);
    assert_eq!(done.code, Some(0), "{} {}", done.stdout, done.stderr);
    assert_eq!(desk.read("a.txt"), "hello\n");
}

/// A `git` that runs the real one and, at its call number `$DIE_AT`, kills Escrow and the script that called it: before the
/// real one does its work, or after it.
const DYING_GIT: &str = r#"#!/bin/sh
calls="$DIE_IN/calls"
echo x >> "$calls"
die() {
  : > "$DIE_IN/died"
  # Between this and Escrow there are the script and its subshells; or nothing, when Escrow asks where its lock lies.
  script= ancestor=$PPID
  while [ "$(cat "/proc/$ancestor/comm")" != escrow ]; do
    script="$script $ancestor"
    ancestor=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$ancestor/status")
  done
  kill -9 "$ancestor"
  [ "$DIE_WITH" != script ] || [ -z "$script" ] || kill -9 $script
}
turn=$(wc -l < "$calls")
if [ "$turn" = "$DIE_AT" ] && [ "$DIE" = before ]; then die; exit 1; fi
REAL "$@"
code=$?
if [ "$turn" = "$DIE_AT" ] && [ "$DIE" = after ]; then die; fi
exit "$code"
"#;

/// Kills a show at a call of git, resumes it, and says whether it died. The work of its play is merged once.
fn merged_once_after_a_crash(call: usize, when: &str, with: &str) -> bool {
    let place = format!("call {call}, {when}, with the {with}");
    let desk = Desk::new();
    desk.write("write.yaml", WRITE);
    desk.write("show.yaml", &side_by_side(&["a"]));
    repository(&desk);
    let real = std::process::Command::new("sh").args(["-c", "command -v git"]).output().expect("a shell");
    let real = String::from_utf8_lossy(&real.stdout).trim().to_owned();
    let dying = desk.write(".escrow/bin/git", &DYING_GIT.replace("REAL", &real));
    std::fs::set_permissions(&dying, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    let bin = dying.parent().expect("a directory").display().to_string();
    let path = std::env::var("PATH").expect("a path");
    let mut command = desk.command(&["play", "run", "show.yaml", "--quiet"]);
    command.env("PATH", format!("{bin}:{path}")).env("DIE_IN", desk.path().join(".escrow"));
    command.env("DIE_AT", call.to_string()).env("DIE", when).env("DIE_WITH", with);
    command.stderr(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    let code = command.status().expect("it ran").code();
    if !desk.path().join(".escrow/died").exists() {
        assert_eq!(code, Some(0), "{place}");
        return false;
    }
    // A person works on between the crash and the resumption.
    git(&desk, &["commit", "-q", "--allow-empty", "-m", "another"]);
    let resumed = desk.escrow(&["resume", "--all"]);
    let done = status(&desk);
    let logs = desk.escrow(&["logs", "last"]).stdout;
    assert_eq!(done["status"], "completed", "{place}: {} {logs}", resumed.stderr);
    assert_eq!(git(&desk, &["show", "HEAD:a.txt"]), "hello\n", "{place}");
    let merges = git(&desk, &["log", "--merges", "--format=%s"]);
    assert_eq!(merges, "Merge a\n", "{place}");
    assert_eq!(git(&desk, &["branch", "--format=%(refname:short)"]), "main\n", "{place}");
    assert_eq!(git(&desk, &["worktree", "list"]).lines().count(), 1, "{place}");
    assert_eq!(git(&desk, &["status", "--short"]), "", "{place}");
    true
}

#[test]
fn a_play_is_merged_exactly_once_wherever_its_show_is_killed() {
    std::thread::scope(|scope| {
        for (when, with) in [("before", "script"), ("after", "script"), ("after", "escrow")] {
            scope.spawn(move || {
                let mut call = 1;
                while merged_once_after_a_crash(call, when, with) {
                    call += 1;
                }
                assert!(call > 15, "only {call} calls of git were tried");
            });
        }
    });
}

/// A filter of git that, the third time it writes a file of the checkout, kills everything between itself and Escrow.
const DYING_FILTER: &str = r#"#!/bin/sh
if [ "$(pwd -P)" = "$DIE_IN" ] && [ ! -e "$DIE_IN/.escrow/died" ]; then
  echo x >> "$DIE_IN/.escrow/written"
  if [ "$(wc -l < "$DIE_IN/.escrow/written")" = 3 ]; then
    : > "$DIE_IN/.escrow/died"
    doomed= ancestor=$PPID
    while [ "$(cat "/proc/$ancestor/comm")" != escrow ]; do
      doomed="$doomed $ancestor"
      ancestor=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$ancestor/status")
    done
    kill -9 "$ancestor" $doomed
    exit 1
  fi
fi
exec cat
"#;

#[test]
fn a_checkout_that_a_crash_left_half_written_is_completed() {
    let desk = Desk::new();
    let work = "for i in 1 2 3 4 5 6; do echo new > made-$i.txt; echo new > old-$i.txt; done; rm gone.txt";
    desk.write("write.yaml", &format!("checks: {{main: {{type: command, exec: '{work}'}}}}"));
    desk.write("show.yaml", "plays: {a: {playbook: write.yaml, worktree: true}}");
    for number in 1..=6 {
        desk.write(&format!("old-{number}.txt"), "old\n");
    }
    desk.write("gone.txt", "old\n");
    desk.write(".gitattributes", "*.txt filter=dying\n");
    repository(&desk);
    git(&desk, &["add", "-A"]);
    git(&desk, &["commit", "-q", "-m", "files"]);
    let filter = desk.write(".escrow/filter", DYING_FILTER);
    std::fs::set_permissions(&filter, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
    git(&desk, &["config", "filter.dying.smudge", &filter.display().to_string()]);
    let top = desk.path().canonicalize().expect("a directory");
    let mut command = desk.command(&["play", "run", "show.yaml", "--quiet"]);
    command.env("DIE_IN", &top).stderr(std::process::Stdio::null()).stdout(std::process::Stdio::null());
    command.status().expect("it ran");
    assert!(desk.path().join(".escrow/died").exists(), "it was killed while the checkout was written");
    assert!(desk.path().join(".git/index.lock").exists(), "as git leaves it, too");
    // A person has a file of their own there.
    desk.write("mine.txt", "mine");
    let mut resumed = desk.command(&["resume", "--all"]);
    resumed.env("DIE_IN", &top);
    let resumed = resumed.output().expect("it ran");
    let logs = desk.escrow(&["logs", "last"]).stdout;
    assert_eq!(resumed.status.code(), Some(0), "{} {logs}", String::from_utf8_lossy(&resumed.stderr));
    assert_eq!(git(&desk, &["log", "--merges", "--format=%s"]), "Merge a\n");
    assert_eq!(git(&desk, &["status", "--short"]), "?? mine.txt\n");
    for number in 1..=6 {
        assert_eq!(desk.read(&format!("made-{number}.txt")), "new\n");
        assert_eq!(desk.read(&format!("old-{number}.txt")), "new\n");
    }
    assert!(!desk.path().join("gone.txt").exists());
    let left = std::fs::read_dir(desk.path().join(".git")).expect("a repository");
    let left: Vec<_> = left.filter_map(|file| file.ok()?.file_name().into_string().ok()).collect();
    assert!(left.iter().all(|name| !name.starts_with("index.")), "{left:?}");
}

#[test]
fn a_crash_between_the_last_command_of_a_merge_and_its_entry_merges_nothing_again() {
    // The play has changed nothing, and the person is on another branch by then.
    for work in ["echo hello > a.txt", "true"] {
        let desk = Desk::new();
        desk.write("write.yaml", &format!("checks: {{main: {{type: command, exec: '{work}'}}}}"));
        desk.write("show.yaml", "plays: {a: {playbook: write.yaml, worktree: true}}");
        repository(&desk);
        let hook = desk.write(
            ".git/hooks/reference-transaction",
            "#!/bin/sh\nread old new ref\ncase \"$1 $new $ref\" in\n\
             \"committed 0000000000000000000000000000000000000000 refs/heads/escrow/\"*)\n  touch .git/deleted; sleep 2;;\nesac\n",
        );
        std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).expect("ours");
        let mut show = desk.start(&["play", "run", "show.yaml"]);
        desk.until("the branch is gone", || desk.path().join(".git/deleted").exists());
        show.kill().expect("it can be killed");
        show.wait().expect("it is gone");
        std::fs::remove_file(&hook).expect("ours");
        git(&desk, &["checkout", "-q", "-b", "other", "HEAD"]);
        git(&desk, &["reset", "-q", "--hard", "main^{/first}"]);
        let resumed = desk.escrow(&["resume", "last"]);
        assert_eq!(resumed.code, Some(0), "{work}: {} {}", resumed.stdout, resumed.stderr);
        assert_eq!(git(&desk, &["log", "--merges", "--format=%s", "other"]), "", "{work}");
        let merges = if work == "true" { "" } else { "Merge a\n" };
        assert_eq!(git(&desk, &["log", "--merges", "--format=%s", "main"]), merges, "{work}");
    }
}

#[test]
fn a_branch_that_a_person_removed_is_not_taken_for_merged() {
    let desk = Desk::new();
    desk.write("write.yaml", WRITE);
    desk.write("show.yaml", &side_by_side(&["a"]));
    repository(&desk);
    desk.write("a.txt", "in the way");
    let failed = desk.escrow(&["play", "run", "show.yaml"]);
    assert_eq!(failed.code, Some(1), "{} {}", failed.stdout, failed.stderr);
    let branch = git(&desk, &["branch", "--list", "escrow/*", "--format=%(refname:short)"]);
    let tree = git(&desk, &["worktree", "list", "--porcelain"]);
    let tree =
        tree.lines().filter_map(|line| line.strip_prefix("worktree ")).next_back().expect("a worktree");
    git(&desk, &["worktree", "remove", "--force", tree]);
    git(&desk, &["branch", "-D", branch.trim()]);
    std::fs::remove_file(desk.path().join("a.txt")).expect("ours");
    let again = desk.escrow(&["resume", "last", "--failed"]);
    assert_eq!(again.code, Some(1), "{} {}", again.stdout, again.stderr);
    assert!(again.stderr.contains("nothing says that it was merged"), "{}", again.stderr);
}

#[test]
fn a_show_with_problems_is_refused_with_all_of_them() {
    let desk = desk("plays:\n  a: {playbook: nowhere.yaml, depends_on: b}\n  c: {gate: 7}\n", "");
    let refused = desk.escrow(&["play", "run", "show.yaml"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    for problem in ["nowhere.yaml", "`b`", "playbook"] {
        assert!(refused.stderr.contains(problem), "{problem}: {}", refused.stderr);
    }
    let checked = desk.escrow(&["check", "show.yaml"]);
    assert_eq!(checked.code, Some(2));
    desk.write("playbook.yaml", "checks: {a: {type: noop}}");
    let other = desk.escrow(&["play", "run", "playbook.yaml"]);
    assert!(other.stderr.contains("this is a playbook, not a show"), "{}", other.stderr);
}

#[test]
fn a_play_has_a_plain_name() {
    for name in ["a/../b", "$(touch pwned)", "-rf", "a b", ".."] {
        let desk = desk(&format!("plays: {{{name:?}: {{playbook: build.yaml, worktree: true}}}}"), "");
        let refused = desk.escrow(&["check", "show.yaml"]);
        assert_eq!(refused.code, Some(2), "{name}: {}", refused.stderr);
    }
}

#[test]
fn a_show_can_be_checked_and_planned() {
    let desk = desk(SHOW, &gate(&[json!({"gate_passed": true})]));
    let checked = desk.escrow(&["check", "show.yaml"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert_eq!(checked.stderr, "", "no warnings about checks that the author did not write");
    let schema = desk.escrow(&["schema", "show"]).json();
    assert_eq!(schema["title"], "Escrow show");
}
