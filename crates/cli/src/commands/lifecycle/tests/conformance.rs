//! The published fixtures, through the verbs.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::LifecycleExit;
use super::super::system::FixtureFile;
use super::{ScriptedSystem, check};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../protocol/tests/data/conformance");

#[test]
fn all_68_fixtures_of_both_versions_pass_with_a_row_each() {
    for version in ["v0.2", "v0.4"] {
        let mut system = ScriptedSystem { fixtures: fixtures(version), ..ScriptedSystem::default() };
        let output = system.run(&["conformance", "run", "--summary"]);
        assert_eq!(output.stderr, "");
        let summary: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!((&summary["passed"], &summary["total"]), (&68.into(), &68.into()));

        let rows = system.run(&["conformance", "run"]).stdout;
        assert_eq!(rows.lines().count(), 68);
        for row in rows.lines() {
            let row: Value = serde_json::from_str(row).unwrap();
            let expected = if row["expect"] == "valid" { "valid_ok" } else { "invalid_ok" };
            assert_eq!(row["outcome"], expected, "{row}");
        }
    }
}

#[test]
fn requests_and_receipts_of_fixtures_get_the_same_judgement_from_their_own_verbs() {
    for version in ["v0.2", "v0.4"] {
        let mut checked = 0;
        for file in fixtures(version) {
            let fixture: Value = serde_json::from_slice(&file.contents).unwrap();
            let data = fixture["data"].to_string();
            let output = match fixture["kind"].as_str().unwrap() {
                "callback_request" => check(&["envelope", "validate", "request"], data.as_bytes()),
                "lifecycle_receipt" => check(&["receipt", "show"], data.as_bytes()),
                _ => continue,
            };
            checked += 1;
            if fixture["expect"] == "valid" {
                assert_eq!(output.exit, LifecycleExit::Done, "{file:?}: {}", output.stderr);
            } else {
                assert_ne!(output.exit, LifecycleExit::Done, "{file:?}");
                let expected = fixture["expect_error"].as_str().unwrap();
                assert!(output.stderr.contains(expected), "{}", output.stderr);
            }
            if fixture["kind"] == "lifecycle_receipt" && fixture["expect"] == "valid" {
                let shown: Value = serde_json::from_str(&output.stdout).unwrap();
                assert_eq!(shown, fixture["data"]);
            }
        }
        assert_eq!(checked, 33, "requests and receipts of {version}");
    }
}

fn fixtures(version: &str) -> Vec<FixtureFile> {
    let mut paths = Vec::new();
    collect(&Path::new(ROOT).join(version), &mut paths);
    paths.sort();
    paths
        .into_iter()
        .map(|path| FixtureFile { contents: fs::read(&path).unwrap(), path: OsString::from(path) })
        .collect()
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, paths);
        } else {
            paths.push(path);
        }
    }
}
