//! `escrow runs override` and `runs show --history`: a person's word about a run that has ended.

mod desk;

use desk::Desk;
use serde_json::Value;

const FAILS: &str = "checks:\n  lint:\n    type: command\n    exec: exit 3\n";

fn override_as(desk: &Desk, run: &str, status: &str, more: &[&str]) -> desk::Done {
    let mut arguments =
        vec!["runs", "override", run, "--status", status, "--by", "ann", "--why", "the mirror was down"];
    arguments.extend(more);
    desk.escrow(&arguments)
}

fn failed(desk: &Desk) -> String {
    let (code, document) = desk.run(FAILS);
    assert_eq!(code, Some(1));
    document["run"]["id"].as_str().expect("an id").to_owned()
}

#[test]
fn an_override_is_an_entry_of_the_journal_that_every_reader_knows() {
    let desk = Desk::new();
    let run = failed(&desk);
    let done = override_as(&desk, &run, "completed", &["--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let shown = desk.show(&run);
    assert_eq!(done.json(), shown, "it prints what `runs show` prints");
    assert_eq!(shown["run"]["status"], "completed");
    assert_eq!(shown["run"]["reason"]["code"], "run.completed.overridden");
    assert_eq!(shown["run"]["override"]["by"], "ann");
    assert_eq!(shown["run"]["override"]["from"], "failed");
    assert_eq!(shown["checks"]["lint"]["status"], "failed", "what happened stays as it was");
    let listed = desk.escrow(&["runs", "--output", "json"]).json();
    assert_eq!(listed["runs"][0], shown["run"], "the list shows it too");
    assert_eq!(desk.escrow(&["verify", &run]).code, Some(0));
    let told = desk.escrow(&["explain", &run]).stdout;
    assert!(told.contains("ann says completed, not failed: the mirror was down"), "{told}");
    let replayed = desk.escrow(&["replay", &run, "--with", "playbook.yaml", "--fail-on-diff"]);
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
    assert_eq!(desk.escrow(&["explain", "run.completed.overridden"]).code, Some(0));
    let people = desk.escrow(&["runs", "show", &run]).stdout;
    assert!(people.contains("run.completed.overridden  ann says completed"), "{people}");
}

#[test]
fn an_overridden_run_travels_as_it_is() {
    let desk = Desk::new();
    let run = failed(&desk);
    assert_eq!(override_as(&desk, &run, "cancelled", &[]).code, Some(0));
    assert_eq!(desk.escrow(&["runs", "export", &run, "--out", "run.json"]).code, Some(0));
    let elsewhere = desk.escrow(&["--state", "elsewhere", "runs", "import", "run.json"]);
    assert_eq!(elsewhere.code, Some(0), "{}", elsewhere.stderr);
    let there = desk.escrow(&["--state", "elsewhere", "runs", "show", &run, "--output", "json"]).json();
    assert_eq!(there["run"]["override"]["why"], "the mirror was down");
}

#[test]
fn a_word_without_a_name_or_one_that_lies_changes_nothing() {
    let desk = Desk::new();
    let run = failed(&desk);
    let before = desk.show(&run);
    let refused = |arguments: &[&str], code: i32, part: &str| {
        let done = desk.escrow(arguments);
        assert_eq!(done.code, Some(code), "{arguments:?}: {}", done.stderr);
        assert!(done.stderr.contains(part), "{arguments:?}: {}", done.stderr);
    };
    let base = ["runs", "override", run.as_str(), "--status", "completed"];
    let with =
        |more: &[&'static str]| -> Vec<&str> { base.iter().copied().chain(more.iter().copied()).collect() };
    refused(&with(&[]), 2, "--by");
    refused(&with(&["--by", "ann"]), 2, "--why");
    refused(&with(&["--why", "because"]), 2, "--by");
    refused(&with(&["--by", " ", "--why", "because"]), 2, "`--by`");
    refused(&with(&["--by", "ann", "--why", ""]), 2, "`--why`");
    refused(&with(&["--by", "a\u{1b}[31m", "--why", "x"]), 2, "`--by` must be one line");
    refused(
        &["runs", "override", &run, "--status", "failed", "--by", "a", "--why", "b"],
        4,
        "failed already",
    );
    refused(
        &["runs", "override", &run, "--status", "timed_out", "--by", "a", "--why", "b"],
        2,
        "cannot be set to",
    );
    refused(
        &["runs", "override", &run, "--status", "running", "--by", "a", "--why", "b"],
        2,
        "cannot be set to",
    );
    refused(&["runs", "override", &run, "--status", "delivered", "--by", "a", "--why", "b"], 2, "no status");
    refused(&["runs", "override", "r_nope", "--status", "failed", "--by", "a", "--why", "b"], 2, "no run");
    refused(&with(&["--by", "a", "--why", "b", "--from", "cancelled"]), 4, "is failed, not cancelled");
    assert_eq!(desk.show(&run), before);
}

#[test]
fn a_run_that_has_not_ended_is_not_overridden() {
    let desk = Desk::new();
    let (code, document) = desk.run("checks:\n  ask:\n    type: human-input\n    prompt: go on?\n");
    assert_eq!(code, Some(4));
    let done = override_as(&desk, document["run"]["id"].as_str().expect("an id"), "completed", &[]);
    assert_eq!(done.code, Some(4));
    assert!(done.stderr.contains("it has not ended"), "{}", done.stderr);
}

#[test]
fn of_several_processes_that_override_at_once_exactly_one_is_heard() {
    let desk = Desk::new();
    let run = failed(&desk);
    let arguments = |who: &'static str| {
        [
            "runs",
            "override",
            &run,
            "--status",
            "cancelled",
            "--from",
            "failed",
            "--by",
            who,
            "--why",
            "me first",
        ]
        .map(str::to_owned)
    };
    let children: Vec<_> = ["a", "b", "c", "d", "e", "f"]
        .into_iter()
        .map(|who| desk.start(&arguments(who).iter().map(String::as_str).collect::<Vec<_>>()))
        .collect();
    let codes: Vec<Option<i32>> =
        children.into_iter().map(|mut child| child.wait().expect("it ends").code()).collect();
    assert_eq!(codes.iter().filter(|code| **code == Some(0)).count(), 1, "{codes:?}");
    assert!(codes.iter().all(|code| matches!(code, Some(0 | 4))), "{codes:?}");
    let history = desk.escrow(&["runs", "show", &run, "--history", "--output", "json"]).json();
    let words = history["history"].as_array().expect("changes").iter();
    assert_eq!(words.filter(|change| change["source"] == "override").count(), 1);
}

#[test]
fn a_secret_is_not_kept_in_a_justification() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "secrets: [TOKEN]\nchecks:\n  lint:\n    type: command\n    secrets: [TOKEN]\n    exec: exit 3\n",
    );
    let secret = "hunter2-hunter2-hunter2";
    let run = |arguments: &[&str]| desk.command(arguments).env("TOKEN", secret).output().expect("it runs");
    run(&["run", "playbook.yaml"]);
    let why = format!("because {secret} had expired");
    let done = run(&["runs", "override", "last", "--status", "cancelled", "--by", "ann", "--why", &why]);
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let history = desk.escrow(&["runs", "show", "last", "--history"]).stdout;
    assert!(history.contains("because *** had expired"), "{history}");
}

#[test]
fn the_history_tells_every_change_of_the_run_its_checks_and_its_approvals() {
    let desk = Desk::new();
    let playbook = "checks:\n  build:\n    type: command\n    exec: 'true'\n  post:\n    type: command\n    depends_on: build\n    requires_approval: true\n    exec: 'true'\n";
    let (code, _) = desk.run(playbook);
    assert_eq!(code, Some(4));
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = waits["approvals"][0]["id"].as_str().expect("a wait").to_owned();
    assert_eq!(desk.escrow(&["approve", &id, "--by", "ben"]).code, Some(0));
    let document = desk.escrow(&["runs", "show", "last", "--history", "--output", "json"]).json();
    let told: Vec<String> = document["history"]
        .as_array()
        .expect("changes")
        .iter()
        .map(|change| {
            let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
            let what = if change["entity_type"] == "check" {
                word(&change["entity_id"])
            } else {
                word(&change["entity_type"])
            };
            format!("{what} {} {} by {}", word(&change["from"]), word(&change["to"]), word(&change["actor"]))
        })
        .collect();
    // The actor is the user of the system; `--by` is only a claim.
    let user = std::process::Command::new("id").arg("-un").output().expect("`id` runs").stdout;
    let actor = format!("os:{}", String::from_utf8_lossy(&user).trim());
    for expected in [
        "run - running by escrow",
        "build running succeeded by escrow",
        "approval - pending by escrow",
        "run running waiting by escrow",
        &format!("approval pending approved by {actor}"),
        "post running succeeded by escrow",
        &format!("run waiting running by {actor}"),
        "run running completed by escrow",
    ] {
        assert!(told.iter().any(|line| line == expected), "{expected}: {told:#?}");
    }
}
