//! Replaces secrets by `***` in everything that is shown or stored.
//!
//! ```text
//!   values ──▶ spellings ──▶ Redactor ──┬─ Stream: output, as it comes
//!                                       ├─ text, value: what enters a run
//!                                       └─ Search: does a file hold one?
//! ```
//!
//! **Invariant:** linear in what is looked at, whatever the secrets. Bytes without a secret pass unchanged.

mod automaton;
mod decoding;
mod encodings;
mod entering;
pub mod fuzzed;
mod skipping;
mod stream;
#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use automaton::Automaton;
use decoding::Decoded;
use encodings::Patterns;
use stream::Cursor;

pub(crate) use encodings::SHORTEST;
pub use entering::Inseparable;
pub(crate) use stream::Stream;

/// What stands for a secret.
pub const REDACTED: &str = "***";

/// Knows the secrets of a run in all their spellings. Does not tell them.
pub struct Redactor {
    plain: Automaton,
    wrapped: Automaton,
    hex: Automaton,
    decoded: Decoded,
    patterns: Patterns,
    is_empty: bool,
}

impl fmt::Debug for Redactor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Redactor")
    }
}

impl Redactor {
    /// Values shorter than `SHORTEST` are not looked for.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> Redactor {
        Redactor::looking_for(Patterns::default(), values)
    }

    /// This one, with more values to look for.
    pub fn with<'a>(&self, values: impl IntoIterator<Item = &'a [u8]>) -> Redactor {
        Redactor::looking_for(self.patterns.clone(), values)
    }

    fn looking_for<'a>(mut patterns: Patterns, values: impl IntoIterator<Item = &'a [u8]>) -> Redactor {
        for value in values {
            patterns.add(value);
        }
        Redactor {
            is_empty: patterns.plain.is_empty(),
            plain: Automaton::of(&patterns.plain),
            wrapped: Automaton::of(&patterns.wrapped),
            hex: Automaton::of(&patterns.hex),
            decoded: Decoded::of(&patterns.values),
            patterns,
        }
    }

    /// Without any secret.
    pub fn none() -> Arc<Redactor> {
        static NONE: LazyLock<Arc<Redactor>> = LazyLock::new(|| Arc::new(Redactor::of([])));
        Arc::clone(&NONE)
    }

    /// There is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    pub fn finds(&self, bytes: &[u8]) -> bool {
        let mut search = Search::new(self);
        search.feed(bytes);
        search.found()
    }

    /// The bytes without secrets, or `None` when there are none in them.
    pub fn bytes(self: &Arc<Redactor>, bytes: &[u8]) -> Option<Vec<u8>> {
        if !self.finds(bytes) {
            return None;
        }
        let mut clean = Vec::with_capacity(bytes.len());
        let mut stream = Stream::new(Arc::clone(self));
        stream.push(bytes, &mut clean);
        stream.finish(&mut clean);
        Some(clean)
    }

    /// Takes secrets out of a text; tells whether there were any.
    pub fn text(self: &Arc<Redactor>, text: &mut String) -> bool {
        match self.bytes(text.as_bytes()) {
            Some(clean) => {
                *text = String::from_utf8_lossy(&clean).into_owned();
                true
            }
            None => false,
        }
    }

    /// Takes secrets out of data: strings, names of members, and numbers that are written as one.
    pub fn value(self: &Arc<Redactor>, value: &mut Value) -> bool {
        if self.is_empty {
            return false;
        }
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(number) => {
                let mut text = number.to_string();
                let found = self.text(&mut text);
                if found {
                    *value = Value::String(text);
                }
                found
            }
            Value::String(text) => self.text(text),
            Value::Array(items) => items.iter_mut().fold(false, |found, item| self.value(item) | found),
            Value::Object(members) => self.members(members),
        }
    }

    pub fn members(self: &Arc<Redactor>, members: &mut Map<String, Value>) -> bool {
        let mut found = members.values_mut().fold(false, |found, member| self.value(member) | found);
        if members.keys().any(|name| self.finds(name.as_bytes())) {
            found = true;
            *members = std::mem::take(members)
                .into_iter()
                .map(|(mut name, member)| {
                    self.text(&mut name);
                    (name, member)
                })
                .collect();
        }
        found
    }
}

/// Whether bytes that come in pieces hold a secret.
#[derive(Debug)]
pub(crate) struct Search<'r> {
    redactor: &'r Redactor,
    cursor: Cursor,
    found: bool,
}

impl Search<'_> {
    pub(crate) fn new(redactor: &Redactor) -> Search<'_> {
        Search { redactor, cursor: Cursor::start(), found: false }
    }

    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        if self.redactor.is_empty || self.found {
            return;
        }
        let found = &mut self.found;
        for byte in bytes {
            self.cursor.step(self.redactor, *byte, &mut |_, _| *found = true);
            if *found {
                return;
            }
        }
    }

    pub(crate) fn found(&self) -> bool {
        self.found
    }
}
