//! Runs of one concurrency group do not overlap, across processes; and two open runs do not share an artifact directory.

mod desk;

use std::process::{Child, Stdio};

use desk::{Desk, Done, signal};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A run that leaves a line when it begins and one when it ends, and ends when the file `go` is there.
fn playbook(on_conflict: &str) -> String {
    format!(
        "
version: '1.0'
name: deploy
title: 'Deploy {{{{ inputs.n }}}}'
inputs: {{n: {{type: string, default: first}}, target: {{type: string, default: prod}}}}
concurrency: {{group: 'deploy-{{{{ inputs.target }}}}'{on_conflict}}}
checks:
  work:
    type: command
    exec: 'echo begin {{{{ inputs.n }}}} >> trace; until test -e go || ! test -e trace; do sleep 0.02; done; echo end {{{{ inputs.n }}}} >> trace'
"
    )
}

const WAIT: &str = "";
const REFUSE: &str = ", on_conflict: refuse";
const CANCEL: &str = ", on_conflict: cancel";

struct Group {
    desk: Desk,
}

impl Group {
    fn new(on_conflict: &str) -> Group {
        let desk = Desk::new();
        desk.write("deploy.yaml", &playbook(on_conflict));
        Group { desk }
    }

    /// Starts a run that works until `go`.
    fn start(&self, n: &str) -> Child {
        let child = self.desk.start(&["run", "deploy.yaml", "--input", &format!("n={n}")]);
        self.has_begun(n);
        child
    }

    fn has_begun(&self, n: &str) {
        self.desk.until("it works", || self.trace().contains(&format!("begin {n}\n")));
    }

    /// Starts a run that has to wait, with what it says.
    fn queue(&self, n: &str, more: &[&str]) -> Queued<'_> {
        let input = format!("n={n}");
        let arguments = [&["run", "deploy.yaml", "--input", &input][..], more].concat();
        let log = self.desk.path().join(format!("{n}.log"));
        let file = std::fs::File::create(&log).expect("a log");
        let mut command = self.desk.command(&arguments);
        let child = command.stdout(Stdio::null()).stderr(file).spawn().expect("the binary starts");
        let name = format!("{n}.log");
        self.desk.until("it says that it waits", || self.desk.read(&name).contains("r_"));
        Queued { group: self, child, name }
    }

    fn run(&self, n: &str) -> Done {
        self.desk.escrow(&["run", "deploy.yaml", "--input", &format!("n={n}"), "--output", "json"])
    }

    fn go(&self) {
        self.desk.write("go", "");
    }

    fn trace(&self) -> String {
        self.desk.read("trace")
    }

    /// The newest run with this input.
    fn id_of(&self, n: &str) -> String {
        let runs = self.desk.escrow(&["runs", "--output", "json"]).json();
        let all = runs["runs"].as_array().expect("runs");
        let run = all.iter().find(|run| run["inputs"]["n"] == n).expect("a run");
        run["id"].as_str().expect("an id").to_owned()
    }

    /// A run whose process was killed while it worked.
    fn killed(&self) -> String {
        let mut child = self.start("first");
        signal(child.id(), Signal::KILL);
        child.wait().expect("it is gone");
        self.id_of("first")
    }
}

struct Queued<'a> {
    group: &'a Group,
    child: Child,
    name: String,
}

impl Queued<'_> {
    fn said(&self) -> String {
        self.group.desk.read(&self.name)
    }

    fn code(&mut self) -> Option<i32> {
        self.child.wait().expect("it ends").code()
    }
}

fn reason(done: &Done) -> Value {
    done.json()["run"]["reason"].clone()
}

/// What the reason of a refused run says about the other run and the command that settles it.
fn settled_by(reason: &Value) -> (String, String) {
    assert_eq!(reason["code"], "run.failed.conflict", "{reason}");
    let of = |kind: &str| {
        let evidence = reason["evidence"].as_array().expect("evidence");
        let one = evidence.iter().find(|one| one["kind"] == kind).expect("evidence of this kind");
        one["id"].as_str().expect("an id").to_owned()
    };
    (of("run"), of("command"))
}

#[test]
fn a_run_waits_for_the_one_that_works_and_says_for_which() {
    let group = Group::new(WAIT);
    let mut first = group.start("first");
    let mut second = group.queue("second", &[]);
    let id = group.id_of("first");
    assert!(second.said().contains(&format!("waiting for run {id} (Deploy first)")), "{}", second.said());
    assert!(second.said().contains("`deploy-prod`"), "{}", second.said());
    assert_eq!(
        group.desk.escrow(&["runs", "--output", "json"]).json()["runs"].as_array().map(Vec::len),
        Some(1)
    );
    group.go();
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    assert_eq!(second.code(), Some(0), "{}", second.said());
    assert_eq!(group.trace(), "begin first\nend first\nbegin second\nend second\n");
}

#[test]
fn runs_of_other_groups_do_not_wait() {
    let group = Group::new(WAIT);
    let mut first = group.start("first");
    let mut other = group.desk.start(&["run", "deploy.yaml", "--input", "n=other", "--input", "target=dev"]);
    group.has_begun("other");
    group.go();
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    assert_eq!(other.wait().expect("it ends").code(), Some(0));
}

#[test]
fn processes_that_start_at_the_same_instant_do_not_overlap() {
    let group = Group::new(WAIT);
    group.go();
    let children: Vec<Child> =
        (0..6).map(|n| group.desk.start(&["run", "deploy.yaml", "--input", &format!("n={n}")])).collect();
    for mut child in children {
        assert_eq!(child.wait().expect("it ends").code(), Some(0));
    }
    let trace = group.trace();
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(lines.len(), 12, "{trace}");
    for pair in lines.chunks(2) {
        assert_eq!(pair[0].strip_prefix("begin "), pair[1].strip_prefix("end "), "{trace}");
    }
    assert_eq!(group.desk.escrow(&["verify"]).code, Some(0));
}

#[test]
fn of_those_that_refuse_only_one_starts() {
    let group = Group::new(REFUSE);
    let children: Vec<Child> =
        (0..4).map(|n| group.desk.start(&["run", "deploy.yaml", "--input", &format!("n={n}")])).collect();
    group.desk.until("one works", || !group.trace().is_empty());
    let refused = || {
        let runs = group.desk.escrow(&["runs", "--status", "failed", "--output", "json"]).json();
        runs["runs"].as_array().map_or(0, Vec::len)
    };
    group.desk.until("three are refused", || refused() == 3);
    group.go();
    let mut codes: Vec<_> =
        children.into_iter().map(|mut child| child.wait().expect("it ends").code()).collect();
    codes.sort();
    assert_eq!(codes, [Some(0), Some(4), Some(4), Some(4)]);
}

#[test]
fn refuse_ends_with_a_conflict() {
    let group = Group::new(REFUSE);
    let mut first = group.start("first");
    let id = group.id_of("first");
    let second = group.run("second");
    assert_eq!(second.code, Some(4), "{}", second.stderr);
    assert_eq!(settled_by(&reason(&second)), (id.clone(), format!("escrow wait {id}")));
    assert_eq!(second.json()["run"]["status"], "failed");
    assert_eq!(second.json()["checks"]["work"]["skip_reason"], "run_ended");
    assert_eq!(second.json()["artifacts"]["status"], "skipped");
    assert!(second.stderr.contains(&format!("next: escrow wait {id}")), "{}", second.stderr);
    // The refused run holds nothing.
    group.go();
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    assert_eq!(group.run("third").code, Some(0));
    let explained = group.desk.escrow(&["explain", &group.id_of("second")]);
    assert!(explained.stdout.contains("`deploy-prod` is held by run"), "{}", explained.stdout);
    let again = group.desk.escrow(&["resume", &group.id_of("second"), "--failed", "--output", "json"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
    assert!(group.trace().contains("begin second\nend second\n"));
    assert_eq!(group.desk.escrow(&["verify"]).code, Some(0));
    let replayed =
        group.desk.escrow(&["replay", &group.id_of("second"), "--with", "deploy.yaml", "--fail-on-diff"]);
    assert_eq!(replayed.code, Some(0), "{}{}", replayed.stdout, replayed.stderr);
}

#[test]
fn ctrl_c_ends_the_wait() {
    let group = Group::new(WAIT);
    let mut first = group.start("first");
    let mut second = group.queue("second", &[]);
    signal(second.child.id(), Signal::INT);
    assert_eq!(second.code(), Some(130), "{}", second.said());
    assert_eq!(
        group.desk.escrow(&["runs", "--output", "json"]).json()["runs"].as_array().map(Vec::len),
        Some(1)
    );
    group.go();
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
}

#[test]
fn the_wait_counts_against_the_timeout() {
    let group = Group::new(WAIT);
    let mut first = group.start("first");
    let mut second = group.queue("second", &["--timeout", "300ms"]);
    assert_eq!(second.code(), Some(124), "{}", second.said());
    let document = group.desk.show(&group.id_of("second"));
    assert_eq!(document["run"]["reason"]["code"], "run.timed_out.deadline", "{document}");
    assert_eq!(document["checks"]["work"]["runs"], 0);
    group.go();
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
}

#[test]
fn an_abandoned_run_holds_its_group() {
    for rule in [WAIT, REFUSE] {
        let group = Group::new(rule);
        let id = group.killed();
        let second = group.run("second");
        assert_eq!(second.code, Some(4), "{}", second.stderr);
        let resume = format!("escrow resume {id}");
        assert_eq!(settled_by(&reason(&second)), (id.clone(), resume.clone()));
        assert!(second.stderr.contains(&resume), "{}", second.stderr);
        group.go();
        assert_eq!(group.desk.escrow(&["resume", &id]).code, Some(0), "it holds its group and needs nothing");
        assert_eq!(group.run("third").code, Some(0));
    }
}

#[test]
fn a_holder_that_dies_while_another_waits_is_abandoned() {
    let group = Group::new(WAIT);
    let mut first = group.start("first");
    let mut second = group.queue("second", &[]);
    let id = group.id_of("first");
    signal(first.id(), Signal::KILL);
    first.wait().expect("it is gone");
    assert_eq!(second.code(), Some(4), "{}", second.said());
    assert!(second.said().contains(&format!("next: escrow resume {id}")), "{}", second.said());
}

const ASKING: &str = "
name: deploy
concurrency: {group: prod}
checks: {ship: {type: command, exec: 'echo shipped >> trace', requires_approval: true}}
";

#[test]
fn a_run_that_waits_for_a_person_holds_its_group() {
    let desk = Desk::new();
    let (code, first) = desk.run(ASKING);
    assert_eq!(code, Some(4), "{first}");
    let second = desk.escrow(&["run", "playbook.yaml", "--output", "json"]);
    assert_eq!(second.code, Some(4));
    let approval = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["id"].clone();
    let approve = format!("escrow approve {}", approval.as_str().expect("an id"));
    let (run, command) = settled_by(&reason(&second));
    assert_eq!((json!(run), &command), (first["run"]["id"].clone(), &approve));
    assert!(second.stderr.contains(&approve), "{}", second.stderr);
    let words: Vec<&str> = approve.split(' ').skip(1).collect();
    assert_eq!(desk.escrow(&words).code, Some(0));
    assert_eq!(desk.read("trace"), "shipped\n");
    let third = desk.escrow(&["run", "playbook.yaml", "--output", "json"]);
    assert_eq!(third.json()["run"]["status"], "waiting", "the group is free");
}

#[test]
fn cancel_ends_the_older_run_first() {
    let group = Group::new(CANCEL);
    let mut first = group.start("first");
    let mut second = group.queue("second", &[]);
    assert_eq!(first.wait().expect("it ends").code(), Some(130));
    group.has_begun("second");
    group.go();
    assert_eq!(second.code(), Some(0), "{}", second.said());
    let reason = group.desk.show(&group.id_of("first"))["run"]["reason"].clone();
    assert_eq!(reason["code"], "run.cancelled.system");
    let summary = reason["summary"].as_str().unwrap_or_default();
    assert!(summary.contains(&group.id_of("second")) && summary.contains("`deploy-prod`"), "{summary}");
    assert!(!group.trace().contains("end first"), "{}", group.trace());
}

#[test]
fn cancel_ends_an_abandoned_run_and_one_that_waits_for_a_person() {
    let group = Group::new(CANCEL);
    let id = group.killed();
    group.go();
    assert_eq!(group.run("second").code, Some(0));
    assert_eq!(group.desk.show(&id)["run"]["status"], "cancelled");
    let desk = Desk::new();
    let playbook = ASKING.replace("group: prod", "group: prod, on_conflict: cancel");
    let (_, first) = desk.run(&playbook);
    let (code, second) = desk.run(&playbook);
    assert_eq!((code, &second["run"]["status"]), (Some(4), &json!("waiting")), "{second}");
    assert_eq!(desk.show(first["run"]["id"].as_str().expect("an id"))["run"]["status"], "cancelled");
}

#[test]
fn cancel_refuses_while_an_effect_is_under_way_or_unknown() {
    let group = Group::new(CANCEL);
    let external = playbook(CANCEL).replace("type: command\n", "type: command\n    criticality: external\n");
    group.desk.write("deploy.yaml", &external);
    let mut first = group.start("first");
    let second = group.run("second");
    assert_eq!(second.code, Some(4), "{}", second.stderr);
    let (run, _) = settled_by(&reason(&second));
    assert_eq!(run, group.id_of("first"));
    let summary = reason(&second)["summary"].as_str().unwrap_or_default().to_owned();
    assert!(summary.ends_with("which has an effect under way or unknown"), "{summary}");
    assert!(first.try_wait().expect("it can be asked").is_none(), "the older run works on");
    signal(first.id(), Signal::KILL);
    first.wait().expect("it is gone");
    let third = group.run("third");
    assert_eq!(third.code, Some(4), "its effect is unknown: {}", third.stderr);
    assert_eq!(group.desk.show(&run)["run"]["status"], "running", "nothing was done to it");
}

#[test]
fn a_nested_run_shares_the_hold_of_its_root() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        "name: inner\nconcurrency: {group: prod, on_conflict: refuse}\nchecks: {a: {type: noop}}",
    );
    let (code, document) = desk.run(
        "concurrency: {group: prod, on_conflict: refuse}\n\
         checks: {one: {type: playbook, playbook: inner.yaml}, two: {depends_on: one, type: playbook, playbook: inner.yaml}}",
    );
    assert_eq!(code, Some(0), "{document}");
}

/// Nested runs that leave a line when they begin and one when they end.
fn siblings(on_conflict: &str, outer: &str) -> (Desk, Value) {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        &format!(
            "name: inner\nconcurrency: {{group: prod{on_conflict}}}\n\
             checks: {{work: {{type: command, exec: 'echo begin >> trace; sleep 0.3; echo end >> trace'}}}}"
        ),
    );
    let (_, document) = desk.run(outer);
    (desk, document)
}

const TWO: &str = "name: outer\nmax_parallelism: 4\n\
    checks: {x: {type: playbook, playbook: inner.yaml}, y: {type: playbook, playbook: inner.yaml}}";

#[test]
fn runs_of_one_group_that_are_nested_in_one_run_wait_for_each_other() {
    let (desk, document) = siblings(WAIT, TWO);
    assert_eq!(document["run"]["status"], "completed", "{document}");
    assert_eq!(desk.read("trace"), "begin\nend\nbegin\nend\n");
}

#[test]
fn one_of_two_nested_runs_of_a_group_is_refused_while_the_other_works() {
    let (desk, document) = siblings(REFUSE, TWO);
    let mut statuses: Vec<String> =
        ["x", "y"].iter().map(|name| document["checks"][*name]["status"].to_string()).collect();
    statuses.sort();
    assert_eq!(statuses, ["\"failed\"", "\"succeeded\""], "{document}");
    assert_eq!(document["run"]["reason"]["code"], "run.failed.conflict");
    assert_eq!(desk.read("trace"), "begin\nend\n");
}

#[test]
fn items_that_nest_runs_of_one_group_do_not_overlap() {
    let outer = "name: outer\nmax_parallelism: 4\nchecks: {list: {type: command, forEach: true, exec: 'echo \"[1, 2, 3]\"'}, \
                 each: {type: playbook, depends_on: list, playbook: inner.yaml}}";
    let (desk, document) = siblings(WAIT, outer);
    assert_eq!(document["run"]["status"], "completed", "{document}");
    assert_eq!(desk.read("trace"), "begin\nend\nbegin\nend\nbegin\nend\n");
}

#[test]
fn a_nested_run_further_inside_meets_a_run_of_its_group_beside_it() {
    let desk = Desk::new();
    desk.write("middle.yaml", "name: middle\nchecks: {deep: {type: playbook, playbook: inner.yaml}}");
    desk.write(
        "inner.yaml",
        "name: inner\nconcurrency: {group: prod}\n\
         checks: {work: {type: command, exec: 'echo begin >> trace; sleep 0.3; echo end >> trace'}}",
    );
    let (code, document) = desk.run(
        "max_parallelism: 4\n\
         checks: {x: {type: playbook, playbook: middle.yaml}, y: {type: playbook, playbook: middle.yaml}}",
    );
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(desk.read("trace"), "begin\nend\nbegin\nend\n");
}

/// As between runs that are not nested: a run that waits for a person is not waited for.
#[test]
fn a_nested_run_does_not_wait_for_one_beside_it_that_waits_for_a_person() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        "name: inner\nconcurrency: {group: prod}\nchecks: {ask: {type: human-input, prompt: 'Sure?'}}",
    );
    let (code, document) = desk.run(TWO);
    assert_eq!(code, Some(4), "{document}");
    let mut statuses: Vec<String> =
        ["x", "y"].iter().map(|name| document["checks"][*name]["status"].to_string()).collect();
    statuses.sort();
    assert_eq!(statuses, ["\"failed\"", "\"waiting\""], "{document}");
}

#[test]
fn a_nested_run_meets_the_runs_of_others() {
    let group = Group::new(REFUSE);
    let mut first = group.start("first");
    group.desk.write("outer.yaml", "checks: {inner: {type: playbook, playbook: deploy.yaml}}");
    let refused = group.desk.escrow(&["run", "outer.yaml", "--output", "json"]);
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    let issue = refused.json()["checks"]["inner"]["issues"][0].to_string();
    assert!(issue.contains("run.failed.conflict") && issue.contains("`deploy-prod`"), "{issue}");
    group.go();
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    let again = group.desk.escrow(&["resume", "last", "--failed", "--output", "json"]);
    assert_eq!(again.code, Some(0), "{}", again.stderr);
}

#[test]
fn a_nested_run_holds_its_group_for_its_root() {
    let group = Group::new(WAIT);
    group.desk.write("outer.yaml", "name: outer\nchecks: {inner: {type: playbook, playbook: deploy.yaml}}");
    let mut outer = group.desk.start(&["run", "outer.yaml"]);
    group.has_begun("first");
    let mut second = group.queue("second", &[]);
    assert!(second.said().contains("(outer) of the concurrency group"), "{}", second.said());
    group.go();
    assert_eq!(outer.wait().expect("it ends").code(), Some(0));
    assert_eq!(second.code(), Some(0));
    assert_eq!(group.trace(), "begin first\nend first\nbegin second\nend second\n");
}

#[test]
fn a_run_inside_a_command_does_not_wait_for_the_run_around_it() {
    let desk = Desk::new();
    let binary = env!("CARGO_BIN_EXE_escrow");
    desk.write("inner.yaml", "concurrency: {group: prod}\nchecks: {a: {type: noop}}");
    desk.write(
        "outer.yaml",
        &format!(
            "concurrency: {{group: prod}}\nchecks: {{a: {{type: command, exec: '{binary} run inner.yaml'}}}}"
        ),
    );
    let done = desk.escrow(&["run", "outer.yaml"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stderr.contains("around this one, which would wait for itself"), "{}", done.stderr);
    assert!(!done.stderr.contains("escrow wait"), "{}", done.stderr);
}

#[test]
fn what_failed_takes_the_group_anew() {
    let group = Group::new(REFUSE);
    group.desk.write(
        "deploy.yaml",
        &playbook(REFUSE).replace("exec: 'echo begin", "exec: 'test -e ready; echo begin"),
    );
    assert_eq!(group.run("failed").code, Some(1));
    let failed = group.id_of("failed");
    group.desk.write("ready", "");
    let mut first = group.start("first");
    let again = group.desk.escrow(&["resume", &failed, "--failed"]);
    assert_eq!(again.code, Some(4), "{}", again.stderr);
    assert!(again.stderr.contains(&group.id_of("first")), "{}", again.stderr);
    assert_eq!(
        group.desk.show(&failed)["run"]["reason"]["code"],
        "run.failed.exit_nonzero",
        "it is as it was"
    );
    group.go();
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    assert_eq!(group.desk.escrow(&["resume", &failed, "--failed"]).code, Some(0));
}

#[test]
fn an_imported_run_takes_its_group_when_it_is_opened_again() {
    let there = Group::new(REFUSE);
    let failing = playbook(REFUSE).replace("exec: 'echo begin", "exec: 'test -e ready; echo begin");
    there.desk.write("deploy.yaml", &failing);
    assert_eq!(there.run("failed").code, Some(1));
    let id = there.id_of("failed");
    let exported = there.desk.escrow(&["runs", "export", &id]).stdout;
    let here = Group::new(REFUSE);
    here.desk.write("run.json", &exported);
    let mut first = here.start("here");
    assert_eq!(here.desk.escrow(&["runs", "import", "run.json"]).code, Some(0));
    let resumed = here.desk.escrow(&["resume", &id, "--failed"]);
    assert_eq!(resumed.code, Some(4), "{}", resumed.stderr);
    assert!(resumed.stderr.contains(&here.id_of("here")), "{}", resumed.stderr);
    here.go();
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    assert_eq!(here.desk.escrow(&["verify"]).code, Some(0));
    assert_eq!(here.run("next").code, Some(0), "a run that has ended holds nothing");
}

#[test]
fn gc_leaves_the_holder_and_forgets_the_group_of_what_it_removes() {
    let group = Group::new(WAIT);
    let id = group.killed();
    assert_eq!(group.desk.escrow(&["gc", "--keep", "0"]).code, Some(0));
    assert_eq!(group.run("second").code, Some(4), "an open run is not removed");
    assert_eq!(group.desk.escrow(&["cancel", &id]).code, Some(0));
    assert_eq!(group.desk.escrow(&["gc", "--keep", "0"]).code, Some(0));
    group.go();
    assert_eq!(group.run("third").code, Some(0));
}

#[test]
fn a_group_that_cannot_be_rendered_fails_the_run_and_is_not_held() {
    let desk = Desk::new();
    for (group, says) in [("{{ event.number }}", "concurrency.group"), ("{{ inputs.a }}", "is empty")] {
        let (code, document) = desk.run(&format!(
            "inputs: {{a: {{type: string, default: ' '}}}}\nconcurrency: {{group: '{group}'}}\nchecks: {{a: {{type: noop}}}}"
        ));
        assert_eq!(code, Some(1), "{document}");
        assert_eq!(document["run"]["reason"]["code"], "run.failed.expression_error");
        assert!(
            document["run"]["reason"]["summary"].as_str().is_some_and(|text| text.contains(says)),
            "{document}"
        );
    }
    desk.write(
        "bad.yaml",
        "concurrency: {group: '{{ outputs.a }}', on_conflict: never}\nchecks: {a: {type: noop}}",
    );
    let done = desk.escrow(&["check", "bad.yaml"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("E0116") && done.stderr.contains("`wait`"), "{}", done.stderr);
    let schema = desk.escrow(&["schema", "playbook"]).json();
    let keys = &schema["properties"];
    assert!(
        keys["title"].is_object() && keys["concurrency"]["properties"]["on_conflict"].is_object(),
        "{keys}"
    );
}

const DELIVERING: &str = "
name: nightly
inputs: {n: {type: string, default: first}}
artifacts: {expected: [{id: report, path: report.md}]}
checks:
  work: {type: command, exec: 'echo {{ inputs.n }} > $ESCROW_ARTIFACTS/report.md; while ! test -e go; do sleep 0.02; done'}
";

#[test]
fn two_open_runs_do_not_share_an_artifact_directory() {
    let desk = Desk::new();
    desk.write("nightly.yaml", DELIVERING);
    let mut first = desk.start(&["run", "nightly.yaml", "--artifacts", "out"]);
    desk.until("it delivers", || !desk.read("out/report.md").is_empty());
    std::os::unix::fs::symlink(desk.path().join("out"), desk.path().join("link")).expect("a link");
    for directory in ["out", "./out", "link", "out/sub", "link/a/b", "."] {
        let second = desk.escrow(&["run", "nightly.yaml", "--artifacts", directory, "--output", "json"]);
        assert_eq!(second.code, Some(4), "{directory}: {}", second.stderr);
        assert_eq!(second.json()["error"]["code"], "artifacts_in_use");
        let runs = desk.escrow(&["runs", "--output", "json"]).json();
        assert_eq!(runs["runs"].as_array().map(Vec::len), Some(1), "nothing was begun");
        let id = runs["runs"][0]["id"].as_str().expect("an id").to_owned();
        assert!(second.stderr.contains(&id), "{}", second.stderr);
    }
    // A name that only begins alike is another directory.
    let mut other = desk.start(&["run", "nightly.yaml", "--artifacts", "outer"]);
    desk.until("it delivers outer", || !desk.read("outer/report.md").is_empty());
    desk.write("go", "");
    assert_eq!(first.wait().expect("it ends").code(), Some(0));
    assert_eq!(other.wait().expect("it ends").code(), Some(0));
    assert_eq!(desk.escrow(&["run", "nightly.yaml", "--artifacts", "out"]).code, Some(0), "it is free again");
}
