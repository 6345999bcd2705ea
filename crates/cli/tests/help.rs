//! Help that helps: codes are explained, and names are found where people put things.

mod desk;

use desk::Desk;

#[test]
fn every_code_that_a_run_shows_can_be_explained() {
    let desk = Desk::new();
    let (_, document) = desk.run(
        "checks:
  a: {type: command, exec: 'exit 3'}
  b: {type: command, exec: 'true', depends_on: a}
  c: {type: command, exec: 'true', fail_if: 'true'}
",
    );
    let mut codes: Vec<&str> = Vec::new();
    for check in document["checks"].as_object().expect("a map").values() {
        let issues = check["issues"].as_array().expect("a list");
        codes.extend(issues.iter().filter_map(|issue| issue["rule_id"].as_str()));
        codes.extend(check["skip_reason"].as_str());
    }
    assert_eq!(codes, ["command/exit_nonzero", "dependency_failed", "c_fail_if"]);
    for code in codes {
        let done = desk.escrow(&["explain", code]);
        assert_eq!(done.code, Some(0), "{code}: {}", done.stderr);
        assert!(done.stdout.starts_with("## `"), "{code}: {}", done.stdout);
    }
    assert_eq!(desk.escrow(&["explain", "contract/nothing"]).code, Some(2));
}

#[test]
fn a_nested_playbook_is_found_in_an_ancestors_folder_with_or_without_its_extension() {
    let desk = Desk::new();
    desk.write(".escrow/playbooks/shared.yaml", "checks: {a: {type: command, exec: 'true'}}\n");
    for name in ["shared", "shared.yaml"] {
        desk.write("deep/er/p.yaml", &format!("checks: {{it: {{type: playbook, playbook: {name}}}}}\n"));
        let done = desk.escrow(&["run", "deep/er/p.yaml", "--dir", "deep/er"]);
        assert_eq!(done.code, Some(0), "{name}: {}", done.stderr);
    }
}
