//! docs/harnesses.md says what the code does.

use std::fs;
use std::path::Path;

use escrow_harness::{AnswerKind, Figures, HARNESSES, Known};

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/harnesses.md");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The cells of the row that starts with a label, without the label.
fn row<'a>(page: &'a str, label: &str) -> Vec<&'a str> {
    let start = format!("| {label} |");
    let row = page.lines().find(|line| line.starts_with(&start));
    let row = row.unwrap_or_else(|| panic!("docs/harnesses.md has no row `{label}`"));
    row[start.len()..].trim_end_matches('|').split('|').map(str::trim).collect()
}

#[test]
fn figures_are_documented_as_they_are() {
    let page = page();
    let check = |label: &str, figure: fn(&Figures) -> Known| {
        let expected: Vec<&str> = HARNESSES
            .iter()
            .map(|harness| match figure(&harness.spec().figures) {
                Known::Streamed => "streamed",
                Known::AtEnd => "at the end",
                Known::Never => "never",
            })
            .collect();
        assert_eq!(row(&page, label), expected, "{label}");
    };
    check("turns", |figures| figures.turns);
    check("input and output tokens", |figures| figures.input_tokens);
    check("input and output tokens", |figures| figures.output_tokens);
    check("cost", |figures| figures.cost);
    check("denials", |figures| figures.denials);
    check("tool calls", |figures| figures.tool_calls);
    check("model", |figures| figures.model);
    check("session id", |figures| figures.session);
}

#[test]
fn versions_and_variables_are_documented() {
    let page = page();
    for harness in HARNESSES {
        let name = format!("`{}`", harness.spec().name);
        let program = row(&page, &name);
        assert_eq!(program[0], format!("`{}`", harness.spec().name));
        assert_eq!(program[1], format!("`{}`", harness.spec().package));
        assert_eq!(program[2], harness.spec().tested_versions.join(", "));
        for variable in harness.spec().key_variables.iter().chain(harness.spec().service_variables) {
            let is_proxy = ["http_proxy", "https_proxy", "no_proxy"].contains(variable);
            assert!(is_proxy || page.contains(&format!("`{variable}`")), "{name}: {variable}");
        }
        if let Some(login) = harness.spec().login {
            assert!(page.contains(&format!("`~/{}`", login.source)), "{name}");
        }
    }
}

#[test]
fn events_and_answers_of_hooks_are_documented() {
    let page = page();
    let answers = [
        ("hold back a stop", AnswerKind::BlockStop),
        ("deny a tool", AnswerKind::DenyTool),
        ("add context", AnswerKind::AddContext),
    ];
    for (index, harness) in HARNESSES.iter().enumerate() {
        for (label, kind) in answers {
            let mut able: Vec<&str> = harness
                .spec()
                .hooks
                .events
                .iter()
                .filter(|event| event.can(kind))
                .map(|event| event.name)
                .collect();
            let mut documented: Vec<&str> =
                row(&page, label)[index].split(", ").filter(|name| *name != "–").collect();
            able.sort_unstable();
            documented.sort_unstable();
            assert_eq!(documented, able, "{}: {label}", harness.spec().name);
        }
        for event in harness.spec().hooks.installed() {
            let lifecycle = event.lifecycle().expect("installed for its meaning");
            let name = event.name.trim_start_matches("event:");
            let rows: Vec<&str> =
                page.lines().filter(|line| line.starts_with(&format!("| `{lifecycle}`"))).collect();
            assert!(rows.iter().any(|row| row.contains(name)), "{}: {lifecycle} {name}", harness.spec().name);
        }
    }
}
