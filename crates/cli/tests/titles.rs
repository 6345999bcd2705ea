//! Runs of one playbook can be told apart: by their title, their inputs and their event, wherever they are listed.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

const RELEASE: &str = "
version: '1.0'
name: release
title: 'Release {{ inputs.version }} for {{ event.name }}'
inputs: {version: {type: string, required: true}, dry: {type: boolean, default: true}}
checks: {build: {type: command, exec: 'echo built'}}
";

#[test]
fn a_title_is_shown_wherever_the_run_is_listed() {
    let desk = Desk::new();
    desk.write("release.yaml", RELEASE);
    let done =
        desk.escrow(&["run", "release.yaml", "--input", "version=1.2", "--report", "junit=report.xml"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    let title = "Release 1.2 for manual";
    let first = done.stderr.lines().next().unwrap_or_default();
    assert!(first.starts_with("run r_") && first.ends_with(&format!("release  {title}")), "{first}");
    for arguments in [&["runs"][..], &["runs", "show", "last"], &["explain", "last"]] {
        let told = desk.escrow(arguments).stdout;
        assert!(told.contains(title), "{arguments:?}: {told}");
    }
    assert!(desk.read("report.xml").contains(&format!(r#"<property name="title" value="{title}"/>"#)));
    assert_eq!(desk.show("last")["run"]["title"], title);
    assert_eq!(desk.escrow(&["runs", "--output", "json"]).json()["runs"][0]["title"], title);
    assert_eq!(desk.escrow(&["explain", "last", "--output", "json"]).json()["title"], title);
}

#[test]
fn a_run_without_a_title_has_null() {
    let desk = Desk::new();
    let (_, document) = desk.run("checks: {a: {type: noop}}");
    assert_eq!(document["run"]["title"], Value::Null);
    assert_eq!(desk.escrow(&["runs", "--output", "json"]).json()["runs"][0]["title"], Value::Null);
}

#[test]
fn the_run_object_has_all_inputs_and_the_event_with_its_payload() {
    let desk = Desk::new();
    desk.write("release.yaml", RELEASE);
    desk.write("event.json", r#"{"pull_request": {"number": 7}}"#);
    let given = ["run", "release.yaml", "--input", "version=1.2", "--event", "pr.opened=event.json"];
    let document = desk.escrow(&[&given[..], &["--output", "json"]].concat()).json();
    let (inputs, event) =
        (json!({"version": "1.2", "dry": true}), json!({"pull_request": {"number": 7}, "name": "pr.opened"}));
    let listed = desk.escrow(&["runs", "--output", "json"]).json()["runs"][0].clone();
    for run in [&document["run"], &listed, &desk.show("last")["run"]] {
        assert_eq!((&run["inputs"], &run["event"]), (&inputs, &event), "{run}");
    }
    assert_eq!(listed, document["run"], "a listing has the same object");
    let explained = desk.escrow(&["explain", "last", "--output", "json"]).json();
    assert_eq!((&explained["inputs"], &explained["event"]), (&inputs, &event));
    let shown = desk.escrow(&["runs", "show", "last"]).stdout;
    assert!(shown.contains("event pr.opened\ninput version = 1.2\ninput dry = true\n"), "{shown}");
}

#[test]
fn a_list_tells_runs_without_a_title_apart_by_event_and_inputs() {
    let desk = Desk::new();
    let playbook = "name: nightly\ninputs: {target: {type: string}}\nchecks: {a: {type: noop}}";
    desk.run_with(playbook, &["--input", "target=eu"]);
    desk.run_with(playbook, &["--input", "target=us", "--event", "cron"]);
    let listed = desk.escrow(&["runs"]).stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert!(lines[0].contains("cron  target=us") && lines[1].contains("target=eu"), "{listed}");
}

#[test]
fn a_title_that_cannot_be_rendered_fails_the_run_at_its_start() {
    let desk = Desk::new();
    let (code, document) = desk.run("title: '{{ event.pull_request.number }}'\nchecks: {a: {type: noop}}");
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["run"]["reason"]["code"], "run.failed.expression_error");
    let summary = document["run"]["reason"]["summary"].as_str().unwrap_or_default();
    assert!(summary.contains("`title`"), "{summary}");
    assert_eq!(document["checks"]["a"]["runs"], 0);
}

#[test]
fn a_title_that_reads_what_is_not_known_at_the_start_does_not_load() {
    let desk = Desk::new();
    for (title, code) in [
        ("{{ outputs.a }}", "E0116"),
        ("{{ output }}", "E0116"),
        ("{{ item }}", "E0116"),
        ("{{ inptus.a }}", "E0114"),
        ("{{ inputs.a", "E0118"),
    ] {
        desk.write("a.yaml", &format!("title: '{title}'\nchecks: {{a: {{type: noop}}}}"));
        let done = desk.escrow(&["check", "a.yaml"]);
        assert_eq!(done.code, Some(2), "{title}");
        assert!(done.stderr.contains(code), "{title}: {}", done.stderr);
    }
}

#[test]
fn a_title_reads_env_of_the_playbook_and_of_the_caller() {
    let desk = Desk::new();
    desk.write(
        "a.yaml",
        "env: {ZONE: eu}\ntitle: '{{ env.ZONE }} {{ env.STAGE }}'\nchecks: {a: {type: noop}}",
    );
    desk.command(&["run", "a.yaml"]).env("STAGE", "prod").output().expect("it runs");
    assert_eq!(desk.show("last")["run"]["title"], "eu prod");
}

#[test]
fn a_title_is_one_line_and_cut_where_it_is_too_long() {
    let desk = Desk::new();
    let playbook = "title: \"{{ inputs.a }}\"\ninputs: {a: {type: string}}\nchecks: {a: {type: noop}}";
    desk.run_with(playbook, &["--input", "a=two\n  lines"]);
    assert_eq!(desk.show("last")["run"]["title"], "two lines");
    desk.run_with(playbook, &["--input", &format!("a={}", "x".repeat(300))]);
    let title = desk.show("last")["run"]["title"].as_str().unwrap_or_default().to_owned();
    assert!(title.chars().count() == 200 && title.ends_with('…'), "{title}");
    desk.run_with(playbook, &["--input", "a= "]);
    assert_eq!(desk.show("last")["run"]["title"], Value::Null, "a blank title is none");
}

#[test]
fn a_title_has_no_secret_and_does_not_drive_the_terminal() {
    let desk = Desk::new();
    desk.write(
        "a.yaml",
        "secrets: [TOKEN]\ntitle: \"{{ inputs.a }}{{ inputs.b }} {{ env.TOKEN }}\"\n\
         inputs: {a: {type: string}, b: {type: string}}\nchecks: {a: {type: noop}}",
    );
    let run = |a: &str, b: &str| {
        let (a, b) = (format!("a={a}"), format!("b={b}"));
        let mut command = desk.command(&["run", "a.yaml", "--input", &a, "--input", &b]);
        command.env("TOKEN", "hunter2-hunter2").output().expect("it runs")
    };
    run("hunter2-", "hunter2");
    let listed = desk.escrow(&["runs", "--output", "json"]);
    assert!(!listed.stdout.contains("hunter2-hunter2"), "{}", listed.stdout);
    assert!(listed.json()["runs"][0]["title"].as_str().is_some_and(|title| title.contains("***")));
    let done = run("\u{1b}[2J", "gone");
    assert!(!String::from_utf8_lossy(&done.stderr).contains('\u{1b}'));
    for arguments in [&["runs"][..], &["runs", "show", "last"], &["explain", "last"]] {
        assert!(!desk.escrow(arguments).stdout.contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn an_approval_and_attention_show_the_title_and_the_digest_covers_it() {
    let desk = Desk::new();
    let ask = |desk: &Desk, title: &str| {
        let playbook = format!(
            "name: ship\ntitle: {title}\ninputs: {{version: {{default: '1.2'}}}}\n\
             checks: {{ship: {{type: command, exec: 'true', requires_approval: true}}}}"
        );
        let (code, document) = desk.run(&playbook);
        assert_eq!(code, Some(4), "{document}");
        desk.escrow(&["approvals", "--output", "json"]).json()["approvals"]
            .as_array()
            .and_then(|all| all.last().cloned())
            .expect("an approval")
    };
    let first = ask(&desk, "one");
    let second = ask(&desk, "two");
    assert_eq!((&first["title"], &second["title"]), (&json!("one"), &json!("two")));
    assert_eq!(first["inputs"], json!({"version": "1.2"}));
    assert_ne!(first["digest"], second["digest"], "only their titles differ");
    let pages = desk.escrow(&["approvals"]).stdout;
    assert!(pages.contains("title  one") && pages.contains("input  version = 1.2"), "{pages}");
    let attention = desk.escrow(&["attention"]).stdout;
    assert!(attention.contains("ship  one") && attention.contains("ship  two"), "{attention}");
}

#[test]
fn an_imported_run_keeps_its_title_and_inputs() {
    let desk = Desk::new();
    let (_, document) = desk.run_with(RELEASE, &["--input", "version=3"]);
    let exported = desk.escrow(&["runs", "export", "last"]).stdout;
    let other = Desk::new();
    other.write("run.json", &exported);
    assert_eq!(other.escrow(&["runs", "import", "run.json"]).code, Some(0));
    assert_eq!(other.escrow(&["runs", "--output", "json"]).json()["runs"][0], document["run"]);
    assert_eq!(other.escrow(&["verify"]).code, Some(0));
}
