//! Durations, counts and causes in words, without width and colour.

use std::char::EscapeUnicode;

use escrow_model::{Millis, SkipReason, is_visible};
use escrow_runtime::now_ms;

use crate::error::Error;

/// `0.8s`, `12.4s`, `2m 05s`, `1h 02m`.
pub fn duration_words(ms: u64) -> String {
    match ms {
        0..100 => format!("{ms}ms"),
        100..60_000 => format!("{}.{}s", ms / 1000, ms % 1000 / 100),
        60_000..3_600_000 => format!("{}m {:02}s", ms / 60_000, ms / 1000 % 60),
        _ => format!("{}h {:02}m", ms / 3_600_000, ms / 60_000 % 60),
    }
}

/// The time of day that `--since 7d` means.
pub fn since(text: &str) -> Result<Millis, Error> {
    let distance = escrow_playbook::parse_duration(text).map_err(|_| {
        Error::author("usage", format!("`since` is not a duration: `{text}`")).help("write e.g. `7d`")
    })?;
    Ok(now_ms().saturating_sub(distance))
}

/// `812 bytes`, `4.0 KB`, `1.2 GB`.
pub fn bytes_words(bytes: u64) -> String {
    let tenths = |unit: u64, name: &str| {
        let tenths = bytes.saturating_mul(10) / unit;
        format!("{}.{} {name}", tenths / 10, tenths % 10)
    };
    match bytes {
        0..1_024 => count(usize::try_from(bytes).unwrap_or(0), "byte"),
        1_024..1_048_576 => tenths(1 << 10, "KB"),
        1_048_576..1_073_741_824 => tenths(1 << 20, "MB"),
        _ => tenths(1 << 30, "GB"),
    }
}

/// `1 item`, `3 items`.
pub fn count(number: usize, noun: &str) -> String {
    count_of(number, noun, &format!("{noun}s"))
}

/// The same for a noun with a plural of its own.
pub fn count_of(number: usize, noun: &str, nouns: &str) -> String {
    if number == 1 { format!("1 {noun}") } else { format!("{number} {nouns}") }
}

/// Text from outside on one short line. Control characters, characters that reorder text and invisible ones are shown as
/// escapes.
pub fn printable(line: &str) -> String {
    harmless(line, 400)
}

/// The same for a message, which may be longer.
pub fn message(line: &str) -> String {
    harmless(line, 4_000)
}

fn harmless(line: &str, length_max: usize) -> String {
    let plain = |c: char| if matches!(c, '\n' | '\t') { ' ' } else { c };
    line.chars().map(plain).take(length_max).flat_map(escaped).collect()
}

/// One line of what a person decides about, whole. Nothing is left out: what would drive the terminal, reorder the text or
/// not be seen is shown as an escape such as `\u{202e}`.
pub fn visible(line: &str) -> String {
    line.chars().flat_map(|c| if c == '\t' { Escaped::Plain(Some(c)) } else { escaped(c) }).collect()
}

/// A word, quoted where a shell would need it.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.,:/@%+=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

enum Escaped {
    Plain(Option<char>),
    Unicode(EscapeUnicode),
}

impl Iterator for Escaped {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        match self {
            Escaped::Plain(c) => c.take(),
            Escaped::Unicode(escape) => escape.next(),
        }
    }
}

fn escaped(c: char) -> Escaped {
    if is_visible(c) { Escaped::Plain(Some(c)) } else { Escaped::Unicode(c.escape_unicode()) }
}

/// Whether the condition that a check was skipped for has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evaluated {
    Yes,
    /// Its evaluation failed: it is neither true nor false.
    No,
}

/// Why a check did not run. `detail` may be empty.
pub fn skip_words(reason: SkipReason, detail: &str, evaluated: Evaluated) -> String {
    if evaluated == Evaluated::No && !detail.is_empty() {
        return detail.to_owned();
    }
    let words = match reason {
        SkipReason::IfCondition => "not needed",
        SkipReason::Assume => "a precondition does not hold",
        SkipReason::DependencyFailed => "a dependency did not succeed",
        SkipReason::ForEachEmpty => "there are no items",
        SkipReason::ContractBlocked => "blocked",
        SkipReason::SafeMode => "safe mode",
        SkipReason::Event => "listens to another event",
        SkipReason::Tags => "left out by tag",
        SkipReason::Only => "excluded by --only",
        SkipReason::NotRouted => "nothing routed to it",
        SkipReason::LoopBudget => "the loop budget is spent",
        SkipReason::RunEnded => "the run was ending",
    };
    if detail.is_empty() { words.to_owned() } else { format!("{words}: {detail}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_that_cannot_be_evaluated_is_not_said_to_be_unneeded() {
        let why = "`if` could not be evaluated: x is not defined";
        assert_eq!(skip_words(SkipReason::IfCondition, why, Evaluated::No), why);
        let is_false = skip_words(SkipReason::IfCondition, "`1 > 2` is false", Evaluated::Yes);
        assert_eq!(is_false, "not needed: `1 > 2` is false");
    }

    #[test]
    fn what_drives_a_terminal_or_reorders_text_is_shown_and_not_dropped() {
        assert_eq!(printable("a\u{202e}b\u{1b}[2J\nc"), "a\\u{202e}b\\u{1b}[2J c");
        assert_eq!(visible("a\tb\u{2066}\u{7}"), "a\tb\\u{2066}\\u{7}");
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        let words = ["a", "a b", "it's", "", "$HOME", "x;y", "--flag=1"].map(shell_word);
        assert_eq!(words, ["a", "'a b'", r"'it'\''s'", "''", "'$HOME'", "'x;y'", "--flag=1"]);
    }

    #[test]
    fn durations_read_naturally() {
        let said: Vec<String> = [7, 812, 12_400, 125_000, 3_725_000].map(duration_words).to_vec();
        assert_eq!(said, ["7ms", "0.8s", "12.4s", "2m 05s", "1h 02m"]);
    }
}
