//! JUnit and SARIF reports: well formed, true to the run, and there however it ended.

mod desk;
mod xml;

use desk::Desk;
use escrow_contract::Schema;
use serde_json::Value;

const MIXED: &str = r#"
name: "mixed <&> \"run\""
artifacts: {expected: [{id: notes, path: notes.md}]}
checks:
  good: {type: command, exec: "echo fine"}
  bad:
    type: command
    exec: |
      printf 'a <b> & "c" \033[31m \001 ü\n'; echo 'on <stderr>' >&2; exit 3
  list: {type: command, exec: "echo '[1, 2, 3]'", forEach: true, guarantee: Array.isArray(output)}
  each: {type: command, depends_on: list, exec: 'echo {{ item }}', fail_if: output === 2}
  soft: {type: command, exec: "exit 1", continue_on_failure: true}
  behind: {type: command, depends_on: bad, exec: "true"}
"#;

/// Runs a playbook with both reports, and reads them.
fn reported(desk: &Desk, playbook: &str, more: &[&str]) -> (Option<i32>, xml::Element, Value) {
    desk.write("playbook.yaml", playbook);
    let mut arguments =
        vec!["run", "playbook.yaml", "--quiet", "--report", "junit=j.xml", "--report", "sarif=s.json"];
    arguments.extend(more);
    let done = desk.escrow(&arguments);
    let sarif = serde_json::from_str(&desk.read("s.json")).expect("SARIF is JSON");
    check_sarif(&sarif);
    let junit = xml::parse(&desk.read("j.xml"));
    check_junit(&junit);
    (done.code, junit, sarif)
}

fn check_sarif(log: &Value) {
    let schema = include_str!("data/sarif/sarif-2.1.0-rtm.5.json");
    let schema: Value = serde_json::from_str(schema).expect("a schema");
    let schema = Schema::compile(&schema).expect("a schema that compiles");
    assert_eq!(schema.violations(log), Vec::<String>::new(), "{log:#}");
    let rules = log["runs"][0]["tool"]["driver"]["rules"].as_array().expect("rules");
    for result in log["runs"][0]["results"].as_array().expect("results") {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).expect("small");
        assert_eq!(rules[index]["id"], result["ruleId"]);
    }
}

/// The counts of a suite are those of its cases.
fn check_junit(root: &xml::Element) {
    assert_eq!(root.name, "testsuites");
    for suite in root.all("testsuite") {
        let count = |name: &str| suite.all("testcase").filter(|case| case.all(name).count() > 0).count();
        for (attribute, counted) in [
            ("tests", suite.all("testcase").count()),
            ("failures", count("failure")),
            ("errors", count("error")),
            ("skipped", count("skipped")),
        ] {
            assert_eq!(suite.attribute(attribute), counted.to_string(), "{attribute}");
            assert_eq!(root.attribute(attribute), counted.to_string(), "{attribute}");
        }
        for case in suite.all("testcase") {
            assert!(case.attribute("time").parse::<f64>().is_ok_and(|time| time >= 0.0));
            assert!(!case.attribute("name").is_empty() && !case.attribute("classname").is_empty());
        }
    }
}

fn case<'a>(root: &'a xml::Element, name: &str) -> &'a xml::Element {
    let suite = root.all("testsuite").next().expect("a suite");
    suite
        .children
        .iter()
        .find(|case| case.attribute("name") == name)
        .unwrap_or_else(|| panic!("no case `{name}`"))
}

#[test]
fn a_report_has_every_check_and_every_item() {
    let desk = Desk::new();
    let (code, junit, sarif) = reported(&desk, MIXED, &[]);
    assert_eq!(code, Some(1));
    let suite = junit.all("testsuite").next().expect("a suite");
    assert_eq!(suite.attribute("name"), "mixed <&> \"run\"");
    let names: Vec<&str> = suite.all("testcase").map(|case| case.attribute("name")).collect();
    assert_eq!(names, ["good", "bad", "list", "each[0]", "each[1]", "each[2]", "soft", "behind", "run"]);
    let failure = case(&junit, "bad").all("failure").next().expect("a failure");
    assert_eq!(failure.attribute("type"), "command/exit_nonzero");
    let output = case(&junit, "bad").all("system-out").next().expect("its output");
    assert_eq!(output.text, "a <b> & \"c\" \u{fffd}[31m \u{fffd} ü");
    assert_eq!(case(&junit, "bad").all("system-err").next().expect("its stderr").text, "on <stderr>\n");
    assert_eq!(
        case(&junit, "each[1]").all("failure").next().expect("fails").attribute("type"),
        "each_fail_if"
    );
    assert!(
        case(&junit, "soft").all("skipped").next().expect("soft").attribute("message").contains("allowed to")
    );
    let behind = case(&junit, "behind").all("skipped").next().expect("skipped");
    assert!(behind.attribute("message").starts_with("dependency_failed"));
    assert!(
        case(&junit, "run").all("failure").next().expect("red").text.contains("notes (notes.md): absent")
    );

    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let told: Vec<(&str, &str, u64)> = results
        .iter()
        .map(|result| {
            let line = &result["locations"][0]["physicalLocation"]["region"]["startLine"];
            (
                result["ruleId"].as_str().unwrap_or_default(),
                result["level"].as_str().unwrap_or_default(),
                line.as_u64().unwrap_or_default(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("command/exit_nonzero", "error", 6),
            ("each_fail_if", "error", 11),
            ("command/exit_nonzero", "warning", 12),
            ("artifact/absent", "error", 1),
        ]
    );
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
}

#[test]
fn a_spent_loop_budget_is_a_result_and_a_case_of_its_own() {
    let desk = Desk::new();
    let ring = "routing: {max_loops: 2}\nchecks: {a: {type: command, exec: 'exit 1', on_fail: {goto: a}}}";
    let (code, junit, sarif) = reported(&desk, ring, &[]);
    assert_eq!(code, Some(1));
    let failure = case(&junit, "run").all("failure").next().expect("a failure");
    assert_eq!(failure.attribute("type"), "run.failed.loop_budget");
    let results = sarif["runs"][0]["results"].as_array().expect("results");
    let rules: Vec<&str> = results.iter().filter_map(|result| result["ruleId"].as_str()).collect();
    assert_eq!(rules, ["command/exit_nonzero", "routing/loop_budget_exceeded"]);
}

#[test]
fn what_is_missing_besides_is_a_case_that_says_only_so() {
    let desk = Desk::new();
    let playbook = "\
artifacts: {expected: [{id: notes, path: n.md}, {id: extra, path: e.md, required: false}]}
checks: {a: {type: command, exec: 'exit 1'}}";
    let (_, junit, _) = reported(&desk, playbook, &[]);
    let failure = case(&junit, "run").all("failure").next().expect("a failure");
    assert_eq!(failure.attribute("type"), "run.failed.missing_artifact");
    assert_eq!(failure.attribute("message"), "missing required artifacts");
    assert_eq!(failure.text, "notes (n.md): absent\n");
}

#[test]
fn a_good_run_reports_no_failure_and_no_result() {
    let desk = Desk::new();
    let (code, junit, sarif) = reported(&desk, "checks: {a: {type: noop}}", &[]);
    assert_eq!(code, Some(0));
    assert_eq!(junit.attribute("failures"), "0");
    assert_eq!(junit.attribute("tests"), "1");
    assert_eq!(sarif["runs"][0]["results"].as_array().map(Vec::len), Some(0));
    assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], true);
}

#[test]
fn runs_that_time_out_or_wait_are_reported_too() {
    let desk = Desk::new();
    let slow = "checks: {a: {type: command, exec: sleep 60}, b: {type: noop, depends_on: a}}";
    let (code, junit, sarif) = reported(&desk, slow, &["--timeout", "300ms"]);
    assert_eq!(code, Some(124));
    assert_eq!(
        case(&junit, "run").all("error").next().expect("an error").attribute("type"),
        "run.timed_out.deadline"
    );
    let notes = &sarif["runs"][0]["invocations"][0]["toolExecutionNotifications"];
    assert_eq!(notes[0]["descriptor"]["id"], "run.timed_out.deadline");

    let waits = "checks: {a: {type: command, exec: 'true', requires_approval: true}}";
    let (code, junit, _) = reported(&desk, waits, &[]);
    assert_eq!(code, Some(4));
    assert_eq!(case(&junit, "a").all("skipped").count(), 1);
    assert_eq!(case(&junit, "run").all("skipped").count(), 1);
}

#[test]
fn a_cancelled_run_is_reported() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {a: {type: command, exec: 'touch started; sleep 60'}}");
    let mut child = desk.start(&["run", "playbook.yaml", "--report", "junit=j.xml"]);
    desk.until("it has started", || desk.path().join("started").exists());
    desk::signal(child.id(), rustix::process::Signal::INT);
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    let junit = xml::parse(&desk.read("j.xml"));
    check_junit(&junit);
    assert_eq!(
        case(&junit, "run").all("error").next().expect("an error").attribute("type"),
        "run.cancelled.system"
    );
}

#[test]
fn a_report_that_cannot_be_written_is_told_and_changes_no_verdict() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {a: {type: noop}}");
    std::fs::create_dir(desk.path().join("folder")).expect("a folder");
    for place in ["no/such/folder/j.xml", "folder"] {
        let report = format!("junit={place}");
        let done = desk.escrow(&[
            "run",
            "playbook.yaml",
            "--output",
            "json",
            "--report",
            &report,
            "--report",
            "sarif=s.json",
        ]);
        assert_eq!(done.code, Some(3), "{place}");
        assert_eq!(done.json()["run"]["status"], "completed", "stdout has the run, and nothing else");
        assert!(done.stderr.contains("completed  run.completed.ok"), "{}", done.stderr);
        assert!(done.stderr.contains(&format!("cannot write the report `{place}`")), "{}", done.stderr);
        assert!(!desk.read("s.json").is_empty(), "the other report is there");
    }
    let leftovers: Vec<_> = std::fs::read_dir(desk.path())
        .expect("the desk")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with('.') && name != ".escrow")
        .collect();
    assert_eq!(leftovers, Vec::<String>::new());
    assert_eq!(desk.escrow(&["run", "playbook.yaml", "--report", "html=x"]).code, Some(2));
}

#[test]
fn links_and_devices_are_written_through() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {a: {type: noop}}");
    desk.write("there/real.xml", "old");
    std::os::unix::fs::symlink("there/real.xml", desk.path().join("link.xml")).expect("a link");
    assert_eq!(desk.escrow(&["run", "playbook.yaml", "--report", "junit=link.xml"]).code, Some(0));
    assert!(desk.read("there/real.xml").contains("<testsuites"));
    assert!(desk.path().join("link.xml").is_symlink());
    let printed = desk.escrow(&["run", "playbook.yaml", "--quiet", "--report", "junit=/dev/stdout"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    check_junit(&xml::parse(&printed.stdout));
}

#[test]
fn a_report_points_at_the_lines_of_the_file_that_was_run() {
    let desk = Desk::new();
    let playbook = "checks:\n  edits:\n    type: command\n    exec: \"(echo; echo; cat playbook.yaml) > new; mv new playbook.yaml; exit 1\"\n";
    let (code, _, sarif) = reported(&desk, playbook, &[]);
    assert_eq!(code, Some(1));
    let region = &sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"];
    assert_eq!(region["startLine"], 2);
    assert!(desk.read("playbook.yaml").starts_with("\n\n"));
}

#[test]
fn a_list_that_is_computed_again_is_reported_and_counted_with_its_last_items() {
    let desk = Desk::new();
    let playbook = r#"
checks:
  list: {type: command, forEach: true, exec: 'if [ -e twice ]; then echo "[1]"; else echo "[1, 2, 3]"; fi'}
  each: {type: command, depends_on: list, exec: 'test {{ item }} != 2'}
  sum:
    type: command
    depends_on: each
    exec: 'if [ -e twice ]; then echo done; else touch twice; exit 1; fi'
    on_fail: {goto: list}
"#;
    let (code, junit, _) = reported(&desk, playbook, &[]);
    assert_eq!((code, &desk.show("last")["run"]["reason"]["code"]), (Some(0), &"run.completed.ok".into()));
    let cases = junit.all("testsuite").flat_map(|suite| suite.all("testcase"));
    let names: Vec<&str> = cases.map(|case| case.attribute("name")).collect();
    assert_eq!(names, ["list", "each[0]", "sum"]);
}
