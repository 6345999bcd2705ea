//! Every published fixture of both versions does what it says.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "a test may look at the world")]

mod support;

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use escrow_protocol::command::{ExitCode, FixtureFile};
use escrow_protocol::manifest::{AdapterManifest, Registry};
use escrow_protocol::version::WireVersion;
use serde_json::Value;
use support::world::{Scripted, check};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/conformance");

#[test]
fn all_68_fixtures_of_v0_4_pass() {
    check_corpus("v0.4");
}

#[test]
fn all_68_fixtures_of_v0_2_pass() {
    check_corpus("v0.2");
}

fn check_corpus(version: &str) {
    let mut world = Scripted { fixtures: fixtures(version), ..Scripted::default() };
    let answer = world.run(&["conformance", "run", "--summary"]);
    assert_eq!(answer.stderr, "");
    let summary: Value = serde_json::from_str(&answer.stdout).unwrap();
    assert_eq!((&summary["passed"], &summary["total"]), (&68.into(), &68.into()));

    let rows = world.run(&["conformance", "run"]).stdout;
    assert_eq!(rows.lines().count(), 68);
    for row in rows.lines() {
        let row: Value = serde_json::from_str(row).unwrap();
        let expected = if row["expect"] == "valid" { "valid_ok" } else { "invalid_ok" };
        assert_eq!(row["outcome"], expected, "{row}");
    }
}

#[test]
fn every_fixture_says_the_same_through_the_verbs() {
    for version in ["v0.2", "v0.4"] {
        let mut checked = 0;
        for file in fixtures(version) {
            let fixture: Value = serde_json::from_slice(&file.contents).unwrap();
            let data = fixture["data"].to_string();
            let answer = match fixture["kind"].as_str().unwrap() {
                "callback_request" => check(&["envelope", "validate", "request"], data.as_bytes()),
                "lifecycle_receipt" => check(&["receipt", "show"], data.as_bytes()),
                _ => continue,
            };
            checked += 1;
            if fixture["expect"] == "valid" {
                assert_eq!(answer.exit_code, ExitCode::Done, "{file:?}: {}", answer.stderr);
            } else {
                assert_ne!(answer.exit_code, ExitCode::Done, "{file:?}");
                assert!(
                    answer.stderr.contains(fixture["expect_error"].as_str().unwrap()),
                    "{}",
                    answer.stderr
                );
            }
            if fixture["kind"] == "lifecycle_receipt" && fixture["expect"] == "valid" {
                let shown: Value = serde_json::from_str(&answer.stdout).unwrap();
                assert_eq!(shown, fixture["data"]);
            }
        }
        assert_eq!(checked, 33, "requests and receipts of {version}");
    }
}

#[test]
fn the_builtin_manifests_are_the_published_ones() {
    for (folder, version) in [("v0.2", WireVersion::V0_2), ("v0.4", WireVersion::V0_4)] {
        for name in ["claude", "codex"] {
            let text = fs::read_to_string(format!("{ROOT}/{folder}/manifests/{name}_v1.json")).unwrap();
            let fixture: Value = serde_json::from_str(&text).unwrap();
            let published = AdapterManifest::from_value(fixture["data"].clone()).unwrap();
            assert_eq!(Registry::builtin(version).find(name).unwrap().manifest, published);
        }
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
