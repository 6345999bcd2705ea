//! Every published fixture of both versions behaves as it declares.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]
#![allow(clippy::disallowed_methods, reason = "a test may look at the world")]

use std::fs;
use std::path::{Path, PathBuf};

use escrow_protocol::conformance::{Expectation, Fixture, FixtureOutcome};
use escrow_protocol::manifest::{AdapterManifest, Registry};
use escrow_protocol::version::WireVersion;
use serde_json::Value;

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
    let mut paths = Vec::new();
    collect(&Path::new(ROOT).join(version), &mut paths);
    assert_eq!(paths.len(), 68);
    for path in paths {
        let row = Fixture::read(&fs::read(&path).unwrap()).unwrap().check(&path.to_string_lossy());
        let expected = match row.expect {
            Expectation::Valid => FixtureOutcome::ValidOk,
            Expectation::Invalid => FixtureOutcome::InvalidOk,
        };
        assert_eq!(row.outcome, expected, "{row:?}");
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
