//! Searches that read over what stands between the characters of an encoding: line breaks and indentation in base64,
//! separators in hexadecimal.

use std::collections::VecDeque;

use super::automaton::{Automaton, START, State};
use super::decoding::Unit;

/// The characters behind the cursor that may become a match, and where each of them stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Trail {
    state: State,
    positions: VecDeque<u64>,
}

impl Trail {
    /// Takes a character, and tells from where to where the longest match that ends with it is written.
    pub(super) fn look(&mut self, automaton: &Automaton, unit: Unit, found: &mut impl FnMut(u64, u64)) {
        if let Some(from) = self.advance(automaton, unit.byte, unit.from) {
            found(from, unit.to);
        }
    }

    /// Takes a character. Gives the position at which the longest match that ends here begins.
    fn advance(&mut self, automaton: &Automaton, byte: u8, at: u64) -> Option<u64> {
        self.state = automaton.step(self.state, byte);
        if self.state == START {
            self.positions.clear();
            return None;
        }
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

    pub(super) fn is_empty(&self) -> bool {
        self.state == START
    }

    pub(super) fn open_from(&self, automaton: &Automaton) -> Option<u64> {
        let open = automaton.depth(self.state);
        (open > 0).then(|| self.positions.get(self.positions.len() - open).copied()).flatten()
    }
}

/// Base64 in lines that may be indented. The breaks may be written as escapes, as in a JSON string: `\n`, `\\r\\n`.
#[derive(Debug, Default)]
pub(super) struct Wrapped {
    trail: Trail,
    /// The same search, which reads over such escapes. It begins with the first one inside a possible match.
    escaped: Trail,
    /// Backslashes directly before this byte, and escaped breaks since the last other byte, for that search.
    backslashes: u8,
    escapes: u8,
    /// Line breaks since the last other byte.
    breaks: u8,
    /// Blanks since the last line break.
    blanks: u8,
}

/// A line break inside wrapped text is `\n` or `\r\n`; more than that ends it.
const BREAKS_MAX: u8 = 2;

/// JSON inside JSON has two of them.
const BACKSLASHES_MAX: u8 = 2;

/// How far a line may be indented.
const BLANKS_MAX: u8 = 80;

impl Wrapped {
    pub(super) fn step(&mut self, automaton: &Automaton, byte: u8, at: u64) -> Option<u64> {
        let escaped = self.step_over_escapes(automaton, byte, at);
        let plain = self.step_over_breaks(automaton, byte, at);
        escaped.into_iter().chain(plain).min()
    }

    /// Goes before the other search, whose place it takes over at a backslash.
    fn step_over_escapes(&mut self, automaton: &Automaton, byte: u8, at: u64) -> Option<u64> {
        if byte == b'\\' {
            if self.escaped.is_empty() {
                self.escaped = self.trail.clone();
            }
            self.backslashes += 1;
            if self.escaped.is_empty() || self.backslashes > BACKSLASHES_MAX {
                self.forget_escapes();
            }
            return None;
        }
        if self.escaped.is_empty() {
            return None;
        }
        match (std::mem::take(&mut self.backslashes), byte) {
            (0, _) => {
                self.escapes = 0;
                self.escaped.advance(automaton, byte, at)
            }
            (_, b'n' | b'r') if self.escapes < BREAKS_MAX => {
                self.escapes += 1;
                None
            }
            (_, _) => {
                self.forget_escapes();
                None
            }
        }
    }

    fn forget_escapes(&mut self) {
        self.escaped.reset();
        (self.backslashes, self.escapes) = (0, 0);
    }

    fn step_over_breaks(&mut self, automaton: &Automaton, byte: u8, at: u64) -> Option<u64> {
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
        let searches = [&self.trail, &self.escaped];
        searches.into_iter().filter_map(|search| search.open_from(automaton)).min()
    }
}

/// Hexadecimal in lower or upper case with anything but digits between: `68 75`, `68:75`, `6875 6e74`, `0x68, 0x75`,
/// `\x{68}\x{75}`, `68g75`.
///
/// Words and colours have digits of their own, such as the `b` of `(byte)0x68`. So it is read in two ways: with every
/// digit, and without those of words and of colours.
#[derive(Debug, Default)]
pub(super) struct Hex {
    every: Digits,
    wordless: Digits,
    /// Letters that may be digits, or the beginning of a word.
    letters: Vec<Unit>,
    inside: Inside,
}

/// What the last byte was part of, where words and colours are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Inside {
    #[default]
    Nothing,
    Word,
    /// Behind the escape character of a colour.
    Escape,
    Colour,
}

impl Hex {
    pub(super) fn step(
        &mut self,
        automaton: &Automaton,
        byte: u8,
        at: u64,
        found: &mut impl FnMut(u64, u64),
    ) {
        let unit = Unit { byte, from: at, to: at + 1 };
        self.every.take(automaton, unit, found);
        self.take_without_words(automaton, unit, found);
    }

    fn take_without_words(&mut self, automaton: &Automaton, unit: Unit, found: &mut impl FnMut(u64, u64)) {
        const ESCAPE: u8 = 0x1b;
        let byte = unit.byte;
        let is_prefix = self.letters.is_empty() && self.wordless.before_zero.is_some() && is_x(byte);
        let goes_on = match self.inside {
            Inside::Escape => byte == b'[',
            Inside::Colour => matches!(byte, 0x20..=0x3f),
            Inside::Word => byte.is_ascii_alphabetic(),
            Inside::Nothing => false,
        };
        if goes_on || self.inside == Inside::Colour {
            self.wordless.skip(unit.byte);
            self.inside = match self.inside {
                Inside::Escape => Inside::Colour,
                Inside::Colour if !goes_on => Inside::Nothing,
                inside => inside,
            };
            return;
        }
        self.inside = Inside::Nothing;
        if byte.is_ascii_alphabetic() && !is_prefix {
            self.letters.push(unit);
            if !byte.is_ascii_hexdigit() || self.letters.len() > usize::from(SEPARATORS_MAX) {
                // A letter by itself may as well stand between digits: `every` reads it so.
                self.letters.drain(..).for_each(|unit| self.wordless.skip(unit.byte));
                self.inside = Inside::Word;
            }
            return;
        }
        for unit in std::mem::take(&mut self.letters) {
            self.wordless.take(automaton, unit, found);
        }
        if byte == ESCAPE {
            self.inside = Inside::Escape;
        }
        self.wordless.take(automaton, unit, found);
    }

    pub(super) fn open_from(&self, automaton: &Automaton) -> Option<u64> {
        let letters = self.letters.first().filter(|first| {
            !self.wordless.trail.is_empty() || automaton.step(START, first.byte.to_ascii_lowercase()) != START
        });
        let open = [self.every.open_from(automaton), self.wordless.open_from(automaton)];
        open.into_iter().flatten().chain(letters.map(|unit| unit.from)).min()
    }
}

fn is_x(byte: u8) -> bool {
    byte.eq_ignore_ascii_case(&b'x')
}

/// Digits, with something between them.
#[derive(Debug, Default)]
struct Digits {
    trail: Trail,
    /// The trail before the last digit, when that was a `0`: with an `x` behind it, it was only a prefix.
    before_zero: Option<Trail>,
    separators: u8,
}

/// How many bytes may stand between two digits.
const SEPARATORS_MAX: u8 = 32;

impl Digits {
    fn take(&mut self, automaton: &Automaton, unit: Unit, found: &mut impl FnMut(u64, u64)) {
        let byte = unit.byte;
        if !byte.is_ascii_hexdigit() {
            return self.skip(byte);
        }
        self.separators = 0;
        self.before_zero = (byte == b'0').then(|| self.trail.clone());
        self.trail.look(automaton, Unit { byte: byte.to_ascii_lowercase(), ..unit }, found);
    }

    /// Takes what stands between digits.
    fn skip(&mut self, byte: u8) {
        match self.before_zero.take() {
            Some(before) if is_x(byte) => self.trail = before,
            _ if self.trail.is_empty() => return,
            _ => {}
        }
        self.separators = self.separators.saturating_add(1);
        if self.separators > SEPARATORS_MAX {
            self.trail.reset();
            self.separators = 0;
        }
    }

    fn open_from(&self, automaton: &Automaton) -> Option<u64> {
        let before = self.before_zero.as_ref().and_then(|before| before.open_from(automaton));
        [self.trail.open_from(automaton), before].into_iter().flatten().min()
    }
}
