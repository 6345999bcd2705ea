//! The report of `escrow check`.

use escrow_playbook::{NoReferences, read, report};
use serde_json::json;

use crate::support::CATALOG;

#[test]
fn a_report_lists_starts_criticality_and_artifacts() {
    let text = "
name: release
artifacts:
  expected:
    - { id: notes, path: notes.md }
    - { id: logs, glob: 'logs/*.txt', required: false }
checks:
  list: { type: command, exec: ls, forEach: true, guarantee: output.length }
  each: { type: command, exec: cat, depends_on: list, guarantee: result, on_fail: { goto: repair } }
  repair: { type: noop, fanout: map }
  done: { type: noop, depends_on: [list, 'each|repair'], fanout: reduce }
";
    let reading = read(text, "x.yaml", CATALOG, &NoReferences);
    assert_eq!(reading.diagnostics, []);
    let report = serde_json::to_value(report(&reading.plan.expect("valid"))).expect("it is data");
    assert_eq!(report["starts"], json!(["list", "each", "done"]));
    assert_eq!(
        report["artifacts"],
        json!({
            "required": 1,
            "optional": 1,
            "expected": [
                {
                    "id": "notes", "path": "notes.md", "required": true, "source": "playbook",
                    "replaces": null, "check": null, "description": "", "if": null,
                },
                {
                    "id": "logs", "path": "logs/*.txt", "required": false, "source": "playbook",
                    "replaces": null, "check": null, "description": "", "if": null,
                },
            ],
            "lines": [
                "contract resolved (2 expected: 1 required, 1 optional)",
                "all paths relative-OK",
                "no id collisions",
            ],
        })
    );
    assert_eq!(
        report["checks"][3],
        json!({
            "name": "done",
            "type": "noop",
            "starts": true,
            "criticality": "info",
            "criticality_origin": "default",
            "mutating": false,
            "depends_on": ["list", "each|repair"],
            "fan": [],
            "routes_to": [],
            "timeout_ms": 60_000,
        })
    );
    assert_eq!(report["checks"][2]["fan"], json!(["list"]));
    assert_eq!(report["checks"][1]["routes_to"], json!(["repair"]));
}

#[test]
fn nothing_is_said_about_artifacts_when_none_are_promised() {
    let reading = read("checks: { a: { type: noop } }", "x.yaml", CATALOG, &NoReferences);
    assert!(report(&reading.plan.expect("valid")).artifacts.is_none());
}
