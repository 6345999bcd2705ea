//! Journals of every format that was ever written: each must still replay, verify, explain and export.
//!
//! `data/formats/N/` holds one run of `data/formats/playbook.yaml` as Escrow wrote it when format N was the newest: as
//! an export, and as the database it lay in. A new format gets a folder of its own; no folder is ever changed.

mod desk;

use std::fs;
use std::path::{Path, PathBuf};

use desk::Desk;
use serde_json::Value;

#[test]
fn a_run_of_every_format_can_be_imported_explained_and_exported() {
    for folder in formats() {
        let desk = Desk::new();
        let export = fs::read_to_string(folder.join("run.json")).expect("an export");
        desk.write("run.json", &export);
        succeeds(&desk, &folder, &["verify", "run.json"]);
        succeeds(&desk, &folder, &["runs", "import", "run.json"]);
        reads_back(&desk, &folder, &export);
    }
}

#[test]
fn a_database_of_every_format_opens_and_continues_working() {
    for folder in formats() {
        let desk = Desk::new();
        fs::create_dir_all(desk.path().join(".escrow")).expect("a state directory");
        fs::copy(folder.join("escrow.db"), desk.path().join(".escrow/escrow.db")).expect("a database");
        let export = fs::read_to_string(folder.join("run.json")).expect("an export");
        reads_back(&desk, &folder, &export);
        desk.write("next.yaml", "version: '1.0'\nchecks: { a: { type: noop } }\n");
        succeeds(&desk, &folder, &["run", "next.yaml"]);
        assert_eq!(desk.show("last")["run"]["status"], "completed");
    }
}

/// Everything that people ask of a recorded run.
fn reads_back(desk: &Desk, folder: &Path, export: &str) {
    let export: Value = serde_json::from_str(export).expect("JSON");
    let run = export["run"].as_str().expect("an id");
    succeeds(desk, folder, &["verify", run]);
    let document = desk.show(run);
    assert_eq!(document["run"]["reason"]["code"], "run.completed.with_warnings", "{}", folder.display());
    assert_eq!(document["checks"]["publish"]["status"], "succeeded", "{}", folder.display());
    assert_eq!(document["checks"]["each"]["items"][1]["skip_reason"], "if_condition", "{}", folder.display());
    succeeds(desk, folder, &["explain", run]);
    succeeds(desk, folder, &["explain", run, "publish"]);
    succeeds(desk, folder, &["runs", "show", run, "--history"]);
    let playbook = folder.with_file_name("playbook.yaml");
    succeeds(desk, folder, &["replay", run, "--with", playbook.to_str().expect("UTF-8"), "--fail-on-diff"]);
    let again: Value =
        serde_json::from_str(&succeeds(desk, folder, &["runs", "export", run])).expect("an export");
    assert_eq!(again["entries"], export["entries"], "{}", folder.display());
    assert_eq!(again["hash"], export["hash"], "{}", folder.display());
}

fn succeeds(desk: &Desk, folder: &Path, arguments: &[&str]) -> String {
    let done = desk.escrow(arguments);
    assert_eq!(done.code, Some(0), "{} {arguments:?}: {}", folder.display(), done.stderr);
    done.stdout
}

/// The folders of all formats, oldest first.
fn formats() -> Vec<PathBuf> {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/formats");
    let entries = fs::read_dir(all).expect("the fixtures").map(|entry| entry.expect("an entry").path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort();
    assert!(!folders.is_empty(), "at least the first format is kept");
    folders
}
