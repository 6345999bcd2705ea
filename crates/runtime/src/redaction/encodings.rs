//! The ways in which a value is commonly written: these are what the redactor looks for. Escapes of single characters are
//! read by `decoding` instead.

use std::collections::BTreeSet;

/// What is shorter cannot be told from ordinary text.
pub(crate) const SHORTEST: usize = 4;

/// What to look for.
#[derive(Clone, Default)]
pub(super) struct Patterns {
    /// The values and their lines, found behind escapes.
    pub(super) values: BTreeSet<Vec<u8>>,
    /// Found as they stand.
    pub(super) plain: BTreeSet<Vec<u8>>,
    /// Found also when the text is broken into lines anywhere, and the lines are indented: base64.
    pub(super) wrapped: BTreeSet<Vec<u8>>,
    /// Found in either case and with separators between the digits: lower-case hexadecimal.
    pub(super) hex: BTreeSet<Vec<u8>>,
}

impl Patterns {
    /// The value, and each line of it: programs that print a key print it line by line.
    pub(super) fn add(&mut self, value: &[u8]) {
        self.add_piece(value);
        for line in value.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii) {
            if line.len() < value.len() {
                self.add_piece(line);
            }
        }
    }

    fn add_piece(&mut self, piece: &[u8]) {
        if piece.len() < SHORTEST {
            return;
        }
        for pattern in [
            piece.to_vec(),
            replaced(piece, b'\'', b"'\\''"),
            replaced(piece, b'\'', b"'\"'\"'"),
            backslashed(piece, is_quoted_by_bash),
            backslashed(piece, |_, byte| b"\"$`\\".contains(&byte)),
            backslashed(piece, |_, byte| b"\"$`\\!".contains(&byte)),
            dollar_quoted(piece, Beyond::Verbatim),
            dollar_quoted(piece, Beyond::Octal),
            echoed(piece),
        ] {
            if pattern.len() >= SHORTEST {
                self.plain.insert(pattern);
            }
        }
        self.values.insert(piece.to_vec());
        self.hex.extend(hex_windows(piece));
        self.wrapped.extend(base64(piece).into_iter().filter(|pattern| pattern.len() >= SHORTEST));
    }
}

const LOWER: &[u8; 16] = b"0123456789abcdef";

/// The hexadecimal digits of every few bytes, in the orders in which dumps print them. A dump puts an address between
/// lines, so the whole value rarely stands together.
///
/// Six bytes cannot be met by chance: the digests in a journal are hexadecimal too.
fn hex_windows(value: &[u8]) -> BTreeSet<Vec<u8>> {
    const ORDERS: [&[usize]; 7] = [
        &[0, 1, 2, 3, 4, 5],
        &[1, 0, 3, 2, 5, 4], // words of two bytes, as `od -x` on most machines
        &[3, 2, 1, 0, 7, 6], // of four
        &[5, 4, 3, 2, 1, 0], // of eight
        &[0, 1, 2, 3],
        &[1, 0, 3, 2],
        &[3, 2, 1, 0],
    ];
    let mut windows = BTreeSet::new();
    if value.len() < 6 {
        windows.insert(hex(value.iter()));
    }
    for order in ORDERS.into_iter().filter(|order| order.len() == if value.len() < 6 { 4 } else { 6 }) {
        let needed = order.iter().max().map_or(0, |last| last + 1);
        windows.extend(value.windows(needed).map(|window| hex(order.iter().map(|place| &window[*place]))));
    }
    windows
}

fn hex<'a>(bytes: impl Iterator<Item = &'a u8>) -> Vec<u8> {
    bytes.flat_map(|byte| [LOWER[usize::from(byte >> 4)], LOWER[usize::from(byte & 15)]]).collect()
}

fn replaced(value: &[u8], wanted: u8, instead: &[u8]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(value.len());
    for byte in value {
        if *byte == wanted {
            encoded.extend_from_slice(instead);
        } else {
            encoded.push(*byte);
        }
    }
    encoded
}

/// With a backslash before some bytes, told by their place and value.
fn backslashed(value: &[u8], is_quoted: impl Fn(usize, u8) -> bool) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(value.len());
    for (place, byte) in value.iter().enumerate() {
        if is_quoted(place, *byte) {
            encoded.push(b'\\');
        }
        encoded.push(*byte);
    }
    encoded
}

/// `printf %q` of bash.
fn is_quoted_by_bash(place: usize, byte: u8) -> bool {
    b" \t\n!\"$&'()*,;<>?[\\]^`{|}".contains(&byte) || (place == 0 && matches!(byte, b'#' | b'~'))
}

/// What becomes of bytes that are not ASCII.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Beyond {
    Verbatim,
    Octal,
}

/// Inside `$'…'`, as `printf %q`, `declare -p` and `export -p` write values with control characters.
fn dollar_quoted(value: &[u8], beyond: Beyond) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(value.len());
    for byte in value {
        let letter = match byte {
            b'\'' | b'\\' => *byte,
            0x07 => b'a',
            0x08 => b'b',
            b'\t' => b't',
            b'\n' => b'n',
            0x0b => b'v',
            0x0c => b'f',
            b'\r' => b'r',
            0x1b => b'E',
            byte if byte.is_ascii_control() || (!byte.is_ascii() && beyond == Beyond::Octal) => {
                encoded.extend_from_slice(format!("\\{byte:03o}").as_bytes());
                continue;
            }
            _ => {
                encoded.push(*byte);
                continue;
            }
        };
        encoded.extend_from_slice(&[b'\\', letter]);
    }
    encoded
}

/// As the `echo` of many a `/bin/sh` prints it, which reads backslashes.
fn echoed(value: &[u8]) -> Vec<u8> {
    let mut printed = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let (b'\\', Some((letter, behind))) = (*first, after.split_first()) else {
            printed.push(*first);
            continue;
        };
        let meant = match letter {
            b'\\' => b'\\',
            b'a' => 0x07,
            b'b' => 0x08,
            b'e' => 0x1b,
            b'f' => 0x0c,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'v' => 0x0b,
            // It ends the output.
            b'c' => return printed,
            _ => {
                printed.push(b'\\');
                continue;
            }
        };
        printed.push(meant);
        rest = behind;
    }
    printed
}

/// In both alphabets: by itself, with the newline that `echo` adds, and in the middle of something longer.
///
/// Where a value begins within a group of three bytes decides how it reads, so there are three readings. The
/// characters at either end that share bits with unknown neighbours are left out of them.
fn base64(value: &[u8]) -> Vec<Vec<u8>> {
    let mut encodings = Vec::new();
    for alphabet in [STANDARD, URL_SAFE] {
        for shift in 0..3_usize {
            let mut shifted = vec![0; shift];
            shifted.extend_from_slice(value);
            let encoded = base64_of(&shifted, alphabet);
            let first = (shift * 8).div_ceil(6);
            let end = (shift + value.len()) * 8 / 6;
            encodings.push(encoded[first..end].to_vec());
        }
        for whole in [value.to_vec(), [value, b"\n"].concat()] {
            let mut encoded = base64_of(&whole, alphabet);
            encodings.push(encoded.clone());
            encoded.resize(encoded.len().next_multiple_of(4), b'=');
            encodings.push(encoded);
        }
    }
    encodings
}

pub(super) const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Without padding.
pub(super) fn base64_of(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=group.len() {
            let six = (bits >> (18 - 6 * place)) & 63;
            encoded.push(alphabet[six as usize]);
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::redaction::Redactor;

    fn patterns(value: &str) -> Vec<String> {
        let mut patterns = Patterns::default();
        patterns.add(value.as_bytes());
        patterns
            .plain
            .into_iter()
            .chain(patterns.wrapped)
            .chain(patterns.hex)
            .map(|one| String::from_utf8(one).unwrap())
            .collect()
    }

    #[test]
    fn a_value_is_looked_for_in_all_its_spellings() {
        let redactor = Arc::new(Redactor::of(["s3cr\"t/<é ~".as_bytes()]));
        for spelt in [
            "s3cr\"t/<é ~",
            "s3cr\\\"t/<é ~",
            "s3cr\\\"t\\/<é ~",
            "s3cr\\\"t/<\\u00e9 ~",
            "s3cr\\\"t/\\u003cé ~",
            "s3cr\\\"t/\\u003C\\u00E9 ~",
            "s3cr\\\\\\\"t/<é ~",
            "s3cr%22t%2F%3C%C3%A9%20~",
            "s3cr%22t%2f%3c%c3%a9%20~",
            "s3cr%22t/%3C%C3%A9%20~",
            "s3cr%22t%2F%3C%C3%A9+~",
            "%73%33%63%72%22%74%2f%3c%c3%a9%20%7e",
            "73336372 2274 2f3cc3a9207e",
            "s3cr&quot;t/&lt;é ~",
            "\\u0073\\u0033\\u0063\\u0072\\u0022\\u0074\\u002f\\u003c\\u00e9\\u0020\\u007e",
            "czNjciJ0LzzDqSB+",
            "czNjciJ0LzzDqSB-",
        ] {
            let mut text = spelt.to_owned();
            assert!(redactor.text(&mut text), "{spelt}");
            assert_eq!(text, "***", "{spelt}");
        }
    }

    #[test]
    fn what_echo_makes_of_backslashes_is_known() {
        for (value, expected) in
            [("a\\tb\\\\c\\xd", "a\tb\\c\\xd"), ("four\\cfive", "four"), ("end\\", "end\\")]
        {
            assert_eq!(String::from_utf8(echoed(value.as_bytes())).unwrap(), expected, "{value}");
        }
    }

    #[test]
    fn base64_is_found_wherever_the_value_begins() {
        let found = patterns("tok");
        assert!(found.is_empty(), "too short");
        let mut patterns = Patterns::default();
        patterns.add(b"hunter-two-42");
        for (before, after) in
            [("", ""), ("a", ""), ("ab", "c"), ("user:", "\n"), ("xyz", "xyz"), ("1234", "12")]
        {
            let whole = format!("{before}hunter-two-42{after}");
            let encoded = base64_of(whole.as_bytes(), STANDARD);
            let found = patterns
                .wrapped
                .iter()
                .any(|one| encoded.windows(one.len()).any(|window| window == one.as_slice()));
            assert!(found, "{whole}");
        }
    }

    #[test]
    fn each_line_counts_and_short_ones_do_not() {
        let found = patterns("first line\r\n}\n  second\n");
        for expected in ["first line", "second", "first line\r\n}\n  second\n"] {
            assert!(found.iter().any(|one| one == expected), "{expected:?}");
        }
        assert!(!found.iter().any(|one| one == "}"));
    }
}
