//! Commands and their words, as far as the rules need them.

/// A placeholder in a word's text for a value or an expansion, which is known only when the script runs.
pub(super) const UNKNOWN: char = '\u{fffc}';

/// A word without its quotes.
#[derive(Debug, Default, Clone)]
pub(super) struct Word {
    pub(super) text: String,
    /// The values in the word, each with its offset in the text.
    pub(super) values: Vec<(usize, usize)>,
    /// The values in the word and in its `$(…)`, whose output becomes part of it.
    pub(super) all_values: Vec<usize>,
    /// The length of the unquoted prefix of the text.
    pub(super) bare: usize,
    pub(super) quoted: bool,
}

impl Word {
    pub(super) fn push(&mut self, c: char) {
        if !self.quoted && self.bare == self.text.len() && c != UNKNOWN {
            self.bare += c.len_utf8();
        }
        self.text.push(c);
    }

    pub(super) fn push_value(&mut self, value: usize) {
        self.values.push((value, self.text.len()));
        self.text.push(UNKNOWN);
    }

    /// Whether the word is literal and unquoted, as reserved words must be.
    pub(super) fn is_bare(&self) -> bool {
        !self.quoted && self.bare == self.text.len()
    }

    /// The name in `NAME=…`, which must be unquoted.
    pub(super) fn assigned(&self) -> Option<&str> {
        let name = self.text[..self.bare].split_once('=').map(|(name, _)| name)?;
        let name = name.strip_suffix('+').unwrap_or(name);
        is_name(name).then_some(name)
    }

    /// The name of a program without its directory; `None` when it is known only at run time.
    pub(super) fn program(&self) -> Option<&str> {
        if self.text.contains(UNKNOWN) {
            return None;
        }
        Some(self.text.rsplit('/').next().unwrap_or(&self.text))
    }

    /// Whether the word begins with a value.
    pub(super) fn begins_with_value(&self) -> bool {
        self.values.first().is_some_and(|(_, at)| *at == 0)
    }
}

pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// One simple command.
#[derive(Debug, Default)]
pub(super) struct Command {
    pub(super) assignments: Vec<Word>,
    pub(super) words: Vec<Word>,
    /// Values in its here-documents and here-strings.
    pub(super) stdin: Vec<usize>,
    /// Values in the commands whose output it reads.
    pub(super) piped: Vec<usize>,
}

impl Command {
    pub(super) fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.words.is_empty()
    }
}
