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
use super::skipping::{Hex, Wrapped};
use super::{REDACTED, Redactor};

/// Where the searches are.
#[derive(Debug)]
pub(super) struct Cursor {
    /// How many bytes were taken.
    taken: u64,
    plain: State,
    wrapped: Wrapped,
    hex: Hex,
}

impl Cursor {
    pub(super) fn start() -> Cursor {
        Cursor { taken: 0, plain: START, wrapped: Wrapped::default(), hex: Hex::default() }
    }

    /// Takes a byte. Gives the position at which the longest match that ends here begins.
    pub(super) fn step(&mut self, redactor: &Redactor, byte: u8) -> Option<u64> {
        let at = self.taken;
        self.taken += 1;
        self.plain = redactor.plain.step(self.plain, byte);
        let plain = match redactor.plain.longest(self.plain) {
            0 => None,
            length => Some(self.taken - length as u64),
        };
        let wrapped = self.wrapped.step(&redactor.wrapped, byte, at);
        let hex = self.hex.step(&redactor.hex, byte, at);
        [plain, wrapped, hex].into_iter().flatten().min()
    }

    /// The position of the first byte that may still become part of a match.
    fn open_from(&self, redactor: &Redactor) -> u64 {
        let plain = self.taken - redactor.plain.depth(self.plain) as u64;
        let skipping = [self.wrapped.open_from(&redactor.wrapped), self.hex.open_from(&redactor.hex)];
        skipping.into_iter().flatten().fold(plain, u64::min)
    }
}

/// One stream under redaction.
#[derive(Debug)]
pub(crate) struct Stream {
    redactor: Arc<Redactor>,
    cursor: Cursor,
    held: Vec<u8>,
    /// The position of the first byte that is held.
    held_from: u64,
    /// So many bytes at the start of `held` are already stood for by a `***`.
    covered: usize,
    /// What is to be redacted after that: apart from each other, in order.
    matches: Vec<(usize, usize)>,
    has_redacted: bool,
}

impl Stream {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Stream {
        Stream {
            redactor,
            cursor: Cursor::start(),
            held: Vec::new(),
            held_from: 0,
            covered: 0,
            matches: Vec::new(),
            has_redacted: false,
        }
    }

    /// Takes a piece, and adds to `out` what can be given out by now.
    pub(crate) fn push(&mut self, piece: &[u8], out: &mut Vec<u8>) {
        if self.redactor.is_empty() {
            out.extend_from_slice(piece);
            return;
        }
        self.held.reserve(piece.len());
        for byte in piece {
            self.held.push(*byte);
            if let Some(start) = self.cursor.step(&self.redactor, *byte) {
                self.found(self.place_of(start));
            }
        }
        let keep_from = self.place_of(self.cursor.open_from(&self.redactor));
        self.give(keep_from, out);
    }

    /// Whether a `***` stands for something that was taken.
    pub(crate) fn has_redacted(&self) -> bool {
        self.has_redacted
    }

    /// Gives out what is left. Nothing more may come.
    pub(crate) fn finish(&mut self, out: &mut Vec<u8>) {
        self.give(self.held.len(), out);
        self.cursor = Cursor::start();
        self.held_from = 0;
    }

    /// Where a position lies among the bytes that are held. What was given out cannot be taken back; it was covered.
    fn place_of(&self, position: u64) -> usize {
        usize::try_from(position.saturating_sub(self.held_from)).unwrap_or(usize::MAX).min(self.held.len())
    }

    /// A match from `start` to the end of what is held.
    fn found(&mut self, mut start: usize) {
        self.has_redacted = true;
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
        self.held_from += until as u64;
        self.covered = covered;
        self.matches = kept;
    }
}
