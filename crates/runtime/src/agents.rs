//! Finds agent profiles: Markdown files in `.escrow/agents/`, as `NAME.md` or `NAME/NAME.md`.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use escrow_playbook::{AgentLookup, read_profile};

use crate::project;

/// Above the size limit of a profile, so that the reader reports the size.
const BYTES_MAX: u64 = 1 << 20;

/// How many known names the error for an unknown agent lists.
const LISTED_MAX: usize = 50;

/// The profile of an agent, from the nearest `.escrow/agents/` that has it, upward from each folder in turn.
pub fn find(name: &str, from: &[&Path]) -> AgentLookup {
    if is_name(name) {
        for folder in folders(from) {
            let places = [folder.join(format!("{name}.md")), folder.join(name).join(format!("{name}.md"))];
            // When both exist, `NAME.md` wins over `NAME/NAME.md`.
            if let Some(path) = places.into_iter().find(|path| path.is_file()) {
                return read(&path, name);
            }
        }
    }
    AgentLookup::Unknown { known: names(from) }
}

fn read(path: &Path, name: &str) -> AgentLookup {
    let file = path.display().to_string();
    let mut bytes = Vec::new();
    // A read error becomes the content, so that it is reported as an invalid profile under the file's name.
    let opened = project::examine_definition(path)
        .map_err(std::io::Error::other)
        .and_then(|()| fs::File::open(path))
        .and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
    if let Err(error) = opened {
        bytes = format!("{error}").into_bytes();
    }
    let reading = read_profile(&bytes, &file, name);
    match reading.profile {
        Some(profile) => AgentLookup::Found(Box::new(profile)),
        None => AgentLookup::Invalid { file, diagnostics: reading.diagnostics },
    }
}

/// The names of all agents that `find` can return, sorted.
pub fn names(from: &[&Path]) -> Vec<String> {
    let mut names = BTreeSet::new();
    for folder in folders(from) {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten().take(10_000) {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let own = entry.path().join(format!("{name}.md"));
            match name.strip_suffix(".md") {
                Some(stem) if is_name(stem) && entry.path().is_file() => drop(names.insert(stem.to_owned())),
                None if is_name(&name) && own.is_file() => drop(names.insert(name)),
                Some(_) | None => {}
            }
        }
    }
    names.into_iter().take(LISTED_MAX).collect()
}

/// `.escrow/agents` of each folder and of its ancestors, without duplicates.
fn folders(from: &[&Path]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for start in from {
        let start = std::path::absolute(start).unwrap_or_else(|_| start.to_path_buf());
        for ancestor in start.ancestors() {
            let folder = project::trusted_folder(ancestor, "agents");
            folders.extend(folder.filter(|folder| !folders.contains(folder)));
        }
    }
    folders
}

/// Letters, digits, `_` and `-`: a name cannot contain a path.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.chars().all(|character| character.is_alphanumeric() || matches!(character, '_' | '-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_found_as_a_file_or_in_a_folder_of_its_own_from_the_nearest_place() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write(".escrow/agents/plain.md", "---\ndescription: far\n---\n");
        write(".escrow/agents/nested/nested.md", "---\n---\n");
        write("project/.escrow/agents/plain.md", "---\ndescription: near\n---\n");
        write("project/.escrow/agents/bad.md", "---\ncolour: red\n---\n");
        write("project/.escrow/agents/no name.md", "");
        write("secret.md", "---\n---\n");
        let project = root.path().join("project");
        let AgentLookup::Found(plain) = find("plain", &[&project]) else { panic!("it is there") };
        assert_eq!(plain.description, "near");
        assert!(matches!(find("nested", &[&project]), AgentLookup::Found(_)));
        let AgentLookup::Invalid { file, diagnostics } = find("bad", &[&project]) else {
            panic!("it is bad")
        };
        assert!(file.ends_with("bad.md"));
        assert_eq!((diagnostics[0].code, diagnostics[0].line), ("E0103", 2));
        for name in ["../../secret", "secret", "", "a/b", "no name", "."] {
            let AgentLookup::Unknown { known } = find(name, &[&project]) else { panic!("{name}") };
            assert_eq!(known, ["bad", "nested", "plain"], "{name}");
        }
    }
}
