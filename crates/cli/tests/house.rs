//! The walls of the house: who may depend on whom, and where tokio, SQL and HTTP may live.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Every edge between rooms that ARCHITECTURE.md allows. `testkit` and `simulator` are for tests only.
const WALLS: &[(&str, &[&str])] = &[
    ("expr", &[]),
    ("template", &["expr"]),
    ("model", &["expr", "template"]),
    ("contract", &["model", "expr"]),
    ("playbook", &["model", "expr", "template", "contract"]),
    ("engine", &["model", "expr", "template", "contract"]),
    ("protocol", &[]),
    ("harness", &["protocol", "model"]),
    ("store", &["model", "protocol"]),
    (
        "runtime",
        &["expr", "template", "model", "contract", "playbook", "engine", "protocol", "harness", "store"],
    ),
    (
        "app",
        &[
            "expr", "template", "model", "contract", "playbook", "engine", "protocol", "harness", "store",
            "runtime",
        ],
    ),
    ("studio", &["model", "app"]),
    (
        "cli",
        &[
            "expr", "template", "model", "contract", "playbook", "engine", "protocol", "harness", "store",
            "runtime", "app", "studio",
        ],
    ),
    ("testkit", &["expr", "template", "model", "contract", "playbook", "engine", "store"]),
    ("simulator", &["model", "engine", "store", "runtime", "app", "testkit"]),
];

/// Outside crates that belong into these rooms and no others.
const SPECIALISTS: &[(&str, &[&str])] = &[
    ("tokio", &["runtime", "store", "app", "studio", "cli", "simulator"]),
    ("rusqlite", &["store"]),
    ("granit-parser", &["playbook"]),
    ("toml", &["harness", "runtime"]),
    ("jsonschema", &["contract"]),
    ("minijinja", &["template"]),
    ("regex", &["expr", "contract"]),
    ("clap", &["cli"]),
    ("rustix", &["runtime", "cli"]),
    ("nix", &["runtime"]),
    ("ureq", &["runtime"]),
    ("croner", &["playbook"]),
    ("jiff", &["playbook"]),
    ("hmac", &["runtime"]),
    ("notify", &["runtime"]),
    ("axum", &["studio"]),
    ("maud", &["studio"]),
];

#[test]
fn rooms_depend_only_on_the_rooms_they_may() {
    for (room, dependencies) in rooms() {
        let allowed = WALLS.iter().find(|(name, _)| *name == room).map(|(_, allowed)| *allowed);
        let allowed = allowed.unwrap_or_else(|| panic!("`{room}` is not in the table of rooms"));
        for dependency in dependencies.normal.iter().filter_map(|name| name.strip_prefix("escrow-")) {
            assert!(allowed.contains(&dependency), "`{room}` must not depend on `{dependency}`");
        }
        assert!(!dependencies.normal.contains("escrow"), "nothing depends on the binary, but `{room}` does");
        let ships = |kit: &str| room != "simulator" && dependencies.normal.contains(kit);
        assert!(!ships("escrow-testkit") && !ships("escrow-simulator"), "`{room}` ships what is for tests");
    }
}

#[test]
fn specialists_stay_in_their_rooms() {
    for (room, dependencies) in rooms() {
        for (specialist, homes) in SPECIALISTS {
            if dependencies.normal.contains(*specialist) {
                assert!(homes.contains(&room.as_str()), "`{specialist}` has no business in `{room}`");
            }
        }
    }
}

#[test]
fn the_lower_floor_bans_clocks_files_and_hash_maps() {
    for room in ["expr", "template", "model", "contract", "engine", "harness"] {
        let text = std::fs::read_to_string(root().join("crates").join(room).join("clippy.toml"))
            .unwrap_or_else(|error| panic!("`{room}` has no clippy.toml: {error}"));
        for banned in
            ["HashMap", "SystemTime", "Instant", "std::env::var", "std::fs::read", "std::thread::spawn"]
        {
            assert!(text.contains(banned), "`{room}` does not ban `{banned}`");
        }
    }
}

#[test]
fn shipped_rooms_use_the_store_through_its_async_traits() {
    for room in ["runtime", "app", "studio", "cli"] {
        for (path, text) in sources(&root().join("crates").join(room).join("src")) {
            let is_blocking = text.contains("BlockingStore") || text.contains(".blocking()");
            assert!(!is_blocking, "`{}` blocks its thread on the store", path.display());
        }
    }
}

/// `app::timeline` interprets events for display.
#[test]
fn neither_the_terminal_nor_the_pages_read_journal_events() {
    for room in ["studio", "cli"] {
        for (path, text) in sources(&root().join("crates").join(room).join("src")) {
            let imports = text.split("use escrow_model::").skip(1).filter_map(|rest| rest.split(';').next());
            let mut words = imports.flat_map(|names| names.split(|c: char| !c.is_alphanumeric()));
            assert!(!words.any(|word| word == "Event"), "`{}` reads journal events", path.display());
        }
    }
}

#[derive(Default)]
struct Dependencies {
    normal: BTreeSet<String>,
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// Every Rust file below a folder, with its text.
fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of the folder").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(&path).expect("a source file");
            found.push((path, text));
        }
    }
    found
}

/// The rooms by folder name, with what they depend on.
fn rooms() -> BTreeMap<String, Dependencies> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo prints JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
            let room =
                manifest.parent().and_then(Path::file_name).expect("a folder").to_string_lossy().into_owned();
            let mut dependencies = Dependencies::default();
            for dependency in package["dependencies"].as_array().expect("dependencies") {
                if dependency["kind"].is_null() {
                    dependencies.normal.insert(dependency["name"].as_str().expect("a name").to_owned());
                }
            }
            (room, dependencies)
        })
        .collect()
}
