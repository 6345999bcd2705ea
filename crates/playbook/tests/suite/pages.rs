//! The pages about diagnostics: one per code, and their examples do what they say.

use crate::support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use escrow_playbook::{Beside, DIAGNOSTICS, page, read_beside, read_bytes, render};
use serde_json::{Value, json};

/// The fenced YAML examples of a page, in order.
fn examples(page: &str) -> Vec<String> {
    page.split("```yaml\n").skip(1).filter_map(|rest| rest.split("```").next()).map(str::to_owned).collect()
}

/// A project with one kind of its own, which is no JSON Schema.
struct Project;

impl Beside for Project {
    fn outcome_kind(&self, name: &str) -> Option<Result<Value, String>> {
        (name == "broken_kind").then(|| Ok(json!({"type": "objekt"})))
    }
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
        let examples = examples(page(known.code).expect("it has a page"));
        // What is not UTF-8 cannot stand in a page.
        if known.code != "E0137" {
            assert_eq!(examples.len(), 2, "{}", known.code);
            let broken = read_beside(&examples[0], "example.yaml", support::CATALOG, &Project);
            if !broken.diagnostics.iter().any(|found| found.code == known.code) {
                wrong.push(format!(
                    "{} is not triggered:\n{}",
                    known.code,
                    render(&broken.diagnostics, &examples[0], false)
                ));
            }
        }
        let mended = examples.last().expect("it has an example");
        let reading = read_beside(mended, "example.yaml", support::CATALOG, &Project);
        if !reading.diagnostics.is_empty() || reading.plan.is_none() {
            wrong.push(format!(
                "{} is not mended:\n{}",
                known.code,
                render(&reading.diagnostics, mended, false)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bytes_that_are_no_text_are_refused_at_their_place() {
    let reading = read_bytes(b"checks:\n  a: \xff\n", "x.yaml", support::CATALOG);
    assert_eq!(reading.diagnostics[0].code, "E0137");
    assert_eq!((reading.diagnostics[0].line, reading.diagnostics[0].column), (2, 6));
}
