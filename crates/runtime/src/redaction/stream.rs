//! Redacts bytes that come in pieces, wherever the pieces are cut.
//!
//! ```text
//!   … given out │ *** stands for these │ may still become a match │
//!               0                   covered                      held.len()
//! ```
//!
//! **Invariant:** what comes out depends on the bytes alone, not on how they were cut. Matches that overlap
//! become one `***`, so that no part of any of them is left. Held back is only what may still become a match.

use std::sync::Arc;

use super::automaton::{START, State};
use super::{REDACTED, Redactor};

/// Where the two searches are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor {
    plain: State,
    wrapped: State,
    /// Line breaks since the last other byte, while a wrapped match may be under way.
    breaks: u8,
}

/// A line break inside wrapped text is `\n` or `\r\n`; more than that ends it.
const BREAKS_MAX: u8 = 2;

impl Cursor {
    pub(super) const START: Cursor = Cursor { plain: START, wrapped: START, breaks: 0 };

    /// Takes a byte. Gives the lengths of the longest matches that end here; that of a wrapped one is without
    /// its line breaks.
    pub(super) fn step(&mut self, redactor: &Redactor, byte: u8) -> (usize, usize) {
        self.plain = redactor.plain.step(self.plain, byte);
        let mut wrapped = 0;
        if is_break(byte) {
            self.breaks += 1;
            if self.wrapped == START || self.breaks > BREAKS_MAX {
                (self.wrapped, self.breaks) = (START, 0);
            }
        } else {
            self.breaks = 0;
            self.wrapped = redactor.wrapped.step(self.wrapped, byte);
            wrapped = redactor.wrapped.longest(self.wrapped);
        }
        (redactor.plain.longest(self.plain), wrapped)
    }
}

fn is_break(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r')
}

/// One stream under redaction.
#[derive(Debug)]
pub struct Stream {
    redactor: Arc<Redactor>,
    cursor: Cursor,
    held: Vec<u8>,
    /// So many bytes at the start of `held` are already stood for by a `***`.
    covered: usize,
    /// What is to be redacted after that: apart from each other, in order.
    matches: Vec<(usize, usize)>,
}

impl Stream {
    pub fn new(redactor: Arc<Redactor>) -> Stream {
        Stream { redactor, cursor: Cursor::START, held: Vec::new(), covered: 0, matches: Vec::new() }
    }

    /// Takes a piece, and adds to `out` what can be given out by now.
    pub fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.redactor.is_empty() {
            out.extend_from_slice(piece);
            return;
        }
        self.held.reserve(piece.len());
        for byte in piece {
            self.held.push(*byte);
            let (plain, wrapped) = self.cursor.step(&self.redactor, *byte);
            if plain > 0 {
                self.found(self.held.len() - plain);
            }
            if wrapped > 0 {
                self.found(self.start_of_wrapped(wrapped));
            }
        }
        let plain = self.redactor.plain.depth(self.cursor.plain);
        let wrapped = self.redactor.wrapped.depth(self.cursor.wrapped);
        let keep_from = (self.held.len() - plain).min(self.start_of_wrapped(wrapped));
        self.give(keep_from, out);
    }

    /// Gives out what is left. Nothing more may come.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.give(self.held.len(), out);
        self.cursor = Cursor::START;
    }

    /// Where the last `count` bytes begin, line breaks not counted.
    fn start_of_wrapped(&self, count: usize) -> usize {
        let mut left = count;
        let mut start = self.held.len();
        while left > 0 && start > 0 {
            start -= 1;
            if !is_break(self.held[start]) {
                left -= 1;
            }
        }
        start
    }

    /// A match from `start` to the end of what is held.
    fn found(&mut self, mut start: usize) {
        while let Some((first, _)) = self.matches.pop_if(|(_, end)| *end > start) {
            start = start.min(first);
        }
        if start < self.covered {
            self.covered = self.held.len();
        } else {
            self.matches.push((start, self.held.len()));
        }
    }

    fn give(&mut self, until: usize, out: &mut Vec<u8>) {
        let mut from = self.covered.min(until);
        let mut covered = self.covered - from;
        let mut kept = Vec::new();
        for (start, end) in self.matches.drain(..) {
            if start >= until {
                kept.push((start - until, end - until));
                continue;
            }
            out.extend_from_slice(&self.held[from..start]);
            out.extend_from_slice(REDACTED.as_bytes());
            from = end.min(until);
            covered = end - from;
        }
        out.extend_from_slice(&self.held[from..until]);
        self.held.drain(..until);
        self.covered = covered;
        self.matches = kept;
    }
}
