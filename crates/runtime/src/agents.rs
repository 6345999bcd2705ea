//! Finds agent profiles: Markdown files in `.escrow/agents/`, then in the user's own folder, as `NAME.md` or
//! `NAME/NAME.md`; then the built-in ones.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use escrow_playbook::{AgentLookup, read_profile};

use crate::project;

/// The agents that are there without a file. A profile of the same name replaces one.
const BUILT_IN: &[(&str, &str)] = &[
    ("reviewer", include_str!("agents/reviewer.md")),
    ("critic", include_str!("agents/critic.md")),
    ("implementer", include_str!("agents/implementer.md")),
];

/// Above the size limit of a profile, so that the reader reports the size.
const BYTES_MAX: u64 = 1 << 20;

/// How many known names the error for an unknown agent lists.
const LISTED_MAX: usize = 50;

/// The profile of an agent, from the nearest `.escrow/agents/` that has it, upward from each folder in turn; else from the
/// user's own folder; else the built-in one.
pub fn find(name: &str, from: &[&Path]) -> AgentLookup {
    if is_name(name) {
        for folder in folders(from) {
            let places = [folder.join(format!("{name}.md")), folder.join(name).join(format!("{name}.md"))];
            // When both exist, `NAME.md` wins over `NAME/NAME.md`.
            if let Some(path) = places.into_iter().find(|path| path.is_file()) {
                return read(&path, name);
            }
        }
        if let Some((_, text)) = BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
            return parse(text.as_bytes(), &format!("built-in agent {name}"), name);
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
    parse(&bytes, &file, name)
}

fn parse(bytes: &[u8], file: &str, name: &str) -> AgentLookup {
    let reading = read_profile(bytes, file, name);
    match reading.profile {
        Some(profile) => AgentLookup::Found(Box::new(profile)),
        None => AgentLookup::Invalid { file: file.to_owned(), diagnostics: reading.diagnostics },
    }
}

/// The names of all agents that `find` can return, sorted.
pub fn names(from: &[&Path]) -> Vec<String> {
    let mut names: BTreeSet<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
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

/// `.escrow/agents` of each folder and of its ancestors, without duplicates, and the user's own folder.
fn folders(from: &[&Path]) -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = Vec::new();
    for start in from {
        let start = std::path::absolute(start).unwrap_or_else(|_| start.to_path_buf());
        for ancestor in start.ancestors() {
            let folder = project::trusted_folder(ancestor, "agents");
            folders.extend(folder.filter(|folder| !folders.contains(folder)));
        }
    }
    folders.extend(own_folder());
    folders
}

/// `~/.config/escrow/agents`.
fn own_folder() -> Option<PathBuf> {
    let absolute = |path: &PathBuf| path.is_absolute();
    let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(absolute);
    let home =
        || std::env::var_os("HOME").map(PathBuf::from).filter(absolute).map(|home| home.join(".config"));
    Some(config.or_else(home)?.join("escrow/agents")).filter(|folder| folder.is_dir())
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
            for own in ["bad", "nested", "plain", "reviewer", "critic", "implementer"] {
                assert!(known.iter().any(|known| known == own), "{name}: {known:?}");
            }
        }
    }

    #[test]
    fn built_in_agents_are_valid_and_can_be_replaced() {
        let root = tempfile::tempdir().unwrap();
        for (name, _) in BUILT_IN {
            let AgentLookup::Found(profile) = find(name, &[root.path()]) else { panic!("{name}") };
            assert!(profile.command.is_none() && profile.harness.is_none(), "the default harness runs it");
            assert_eq!(profile.artifacts.expected.len(), 1, "{name}");
        }
        fs::create_dir_all(root.path().join(".escrow/agents")).unwrap();
        fs::write(root.path().join(".escrow/agents/critic.md"), "---\nharness: codex\n---\n").unwrap();
        let AgentLookup::Found(critic) = find("critic", &[root.path()]) else { panic!("it is there") };
        assert_eq!(critic.harness.as_deref(), Some("codex"));
    }
}
