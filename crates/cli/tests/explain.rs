//! `escrow explain RUN [CHECK]`: the cause, the values, the path and what would have to differ.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

const PLAYBOOK: &str = r#"
name: review
inputs: { limit: { type: number, default: 2 } }
checks:
  lint:
    type: command
    exec: "echo '{\"findings\": [1, 2, 3], \"ok\": false}'"
    guarantee: output.findings.length <= inputs.limit
  report: { type: command, depends_on: lint, exec: "echo report" }
  post:
    type: command
    depends_on: report
    criticality: external
    assume: "outputs.report"
    guarantee: "output"
    exec: "echo posted"
  pushed: { type: command, if: "event.name === 'push'", exec: "true" }
  fine: { type: command, exec: "echo '{\"n\": 3}'", guarantee: "output.n === 3" }
  failing:
    type: command
    exec: "exit 3"
    on_fail: { retry: { max: 1, backoff: { mode: fixed, delay_ms: 1 } } }
  rescue: { type: noop }
  broken:
    type: command
    exec: "exit 1"
    on_fail: { transitions: [{ when: "attempt === 1", to: rescue }] }
"#;

fn explain(desk: &Desk, check: &[&str]) -> Value {
    let mut arguments = vec!["explain", "last"];
    arguments.extend(check);
    arguments.extend(["--output", "json"]);
    let done = desk.escrow(&arguments);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done.json()
}

fn desk() -> Desk {
    let desk = Desk::new();
    let (code, document) = desk.run(PLAYBOOK);
    assert_eq!(code, Some(1), "{document}");
    desk
}

#[test]
fn the_run_is_explained_by_its_first_decisive_cause() {
    let desk = desk();
    let account = explain(&desk, &[]);
    assert_eq!(account["subject"], Value::Null);
    let cause = &account["cause"];
    let first = account["reason"]["evidence"][0]["id"].as_str().expect("a check");
    assert_eq!(cause["check"], first);
    assert!(cause["entry"].as_u64().is_some_and(|entry| entry > 1), "{cause}");
}

#[test]
fn a_broken_guarantee_is_shown_with_the_value_of_every_part() {
    let desk = desk();
    let account = explain(&desk, &["lint"]);
    let evaluation = &account["cause"]["evaluations"][0];
    assert_eq!(evaluation["construct"], "guarantee");
    assert_eq!((&evaluation["held"], &evaluation["decisive"]), (&json!(false), &json!(true)));
    assert_eq!(evaluation["explanation"]["result"], "false");
    let parts = evaluation["explanation"]["parts"][0]["parts"].as_array().expect("parts");
    let values: Vec<&Value> = parts.iter().map(|part| &part["value"]).collect();
    assert_eq!(values, [&json!("3"), &json!("2")]);
    let differs = "`output.findings.length` is 3 and `inputs.limit` is 2; the first would have to be at most `inputs.limit`";
    assert_eq!(account["differs"], json!([differs]));
    let shown = desk.escrow(&["explain", "last", "lint"]).stdout;
    assert!(shown.contains("output.findings.length <= inputs.limit\n"), "{shown}");
    assert!(shown.contains("│"), "{shown}");
}

#[test]
fn a_block_is_followed_along_the_dependencies_to_its_cause() {
    let desk = desk();
    let account = explain(&desk, &["post"]);
    let steps: Vec<String> = account["path"]
        .as_array()
        .expect("a path")
        .iter()
        .map(|link| {
            let word = |name: &str| link[name].as_str().unwrap_or_default().to_owned();
            format!("{} {} {}", word("check"), word("status"), word("code"))
        })
        .collect();
    assert_eq!(
        steps,
        [
            "post skipped contract_blocked",
            "report skipped dependency_failed",
            "lint failed contract/guarantee_failed"
        ]
    );
    assert_eq!(account["cause"]["check"], "lint");
    assert_eq!(account["subject"], json!({"check": "post", "scope": [], "status": "skipped"}));
}

#[test]
fn conditions_retries_routes_and_successes_are_explained() {
    let desk = desk();
    let pushed = explain(&desk, &["pushed"]);
    assert_eq!(pushed["differs"], json!(["`event.name` is \"manual\"; it would have to be 'push'"]));
    let fine = explain(&desk, &["fine"]);
    assert_eq!(fine["cause"]["evaluations"][0]["held"], true);
    assert_eq!(fine["differs"], json!([]));
    let failing = explain(&desk, &["failing"]);
    let timeline: Vec<&str> = failing["timeline"]
        .as_array()
        .expect("a timeline")
        .iter()
        .filter_map(|moment| moment["what"].as_str())
        .collect();
    assert!(timeline.len() >= 5, "{timeline:?}");
    assert!(timeline[2].starts_with("retry 1 in "), "{timeline:?}");
    assert_eq!(failing["differs"], json!(["`failing` would have to exit with 0"]));
    let broken = explain(&desk, &["broken"]);
    let routed = broken["timeline"]
        .as_array()
        .expect("a timeline")
        .iter()
        .find(|moment| !moment["evaluation"].is_null());
    let routed = routed.expect("the transition is evaluated again");
    assert_eq!(routed["what"], "routed to `rescue` (on_fail, by `transitions`)");
    assert_eq!(routed["evaluation"]["explanation"]["source"], "attempt === 1");
    let rescue = explain(&desk, &["rescue"]);
    assert_eq!(rescue["timeline"][0]["what"], "`broken` routed here (on_fail, by `transitions`)");
}

#[test]
fn items_artifacts_waits_and_people_are_explained() {
    let desk = Desk::new();
    desk.run(
        r#"
checks:
  list: {type: command, forEach: true, exec: "echo '[1, 2, 3]'"}
  each: {type: command, depends_on: list, exec: "echo {{ item }}", guarantee: "output !== 2"}
"#,
    );
    let account = explain(&desk, &["each"]);
    assert_eq!(account["subject"]["scope"], json!([1]), "the first item that failed speaks");
    assert_eq!(explain(&desk, &["each[2]"])["subject"]["status"], "succeeded");
    assert_eq!(desk.escrow(&["explain", "last", "each[7]"]).code, Some(2));
    assert_eq!(desk.escrow(&["explain", "last", "nobody"]).code, Some(2));

    desk.run("artifacts: {expected: [{id: note, path: note.md}]}\nchecks: {a: {type: noop}}");
    let account = explain(&desk, &[]);
    assert_eq!(account["differs"], json!(["`note` would have to be delivered as `note.md`"]));

    desk.run("checks: {ask: {type: human-input, prompt: Sure?}, then: {type: noop, depends_on: ask}}");
    assert!(
        explain(&desk, &[])["cause"]["summary"]
            .as_str()
            .is_some_and(|text| text.contains("waits for an answer"))
    );
    assert_eq!(explain(&desk, &["then"])["cause"]["summary"], "`then` waits until `ask` has settled");
    desk.escrow(&["cancel", "last"]);
    let cancelled = explain(&desk, &[]);
    assert!(
        cancelled["cause"]["summary"].as_str().is_some_and(|text| text.contains("cancelled the run")),
        "{cancelled}"
    );
}

#[test]
fn codes_stay_codes() {
    let desk = Desk::new();
    assert!(desk.escrow(&["explain", "run.failed.fail_if"]).stdout.starts_with("# `run.failed.fail_if`"));
    assert_eq!(desk.escrow(&["explain", "run.failed.nonsense"]).code, Some(2));
    let unknown = desk.escrow(&["explain", "r_nobody"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("no run is called"), "{}", unknown.stderr);
}

#[test]
fn an_item_of_a_check_without_items_is_not_explained() {
    let desk = Desk::new();
    assert_eq!(desk.run("checks: {a: {type: noop}}").0, Some(0));
    assert_eq!(desk.escrow(&["explain", "last", "a"]).code, Some(0));
    let refused = desk.escrow(&["explain", "last", "a[3]"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    assert!(refused.stderr.contains("there is no such item"), "{}", refused.stderr);
}

/// The last attempt of `a` failed with an exit code, which blocks nothing. The first one broke the contract.
#[test]
fn a_block_is_explained_by_the_attempt_that_broke_the_contract() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        "checks:
  a:
    type: command
    exec: echo 1; test $ESCROW_ATTEMPT = 1
    guarantee: output === 2
    retry_on: [transient, logical]
    on_fail: {retry: {max: 1, backoff: {delay_ms: 1}}}
    continue_on_failure: true
    criticality: info
  sa: {type: command, depends_on: a, criticality: external, exec: 'true'}",
    );
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["checks"]["sa"]["skip_reason"], "contract_blocked", "{document}");
    let account = explain(&desk, &["sa"]);
    let cause = &account["cause"];
    assert_eq!((&cause["check"], &cause["attempt"]), (&json!("a"), &json!(1)), "{account:#}");
    assert_eq!(cause["issues"][0]["rule_id"], "contract/guarantee_failed", "{account:#}");
    assert_eq!(account["differs"], json!(["`output` is 1; it would have to be 2"]), "{account:#}");
    let page = desk.escrow(&["explain", "last", "sa"]).stdout;
    assert!(!page.contains("would have to exit with 0"), "{page}");
}

#[test]
fn an_effect_that_was_found_without_its_output_asks_for_the_output_and_not_for_another_finding() {
    let desk = Desk::new();
    desk.run(
        "checks:
  deploy:
    type: command
    criticality: external
    timeout: 300ms
    guarantee: output.url !== null
    exec: touch deployed; sleep 30
    reconcile: {exec: 'test -e deployed && echo found', done: \"output === 'found'\"}",
    );
    let page = desk.escrow(&["explain", "last", "deploy"]).stdout;
    assert!(
        page.contains("`reconcile` of `deploy` would have to give the output: `output: EXPRESSION`"),
        "{page}"
    );
    assert!(!page.contains("other than 'found'"), "{page}");
}

#[test]
fn a_check_that_waits_is_explained_with_the_next_command() {
    let desk = Desk::new();
    desk.run("checks: {ship: {type: command, requires_approval: true, exec: 'true'}}");
    let wait = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0].clone();
    let (id, run) = (wait["id"].as_str().expect("an id"), wait["run_id"].as_str().expect("a run"));
    let explained = |desk: &Desk| desk.escrow(&["explain", "last"]).stdout;
    assert!(explained(&desk).ends_with(&format!("\nnext: escrow approve {id}\n")), "{}", explained(&desk));
    assert_eq!(desk.escrow(&["approve", id, "--no-run"]).code, Some(0));
    assert!(explained(&desk).ends_with(&format!("\nnext: escrow resume {run}\n")), "{}", explained(&desk));
    let attention = desk.escrow(&["attention"]).stdout;
    assert!(attention.contains("decided; the run has not acted on it yet"), "{attention}");
}
