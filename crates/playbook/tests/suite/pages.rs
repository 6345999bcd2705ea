//! The pages of docs/diagnostics: one per code, with working examples.

use crate::support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use escrow_playbook::{DIAGNOSTICS, Diagnostic, NoReferences, page, read_bytes, read_profile, render};

/// The fenced examples of a page: playbooks or agent profiles.
fn examples(page: &str) -> Vec<String> {
    let fence = if is_about_profiles(page) { "```markdown\n" } else { "```yaml\n" };
    page.split(fence).skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

fn is_about_profiles(page: &str) -> bool {
    page.contains("```markdown\n")
}

/// The diagnostics of an example, and whether it is valid.
fn read(example: &str, page: &str) -> (Vec<Diagnostic>, bool) {
    if is_about_profiles(page) {
        let reading = read_profile(example.as_bytes(), "reviewer.md", "reviewer");
        return (reading.diagnostics, reading.profile.is_some());
    }
    // A page about triggers shows the trigger alone.
    let chain = match example.starts_with("trigger:") {
        true => format!("{example}steps:\n  - {{ action: shell, with: {{ exec: make }} }}\n"),
        false => example.to_owned(),
    };
    if escrow_playbook::file_kind(chain.as_bytes()) == Some(escrow_playbook::FileKind::Chain) {
        let reading = escrow_playbook::read_chain(
            chain.as_bytes(),
            "example.yaml",
            support::CATALOG,
            &support::Project,
        );
        return (reading.diagnostics, reading.plan.is_some());
    }
    let reading = escrow_playbook::read(example, "example.yaml", support::CATALOG, &support::Project);
    (reading.diagnostics, reading.plan.is_some())
}

#[test]
fn every_code_has_its_page_and_every_page_its_code() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/diagnostics");
    let pages: BTreeSet<String> = fs::read_dir(directory)
        .expect("the pages are there")
        .map(|entry| entry.expect("it can be read").path())
        .filter_map(|path| path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned))
        .collect();
    let codes: BTreeSet<String> = DIAGNOSTICS.iter().map(|known| known.code.to_owned()).collect();
    assert_eq!(pages, codes);
}

#[test]
fn the_first_example_has_the_problem_and_the_last_one_has_none() {
    let mut wrong = Vec::new();
    for known in DIAGNOSTICS {
        let page = page(known.code).expect("it has a page");
        let examples = examples(page);
        // A page is UTF-8, so it cannot contain this example.
        if known.code != "E0137" {
            assert_eq!(examples.len(), 2, "{}", known.code);
            let (broken, _) = read(&examples[0], page);
            if !broken.iter().any(|found| found.code == known.code) {
                let shown = render(&broken, &examples[0], false);
                wrong.push(format!("{} is not triggered:\n{shown}", known.code));
            }
        }
        let fixed = examples.last().expect("it has an example");
        let (found, is_good) = read(fixed, page);
        if !found.is_empty() || !is_good {
            wrong.push(format!("{} is not fixed:\n{}", known.code, render(&found, fixed, false)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn invalid_utf8_is_reported_at_its_position() {
    let reading = read_bytes(b"checks:\n  a: \xff\n", "x.yaml", support::CATALOG, &NoReferences);
    assert_eq!(reading.diagnostics[0].code, "E0137");
    assert_eq!((reading.diagnostics[0].line, reading.diagnostics[0].column), (2, 6));
}
