//! The words of a command line, taken one at a time.
//!
//! **Invariant:** a word that is not Unicode is still a word. Only what is compared or printed is made readable.

use std::ffi::OsString;
use std::str::FromStr;

use super::answer::Failure;

/// What is left of the command line.
pub(super) struct Arguments<'argv> {
    words: std::slice::Iter<'argv, OsString>,
}

impl<'argv> Arguments<'argv> {
    pub(super) fn new(argv: &'argv [OsString]) -> Self {
        Self { words: argv.iter() }
    }

    pub(super) fn next_word(&mut self) -> Option<String> {
        self.words.next().map(readable)
    }

    /// Whether one of the words that are left is among these.
    pub(super) fn contain_any(&self, wanted: &[&str]) -> bool {
        self.words.as_slice().iter().any(|word| wanted.iter().any(|&want| word == want))
    }

    pub(super) fn raw_value_of(&mut self, flag: &str) -> Result<OsString, Failure> {
        let missing = || Failure::usage(format!("flag `{flag}` requires a value"));
        self.words.next().cloned().ok_or_else(missing)
    }

    pub(super) fn value_of(&mut self, flag: &str) -> Result<String, Failure> {
        self.raw_value_of(flag).map(|value| readable(&value))
    }

    pub(super) fn number_of<N: FromStr<Err = std::num::ParseIntError>>(
        &mut self,
        flag: &str,
    ) -> Result<N, Failure> {
        let wrong = |error| Failure::usage(format!("{flag} must be a non-negative integer: {error}"));
        self.value_of(flag)?.parse().map_err(wrong)
    }
}

fn readable(word: &OsString) -> String {
    word.to_string_lossy().into_owned()
}
