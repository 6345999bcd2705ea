//! Commands and their words, as far as the rules need them.

/// A placeholder in a word's text for a value or an expansion, which is known only when the script runs.
pub(super) const UNKNOWN: char = '\u{fffc}';

use std::ops::Range;

/// A word without its quotes.
#[derive(Debug, Default, Clone)]
pub(super) struct Word {
    pub(super) text: String,
    /// Where it is in the source.
    pub(super) span: Range<usize>,
    /// The values in the word, each with its offset in the text.
    pub(super) values: Vec<(usize, usize)>,
    /// The values in the word and in its `$(…)`, whose output becomes part of it.
    pub(super) all_values: Vec<usize>,
    /// The variables that the word and its `$(…)` expand.
    pub(super) names: Vec<String>,
    /// Its last `$(…)` prints a number.
    pub(super) counts: bool,
    /// The programs whose paths its last `$(…)` prints, and nothing else: `$(command -v python3)`.
    pub(super) located: Vec<String>,
    /// The literal text in `${NAME:-text}`, which is all that the word has.
    pub(super) fallback: Option<String>,
    /// It contains `$(…)`, backticks or `<(…)`.
    pub(super) substitutes: bool,
    /// It contains `<(…)`: it names a file with what a command prints.
    pub(super) reads_process: bool,
    /// It may expand to no word at all, or to several: an expansion without quotes, or `"$@"`.
    pub(super) may_vanish: bool,
    /// The length of the unquoted prefix of the text.
    pub(super) bare: usize,
    pub(super) quoted: bool,
    /// It contains an expansion other than `$name`, `${name}`, `${#name}` and `$((…))`.
    pub(super) transforms: bool,
    /// Its unquoted text has a pattern (`*`, `?`, `[`), for which the shell puts the names of files.
    pub(super) has_pattern: bool,
    /// Its unquoted text has a `{`, which together with a `,` or `..` makes several words of it in some shells.
    pub(super) has_brace: bool,
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

    /// The unquoted beginning. A word that was made from another one may be shorter than its beginning was.
    fn bare_text(&self) -> &str {
        let end = self.bare.min(self.text.len());
        self.text.get(..end).unwrap_or_default()
    }

    /// Replaces a part of the text by what is not known until the script runs.
    pub(super) fn forget(&mut self, part: &str) {
        let Some(at) = self.text.find(part) else { return };
        self.text = self.text.replace(part, &UNKNOWN.to_string());
        self.bare = self.bare.min(at);
    }

    /// The name in `NAME=…` and `NAME[…]=…`, which must be unquoted.
    pub(super) fn assigned(&self) -> Option<&str> {
        if let Some((name, subscript)) = self.subscripted() {
            let rest = self.text[name.len() + subscript.len() + 1..].strip_prefix(']').unwrap_or_default();
            return (rest.starts_with('=') || rest.starts_with("+=")).then_some(name);
        }
        let name = self.bare_text().split_once('=').map(|(name, _)| name)?;
        let name = name.strip_suffix('+').unwrap_or(name);
        is_name(name).then_some(name)
    }

    /// The name and the subscript of `NAME[…`. The subscript ends at the last `]` before a `=`, or with the word.
    pub(super) fn subscripted(&self) -> Option<(&str, &str)> {
        let (name, rest) = self.text.split_once('[')?;
        if !is_name(name) || name.len() >= self.bare {
            return None;
        }
        let end =
            rest.find("]=").or_else(|| rest.find("]+=")).or_else(|| rest.rfind(']')).unwrap_or(rest.len());
        Some((name, &rest[..end]))
    }

    /// What is assigned in `NAME=value` or `NAME[…]=value`.
    pub(super) fn assigned_text(&self) -> &str {
        match self.subscripted() {
            Some((name, subscript)) => {
                let rest = &self.text[name.len() + subscript.len() + 1..];
                rest.split_once('=').map_or("", |(_, value)| value)
            }
            None => self.text.split_once('=').map_or("", |(_, value)| value),
        }
    }

    /// Whether a number is assigned that a `$(…)` prints, and nothing else.
    pub(super) fn assigns_count(&self) -> bool {
        let text = self.assigned_text();
        self.counts && text.contains(UNKNOWN) && text.chars().count() == 1 && self.subscripted().is_none()
    }

    /// Whether the path of a program is assigned that a `$(…)` prints, and nothing else.
    pub(super) fn assigns_location(&self) -> bool {
        let text = self.assigned_text();
        !self.located.is_empty()
            && text.contains(UNKNOWN)
            && text.chars().count() == 1
            && self.subscripted().is_none()
    }

    /// The name of a program without its directory; `None` when it is known only at run time.
    pub(super) fn program(&self) -> Option<&str> {
        let name = self.text.rsplit('/').next().unwrap_or(&self.text);
        if name.contains(UNKNOWN) || self.may_be_files() || self.may_be_several() {
            return None;
        }
        Some(name)
    }

    /// Whether the shell may put the names of files for it: `/bin/s[h]`. `[` alone is the name of a command.
    pub(super) fn may_be_files(&self) -> bool {
        self.has_pattern && !matches!(self.text.as_str(), "[" | "[[")
    }

    /// Whether some shell makes several words of its braces: `{sh,-c}`.
    pub(super) fn may_be_several(&self) -> bool {
        self.has_brace && (self.text.contains(',') || self.text.contains(".."))
    }

    /// The literal text before the first value or expansion.
    pub(super) fn literal_prefix(&self) -> &str {
        self.text.split(UNKNOWN).next().unwrap_or_default()
    }
}

pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// One simple command.
#[derive(Debug, Default, Clone)]
pub(super) struct Command {
    pub(super) assignments: Vec<Word>,
    pub(super) words: Vec<Word>,
    /// The files that its output is redirected to.
    pub(super) writes: Vec<Word>,
    /// What stands behind `>&` and `<&`. bash expands it a second time if it is the name of a file.
    pub(super) duplicated: Vec<Word>,
    /// Its output is the input of the next command.
    pub(super) is_piped: bool,
    /// Its input is a pipe, a file or a here-document.
    pub(super) is_fed: bool,
    /// Its input is a here-document without expansions.
    pub(super) reads_literal: bool,
}

/// A variable that gets its value in another way than by `NAME=value`.
#[derive(Debug, Clone)]
pub(super) struct Flow {
    pub(super) to: String,
    /// Where it is assigned.
    pub(super) span: Range<usize>,
    pub(super) has_value: bool,
    pub(super) from: Vec<String>,
    /// What is assigned, as a word; `None` when it is not one word.
    pub(super) text: Option<Word>,
}

/// Text that some shell computes: variables in it are code.
#[derive(Debug, Clone)]
pub(super) struct Computed {
    pub(super) span: Range<usize>,
    pub(super) names: Vec<String>,
    /// The variables that it assigns a number to.
    pub(super) assigns: Vec<String>,
}

impl Command {
    /// Its words without `command` and `builtin`, which run what follows in the same shell.
    pub(super) fn called(&self) -> &[Word] {
        let mut words = self.words.as_slice();
        while let Some((first, rest)) = words.split_first()
            && matches!(first.text.as_str(), "builtin" | "command")
        {
            let options = rest.iter().take_while(|word| matches!(word.text.as_str(), "--" | "-p")).count();
            words = &rest[options..];
        }
        words
    }

    pub(super) fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.words.is_empty()
    }

    /// Whether it has neither words nor redirections.
    pub(super) fn does_nothing(&self) -> bool {
        self.is_empty() && self.writes.is_empty() && self.duplicated.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fuzzer found it: `{}` is shorter than what stands for it.
    #[test]
    fn a_word_with_a_forgotten_part_has_a_shorter_unquoted_beginning() {
        for text in ["{}", "{}=1", "a{}b=1"] {
            let mut word = Word::default();
            text.chars().for_each(|c| word.push(c));
            word.forget("{}");
            assert_eq!(word.assigned(), None, "{text}");
        }
    }
}
