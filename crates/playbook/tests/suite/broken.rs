//! Broken playbooks, each beside what a person is told about it.

use crate::support;

use escrow_playbook::{Severity, read, render};

#[test]
fn every_broken_playbook_is_told_what_is_wrong_and_where() {
    let count = support::check_directory("broken", |text, name| {
        let reading = read(text, name, support::CATALOG);
        let errors = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
        assert_eq!(reading.plan.is_none(), errors > 0, "{name}: a plan goes with no errors");
        assert!(!reading.diagnostics.is_empty(), "{name} is not broken");
        render(&reading.diagnostics, text, false)
    });
    assert!(count >= 1, "only {count} broken playbooks");
}
