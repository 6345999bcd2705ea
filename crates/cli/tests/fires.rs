//! What makes chains fire, with the real binary: schedules, webhooks, files, other runs; and many processes at once.

mod daemon;
mod desk;
mod server;

use std::fs;
use std::process::Child;

use daemon::{Daemon, SECRET, SETTINGS, hex, opened, signature};
use desk::{Desk, Done};
use serde_json::{Value, json};
use server::{Received, Says, Server};
use sha2::{Digest, Sha256};

/// A playbook that leaves a line in `log` for each of its runs.
const NOTE: &str = "inputs: { text: { default: ran } }
checks:
  note: { type: command, exec: \"printf '%s\\\\n' {{ inputs.text }} >> log\" }
";

fn chain(name: &str, trigger: &str, more: &str) -> String {
    format!("name: {name}\ntrigger: {trigger}\n{more}\nsteps:\n  - skill: note\n")
}

struct Project {
    desk: Desk,
}

impl Project {
    fn new() -> Project {
        let desk = Desk::new();
        desk.write(".escrow/playbooks/note.yaml", NOTE);
        Project { desk }
    }

    fn define(&self, name: &str, trigger: &str, more: &str) -> &Project {
        self.define_text(name, &chain(name, trigger, more))
    }

    fn define_text(&self, name: &str, text: &str) -> &Project {
        let file = format!("{name}.yaml");
        self.desk.write(&file, text);
        let done = self.desk.escrow(&["chain", "define", &file]);
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        self
    }

    fn check(&self, more: &[&str]) -> Value {
        let mut arguments = vec!["chain", "check", "--output", "json", "--quiet"];
        arguments.extend(more);
        let done = self.desk.escrow(&arguments);
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
        done.json()["check"].clone()
    }

    fn runs(&self, name: &str) -> Value {
        self.desk.escrow(&["chain", "runs", name, "--output", "json"]).json()
    }

    fn statuses(&self, name: &str) -> Vec<String> {
        let runs = self.runs(name);
        let words = |list: &Value, key: &str| -> Vec<String> {
            list.as_array()
                .into_iter()
                .flatten()
                .map(|one| one[key].as_str().unwrap_or("").to_owned())
                .collect()
        };
        [words(&runs["chain_runs"], "status"), words(&runs["fires"], "status")].concat()
    }

    fn lines(&self) -> usize {
        self.desk.read("log").lines().count()
    }

    /// The time of the definition, moved.
    fn time_of(&self, name: &str, minutes: u64) -> String {
        let shown = self.desk.escrow(&["chain", "show", name, "--output", "json"]).json();
        let at = escrow_model::parse_rfc3339(shown["chain"]["updated_at"].as_str().expect("a time"))
            .expect("a time");
        escrow_model::rfc3339(at + minutes * 60_000)
    }
}

#[test]
fn a_schedule_fires_once_however_often_it_is_checked() {
    let project = Project::new();
    project.define("often", "{ schedule: every 10m }", "");
    assert_eq!(project.check(&[])["recorded"], json!([]), "nothing is due at the definition");
    let at = project.time_of("often", 11);
    let rehearsed = project.check(&["--at", &at, "--dry-run"]);
    assert_eq!(rehearsed["due"].as_array().map(Vec::len), Some(1), "{rehearsed}");
    assert_eq!(project.lines(), 0, "a dry run fires nothing");
    let fired = project.check(&["--at", &at]);
    assert_eq!(fired["accepted"][0]["event"]["event"], "schedule.fired");
    for _ in 0..2 {
        assert_eq!(project.check(&["--at", &at])["recorded"], json!([]));
    }
    assert_eq!(project.lines(), 1);
    assert_eq!(project.statuses("often"), ["completed"]);
}

#[test]
fn catching_up_with_all_ticks_fires_each_after_the_one_before() {
    let project = Project::new();
    project.define("all", "{ schedule: every 1h, catch_up: all }", "");
    let later = project.time_of("all", 5 * 60 + 30);
    let rehearsed = project.check(&["--at", &later, "--dry-run"]);
    let due = rehearsed["due"].as_array().expect("a list");
    assert!(due.iter().all(|one| one["refused"].is_null()), "{rehearsed}");
    let waits: Vec<bool> = due.iter().map(|one| one["waits"].is_string()).collect();
    assert_eq!(waits, [false, true, true, true, true], "{rehearsed}");
    let fired = project.check(&["--at", &later]);
    assert_eq!(fired["accepted"].as_array().map(Vec::len), Some(5), "{fired}");
    assert_eq!(project.lines(), 5);
    assert_eq!(project.statuses("all"), ["completed"; 5]);
    // A tick that finds the run of another look still skips.
    let text = chain("waits", "{ schedule: every 1h, catch_up: all }", "") + "    requires_approval: true\n";
    project.define_text("waits", &text);
    project.check(&["--at", &project.time_of("waits", 90)]);
    let overlapping = project.check(&["--at", &project.time_of("waits", 150)]);
    assert_eq!(overlapping["settled"][0]["reason"]["code"], "fire.skipped.overlap", "{overlapping}");
}

#[test]
fn a_dry_run_says_which_fires_would_be_skipped() {
    let project = Project::new();
    project.define("often", "{ schedule: every 1m }", "");
    let later = project.time_of("often", 3);
    let rehearsed = project.check(&["--at", &later, "--dry-run"]);
    let due = rehearsed["due"].as_array().expect("a list").iter();
    let codes: Vec<&str> = due.map(|one| one["refused"]["code"].as_str().unwrap_or("fires")).collect();
    assert_eq!(codes, ["fires", "fire.skipped.overlap", "fire.skipped.overlap"], "{rehearsed}");
    project.check(&["--at", &later]);
    assert_eq!(project.statuses("often"), ["completed", "skipped", "skipped"]);
}

#[test]
fn a_fire_whose_run_cannot_begin_needs_attention() {
    let project = Project::new();
    project.define("hourly", "{ schedule: every 1h }", "");
    project.desk.escrow(&["chain", "check"]);
    fs::remove_file(project.desk.path().join(".escrow/playbooks/note.yaml")).expect("it is there");
    let items = || project.desk.escrow(&["attention", "--output", "json"]).json()["attention"].clone();
    let failed = project.desk.escrow(&["chain", "check", "--at", &project.time_of("hourly", 61)]);
    assert_eq!(failed.code, Some(3), "{}", failed.stderr);
    assert!(
        failed.stderr.contains("hourly was fired by schedule.fired, and its run could not begin"),
        "{}",
        failed.stderr
    );
    assert!(!failed.stderr.contains("fired hourly"), "there is no run: {}", failed.stderr);
    let item = items()[0].clone();
    assert_eq!(
        (&item["kind"], &item["reason_code"]),
        (&json!("not_begun"), &json!("fire.failed.definition")),
        "{item}"
    );
    assert_eq!((&item["playbook"], &item["run_ids"]), (&json!("hourly"), &json!([])), "{item}");
    assert_eq!(item["next"], "escrow chain fire hourly");
    assert!(item["summary"].as_str().is_some_and(|why| why.contains("note")), "{item}");
    let listed = project.desk.escrow(&["chain", "list"]).stdout;
    assert!(listed.contains("could not begin"), "{listed}");
    // A dismissal covers it until it happens again.
    let fingerprint = item["fingerprint"].as_str().expect("a fingerprint").to_owned();
    project.desk.escrow(&["attention", "dismiss", &fingerprint, "--note", "known"]);
    assert_eq!(items(), json!([]));
    project.desk.escrow(&["chain", "check", "--at", &project.time_of("hourly", 121)]);
    assert_eq!(items()[0]["count"], 1);
    project.desk.write(".escrow/playbooks/note.yaml", NOTE);
    project.check(&["--at", &project.time_of("hourly", 181)]);
    assert_eq!(items(), json!([]), "a later tick makes up for it");
    // The next tick may be a day away: nobody has to do anything until then.
    fs::remove_file(project.desk.path().join(".escrow/playbooks/note.yaml")).expect("it is there");
    project.desk.escrow(&["chain", "check", "--at", &project.time_of("hourly", 241)]);
    assert_eq!(items().as_array().map(Vec::len), Some(1));
    project.desk.write(".escrow/playbooks/note.yaml", NOTE);
    assert_eq!(items(), json!([]), "the definition has no problem any more");
    fs::remove_file(project.desk.path().join(".escrow/playbooks/note.yaml")).expect("it is there");
    assert_eq!(items().as_array().map(Vec::len), Some(1), "it has again");
    project.desk.escrow(&["chain", "disable", "hourly"]);
    assert_eq!(items(), json!([]), "nothing fires it");
    project.desk.escrow(&["chain", "enable", "hourly"]);
    project.desk.write(".escrow/playbooks/note.yaml", NOTE);
    project.check(&["--at", &project.time_of("hourly", 301)]);
    let listed = project.desk.escrow(&["chain", "list"]).stdout;
    assert!(!listed.contains("could not begin"), "{listed}");
}

#[test]
fn missed_ticks_have_a_reason_and_catch_up_makes_up_for_them() {
    let project = Project::new();
    project.define("skips", "{ schedule: every 1h }", "");
    project.define("once", "{ schedule: every 1h, catch_up: once }", "");
    project.define("all", "{ schedule: every 1h, catch_up: all }", "concurrency: queue");
    let morning = project.time_of("all", 24 * 60 + 30);
    project.check(&["--at", &morning]);
    let skipped = project.runs("skips");
    assert_eq!(skipped["chain_runs"], json!([]));
    assert_eq!(skipped["fires"][0]["reason"]["code"], "fire.missed.late");
    assert!(skipped["fires"][0]["reason"]["summary"].as_str().is_some_and(|why| why.starts_with("24 ticks")));
    assert_eq!(project.runs("once")["chain_runs"].as_array().map(Vec::len), Some(1));
    assert_eq!(
        project.runs("all")["chain_runs"].as_array().map(Vec::len),
        Some(24),
        "each tick, one after another"
    );
    assert_eq!(project.lines(), 25);
    let shown = project.desk.escrow(&["chain", "show", "skips"]);
    assert!(shown.stdout.contains("24 ticks"), "{}", shown.stdout);
}

#[test]
fn two_daemons_and_five_checks_in_the_same_minute_fire_once() {
    let project = Project::new();
    // Every second brings a tick, and each tick is one fire for all of them.
    project.define("busy", "{ schedule: every 1s }", "concurrency: queue");
    let daemons = [Daemon::start(&project.desk, &[]), Daemon::start(&project.desk, &[])];
    let checks: Vec<Child> = (0..5).map(|_| project.desk.start(&["chain", "check", "--quiet"])).collect();
    project.desk.until("several ticks have fired", || project.lines() >= 3);
    for mut check in checks {
        check.wait().expect("a check ends");
    }
    daemons.into_iter().for_each(Daemon::end);
    let runs = project.runs("busy");
    let mut keys: Vec<&str> = runs["chain_runs"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|run| run["trigger_event"]["scheduled_at"].as_str().expect("its tick"))
        .collect();
    let count = keys.len();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys.len(), count, "a tick has one run");
    let completed = project.statuses("busy").iter().filter(|status| *status == "completed").count();
    assert_eq!(project.lines(), completed, "each run did its work once");
}

#[test]
fn a_signed_webhook_fires_the_chains_that_match_and_its_copy_none() {
    let project = Project::new();
    project.desk.write(".escrow/config.toml", SETTINGS);
    project.define(
        "reviews",
        "{ event: pr.opened, filter: { base: main, draft: false } }",
        "concurrency: queue",
    );
    project.define("releases", "{ event: pr.opened, filter: { base: release } }", "");
    let daemon = Daemon::start(&project.desk, &["--port", "0"]);
    let (status, answer) = daemon.deliver("d-1", "pull_request", &opened(7));
    assert_eq!((status, answer["fires"][0]["chain"].as_str()), (202, Some("reviews")), "{answer}");
    assert_eq!(answer["fires"].as_array().map(Vec::len), Some(1));
    let event = opened(8);
    assert_eq!(daemon.deliver("d-2", "pull_request", &event).0, 202);
    assert_eq!(daemon.deliver("d-2", "pull_request", &event).1["status"], "duplicate", "the same delivery");
    assert_eq!(
        daemon.deliver("d-3", "pull_request", &event).1["status"],
        "duplicate",
        "a replay under another id"
    );
    project.desk.until("both have run", || project.lines() == 2);
    project.desk.until("both have ended", || project.statuses("reviews") == ["completed", "completed"]);
    let runs = project.runs("reviews");
    assert_eq!(runs["chain_runs"][1]["trigger_event"]["pr_number"], 7, "{runs}");
    daemon.end();
    assert!(project.statuses("releases").is_empty());
}

#[test]
fn webhooks_that_are_unsigned_replayed_oversized_or_malformed_fire_nothing() {
    let project = Project::new();
    project.desk.write(".escrow/config.toml", SETTINGS);
    project.define("reviews", "{ event: pr.opened }", "");
    let daemon = Daemon::start(&project.desk, &["--port", "0"]);
    let body = opened(1).to_string();
    let good = signature(SECRET, body.as_bytes());
    let named = [("x-github-event", "pull_request"), ("x-github-delivery", "d-1")];
    let with = |signed: &'static str| [named[0], named[1], ("x-hub-signature-256", signed)];
    assert_eq!(daemon.post("/hooks/github", &named, body.as_bytes()).0, 401);
    assert_eq!(daemon.post("/hooks/github", &with("sha256=00"), body.as_bytes()).0, 401);
    let other = signature("another-secret", body.as_bytes());
    let forged = [named[0], named[1], ("x-hub-signature-256", other.as_str())];
    assert_eq!(daemon.post("/hooks/github", &forged, body.as_bytes()).0, 401);
    let mut old = opened(1);
    old["pull_request"]["updated_at"] = json!("2020-01-01T00:00:00Z");
    assert_eq!(daemon.deliver("d-1", "pull_request", &old).0, 403, "an old body");
    let large = vec![b' '; 6 * 1024 * 1024];
    assert!([413, 0].contains(&daemon.post("/hooks/github", &with("sha256=00"), &large).0));
    let malformed = signature(SECRET, b"{");
    let malformed = [named[0], named[1], ("x-hub-signature-256", malformed.as_str())];
    assert_eq!(daemon.post("/hooks/github", &malformed, b"{").0, 400);
    let nameless = [("x-github-event", "pull_request"), ("x-hub-signature-256", good.as_str())];
    assert_eq!(daemon.post("/hooks/github", &nameless, body.as_bytes()).0, 400);
    assert_eq!(daemon.post("/hooks/gitlab", &named, body.as_bytes()).0, 404);
    assert_eq!(daemon.post("/", &named, body.as_bytes()).0, 404, "there is nothing else on this socket");
    daemon.end();
    assert!(project.statuses("reviews").is_empty());
    assert_eq!(project.lines(), 0);
}

#[test]
fn a_pull_request_from_a_fork_fires_only_chains_that_allow_forks() {
    let project = Project::new();
    project.desk.write(".escrow/config.toml", SETTINGS);
    project.define("careful", "{ event: pr.opened }", "");
    project.define("open", "{ event: pr.opened, forks: true }", "");
    let daemon = Daemon::start(&project.desk, &["--port", "0"]);
    let mut event = opened(9);
    event["pull_request"]["head"]["repo"]["full_name"] = json!("mallory/app");
    assert_eq!(daemon.deliver("d-1", "pull_request", &event).0, 202);
    project.desk.until("the open chain has run", || project.statuses("open") == ["completed"]);
    daemon.end();
    assert_eq!(project.runs("careful")["fires"][0]["reason"]["code"], "fire.skipped.fork");
}

#[test]
fn a_daemon_says_why_a_webhook_receives_nothing_and_says_each_problem_once() {
    let project = Project::new();
    project.desk.write(".escrow/config.toml", "[webhook.github]\nsecret = { file = \"no-such-file\" }\n");
    project.define("reviews", "{ event: pr.opened }", "");
    // The log lies in the project, whose files are watched.
    let log = fs::File::create(project.desk.path().join("daemon.log")).expect("a file");
    let mut command = project.desk.command(&["chain", "daemon", "--port", "0"]);
    let mut daemon = command.stderr(log).spawn().expect("the daemon starts");
    let said = |words: &str| project.desk.read("daemon.log").matches(words).count();
    project.desk.until("it warns", || said("webhook `github` receives nothing") == 1);
    project.desk.until("it watches", || said("watching the chains") == 1);
    project.desk.write(".escrow/config.toml", "[webhook.github]\nsecret = { fil");
    project.desk.write("note.txt", "a change");
    project.desk.until("it notices", || said("unclosed inline table") > 0);
    for _ in 0..10 {
        project.desk.write("note.txt", "another change");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    daemon.kill().expect("it is there");
    daemon.wait().expect("it is gone");
    assert_eq!(said("unclosed inline table"), 1, "{}", project.desk.read("daemon.log"));
}

#[test]
fn without_a_webhook_in_the_settings_no_socket_is_opened() {
    let project = Project::new();
    let done = project.desk.escrow(&["chain", "daemon", "--port", "0"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("[webhook.github]"), "{}", done.stderr);
}

#[test]
fn a_run_that_completes_fires_the_chain_that_waits_for_it_and_never_its_own() {
    let project = Project::new();
    project.define("after", "{ event: run.completed, filter: { playbook: note, status: completed } }", "");
    project.desk.write("other.yaml", "checks: { a: { type: noop } }\n");
    assert_eq!(project.desk.escrow(&["run", "other.yaml", "--quiet"]).code, Some(0));
    assert_eq!(project.desk.escrow(&["run", ".escrow/playbooks/note.yaml", "--quiet"]).code, Some(0));
    project.check(&[]);
    assert_eq!(project.statuses("after"), ["completed"]);
    for _ in 0..3 {
        project.check(&[]);
    }
    assert_eq!(project.lines(), 2, "the step of the chain is a run of `note`, too, and fires nothing");
}

#[test]
fn a_run_that_ended_before_the_definition_fires_nothing() {
    let project = Project::new();
    assert_eq!(project.desk.escrow(&["run", ".escrow/playbooks/note.yaml", "--quiet"]).code, Some(0));
    project.define("after", "{ event: run.completed, filter: { playbook: note } }", "");
    project.check(&[]);
    assert!(project.statuses("after").is_empty());
    assert_eq!(project.desk.escrow(&["run", ".escrow/playbooks/note.yaml", "--quiet"]).code, Some(0));
    project.check(&[]);
    assert_eq!(project.statuses("after"), ["completed"]);
}

#[test]
fn a_ring_of_chains_stops_at_its_depth_with_a_reason() {
    let project = Project::new();
    for name in ["ping", "pong"] {
        project.desk.write(&format!(".escrow/playbooks/{name}-note.yaml"), NOTE);
    }
    let ring = |name: &str, other: &str| {
        format!(
            "name: {name}\ntrigger: {{ event: invocation.completed, filter: {{ playbook: {other}-note }} }}\n\
             concurrency: queue\nmax_depth: 4\nsteps:\n  - skill: {name}-note\n"
        )
    };
    project.define_text("ping", &ring("ping", "pong")).define_text("pong", &ring("pong", "ping"));
    assert_eq!(project.desk.escrow(&["chain", "fire", "ping", "--quiet"]).code, Some(0));
    project.check(&[]);
    assert_eq!(project.lines(), 4, "ping, pong, ping, pong");
    let stopped: Vec<Value> = ["ping", "pong"]
        .iter()
        .flat_map(|name| project.runs(name)["fires"].as_array().cloned().unwrap_or_default())
        .collect();
    assert_eq!(stopped.len(), 1, "{stopped:?}");
    assert_eq!(stopped[0]["reason"]["code"], "fire.skipped.depth");
    let page = project.desk.escrow(&["explain", "fire.skipped.depth"]);
    assert!(page.stdout.contains("max_depth"), "{}", page.stdout);
}

#[test]
fn one_failing_step_with_a_failing_follow_up_makes_exactly_two_runs() {
    let project = Project::new();
    project.desk.write(
        ".escrow/playbooks/fails.yaml",
        "checks: { a: { type: command, exec: 'echo x >> log; exit 1' } }\n",
    );
    project.desk.write(
        ".escrow/playbooks/escalates.yaml",
        "checks: { a: { type: command, exec: 'echo x >> log; exit 1' } }\n",
    );
    project.define_text(
        "storm",
        "name: storm\nsteps:\n  - skill: fails\n  - skill: escalates\n    condition: \"{{ steps[0].status == 'failed' }}\"\n",
    );
    let done = project.desk.escrow(&["chain", "fire", "storm", "--quiet"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    project.check(&[]);
    assert_eq!(project.lines(), 2);
    let runs = project.desk.escrow(&["runs", "--output", "json"]).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(2), "{runs}");
}

#[test]
fn files_fire_when_they_change_and_have_been_quiet() {
    let project = Project::new();
    project.desk.write("docs/a.md", "one");
    project.define("docs", "{ event: file.changed, paths: ['docs/**/*.md'], debounce: 50ms }", "");
    assert_eq!(project.check(&[])["recorded"], json!([]), "nothing has changed since the definition");
    project.desk.write("docs/b.md", "two");
    project.desk.write("elsewhere.md", "three");
    std::thread::sleep(std::time::Duration::from_millis(100));
    let fired = project.check(&[]);
    assert_eq!(fired["accepted"][0]["event"]["paths"], json!(["docs/b.md"]), "{fired}");
    assert_eq!(project.check(&[])["recorded"], json!([]));
    assert_eq!(project.lines(), 1);
}

#[test]
fn a_daemon_notices_when_a_file_that_was_written_twice_has_become_quiet() {
    let project = Project::new();
    project.desk.write("docs/a.md", "one");
    project.define("docs", "{ event: file.changed, paths: ['docs/**/*.md'] }", "");
    let mut daemon = project.desk.start(&["chain", "daemon"]);
    project.desk.until("the daemon looks", || {
        let found = project.desk.escrow(&["chain", "list"]);
        found.code == Some(0) && daemon.try_wait().expect("it can be asked").is_none()
    });
    std::thread::sleep(std::time::Duration::from_secs(1));
    for text in ["two", "three", "four"] {
        project.desk.write("docs/a.md", text);
        std::thread::sleep(std::time::Duration::from_millis(200));
    }
    let written = std::time::Instant::now();
    project.desk.until("the chain has fired", || project.lines() == 1);
    let waited = written.elapsed();
    daemon.kill().expect("it ends");
    daemon.wait().expect("it ends");
    assert!(waited < std::time::Duration::from_secs(8), "it fired {waited:?} after the last change");
}

#[test]
fn files_that_change_while_a_chain_is_paused_do_not_fire_it() {
    let project = Project::new();
    project.desk.write("docs/a.md", "one");
    project.define("docs", "{ event: file.changed, paths: ['docs/**/*.md'], debounce: 50ms }", "");
    for (off, on) in [("pause", "resume"), ("disable", "enable")] {
        for looks in [0, 2] {
            project.desk.escrow(&["chain", off, "docs"]);
            project.desk.write("docs/a.md", &format!("{off} {looks}"));
            std::thread::sleep(std::time::Duration::from_millis(100));
            for _ in 0..looks {
                assert_eq!(project.check(&[])["recorded"], json!([]));
            }
            project.desk.escrow(&["chain", on, "docs"]);
            assert_eq!(project.check(&[])["recorded"], json!([]), "{off}, {looks} checks");
        }
    }
    project.desk.write("docs/a.md", "changed since");
    std::thread::sleep(std::time::Duration::from_millis(100));
    assert_eq!(project.check(&[])["accepted"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_chain_that_is_enabled_is_as_it_was_before_it_was_disabled() {
    let project = Project::new();
    project.define("often", "{ schedule: every 1h }", "");
    let status = |verbs: &[&str]| {
        for verb in verbs {
            assert_eq!(project.desk.escrow(&["chain", verb, "often"]).code, Some(0), "{verb}");
        }
        let shown = project.desk.escrow(&["chain", "show", "often", "--output", "json"]).json();
        shown["chain"]["status"].as_str().unwrap_or_default().to_owned()
    };
    assert_eq!(status(&["disable", "enable"]), "active");
    assert_eq!(status(&["pause", "enable"]), "paused", "it was not disabled");
    assert_eq!(status(&["disable", "enable"]), "paused", "nobody has resumed it");
    assert_eq!(status(&["disable", "disable", "enable", "resume"]), "active");
    assert_eq!(status(&["disable"]), "disabled");
    assert_eq!(project.desk.escrow(&["chain", "pause", "often"]).code, Some(4), "only `enable` undoes it");
    assert_eq!(status(&[]), "disabled");
}

#[test]
fn a_trigger_of_all_waits_for_each_of_its_sources() {
    let project = Project::new();
    project.desk.write("a.txt", "1");
    project.define(
        "both",
        "{ all: [{ event: file.changed, paths: ['a.txt'], debounce: 1ms }, { event: run.completed, filter: { playbook: other } }], within: 1h }",
        "",
    );
    project.desk.write("a.txt", "22");
    std::thread::sleep(std::time::Duration::from_millis(20));
    assert_eq!(project.check(&[])["recorded"], json!([]), "one of two");
    project.desk.write("other.yaml", "checks: { a: { type: noop } }\n");
    assert_eq!(project.desk.escrow(&["run", "other.yaml", "--quiet"]).code, Some(0));
    let fired = project.check(&[]);
    let events = &fired["accepted"][0]["event"]["events"];
    assert_eq!(
        (events[0]["event"].as_str(), events[1]["event"].as_str()),
        (Some("file.changed"), Some("run.completed")),
        "{fired}"
    );
    assert_eq!(project.desk.escrow(&["run", "other.yaml", "--quiet"]).code, Some(0));
    assert_eq!(project.check(&[])["recorded"], json!([]), "each must occur again");
    assert_eq!(project.lines(), 1);
}

#[test]
fn a_newer_fire_never_cuts_off_an_effect() {
    let project = Project::new();
    let done = project.desk.path().join("effect.txt");
    let effects = || fs::read_to_string(&done).unwrap_or_default();
    let chain = "name: publishes\nconcurrency: replace\nsteps:\n  - {action: shell, name: act, with: {exec: 'echo begin >> effect.txt; \
                 sleep 1; echo end >> effect.txt'}}\n";
    project.define_text("publishes", chain);
    let mut first = project.desk.start(&["chain", "fire", "publishes", "--quiet"]);
    project.desk.until("the effect has begun", || effects() == "begin\n");
    assert_eq!(project.desk.escrow(&["chain", "fire", "publishes", "--quiet"]).code, Some(0));
    assert!(first.wait().expect("it ends").success());
    assert_eq!(effects(), "begin\nend\nbegin\nend\n");
    assert_eq!(project.statuses("publishes"), ["completed", "completed"]);
}

#[test]
fn a_run_that_is_replaced_begins_no_further_effect() {
    let project = Project::new();
    let done = project.desk.path().join("effects.txt");
    let effects = || fs::read_to_string(&done).unwrap_or_default();
    let effect =
        |name: &str| format!("'echo {name} {{{{ trigger.n }}}} >> effects.txt; test -e fast || sleep 1'");
    let actions = format!(
        "name: actions\nconcurrency: replace\nsteps:\n  - {{action: shell, name: a, with: {{exec: {}}}}}\n  - {{action: shell, name: \
         b, with: {{exec: {}}}}}\n  - {{action: shell, name: c, with: {{exec: {}}}}}\n",
        effect("a"),
        effect("b"),
        effect("c")
    );
    // The same inside a playbook that a step runs.
    let check = |name: &str, after: &str| {
        let exec = format!("'echo {name} {{{{ inputs.n }}}} >> effects.txt; test -e fast || sleep 1'");
        format!("  {name}: {{type: command, criticality: external, exec: {exec}{after}}}\n")
    };
    let playbook = format!(
        "inputs: {{n: {{default: '0'}}}}\nchecks:\n{}{}{}",
        check("a", ""),
        check("b", ", depends_on: a"),
        check("c", ", depends_on: b")
    );
    project.desk.write(".escrow/playbooks/three.yaml", &playbook);
    let nested =
        "name: nested\nconcurrency: replace\nsteps:\n  - {skill: three, with: {n: '{{ trigger.n }}'}}\n";
    for (name, text) in [("actions", actions.as_str()), ("nested", nested)] {
        fs::remove_file(&done).ok();
        project.define_text(name, text);
        let event = |n: u8| {
            let file = format!("event-{n}.json");
            project.desk.write(&file, &format!("{{\"n\": \"{n}\"}}"));
            file
        };
        let mut first = project.desk.start(&["chain", "fire", name, "--event", &event(1), "--quiet"]);
        project.desk.until("the first effect has begun", || effects() == "a 1\n");
        let second = project.desk.escrow(&["chain", "fire", name, "--event", &event(2), "--quiet"]);
        assert_eq!(second.code, Some(0), "{}", second.stderr);
        first.wait().expect("it ends");
        assert_eq!(effects(), "a 1\na 2\nb 2\nc 2\n", "{name}");
        assert_eq!(project.statuses(name), ["completed", "cancelled"], "{name}");
    }
}

#[test]
fn a_newer_fire_waits_until_a_person_has_settled_an_unknown_effect() {
    let project = Project::new();
    let done = project.desk.path().join("effect.txt");
    let begun = || fs::read_to_string(&done).unwrap_or_default().lines().count();
    let chain = "name: publishes\nconcurrency: replace\nsteps:\n  - {action: shell, name: act, timeout: 300ms, with: {exec: 'echo begin \
                 >> effect.txt; test -e fast || sleep 9'}}\n";
    project.define_text("publishes", chain);
    project.desk.escrow(&["chain", "fire", "publishes", "--quiet"]);
    assert_eq!(project.statuses("publishes"), ["waiting_approval"], "nobody knows whether it happened");
    let second = project.desk.escrow(&["chain", "fire", "publishes", "--quiet"]);
    assert_eq!(second.code, Some(4), "{}", second.stderr);
    assert!(second.stderr.contains("may or may not have happened"), "{}", second.stderr);
    project.desk.escrow(&["chain", "check", "--quiet"]);
    let runs = project.runs("publishes")["chain_runs"].as_array().map_or(0, Vec::len);
    assert_eq!((begun(), runs), (1, 1), "the question stays");
    let effects = project.desk.escrow(&["effects", "--output", "json"]).json();
    let key = effects["effects"][0]["key"].as_str().expect("a key").to_owned();
    project.desk.write("fast", "");
    let settled =
        project.desk.escrow(&["effects", "resolve", &key, "failed", "--by", "me", "--why", "not there"]);
    assert_eq!(settled.code, Some(0), "{}", settled.stderr);
    project.desk.escrow(&["chain", "check", "--quiet"]);
    assert_eq!((begun(), project.statuses("publishes")), (2, vec!["completed".into(), "failed".into()]));
}

#[test]
fn a_newer_fire_waits_until_a_person_has_settled_an_unknown_effect_inside_a_step_and_asks_once() {
    let project = Project::new();
    let done = project.desk.path().join("effect.txt");
    let begun = || fs::read_to_string(&done).unwrap_or_default().lines().count();
    project.desk.write(
        ".escrow/playbooks/pay.yaml",
        "checks:\n  pay: {type: command, criticality: external, timeout: 300ms, exec: 'echo x >> effect.txt; test -e fast || sleep \
         9'}\n  late: {type: command, depends_on: pay, exec: 'true'}\n",
    );
    project
        .define_text("pays", "name: pays\nconcurrency: replace\nsteps:\n  - skill: pay\n  - skill: note\n");
    project.desk.escrow(&["chain", "fire", "pays", "--quiet"]);
    let asked = || {
        let waits = project.desk.escrow(&["approvals", "--output", "json"]).json()["approvals"].clone();
        let ids = waits.as_array().expect("a list").iter().map(|wait| wait["id"].to_string());
        ids.collect::<Vec<_>>()
    };
    let question = asked();
    assert_eq!(question.len(), 1);
    let second = project.desk.escrow(&["chain", "fire", "pays", "--quiet"]);
    assert_eq!(second.code, Some(4), "{}", second.stderr);
    for _ in 0..2 {
        project.desk.escrow(&["chain", "check", "--quiet"]);
        assert_eq!(
            (begun(), project.statuses("pays")),
            (1, vec!["waiting_approval".into(), "recorded".into()])
        );
        assert_eq!(asked(), question, "it is one question");
    }
    let effects = project.desk.escrow(&["effects", "--output", "json"]).json();
    let key = effects["effects"][0]["key"].as_str().expect("a key").to_owned();
    project.desk.write("fast", "");
    let settled =
        project.desk.escrow(&["effects", "resolve", &key, "done", "--by", "me", "--why", "it is there"]);
    assert_eq!(settled.code, Some(0), "{}", settled.stderr);
    assert_eq!(asked(), Vec::<String>::new());
    project.desk.escrow(&["chain", "check", "--quiet"]);
    assert_eq!((begun(), project.statuses("pays")), (2, vec!["completed".into(), "cancelled".into()]));
    let effects = project.desk.escrow(&["effects", "--output", "json"]).json();
    let unknown =
        effects["effects"].as_array().expect("a list").iter().filter(|one| one["state"] == "unknown");
    assert_eq!(unknown.count(), 0, "{effects}");
}

#[test]
fn an_overlapping_fire_is_skipped_queued_or_takes_the_place() {
    let project = Project::new();
    let waits = |name: &str, concurrency: &str| {
        format!(
            "name: {name}\nconcurrency: {concurrency}\nsteps:\n  - skill: note\n  - skill: note\n    requires_approval: true\n"
        )
    };
    let fire =
        |name: &str| -> Done { project.desk.escrow(&["chain", "fire", name, "--quiet", "--output", "json"]) };
    project.define_text("skips", &waits("skips", "skip"));
    assert_eq!(fire("skips").code, Some(0), "it pauses");
    let second = fire("skips");
    assert_eq!(second.code, Some(4), "{}", second.stderr);
    let runs = project.runs("skips");
    assert_eq!(runs["fires"][0]["reason"]["code"], "fire.skipped.overlap");
    assert!(
        runs["fires"][0]["reason"]["summary"]
            .as_str()
            .is_some_and(|why| why.contains(runs["chain_runs"][0]["id"].as_str().expect("an id")))
    );

    project.define_text("replaces", &waits("replaces", "replace"));
    assert_eq!(fire("replaces").code, Some(0));
    assert_eq!(fire("replaces").code, Some(0));
    assert_eq!(project.statuses("replaces"), ["waiting_approval", "cancelled"]);
    let runs = project.runs("replaces");
    let (new, old) = (&runs["chain_runs"][0], &runs["chain_runs"][1]);
    assert_eq!(old["reason"]["code"], "run.cancelled.system", "{old:#}");
    let successor = new["id"].as_str().expect("an id");
    assert!(old["reason"]["summary"].as_str().is_some_and(|why| why.contains(successor)), "{old:#}");
    let explained = project.desk.escrow(&["explain", old["id"].as_str().expect("an id")]);
    assert!(!explained.stdout.contains("os:"), "no person cancelled it: {}", explained.stdout);

    project.define_text("queues", &waits("queues", "queue"));
    assert_eq!(fire("queues").code, Some(0));
    let waiting = fire("queues");
    assert_eq!(waiting.code, Some(4), "a person may take days: {}", waiting.stderr);
    let queued = &project.runs("queues")["fires"][0];
    assert_eq!(queued["reason"]["code"], "fire.recorded.queued", "{queued}");
    let first = project.runs("queues")["chain_runs"][0]["steps"][1]["approval_id"]
        .as_str()
        .expect("an id")
        .to_owned();
    assert!(waiting.stderr.contains(&format!("`escrow approve {first}`")), "{}", waiting.stderr);
    assert!(waiting.stderr.contains("`escrow chain check`"), "{}", waiting.stderr);
    let denied = project.desk.escrow(&["deny", &first]);
    assert!([Some(0), Some(4)].contains(&denied.code), "{}", denied.stderr);
    project.check(&[]);
    assert_eq!(
        project.statuses("queues"),
        ["waiting_approval", "aborted"],
        "its turn has come, and it pauses"
    );
}

/// Fires a chain, and kills the process as soon as the file `begun` is there.
fn fire_and_kill(project: &Project, chain: &str) {
    let mut first = project.desk.start(&["chain", "fire", chain, "--quiet"]);
    project.desk.until("its step has begun", || project.desk.path().join("begun").exists());
    first.kill().expect("it can be killed");
    first.wait().expect("it is gone");
}

#[test]
fn a_fire_behind_a_run_whose_process_is_gone_says_so_and_does_not_wait_for_ever() {
    let project = Project::new();
    project.desk.write(
        ".escrow/playbooks/slow.yaml",
        "checks: { a: { type: command, exec: 'test -e fast || (touch begun; sleep 60); echo done >> log' } }\n",
    );
    project.define_text("queues", "name: queues\nconcurrency: queue\nsteps:\n  - skill: slow\n");
    fire_and_kill(&project, "queues");
    project.desk.write("fast", "");
    let first = project.runs("queues")["chain_runs"][0]["id"].as_str().expect("an id").to_owned();
    for _ in 0..2 {
        let behind = project.desk.escrow(&["chain", "fire", "queues", "--quiet"]);
        assert_eq!(behind.code, Some(4), "{}", behind.stderr);
        assert!(behind.stderr.contains(&format!("the process of run `{first}`")), "{}", behind.stderr);
        assert!(behind.stderr.contains("`escrow chain check` resumes"), "{}", behind.stderr);
    }
    assert_eq!(project.lines(), 0, "only checks and daemons pick up what others left");
    project.check(&[]);
    assert_eq!(project.statuses("queues"), ["completed"; 3]);
    assert_eq!(project.lines(), 3);
}

#[test]
fn a_fire_that_waits_behind_a_run_at_work_says_for_which() {
    let project = Project::new();
    project.desk.write(
        ".escrow/playbooks/slow.yaml",
        "checks: { a: { type: command, exec: 'touch begun; sleep 1; echo done >> log' } }\n",
    );
    for concurrency in ["queue", "replace"] {
        let _ = fs::remove_file(project.desk.path().join("begun"));
        let text = format!(
            "name: {concurrency}\nconcurrency: {concurrency}\nsteps:\n  - {{action: shell, with: {{exec: 'touch begun; sleep 1'}}}}\n"
        );
        project.define_text(concurrency, &text);
        let mut first = project.desk.start(&["chain", "fire", concurrency, "--quiet"]);
        project.desk.until("its step has begun", || project.desk.path().join("begun").exists());
        let second = project.desk.escrow(&["chain", "fire", concurrency]);
        assert_eq!(second.code, Some(0), "{}", second.stderr);
        assert!(second.stderr.contains("waits for the end of run"), "{}", second.stderr);
        first.wait().expect("it ends");
        assert_eq!(project.statuses(concurrency), ["completed", "completed"]);
    }
}

#[test]
fn a_newer_fire_ends_a_run_whose_process_is_gone_or_asks_about_its_effect() {
    let project = Project::new();
    let slow = "test -e fast || (touch begun; sleep 60); echo done >> log";
    project.desk.write(
        ".escrow/playbooks/slow.yaml",
        &format!("checks: {{ a: {{ type: command, exec: '{slow}' }} }}\n"),
    );
    let step = |more: &str| {
        format!("{{action: shell, name: act, with: {{exec: 'echo x >> effects; {slow}'}}{more}}}")
    };
    let nested = "{skill: slow}".to_owned();
    let (asks, looks) = (step(""), step(", reconcile: 'test -e happened && echo done || echo retry'"));
    for (name, text, ending) in
        [("nested", nested, "cancelled"), ("looks", looks, "completed"), ("asks", asks, "waiting_approval")]
    {
        for file in ["begun", "fast", "log", "happened"] {
            let _ = fs::remove_file(project.desk.path().join(file));
        }
        project.define_text(name, &format!("name: {name}\nconcurrency: replace\nsteps:\n  - {text}\n"));
        fire_and_kill(&project, name);
        project.desk.write("fast", "");
        project.desk.write("happened", "");
        let second = project.desk.escrow(&["chain", "fire", name, "--quiet"]);
        if name == "asks" {
            assert_eq!(second.code, Some(4), "{}", second.stderr);
            assert!(second.stderr.contains("may or may not have happened"), "{}", second.stderr);
            assert_eq!(project.statuses(name), [ending, "recorded"]);
        } else {
            assert_eq!(second.code, Some(0), "{name}: {}", second.stderr);
            assert_eq!(project.statuses(name), ["completed", ending], "{name}");
        }
    }
}

#[test]
fn a_fire_that_a_daemon_begins_is_waited_for_until_it_ends() {
    let project = Project::new();
    project.define_text(
        "slow",
        "name: slow\nconcurrency: queue\nsteps:\n  - {action: shell, with: {exec: 'sleep 1.5; echo done >> log'}}\n",
    );
    let daemon = Daemon::start(&project.desk, &[]);
    // The daemon wakes when something is recorded, and mostly begins what has waited.
    let fires: Vec<Child> = (0..3)
        .map(|_| {
            project
                .desk
                .command(&["chain", "fire", "slow", "--quiet", "--output", "json"])
                .stdout(std::process::Stdio::piped())
                .spawn()
                .expect("it starts")
        })
        .collect();
    for fire in fires {
        let done = Done::from(fire.wait_with_output().expect("it ends"));
        assert_eq!(
            (done.code, done.json()["status"].clone()),
            (Some(0), json!("completed")),
            "{}",
            done.stdout
        );
    }
    daemon.end();
    assert_eq!(project.lines(), 3);
}

#[test]
fn a_check_that_is_killed_leaves_a_fire_that_the_next_one_finishes() {
    let project = Project::new();
    project.desk.write(
        ".escrow/playbooks/slow.yaml",
        "checks: { a: { type: command, exec: 'echo begun >> begun; sleep 0.4; echo done >> log' } }\n",
    );
    project.define_text("slow", "name: slow\ntrigger: { schedule: every 10m }\nsteps:\n  - skill: slow\n");
    let at = project.time_of("slow", 11);
    // Killed at many moments: before it records, between recording and deciding, before and after its run has begun.
    for delay_ms in [5, 15, 30, 60, 120, 250] {
        let mut check = project.desk.start(&["chain", "check", "--at", &at, "--quiet"]);
        std::thread::sleep(std::time::Duration::from_millis(delay_ms));
        let _ = check.kill();
        check.wait().expect("it ends");
    }
    project.desk.until("the run has ended", || {
        project.check(&["--at", &at]);
        project.statuses("slow") == ["completed"]
    });
    assert_eq!(project.runs("slow")["chain_runs"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_definition_that_is_deleted_does_not_stop_its_chain() {
    let project = Project::new();
    project.define("kept", "{ schedule: every 10m }", "");
    fs::remove_file(project.desk.path().join("kept.yaml")).expect("it is there");
    let at = project.time_of("kept", 10);
    project.check(&["--at", &at]);
    assert_eq!(project.statuses("kept"), ["completed"]);
    // A playbook that is gone keeps the run from beginning, and the fire says so.
    fs::remove_file(project.desk.path().join(".escrow/playbooks/note.yaml")).expect("it is there");
    let at = project.time_of("kept", 20);
    let done = project.desk.escrow(&["chain", "check", "--at", &at, "--output", "json", "--quiet"]);
    assert_eq!(done.code, Some(3), "{}", done.stderr);
    let fire = &project.runs("kept")["fires"][0];
    assert_eq!(
        (fire["status"].as_str(), fire["reason"]["code"].as_str()),
        (Some("failed"), Some("fire.failed.definition"))
    );
}

#[test]
fn a_paused_chain_does_not_fire_and_misses_nothing_when_it_resumes() {
    let project = Project::new();
    project.define("paused", "{ schedule: every 10m }", "");
    let at = project.time_of("paused", 11);
    assert_eq!(project.desk.escrow(&["chain", "pause", "paused"]).code, Some(0));
    assert_eq!(project.check(&["--at", &at])["recorded"], json!([]));
    assert_eq!(project.desk.escrow(&["chain", "resume", "paused"]).code, Some(0));
    assert_eq!(project.check(&[])["recorded"], json!([]));
    let at = project.time_of("paused", 11);
    project.check(&["--at", &at]);
    assert_eq!(project.statuses("paused"), ["completed"]);
}

#[test]
fn a_daemon_drains_and_a_new_definition_needs_no_restart() {
    let project = Project::new();
    project.desk.write(
        ".escrow/playbooks/slow.yaml",
        "checks: { a: { type: command, exec: 'echo begun >> begun; sleep 1; echo done >> log' } }\n",
    );
    let daemon = Daemon::start(&project.desk, &[]);
    project.define_text("slow", "name: slow\ntrigger: { schedule: every 1s }\nsteps:\n  - skill: slow\n");
    project.desk.until("a run has begun", || !project.desk.read("begun").is_empty());
    daemon.end();
    assert_eq!(project.lines(), project.desk.read("begun").lines().count(), "what had begun came to its end");
    assert!(project.statuses("slow").contains(&"completed".to_owned()));
}

#[test]
fn people_are_told_what_waits_for_them_and_told_again_until_it_succeeds() {
    let project = Project::new();
    project
        .desk
        .write(".escrow/config.toml", "[notify]\ncommand = \"cat >> told; echo >> told; test -e well\"\n");
    project.define_text("asks", "name: asks\nsteps:\n  - skill: note\n    requires_approval: true\n");
    assert_eq!(project.desk.escrow(&["chain", "fire", "asks", "--quiet"]).code, Some(0));
    project.check(&[]);
    let told: Value =
        serde_json::from_str(project.desk.read("told").lines().next().expect("a message")).expect("JSON");
    assert_eq!(told["kind"], "approval");
    assert!(
        told["commands"][0].as_str().is_some_and(|command| command.starts_with("escrow approve a_")),
        "{told}"
    );
    let attention = project.desk.escrow(&["attention", "--output", "json"]).json();
    let undelivered =
        attention["attention"].as_array().expect("a list").iter().find(|item| item["kind"] == "undelivered");
    assert!(undelivered.is_some(), "a notification that fails is visible: {attention}");
    project.check(&[]);
    assert_eq!(project.desk.read("told").lines().count(), 1, "it is tried again later, not at once");
}

#[test]
fn a_run_that_begins_to_wait_tells_people_without_a_daemon_and_once() {
    let project = Project::new();
    project.desk.write(".escrow/config.toml", "[notify]\ncommand = [\"tee\", \"-a\", \"told\"]\n");
    project.desk.write("ask.yaml", "checks: { ask: { type: human-input, prompt: Ship it? } }\n");
    assert_eq!(project.desk.escrow(&["run", "ask.yaml", "--quiet"]).code, Some(4));
    let told: Value = serde_json::from_str(&project.desk.read("told")).expect("one message");
    assert_eq!((&told["kind"], &told["prompt"]), (&json!("input"), &json!("Ship it?")));
    project.check(&[]);
    assert!(serde_json::from_str::<Value>(&project.desk.read("told")).is_ok(), "it is told once");
}

#[test]
fn a_notification_that_fails_leaves_the_run_waiting_and_says_so() {
    let project = Project::new();
    project.desk.write(".escrow/config.toml", "[notify]\ncommand = \"exit 7\"\n");
    project.desk.write("ask.yaml", "checks: { ask: { type: human-input, prompt: Ship it? } }\n");
    let asked = project.desk.escrow(&["run", "ask.yaml"]);
    assert_eq!(asked.code, Some(4));
    assert!(asked.stderr.contains("no notification was delivered"), "{}", asked.stderr);
}

#[test]
fn a_webhook_tells_people_too_and_only_once() {
    let server = Server::start(|_: &Received| Says::json(200, &json!({})));
    let project = Project::new();
    project.desk.write(".escrow/config.toml", &format!("[notify]\nwebhook = \"{}/told\"\n", server.url));
    project.define_text("asks", "name: asks\nsteps:\n  - skill: note\n    requires_approval: true\n");
    assert_eq!(project.desk.escrow(&["chain", "fire", "asks", "--quiet"]).code, Some(0));
    project.check(&[]);
    project.check(&[]);
    let received = server.received();
    assert_eq!(received.len(), 1, "{:?}", server.asked());
    assert_eq!(received[0].json()["kind"], "approval");
}

#[test]
fn github_is_polled_where_no_webhook_can_reach() {
    let page = std::sync::Arc::new(std::sync::Mutex::new(json!([])));
    let pages = std::sync::Arc::clone(&page);
    let server = Server::start(move |got: &Received| {
        let body =
            if got.path.contains("/pulls") { pages.lock().expect("no panic").clone() } else { json!([]) };
        let etag = format!("\"{}\"", hex(&Sha256::digest(body.to_string())[..4]));
        if got.header("if-none-match") == etag {
            Says::status(304)
        } else {
            Says::json(200, &body).with("etag", &etag)
        }
    });
    let project = Project::new();
    project.desk.write(".escrow/config.toml", "[poll.github]\nrepos = [\"octo/app\"]\n");
    project.define("reviews", "{ event: pr.opened }", "");
    let check = |minutes: u64| {
        let at = project.time_of("reviews", minutes);
        let done = Done::from(
            project
                .desk
                .command(&["chain", "check", "--output", "json", "--quiet", "--at", &at])
                .env("GITHUB_API_URL", &server.url)
                .env("GITHUB_TOKEN", "ghs_token")
                .output()
                .expect("it runs"),
        );
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        done.json()["check"].clone()
    };
    assert_eq!(check(1)["recorded"], json!([]), "the first poll finds where to begin");
    let pull = |number: u64, fork: bool| {
        let head = if fork { "mallory/app" } else { "octo/app" };
        json!({"number": number, "title": "x", "created_at": format!("2026-11-16T10:0{number}:00Z"),
            "updated_at": format!("2026-11-16T10:0{number}:00Z"), "closed_at": null, "merged_at": null, "draft": false,
            "base": {"ref": "main", "repo": {"full_name": "octo/app"}}, "head": {"repo": {"full_name": head}}})
    };
    *page.lock().expect("no panic") = json!([pull(2, true), pull(1, false)]);
    assert_eq!(check(1)["recorded"], json!([]), "not again within a minute");
    let fired = check(3);
    assert_eq!(fired["accepted"][0]["event"]["pr_number"], 1, "{fired}");
    assert_eq!(fired["settled"][0]["reason"]["code"], "fire.skipped.fork", "{fired}");
    assert_eq!(check(5)["recorded"], json!([]));
    // GitHub tells seconds: this one was opened in the second of the last one, after the poll.
    let mut late = pull(2, false);
    late["number"] = json!(3);
    *page.lock().expect("no panic") = json!([late, pull(2, true), pull(1, false)]);
    let fired = check(7);
    assert_eq!(fired["recorded"].as_array().map(Vec::len), Some(1), "{fired}");
    assert_eq!(fired["accepted"][0]["event"]["pr_number"], 3, "{fired}");
    assert_eq!(check(9)["recorded"], json!([]));
    let asked = server.received();
    assert!(
        asked.iter().any(|got| got.header("if-none-match").len() > 2),
        "the answer is asked for by its tag"
    );
    assert!(asked.iter().all(|got| got.header("authorization") == "Bearer ghs_token"));
}
