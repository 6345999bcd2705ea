//! Searches that read escapes as the characters that they stand for: any character may be escaped or not, so the
//! spellings of a value cannot be listed.
//!
//! ```text
//!   bytes ──┬─ JSON ──┬─────────── values?     \u0068, \"
//!           │         └─ JSON ──── values?     \\u0068, \\\"
//!           ├─ percent ─────────── values?     %68, + or a space
//!           └─ HTML ────────────── values?     &#104; &#x068; &quot;
//! ```
//!
//! What turns out to be no escape is read as it stands. Escapes have a longest length, so a search is linear.

use super::automaton::{Automaton, START};
use super::skipping::Trail;

/// A byte, and the positions from and to which it is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Unit {
    pub(super) byte: u8,
    pub(super) from: u64,
    pub(super) to: u64,
}

/// The values to look for behind the escapes.
#[derive(Debug)]
pub(super) struct Decoded {
    values: Automaton,
    /// With `+` as a space, which forms write so.
    form_values: Automaton,
    /// The bytes at which a search may begin.
    stirs: Box<[bool; 256]>,
}

impl Decoded {
    pub(super) fn of<'a>(values: impl IntoIterator<Item = &'a Vec<u8>> + Clone) -> Decoded {
        let form_values: Vec<Vec<u8>> = values
            .clone()
            .into_iter()
            .map(|value| value.iter().map(|byte| of_form(*byte)).collect())
            .collect();
        let (values, form_values) = (Automaton::of(values), Automaton::of(&form_values));
        let mut stirs = Box::new([false; 256]);
        for byte in 0..=u8::MAX {
            stirs[usize::from(byte)] = b"\\%&".contains(&byte)
                || values.step(START, byte) != START
                || form_values.step(START, of_form(byte)) != START;
        }
        Decoded { values, form_values, stirs }
    }
}

fn of_form(byte: u8) -> u8 {
    if byte == b'+' { b' ' } else { byte }
}

/// Where the searches behind the escapes are.
#[derive(Debug, Default)]
pub(super) struct Views {
    json: View,
    json_in_json: View,
    percent: View,
    html: View,
    /// A search has begun.
    is_stirred: bool,
}

impl Views {
    /// Takes a byte, and tells of the longest match that ends with each character.
    pub(super) fn step(&mut self, decoded: &Decoded, byte: u8, at: u64, found: &mut impl FnMut(u64, u64)) {
        if !self.is_stirred && !decoded.stirs[usize::from(byte)] {
            return;
        }
        let unit = Unit { byte, from: at, to: at + 1 };
        let (json, json_in_json) = (&mut self.json, &mut self.json_in_json);
        json.pending.take(unit, json_escape, &mut |unit| {
            json.trail.look(&decoded.values, unit, found);
            json_in_json.pending.take(unit, json_escape, &mut |unit| {
                json_in_json.trail.look(&decoded.values, unit, found);
            });
        });
        let percent = &mut self.percent;
        percent.pending.take(unit, percent_escape, &mut |unit| {
            let unit = Unit { byte: of_form(unit.byte), ..unit };
            percent.trail.look(&decoded.form_values, unit, found);
        });
        let html = &mut self.html;
        html.pending.take(unit, html_escape, &mut |unit| html.trail.look(&decoded.values, unit, found));
        self.is_stirred = [json, json_in_json, percent, html].iter().any(|view| !view.is_idle());
    }

    pub(super) fn open_from(&self, decoded: &Decoded) -> Option<u64> {
        if !self.is_stirred {
            return None;
        }
        let plain = [&self.json, &self.json_in_json, &self.html].into_iter();
        let open = plain.filter_map(|view| view.open_from(&decoded.values));
        open.chain(self.percent.open_from(&decoded.form_values)).min()
    }
}

#[derive(Debug, Default)]
struct View {
    pending: Pending,
    trail: Trail,
}

impl View {
    fn is_idle(&self) -> bool {
        self.pending.0.is_empty() && self.trail.is_empty()
    }

    fn open_from(&self, automaton: &Automaton) -> Option<u64> {
        let pending = self.pending.0.first().map(|unit| unit.from);
        [pending, self.trail.open_from(automaton)].into_iter().flatten().min()
    }
}

/// The result of reading an escape so far.
enum Escape {
    /// Incomplete: more bytes decide.
    Open,
    /// Its first byte stands for itself.
    Not,
    Is(Vec<u8>),
}

/// The beginning of an escape.
#[derive(Debug, Default)]
struct Pending(Vec<Unit>);

impl Pending {
    fn take(&mut self, unit: Unit, escape: fn(&[Unit]) -> Escape, give: &mut impl FnMut(Unit)) {
        self.0.push(unit);
        match escape(&self.0) {
            Escape::Open => {}
            Escape::Is(bytes) => {
                let (from, to) = (self.0[0].from, self.0[self.0.len() - 1].to);
                self.0.clear();
                bytes.into_iter().for_each(|byte| give(Unit { byte, from, to }));
            }
            Escape::Not => {
                give(self.0.remove(0));
                // Another escape may begin within what was not one.
                std::mem::take(&mut self.0).into_iter().for_each(|unit| self.take(unit, escape, give));
            }
        }
    }
}

fn json_escape(units: &[Unit]) -> Escape {
    let byte = |place: usize| units[place].byte;
    match units.len() {
        1 if byte(0) == b'\\' => Escape::Open,
        2 => match byte(1) {
            letter @ (b'"' | b'\\' | b'/') => Escape::Is(vec![letter]),
            b'n' => Escape::Is(vec![b'\n']),
            b'r' => Escape::Is(vec![b'\r']),
            b't' => Escape::Is(vec![b'\t']),
            b'b' => Escape::Is(vec![0x08]),
            b'f' => Escape::Is(vec![0x0c]),
            b'u' => Escape::Open,
            _ => Escape::Not,
        },
        3..=5 | 9..=11 if byte(units.len() - 1).is_ascii_hexdigit() => Escape::Open,
        6 => match code_unit(&units[2..]) {
            // The first half of a character; the second must follow.
            Some(0xd800..=0xdbff) => Escape::Open,
            Some(unit) => character(unit.into()),
            None => Escape::Not,
        },
        7 if byte(6) == b'\\' => Escape::Open,
        8 if byte(7) == b'u' => Escape::Open,
        12 => {
            let units = [code_unit(&units[2..6]), code_unit(&units[8..])];
            match char::decode_utf16(units.into_iter().flatten()).next() {
                Some(Ok(one)) if u32::from(one) > 0xffff => character(one.into()),
                _ => Escape::Not,
            }
        }
        _ => Escape::Not,
    }
}

fn code_unit(digits: &[Unit]) -> Option<u16> {
    digits.iter().try_fold(0, |code, digit| Some(code << 4 | u16::from(hex_digit(digit.byte)?)))
}

fn hex_digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok())
}

fn character(code: u32) -> Escape {
    match char::from_u32(code) {
        Some(one) => Escape::Is(one.encode_utf8(&mut [0; 4]).as_bytes().to_vec()),
        None => Escape::Not,
    }
}

fn percent_escape(units: &[Unit]) -> Escape {
    match units {
        [first] if first.byte == b'%' => Escape::Open,
        [_, high] if hex_digit(high.byte).is_some() => Escape::Open,
        [_, high, low] => match (hex_digit(high.byte), hex_digit(low.byte)) {
            (Some(high), Some(low)) => Escape::Is(vec![high << 4 | low]),
            _ => Escape::Not,
        },
        _ => Escape::Not,
    }
}

/// The longest reference to a character that is read, with all its leading zeros.
const REFERENCE_BYTES_MAX: usize = 24;

/// The names that writers of HTML and XML use for the characters that they must escape.
const NAMES: [(&[u8], u8); 5] =
    [(b"&amp;", b'&'), (b"&lt;", b'<'), (b"&gt;", b'>'), (b"&quot;", b'"'), (b"&apos;", b'\'')];

fn html_escape(units: &[Unit]) -> Escape {
    let length = units.len();
    if length > REFERENCE_BYTES_MAX || units[0].byte != b'&' {
        return Escape::Not;
    }
    let Some(second) = units.get(1) else { return Escape::Open };
    if second.byte != b'#' {
        let is_begun = |name: &&(&[u8], u8)| {
            name.0.len() >= length
                && name.0.iter().zip(units).all(|(letter, unit)| unit.byte.eq_ignore_ascii_case(letter))
        };
        return match NAMES.iter().find(is_begun) {
            Some((name, meant)) if name.len() == length => Escape::Is(vec![*meant]),
            Some(_) => Escape::Open,
            None => Escape::Not,
        };
    }
    let (radix, first) = match units.get(2) {
        None => return Escape::Open,
        Some(unit) if unit.byte.eq_ignore_ascii_case(&b'x') => (16, 3),
        Some(_) => (10, 2),
    };
    let last = units[length - 1].byte;
    if last != b';' {
        let is_open = length <= first || char::from(last).is_digit(radix);
        return if is_open { Escape::Open } else { Escape::Not };
    }
    let digits = &units[first.min(length)..length - 1];
    let code = digits.iter().try_fold(0_u32, |code, unit| {
        code.checked_mul(radix)?.checked_add(char::from(unit.byte).to_digit(radix)?)
    });
    match code {
        Some(code) if !digits.is_empty() => character(code),
        _ => Escape::Not,
    }
}
