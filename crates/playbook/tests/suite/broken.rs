//! Invalid playbooks, each with a snapshot of its diagnostics.

use crate::support;

use escrow_playbook::{NoReferences, Severity, read, read_chain, render, render_within};

#[test]
fn every_invalid_playbook_is_reported_with_positions() {
    let count = support::check_directory("broken", |text, name| {
        // `kind-chain.yaml` is one where a playbook is expected.
        let reading = match name.starts_with("chain-") {
            true => read_chain(text.as_bytes(), name, support::CATALOG, &NoReferences),
            false => read(text, name, support::CATALOG, &NoReferences),
        };
        let errors = reading.diagnostics.iter().filter(|found| found.severity == Severity::Error).count();
        assert_eq!(
            reading.plan.is_none(),
            errors > 0,
            "{name}: a plan exists exactly when there are no errors"
        );
        assert!(!reading.diagnostics.is_empty(), "{name} is not broken");
        render(&reading.diagnostics, text, false)
    });
    assert!(count >= 150, "only {count} broken playbooks");
}

#[test]
fn every_diagnostic_has_a_help() {
    for text in support::texts_of("broken") {
        for found in read(&text, "broken.yaml", support::CATALOG, &NoReferences).diagnostics {
            assert!(found.help.is_some(), "{} has no help: {}\n{text}", found.code, found.message);
        }
    }
}

#[test]
fn diagnostics_beyond_the_limit_are_counted() {
    let checks: String = (0..700).map(|number| format!("  c{number}: {{ type: nop }}\n")).collect();
    let reading = read(&format!("checks:\n{checks}"), "long.yaml", support::CATALOG, &NoReferences);
    assert_eq!((reading.diagnostics.len(), reading.omitted_errors), (500, 200));
}

#[test]
fn lines_fit_a_narrow_terminal_and_the_caret_stays_aligned() {
    let text = format!("checks:\n  a: {{ type: command, exec: \"echo {}\", tiemout: 3 }}\n", "x".repeat(200));
    let shown = render_within(
        60,
        &read(&text, "narrow.yaml", support::CATALOG, &NoReferences).diagnostics,
        &text,
        false,
    );
    assert!(shown.contains(" --> narrow.yaml:2:238"), "{shown}");
    let source = shown.lines().find(|line| line.contains("tiemout: 3")).expect("the key is shown");
    let caret = shown.lines().find(|line| line.contains("^^^^^^^")).expect("a caret");
    assert_eq!(source.find("tiemout"), caret.find("^^^^^^^"), "{shown}");
    assert!(source.chars().count() <= 60, "{shown}");
}
