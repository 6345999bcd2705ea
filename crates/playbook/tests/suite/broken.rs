//! Broken playbooks, each beside what a person is told about it.

use crate::support;

use escrow_playbook::{Severity, read, render, render_within};

#[test]
fn every_broken_playbook_is_told_what_is_wrong_and_where() {
    let count = support::check_directory("broken", |text, name| {
        let reading = read(text, name, support::CATALOG);
        let errors = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
        assert_eq!(reading.plan.is_none(), errors > 0, "{name}: a plan goes with no errors");
        assert!(!reading.diagnostics.is_empty(), "{name} is not broken");
        render(&reading.diagnostics, text, false)
    });
    assert!(count >= 150, "only {count} broken playbooks");
}

#[test]
fn every_problem_says_what_helps() {
    for text in support::texts_of("broken") {
        for found in read(&text, "broken.yaml", support::CATALOG).diagnostics {
            assert!(found.help.is_some(), "{} has no help: {}\n{text}", found.code, found.message);
        }
    }
}

#[test]
fn a_file_with_too_many_problems_counts_those_that_it_does_not_tell() {
    let checks: String = (0..700).map(|number| format!("  c{number}: {{ type: nop }}\n")).collect();
    let reading = read(&format!("checks:\n{checks}"), "long.yaml", support::CATALOG);
    assert_eq!((reading.diagnostics.len(), reading.untold), (500, 200));
}

#[test]
fn a_narrow_terminal_gets_narrow_lines_and_the_caret_stays_in_its_place() {
    let text = format!("checks:\n  a: {{ type: command, exec: \"echo {}\", tiemout: 3 }}\n", "x".repeat(200));
    let shown = render_within(60, &read(&text, "narrow.yaml", support::CATALOG).diagnostics, &text, false);
    assert!(shown.contains(" --> narrow.yaml:2:238"), "{shown}");
    let source = shown.lines().find(|line| line.contains("tiemout: 3")).expect("the key is shown");
    let caret = shown.lines().find(|line| line.contains("^^^^^^^")).expect("a caret");
    assert_eq!(source.find("tiemout"), caret.find("^^^^^^^"), "{shown}");
    assert!(source.chars().count() <= 60, "{shown}");
}
