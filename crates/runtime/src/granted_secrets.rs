//! The secrets that a command was granted, as its environment tells them to an Escrow process that the command starts.
//!
//! **Invariant:** the variable has the names of secrets and how each was handed over, never a value.

use std::os::unix::ffi::OsStringExt;
use std::path::Path;

use crate::secrets::read_file;

/// `NAME:NAME=path`: with `=path`, the variable `NAME` contains the path of a file with the value.
pub(crate) const VARIABLE: &str = "ESCROW_GRANTED_SECRETS";

const SEPARATOR: &str = ":";
const IS_PATH: &str = "=path";

/// What a command is told: the secrets that it is granted, and those that this process was granted itself, whose
/// variables the command may inherit.
pub(crate) fn told<'n>(granted: impl Iterator<Item = (&'n str, bool)>) -> Option<String> {
    joined(&std::env::var(VARIABLE).unwrap_or_default(), granted)
}

fn joined<'n>(inherited: &str, granted: impl Iterator<Item = (&'n str, bool)>) -> Option<String> {
    let mut all: Vec<(&str, bool)> = granted.collect();
    for (name, is_path) in read(inherited) {
        if all.iter().all(|(known, _)| *known != name) {
            all.push((name, is_path));
        }
    }
    let word = |(name, is_path): &(&str, bool)| format!("{name}{}", if *is_path { IS_PATH } else { "" });
    let words: Vec<String> = all.iter().map(word).collect();
    (!words.is_empty()).then(|| words.join(SEPARATOR))
}

fn read(told: &str) -> impl Iterator<Item = (&str, bool)> {
    let words = told.split(SEPARATOR).filter(|word| !word.is_empty());
    words.map(|word| word.strip_suffix(IS_PATH).map_or((word, false), |name| (name, true)))
}

/// The values that this process was granted. A file that is gone cannot be read.
pub(crate) fn values() -> Vec<Vec<u8>> {
    let told = std::env::var(VARIABLE).unwrap_or_default();
    let value = |(name, is_path): (&str, bool)| {
        let variable = std::env::var_os(name)?;
        if is_path { read_file(Path::new(&variable)).ok() } else { Some(variable.into_vec()) }
    };
    read(&told).filter_map(value).collect()
}

/// Whether this process was granted a secret of this name as a file.
pub(crate) fn is_path(name: &str) -> bool {
    let told = std::env::var(VARIABLE).unwrap_or_default();
    read(&told).any(|granted| granted == (name, true))
}

#[cfg(test)]
mod tests {
    use super::{joined, read};

    #[test]
    fn a_command_is_told_its_own_secrets_and_those_around_it() {
        let own = || [("A", false), ("B", true)].into_iter();
        assert_eq!(joined("", std::iter::empty()), None);
        assert_eq!(joined("", own()).as_deref(), Some("A:B=path"));
        let told = joined("B:C=path", own()).expect("three secrets");
        assert_eq!(told, "A:B=path:C=path");
        assert_eq!(read(&told).collect::<Vec<_>>(), [("A", false), ("B", true), ("C", true)]);
    }
}
