//! `escrow plan`: every effect that a playbook can have, and what stands in its way.

mod desk;

use desk::Desk;
use serde_json::{Value, json};

fn plan(desk: &Desk, playbook: &str) -> Value {
    desk.write("playbook.yaml", playbook);
    let done = desk.escrow(&["plan", "playbook.yaml", "--output", "json"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    done.json()["plan"].clone()
}

fn guards(effect: &Value) -> Vec<String> {
    let guards = effect["guards"].as_array().expect("a list").iter();
    let word = |guard: &Value, key: &str| guard[key].as_str().expect("a text").to_owned();
    guards
        .map(|guard| format!("{} {} {}", word(guard, "check"), word(guard, "kind"), word(guard, "text")))
        .collect()
}

const RELEASE: &str = r#"
checks:
  test: {type: command, exec: make test, guarantee: 'output.ok', parse: json}
  review: {type: command, exec: ./review, outcome: review_verdict, fail_if: '!output.passed'}
  publish:
    type: command
    depends_on: [test, review]
    criticality: external
    exec: npm publish {{ inputs.version }}
    if: branch === 'main'
    reconcile: ./published
    requires_approval: {by: [ann, ben], count: 2, expires: 1h}
    on_fail: {retry: {max: 2}}
inputs: {version: {default: '1'}}
"#;

#[test]
fn an_effect_is_shown_with_the_guards_on_the_way_to_it() {
    let plan = plan(&Desk::new(), RELEASE);
    let effect = &plan["effects"][0];
    assert_eq!(effect["check"], "publish");
    assert_eq!(effect["request"], "npm publish {{ inputs.version }}");
    assert_eq!(effect["guarded"], true);
    assert_eq!(effect["attempts_max"], 3, "one, and two retries");
    assert_eq!(effect["before_another_attempt"], "reconcile");
    assert_eq!(
        guards(effect),
        [
            "publish approval 2 of ann, ben",
            "publish if branch === 'main'",
            "review fail_if !output.passed",
            "review outcome review_verdict",
            "test guarantee output.ok",
        ]
    );
    assert_eq!(plan["people"][0]["by"], json!(["ann", "ben"]));
    assert_eq!(plan["people"][0]["expires_ms"], 3_600_000);
}

#[test]
fn effects_of_nested_playbooks_are_followed_with_the_guards_around_them() {
    let desk = Desk::new();
    desk.write(
        "ship.yaml",
        "checks: {push: {type: command, criticality: external, exec: git push, on_fail: {retry: {max: 1}}}}",
    );
    let outer = "checks:
  gate: {type: command, exec: ./gate, guarantee: 'output.ok'}
  ship: {type: playbook, playbook: ship.yaml, depends_on: gate, on_fail: {retry: {max: 2}}}";
    let plan = plan(&desk, outer);
    assert_eq!(plan["effects"].as_array().expect("a list").len(), 1, "{plan}");
    let effect = &plan["effects"][0];
    assert_eq!(effect["check"], "ship/push");
    assert_eq!(effect["attempts_max"], 6, "two attempts in each of three");
    assert_eq!(guards(effect), ["gate guarantee output.ok"]);
}

#[test]
fn a_guard_that_an_alternative_avoids_does_not_count() {
    let playbook = "checks:
  tested: {type: command, exec: make test, guarantee: 'output.ok'}
  hurried: {type: command, exec: 'true'}
  push: {type: command, depends_on: 'tested|hurried', criticality: external, exec: git push}";
    let plan = plan(&Desk::new(), playbook);
    assert_eq!(plan["effects"][0]["guarded"], false, "{plan}");
}

#[test]
fn a_condition_that_dependents_pass_over_does_not_count() {
    let playbook = "checks:
  maybe: {type: command, exec: 'true', if: 'false', continue_on_skip: true}
  push: {type: command, depends_on: maybe, criticality: external, exec: git push}";
    let plan = plan(&Desk::new(), playbook);
    assert_eq!(plan["effects"][0]["guarded"], false, "{plan}");
}

#[test]
fn routes_that_re_run_a_check_count_as_attempts() {
    let playbook = "routing: {max_loops: 4}
checks:
  push: {type: command, criticality: external, exec: git push, idempotent: true}
  look: {type: command, depends_on: push, exec: 'true', on_success: {transitions: [{when: 'output.again', to: push}]}}";
    let plan = plan(&Desk::new(), playbook);
    assert_eq!(plan["effects"][0]["attempts_max"], 5, "{plan}");
    assert_eq!(plan["effects"][0]["before_another_attempt"], "idempotent");
}

#[test]
fn an_unguarded_effect_exits_with_4_on_request() {
    let desk = Desk::new();
    desk.write("open.yaml", "checks: {push: {type: command, criticality: external, exec: git push}}");
    assert_eq!(desk.escrow(&["plan", "open.yaml"]).code, Some(0));
    let refused = desk.escrow(&["plan", "open.yaml", "--fail-on-unguarded"]);
    assert_eq!(refused.code, Some(4), "{}", refused.stderr);
    assert!(refused.stdout.contains("guarded by nothing"), "{}", refused.stdout);
    desk.write("playbook.yaml", RELEASE);
    assert_eq!(desk.escrow(&["plan", "playbook.yaml", "--fail-on-unguarded"]).code, Some(0));
}

#[test]
fn the_page_says_it_in_words() {
    let desk = Desk::new();
    desk.write("playbook.yaml", RELEASE);
    let shown = desk.escrow(&["plan", "playbook.yaml"]).stdout;
    let expected = "playbook

  publish  command
    npm publish {{ inputs.version }}
    guard: approval of `publish`: 2 of ann, ben
    guard: if of `publish`: branch === 'main'
    guard: fail_if of `review`: !output.passed
    guard: outcome of `review`: review_verdict
    guard: guarantee of `test`: output.ok
    at most 3 attempts; `reconcile` is asked before each further one

asked
  2 of ann, ben, to approve `publish` within 1h 00m
";
    assert_eq!(shown, expected);
}

#[test]
fn a_playbook_without_effects_says_so() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {look: {type: command, exec: ls}}");
    let shown = desk.escrow(&["plan", "playbook.yaml"]).stdout;
    assert!(shown.contains("no effects: nothing outside can change"), "{shown}");
}
