//! Fails on identifiers that were replaced by words of the field.
//!
//! Whole identifiers only. The wire's own words (`frame.opened`, `review_verdict`) are promises and contain none.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// An identifier that was replaced, and what to write instead.
const REPLACED: &[(&str, &str)] = &[
    ("Beside", "ReferenceResolver"),
    ("EffectWord", "ResolvedAs"),
    ("Errand", "EffectKind"),
    ("Keeper", "Journal"),
    ("Kept", "ConfirmedEffect"),
    ("Letter", "Message"),
    ("LetterId", "MessageId"),
    ("LetterOpened", "MessageDelivered"),
    ("LookError", "PollError"),
    ("Looking", "PollContext"),
    ("Mail", "Inbox"),
    ("MarkWriter", "HighWaterMark"),
    ("Screen", "LiveView"),
    ("Sealed", "TurnRedaction"),
    ("Shelf", "Journal, Queries, or the thing's own name"),
    ("Story", "Timeline"),
    ("Sweeper", "Checkpointer"),
    ("Talk", "Ui"),
    ("Workshop", "EffectRunner"),
    ("made_for_real", "create_canonical"),
    ("second_look", "reinspection"),
    ("unopened", "undelivered"),
];

/// Names that once stood for several things: each may be defined once in the house, so that it says which.
const ONE_MEANING: &[&str] = &["Failure", "Look", "Place", "Standing", "Table", "Verdict", "World"];

#[test]
fn replaced_words_do_not_come_back() {
    let mut found = Vec::new();
    for path in sources() {
        for (number, line) in code_lines(&path) {
            for (word, instead) in REPLACED {
                if identifiers(&line).any(|identifier| identifier == *word) {
                    found.push(format!("{}:{number}: `{word}`: write {instead}", path.display()));
                }
            }
        }
    }
    assert!(found.is_empty(), "{} private words:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_type_name_has_one_meaning_in_the_house() {
    let mut definitions: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    // The folder of the clone itself may be called `src`.
    let is_source = |path: &PathBuf| {
        let inside = path.strip_prefix(crates()).unwrap_or(path);
        inside.components().any(|part| part.as_os_str() == "src")
    };
    for path in sources().into_iter().filter(is_source) {
        for (number, line) in code_lines(&path) {
            let words: Vec<&str> = identifiers(&line).collect();
            for pair in words.windows(2) {
                let defines = matches!(pair[0], "struct" | "enum" | "trait" | "type");
                if let Some(name) = ONE_MEANING.iter().find(|name| defines && pair[1] == **name) {
                    definitions.entry(name).or_default().push(format!("{}:{number}", path.display()));
                }
            }
        }
    }
    definitions.retain(|_, places| places.len() > 1);
    assert!(definitions.is_empty(), "one name for several things: {definitions:#?}");
}

/// The lines of a file that are code: without comments, and without what stands in one-line strings.
fn code_lines(path: &Path) -> Vec<(usize, String)> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut lines = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let mut code = String::new();
        let mut in_string = false;
        let mut characters = line.chars().peekable();
        while let Some(character) = characters.next() {
            match character {
                '\\' if in_string => drop(characters.next()),
                '"' => in_string = !in_string,
                '/' if !in_string && characters.peek() == Some(&'/') => break,
                _ if in_string => {}
                _ => code.push(character),
            }
        }
        lines.push((index + 1, code));
    }
    lines
}

fn identifiers(line: &str) -> impl Iterator<Item = &str> {
    line.split(|character: char| !character.is_alphanumeric() && character != '_')
        .filter(|word| !word.is_empty())
}

/// Every Rust file of the house but this one.
fn crates() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("crates/")
}

fn sources() -> Vec<PathBuf> {
    let mut folders = vec![crates().to_path_buf()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of the house can be read") {
            let path = entry.expect("an entry can be read").path();
            if path.is_dir() {
                if path.file_name().is_some_and(|name| name != "target") {
                    folders.push(path);
                }
            } else if path.extension().is_some_and(|extension| extension == "rs")
                && !path.ends_with("tests/words.rs")
            {
                files.push(path);
            }
        }
    }
    files.sort();
    assert!(files.len() > 300, "the house has more files than {}", files.len());
    files
}
