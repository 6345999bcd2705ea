//! Searches that read over what stands between the characters of an encoding: line breaks and indentation in base64,
//! separators in hexadecimal.

use std::collections::VecDeque;

use super::automaton::{Automaton, START, State};

/// The characters behind the cursor that may become a match, and where each of them stands.
#[derive(Clone, Debug, Default)]
struct Trail {
    state: State,
    positions: VecDeque<u64>,
}

impl Trail {
    /// Takes a character. Gives the position at which the longest match that ends here begins.
    fn advance(&mut self, automaton: &Automaton, byte: u8, at: u64) -> Option<u64> {
        self.state = automaton.step(self.state, byte);
        self.positions.push_back(at);
        let excess = self.positions.len() - automaton.length(self.state);
        self.positions.drain(..excess);
        match automaton.longest(self.state) {
            0 => None,
            length => self.positions.get(self.positions.len() - length).copied(),
        }
    }

    fn reset(&mut self) {
        self.state = START;
        self.positions.clear();
    }

    fn is_empty(&self) -> bool {
        self.state == START
    }

    fn open_from(&self, automaton: &Automaton) -> Option<u64> {
        let open = automaton.depth(self.state);
        (open > 0).then(|| self.positions.get(self.positions.len() - open).copied()).flatten()
    }
}

/// Base64 in lines that may be indented.
#[derive(Debug, Default)]
pub(super) struct Wrapped {
    trail: Trail,
    /// Line breaks since the last other byte.
    breaks: u8,
    /// Blanks since the last line break.
    blanks: u8,
}

/// A line break inside wrapped text is `\n` or `\r\n`; more than that ends it.
const BREAKS_MAX: u8 = 2;

/// How far a line may be indented.
const BLANKS_MAX: u8 = 80;

impl Wrapped {
    pub(super) fn step(&mut self, automaton: &Automaton, byte: u8, at: u64) -> Option<u64> {
        match byte {
            b'\n' | b'\r' => {
                (self.breaks, self.blanks) = (self.breaks.saturating_add(1), 0);
                if self.breaks > BREAKS_MAX {
                    self.trail.reset();
                }
                None
            }
            b' ' | b'\t' if self.breaks > 0 => {
                self.blanks = self.blanks.saturating_add(1);
                if self.blanks > BLANKS_MAX {
                    self.trail.reset();
                }
                None
            }
            _ => {
                self.breaks = 0;
                self.trail.advance(automaton, byte, at)
            }
        }
    }

    pub(super) fn open_from(&self, automaton: &Automaton) -> Option<u64> {
        self.trail.open_from(automaton)
    }
}

/// Hexadecimal in lower or upper case with anything but letters and digits between: `68 75`, `68:75`, `6875 6e74`,
/// `0x68, 0x75`, `\x68\x75`.
#[derive(Debug, Default)]
pub(super) struct Hex {
    trail: Trail,
    /// The trail before the last digit, when that was a `0`: with an `x` behind it, it was only a prefix.
    before_zero: Option<Trail>,
    separators: u8,
}

/// How many characters may stand between two digits.
const SEPARATORS_MAX: u8 = 8;

impl Hex {
    pub(super) fn step(&mut self, automaton: &Automaton, byte: u8, at: u64) -> Option<u64> {
        if byte.is_ascii_hexdigit() {
            self.separators = 0;
            self.before_zero = (byte == b'0').then(|| self.trail.clone());
            return self.trail.advance(automaton, byte.to_ascii_lowercase(), at);
        }
        let before_zero = self.before_zero.take();
        if self.trail.is_empty() && before_zero.is_none() {
            return None;
        }
        self.separators = self.separators.saturating_add(1);
        match (byte, before_zero) {
            (b'x' | b'X', Some(before)) => self.trail = before,
            // As in `\x68`.
            (b'x' | b'X', None) if self.separators == 2 => {}
            _ if self.separators <= SEPARATORS_MAX
                && (byte.is_ascii_punctuation() || byte.is_ascii_whitespace()) => {}
            _ => {
                self.trail.reset();
                self.separators = 0;
            }
        }
        None
    }

    pub(super) fn open_from(&self, automaton: &Automaton) -> Option<u64> {
        let before = self.before_zero.as_ref().and_then(|before| before.open_from(automaton));
        [self.trail.open_from(automaton), before].into_iter().flatten().min()
    }
}
