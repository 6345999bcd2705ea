//! Reads a command line word by word.
//!
//! **Invariant:** words need not be Unicode. Paths keep their bytes; only words that are compared or printed are decoded.

use std::ffi::OsString;
use std::str::FromStr;

use super::output::LifecycleError;

/// The rest of the command line.
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

    /// Whether any of the remaining words is one of these.
    pub(super) fn contain_any(&self, wanted: &[&str]) -> bool {
        self.words.as_slice().iter().any(|word| wanted.iter().any(|&want| word == want))
    }

    pub(super) fn raw_value_of(&mut self, flag: &str) -> Result<OsString, LifecycleError> {
        let missing = || LifecycleError::usage(format!("flag `{flag}` requires a value"));
        self.words.next().cloned().ok_or_else(missing)
    }

    pub(super) fn value_of(&mut self, flag: &str) -> Result<String, LifecycleError> {
        self.raw_value_of(flag).map(|value| readable(&value))
    }

    pub(super) fn number_of<N: FromStr<Err = std::num::ParseIntError>>(
        &mut self,
        flag: &str,
    ) -> Result<N, LifecycleError> {
        let wrong = |error| LifecycleError::usage(format!("{flag} must be a non-negative integer: {error}"));
        self.value_of(flag)?.parse().map_err(wrong)
    }
}

fn readable(word: &OsString) -> String {
    word.to_string_lossy().into_owned()
}
