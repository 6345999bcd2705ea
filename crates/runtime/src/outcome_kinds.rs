//! Finds the custom outcome kinds of a project: JSON Schemas in `.escrow/outcomes/`, one file each.

use std::fs;
use std::path::{Path, PathBuf};

use escrow_model::outcome::{self, is_kind_name};
use serde_json::Value;

use crate::playbook_file::read_text;
use crate::project;

/// The size limit of a schema.
const BYTES_MAX: u64 = 4 << 20;

/// The nearest `.escrow/outcomes/` of each folder, searching upward.
pub fn projects<'a>(places: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = Vec::new();
    for place in places {
        let whole = fs::canonicalize(if place.as_os_str().is_empty() { Path::new(".") } else { place });
        let whole = whole.unwrap_or_else(|_| place.to_path_buf());
        let nearest = whole.ancestors().find_map(|above| project::trusted_folder(above, "outcomes"));
        found.extend(nearest.filter(|folder| !found.contains(folder)));
    }
    found
}

/// The schema of a kind, from the first folder that has it, or why its file cannot be read.
pub fn find(name: &str, folders: &[PathBuf]) -> Option<Result<Value, String>> {
    if !is_kind_name(name) {
        return None;
    }
    let path =
        folders.iter().map(|folder| folder.join(format!("{name}.json"))).find(|path| path.is_file())?;
    let text = project::examine_definition(&path)
        .map_err(|error| error.to_string())
        .and_then(|()| read_text(&path, BYTES_MAX))
        .map_err(|why| format!("{}: {why}", path.display()));
    Some(text.and_then(|text| {
        serde_json::from_str(&text).map_err(|error| format!("{} is not valid JSON: {error}", path.display()))
    }))
}

/// The names of the kinds that these folders declare, sorted.
pub fn names(folders: &[PathBuf]) -> Vec<String> {
    let mut names: Vec<String> = folders
        .iter()
        .filter_map(|folder| fs::read_dir(folder).ok())
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_str()?.strip_suffix(".json")?.to_owned()))
        // A file cannot redefine a built-in kind.
        .filter(|name| is_kind_name(name) && outcome::Kind::find(name).is_none())
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}
