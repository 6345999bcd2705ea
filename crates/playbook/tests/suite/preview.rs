//! `escrow plan`: a guard counts only if no way to the effect avoids it, and attempts are the worst case.

use escrow_playbook::{EffectPreview, NoReferences, preview, read};

use crate::support::CATALOG;

/// The one effect of a playbook.
fn effect(checks: &str) -> EffectPreview {
    let text = format!("checks:\n{checks}");
    let reading = read(&text, "x.yaml", CATALOG, &NoReferences);
    let plan = reading.plan.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
    let effects = preview(&plan).effects;
    let [effect] = effects.as_slice() else { panic!("{effects:?}") };
    effect.clone()
}

/// The guards of the one effect of a playbook, as `check kind`.
fn guards(checks: &str) -> Vec<String> {
    let effect = effect(checks);
    assert_eq!(effect.guarded, !effect.guards.is_empty());
    effect.guards.iter().map(|guard| format!("{} {}", guard.check, guard.kind.as_str())).collect()
}

#[test]
fn an_empty_list_avoids_the_guards_of_its_items() {
    let mapped = "  list: {type: command, exec: ls, forEach: true, guarantee: 'output'}
  test: {type: command, exec: ls, guarantee: 'output'}
  ok: {type: command, exec: ls, depends_on: [list, test], guarantee: 'output', requires_approval: true}
  ship: {type: command, exec: ls, depends_on: ok, criticality: external, ";
    assert_eq!(guards(&format!("{mapped}fanout: reduce}}")), ["list guarantee"]);
    // For an item, there is no empty list.
    assert_eq!(
        guards(&format!("{mapped}fanout: map}}")),
        ["list guarantee", "ok approval", "ok guarantee", "test guarantee"]
    );
}

#[test]
fn a_false_condition_that_dependents_pass_over_avoids_the_contracts_behind_it() {
    let passed_over = |keys: &str| {
        guards(&format!(
            "  first: {{type: command, exec: ls, guarantee: 'output'}}
  gate: {{type: command, exec: ls, depends_on: first, guarantee: 'output', requires_approval: true, {keys}}}
  ship: {{type: command, exec: ls, depends_on: gate, criticality: external}}"
        ))
    };
    let all = ["first guarantee", "gate approval", "gate guarantee"];
    assert_eq!(passed_over("timeout: 1s"), all);
    // Without a filter and without `if`, there is nothing to pass over.
    assert_eq!(passed_over("continue_on_skip: true"), all);
    // `if` is decided after the dependencies.
    assert_eq!(passed_over("continue_on_skip: true, if: 'false || inputs'"), ["first guarantee"]);
    // A filter waits for nothing.
    assert_eq!(passed_over("continue_on_skip: true, on: [push]"), [""; 0]);
    assert_eq!(passed_over("continue_on_skip: true, tags: [slow]"), [""; 0]);
}

#[test]
fn a_failure_that_dependents_pass_over_leaves_fail_if_alone() {
    let passed_over = |keys: &str| {
        guards(&format!(
            "  gate: {{type: command, exec: ls, continue_on_failure: true, {keys}}}
  ship: {{type: command, exec: ls, depends_on: gate, criticality: external}}"
        ))
    };
    assert_eq!(passed_over("guarantee: 'output', schema: {type: object}"), [""; 0]);
    assert_eq!(passed_over("guarantee: 'output', fail_if: 'result.exit_code !== 0'"), ["gate fail_if"]);
    assert_eq!(passed_over("requires_approval: true, guarantee: 'output'"), [""; 0]);
    // What is skipped, or fails before its provider is called, is not judged at all.
    assert_eq!(passed_over("fail_if: 'output', if: 'inputs'"), [""; 0]);
    assert_eq!(passed_over("fail_if: 'output', assume: 'inputs'"), [""; 0]);
    assert_eq!(passed_over("fail_if: 'output', on: [push]"), [""; 0]);
    assert_eq!(passed_over("fail_if: 'output', env: {A: '{{ branch }}'}"), [""; 0]);
}

#[test]
fn a_dependency_that_fails_skips_the_guard_that_continues() {
    let found = guards(
        "  first: {type: command, exec: ls}
  gate: {type: command, exec: ls, depends_on: first, fail_if: 'output', continue_on_failure: true}
  ship: {type: command, exec: ls, depends_on: gate, criticality: external}",
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn alternatives_share_what_lies_before_both_of_them() {
    let found = guards(
        "  first: {type: command, exec: ls, guarantee: 'output'}
  a: {type: command, exec: ls, depends_on: first, guarantee: 'output'}
  b: {type: command, exec: ls, depends_on: first, schema: {type: object}}
  ship: {type: command, exec: ls, depends_on: 'a|b', criticality: external}",
    );
    assert_eq!(found, ["first guarantee"]);
}

#[test]
fn a_route_after_a_failure_avoids_what_a_fault_leaves_unjudged() {
    let routed = |block: &str, start: &str| {
        guards(&format!(
            "  gate: {{type: command, exec: ls, if: 'event', guarantee: 'output', {block}: {{goto: ship}}}}
  ship: {{type: command, exec: ls, depends_on: gate, criticality: external{start}}}"
        ))
    };
    assert_eq!(routed("on_success", ""), ["gate if", "gate guarantee"]);
    assert_eq!(routed("on_fail", ""), ["gate if"]);
    assert_eq!(routed("on_fail", ", start: true"), ["gate if"]);
    assert_eq!(routed("on_finish", ""), ["gate if"]);
}

#[test]
fn a_check_that_waits_for_a_route_has_the_guards_of_its_source() {
    let routed = |start: &str| {
        guards(&format!(
            "  gate: {{type: command, exec: ls, guarantee: 'output', on_success: {{run: [ship]}}}}
  ship: {{type: command, exec: ls, criticality: external{start}}}"
        ))
    };
    assert_eq!(routed(""), ["gate guarantee"]);
    assert_eq!(routed(", start: true"), [""; 0]);
}

#[test]
fn a_computed_route_can_lead_to_any_check() {
    let found = guards(
        "  gate: {type: command, exec: ls, guarantee: 'output', on_fail: {goto_js: 'return null'}}
  ship: {type: command, exec: ls, depends_on: gate, criticality: external}",
    );
    assert_eq!(found, [""; 0]);
}

#[test]
fn what_stops_nothing_is_no_guard() {
    let text = "artifacts: {expected: [{id: a, path: a, required: false}, {id: b, path: b, if: 'branch'}]}
checks:
  shown: {type: command, exec: ls, schema: code-review, artifacts: [a, b]}
  asked: {type: human-input, prompt: Go?, choices: ['yes', 'no'], default: 'yes'}
  ship: {type: command, exec: ls, depends_on: [shown, asked], criticality: external}";
    let reading = read(text, "x.yaml", CATALOG, &NoReferences);
    let plan = reading.plan.unwrap_or_else(|| panic!("{:?}", reading.diagnostics));
    assert_eq!(preview(&plan).effects[0].guards, []);
}

#[test]
fn a_long_chain_of_guards_is_followed_to_its_end() {
    // In reverse, so that the order of the file is of no help.
    let mut checks = "  ship: {type: command, exec: ls, depends_on: c0, criticality: external}\n".to_owned();
    for index in 0..400 {
        let next = index + 1;
        checks +=
            &format!("  c{index}: {{type: command, exec: ls, depends_on: c{next}, guarantee: 'output'}}\n");
    }
    checks += "  c400: {type: command, exec: ls, guarantee: 'output'}\n";
    assert_eq!(guards(&checks).len(), 401);
}

#[test]
fn attempts_are_the_worst_case() {
    let attempts = |keys: &str| {
        let ship = format!("  ship: {{type: command, exec: ls, criticality: external, {keys}}}");
        effect(&ship).attempts_max
    };
    assert_eq!(attempts("timeout: 1s"), 1);
    // It answers `retry` three times at most.
    assert_eq!(attempts("reconcile: ./look"), 4);
    assert_eq!(attempts("reconcile: ./look, on_fail: {retry: {max: 1}}"), 2);
    assert_eq!(attempts("reconcile: ./look, idempotent: true"), 1);
}

#[test]
fn loops_inside_an_item_add_to_those_around_it() {
    let effect = effect(
        "  list: {type: command, exec: ls, forEach: true, guarantee: 'output'}
  ship: {type: command, exec: ls, depends_on: list, criticality: external, on_success: {goto: ship}}
  done: {type: command, exec: ls, depends_on: ship, fanout: reduce, criticality: info, on_success: {goto: list}}",
    );
    assert_eq!(effect.attempts_max, 1 + 8 + 10);
}
