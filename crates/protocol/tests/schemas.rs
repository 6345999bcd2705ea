//! The published JSON Schemas are those of the types, and accept what is valid.

#![cfg(feature = "schema")]
#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]
#![allow(clippy::disallowed_methods, reason = "a test may look at the world")]

use std::fs;
use std::path::{Path, PathBuf};

use escrow_protocol::schema::schemas;
use escrow_protocol::version::WireVersion;
use serde_json::{Value, json};

/// With `UPDATE_SCHEMAS=1` the published ones are written anew.
#[test]
fn the_published_schemas_are_up_to_date() {
    for &version in WireVersion::ALL {
        for (name, schema) in schemas(version) {
            let path = published(version, name);
            let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
            if std::env::var_os("UPDATE_SCHEMAS").is_some() {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &text).unwrap();
            }
            assert_eq!(fs::read_to_string(&path).unwrap(), text, "{}", path.display());
        }
    }
}

#[test]
fn valid_fixtures_are_valid_and_broken_shapes_are_not() {
    let mut checked = 0;
    for version in [WireVersion::V0_2, WireVersion::V0_4] {
        let short = version.as_str().strip_prefix("lifeloop.").unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/conformance").join(short);
        for folder in fs::read_dir(root).unwrap() {
            for file in fs::read_dir(folder.unwrap().path()).unwrap() {
                let path = file.unwrap().path();
                let fixture: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
                let kind = fixture["kind"].as_str().unwrap();
                let Some((_, schema)) = schemas(version).into_iter().find(|(name, _)| *name == kind) else {
                    continue;
                };
                let validator = jsonschema::validator_for(&schema).unwrap();
                if fixture["expect"] == "valid" {
                    assert!(validator.is_valid(&fixture["data"]), "{}", path.display());
                    checked += 1;
                }
                let mut unknown_key = fixture["data"].clone();
                unknown_key["surprise"] = json!(1);
                assert!(!validator.is_valid(&unknown_key), "{}", path.display());
                if kind != "pressure_observation" {
                    let mut other_version = fixture["data"].clone();
                    let key = if kind == "adapter_manifest" { "contract_version" } else { "schema_version" };
                    other_version[key] = json!("lifeloop.v0.3");
                    assert!(!validator.is_valid(&other_version), "{}", path.display());
                }
            }
        }
    }
    assert_eq!(checked, 66);
}

#[test]
fn a_receipt_without_its_nullable_keys_is_refused_by_the_schema_too() {
    let (_, schema) =
        schemas(WireVersion::V0_4).into_iter().find(|(name, _)| *name == "lifecycle_receipt").unwrap();
    let required = schema["required"].as_array().unwrap();
    for key in ["idempotency_key", "sequence", "parent_receipt_id", "failure_class", "retry_class"] {
        assert!(required.contains(&json!(key)), "{key}");
    }
}

fn published(version: WireVersion, name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(version.as_str()).join(format!("{name}.json"))
}
