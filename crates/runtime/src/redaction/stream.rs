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
use super::decoding::Views;
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
    views: Views,
}

impl Cursor {
    pub(super) fn start() -> Cursor {
        Cursor {
            taken: 0,
            plain: START,
            wrapped: Wrapped::default(),
            hex: Hex::default(),
            views: Views::default(),
        }
    }

    /// Takes a byte, and tells from where to where there are matches. Most end here; one whose last byte could have been
    /// the beginning of an escape is known a few bytes later.
    pub(super) fn step(&mut self, redactor: &Redactor, byte: u8, found: &mut impl FnMut(u64, u64)) {
        let at = self.taken;
        self.taken += 1;
        self.plain = redactor.plain.step(self.plain, byte);
        match redactor.plain.longest(self.plain) {
            0 => {}
            length => found(self.taken - length as u64, self.taken),
        }
        if let Some(start) = self.wrapped.step(&redactor.wrapped, byte, at) {
            found(start, self.taken);
        }
        self.hex.step(&redactor.hex, byte, at, found);
        self.views.step(&redactor.decoded, byte, at, found);
    }

    /// The position of the first byte that may still become part of a match.
    fn open_from(&self, redactor: &Redactor) -> u64 {
        let plain = self.taken - redactor.plain.depth(self.plain) as u64;
        let skipping = [
            self.wrapped.open_from(&redactor.wrapped),
            self.hex.open_from(&redactor.hex),
            self.views.open_from(&redactor.decoded),
        ];
        skipping.into_iter().flatten().fold(plain, u64::min)
    }
}

/// One stream under redaction.
#[derive(Debug)]
pub(crate) struct Stream {
    redactor: Arc<Redactor>,
    /// In a box, because a stream is part of the future of every command.
    cursor: Box<Cursor>,
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
            cursor: Box::new(Cursor::start()),
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
        let redactor = Arc::clone(&self.redactor);
        let mut found = Vec::new();
        for byte in piece {
            self.held.push(*byte);
            self.cursor.step(&redactor, *byte, &mut |start, end| found.push((start, end)));
            for (start, end) in found.drain(..) {
                self.found(self.place_of(start), self.place_of(end));
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
        *self.cursor = Cursor::start();
        self.held_from = 0;
    }

    /// Where a position lies among the bytes that are held. What was given out cannot be taken back; it was covered.
    fn place_of(&self, position: u64) -> usize {
        usize::try_from(position.saturating_sub(self.held_from)).unwrap_or(usize::MAX).min(self.held.len())
    }

    /// A match. It becomes one with those that it overlaps.
    fn found(&mut self, mut start: usize, mut end: usize) {
        self.has_redacted = true;
        let mut later = Vec::new();
        while let Some((first, last)) = self.matches.pop_if(|(_, last)| *last > start) {
            if first >= end {
                later.push((first, last));
            } else {
                (start, end) = (start.min(first), end.max(last));
            }
        }
        if start < self.covered {
            self.covered = self.covered.max(end);
        } else {
            self.matches.push((start, end));
        }
        self.matches.extend(later.into_iter().rev());
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
