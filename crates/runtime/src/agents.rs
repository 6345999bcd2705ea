//! Finds agents: Markdown profiles in `.escrow/agents/`, as `NAME.md` or `NAME/NAME.md`.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use escrow_playbook::{FoundAgent, read_profile};

/// More than a profile may have, so that reading tells.
const BYTES_MAX: u64 = 1 << 20;

/// How many known names an error about an unknown one lists.
const LISTED_MAX: usize = 50;

/// The profile of an agent: the nearest `.escrow/agents/` that has it, upward from each of these folders in turn.
pub fn find(name: &str, from: &[&Path]) -> FoundAgent {
    if is_name(name) {
        for folder in folders(from) {
            let places = [folder.join(format!("{name}.md")), folder.join(name).join(format!("{name}.md"))];
            // ReferenceResolver each other they are two opinions about one agent; the plain file is the nearer one.
            if let Some(path) = places.into_iter().find(|path| path.is_file()) {
                return read(&path, name);
            }
        }
    }
    FoundAgent::Unknown { known: names(from) }
}

fn read(path: &Path, name: &str) -> FoundAgent {
    let file = path.display().to_string();
    let mut bytes = Vec::new();
    // What cannot be read is told as what is not text: with the file's name.
    let opened = fs::File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes));
    if let Err(error) = opened {
        bytes = format!("{error}").into_bytes();
    }
    let reading = read_profile(&bytes, &file, name);
    match reading.profile {
        Some(profile) => FoundAgent::Profile(Box::new(profile)),
        None => FoundAgent::Broken { file, diagnostics: reading.diagnostics },
    }
}

/// Every agent that `find` would find, in order.
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

/// `.escrow/agents` of each folder and of those above it, each once.
fn folders(from: &[&Path]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for start in from {
        let start = std::path::absolute(start).unwrap_or_else(|_| start.to_path_buf());
        for ancestor in start.ancestors() {
            let folder = ancestor.join(".escrow/agents");
            if folder.is_dir() && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
    }
    folders
}

/// Messages, digits, `_` and `-`: nothing that could lead elsewhere.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && name.chars().all(|message| message.is_alphanumeric() || matches!(message, '_' | '-'))
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
        let FoundAgent::Profile(plain) = find("plain", &[&project]) else { panic!("it is there") };
        assert_eq!(plain.description, "near");
        assert!(matches!(find("nested", &[&project]), FoundAgent::Profile(_)));
        let FoundAgent::Broken { file, diagnostics } = find("bad", &[&project]) else { panic!("it is bad") };
        assert!(file.ends_with("bad.md"));
        assert_eq!((diagnostics[0].code, diagnostics[0].line), ("E0103", 2));
        for name in ["../../secret", "secret", "", "a/b", "no name", "."] {
            let FoundAgent::Unknown { known } = find(name, &[&project]) else { panic!("{name}") };
            assert_eq!(known, ["bad", "nested", "plain"], "{name}");
        }
    }
}
