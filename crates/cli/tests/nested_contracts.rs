//! A broken contract or a hole inside a nested run reaches the external checks of the runs around it.

mod desk;

use desk::Desk;
use serde_json::json;

/// A contract that is broken and tolerated, and an external check behind it.
const BROKEN: &str = "
name: broken
checks:
  bad: {type: command, exec: 'echo 1', guarantee: output === 2, continue_on_failure: true, criticality: info}
  inner: {type: command, depends_on: bad, criticality: external, assume: attempt < 9, guarantee: \"checkName !== ''\", exec: 'echo inner >> log'}
";
const HOLE: &str = "
name: hole
checks:
  list: {type: command, exec: 'echo \"[0, 1]\"', forEach: true}
  each: {type: command, depends_on: list, assume: item !== 1, exec: 'echo {{ item }}'}
";
/// The same hole, with a word that the rest is enough.
const ENOUGH: &str = "
name: enough
checks:
  list: {type: command, exec: 'echo \"[0, 1]\"', forEach: true}
  each: {type: command, depends_on: list, criticality: info, continue_on_failure: true, exec: 'exit {{ item }}'}
";

fn outer(playbook: &str) -> String {
    format!(
        "
name: outer
checks:
  c: {{type: playbook, playbook: {playbook}}}
  ec: {{type: command, depends_on: c, criticality: external, assume: attempt < 9, guarantee: \"checkName !== ''\", exec: 'echo outer >> log'}}
"
    )
}

fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("broken.yaml", BROKEN);
    desk.write("hole.yaml", HOLE);
    desk.write("enough.yaml", ENOUGH);
    desk.write("middle.yaml", "name: middle\nchecks: {deep: {type: playbook, playbook: broken.yaml}}\n");
    desk
}

/// Runs a playbook around this one, in which the external check is skipped; with the reason for that.
fn blocked(playbook: &str) -> String {
    let desk = desk();
    let (_, document) = desk.run(&outer(playbook));
    assert_eq!(document["checks"]["c"]["status"], "succeeded", "{document}");
    let check = &document["checks"]["ec"];
    assert_eq!(
        (&check["status"], &check["skip_reason"]),
        (&json!("skipped"), &json!("contract_blocked")),
        "{check}"
    );
    assert!(!desk.path().join("log").exists(), "no effect happened");
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0), "the journal has what it was decided by");
    desk.escrow(&["explain", "last", "ec"]).stdout
}

#[test]
fn a_broken_contract_inside_a_nested_run_blocks_the_external_check_behind_it() {
    let told = blocked("broken.yaml");
    assert!(told.contains("in the nested run of `c`, `bad` broke its contract"), "{told}");
}

#[test]
fn a_hole_inside_a_nested_run_blocks_the_external_check_behind_it() {
    let told = blocked("hole.yaml");
    assert!(
        told.contains(
            "in the nested run of `c`, `each[1]` was skipped (assume), so its items are not complete"
        ),
        "{told}"
    );
}

#[test]
fn a_broken_contract_two_runs_further_inside_blocks_too() {
    let told = blocked("middle.yaml");
    assert!(
        told.contains("in the nested run of `c`, in the nested run of `deep`, `bad` broke its contract"),
        "{told}"
    );
}

#[test]
fn a_nested_list_that_is_enough_without_its_missing_items_blocks_nothing() {
    let desk = desk();
    let (_, document) = desk.run(&outer("enough.yaml"));
    assert_eq!(document["checks"]["ec"]["status"], "succeeded", "{document}");
}

/// Its failure may be let through, the contract that it broke may not.
#[test]
fn a_nested_run_that_failed_by_a_broken_contract_blocks_too() {
    let desk = desk();
    desk.write(
        "failing.yaml",
        "name: failing\nchecks: {bad: {type: command, exec: 'echo 1', guarantee: output === 2}}\n",
    );
    let outer = outer("failing.yaml").replace(
        "playbook: failing.yaml",
        "playbook: failing.yaml, criticality: info, continue_on_failure: true",
    );
    let (_, document) = desk.run(&outer);
    assert_eq!(document["checks"]["ec"]["skip_reason"], "contract_blocked", "{document}");
}
