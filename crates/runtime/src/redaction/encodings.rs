//! The ways in which a value is commonly written: these are what the redactor looks for.

use std::collections::BTreeSet;

/// What is shorter cannot be told from ordinary text.
pub const SHORTEST: usize = 4;

/// What to look for.
#[derive(Default)]
pub(super) struct Patterns {
    /// Found as they stand.
    pub(super) plain: BTreeSet<Vec<u8>>,
    /// Found also when the text is broken into lines anywhere, as `base64` and `xxd` do.
    pub(super) wrapped: BTreeSet<Vec<u8>>,
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
            replaced(&replaced(piece, b'\\', b"\\\\"), b'\'', b"\\'"),
            hex(piece, b"\\x", LOWER),
            echoed(piece),
        ] {
            if pattern.len() >= SHORTEST {
                self.plain.insert(pattern);
            }
        }
        self.plain.extend(json(piece));
        self.plain.extend(percent(piece));
        self.wrapped.insert(hex(piece, b"", LOWER));
        self.wrapped.insert(hex(piece, b"", UPPER));
        self.wrapped.extend(base64(piece).into_iter().filter(|pattern| pattern.len() >= SHORTEST));
    }
}

const LOWER: &[u8; 16] = b"0123456789abcdef";
const UPPER: &[u8; 16] = b"0123456789ABCDEF";

fn hex(value: &[u8], before_each: &[u8], digits: &[u8; 16]) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(value.len() * 2);
    for byte in value {
        encoded.extend_from_slice(before_each);
        encoded.extend_from_slice(&pair(*byte, digits));
    }
    encoded
}

fn pair(byte: u8, digits: &[u8; 16]) -> [u8; 2] {
    [digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]]
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

/// Which characters a percent-encoder leaves alone depends on who wrote it.
fn percent(value: &[u8]) -> Vec<Vec<u8>> {
    const KEPT: [&[u8]; 4] = [
        b"",          // nothing: every byte is encoded
        b"-_.~",      // RFC 3986
        b"-_.~/",     // paths
        b"-_.!~*'()", // `encodeURIComponent`
    ];
    let mut encodings = Vec::new();
    for (index, kept) in KEPT.into_iter().enumerate() {
        for digits in [LOWER, UPPER] {
            let mut encoded = Vec::new();
            for byte in value {
                if index > 0 && (byte.is_ascii_alphanumeric() || kept.contains(byte)) {
                    encoded.push(*byte);
                } else {
                    encoded.push(b'%');
                    encoded.extend_from_slice(&pair(*byte, digits));
                }
            }
            if index > 0 {
                // Forms write a space as `+`.
                let form = encoded.windows(3).any(|three| three == b"%20");
                if form {
                    encodings.push(spaces_as_plus(&encoded));
                }
            }
            encodings.push(encoded);
        }
    }
    encodings
}

fn spaces_as_plus(encoded: &[u8]) -> Vec<u8> {
    let mut form = Vec::with_capacity(encoded.len());
    let mut rest = encoded;
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(b"%20") {
            form.push(b'+');
            rest = after;
        } else {
            form.push(*first);
            rest = after;
        }
    }
    form
}

/// Inside a JSON string, as different writers escape, and once more inside a string of that JSON.
fn json(value: &[u8]) -> Vec<Vec<u8>> {
    let Ok(text) = std::str::from_utf8(value) else { return Vec::new() };
    let mut encodings = Vec::new();
    for digits in [LOWER, UPPER] {
        for escaped in ["", "/", "<>&", "<>&'", "<>&/", "<>&'/"] {
            for ascii in [false, true] {
                encodings.push(json_string(text, digits, escaped, ascii));
            }
        }
    }
    let twice: Vec<_> = encodings
        .iter()
        .filter_map(|once| std::str::from_utf8(once).ok())
        .map(|once| json_string(once, LOWER, "", false))
        .collect();
    encodings.extend(twice);
    encodings
}

fn json_string(text: &str, digits: &[u8; 16], escaped: &str, ascii: bool) -> Vec<u8> {
    let mut encoded = Vec::with_capacity(text.len());
    for character in text.chars() {
        let short = match character {
            '"' => Some(b'"'),
            '\\' => Some(b'\\'),
            '\n' => Some(b'n'),
            '\r' => Some(b'r'),
            '\t' => Some(b't'),
            '\u{8}' => Some(b'b'),
            '\u{c}' => Some(b'f'),
            '/' if escaped.contains('/') => Some(b'/'),
            _ => None,
        };
        if let Some(short) = short {
            encoded.extend_from_slice(&[b'\\', short]);
        } else if character < ' ' || escaped.contains(character) || (ascii && !character.is_ascii()) {
            for unit in character.encode_utf16(&mut [0; 2]) {
                let [high, low] = unit.to_be_bytes();
                encoded.extend_from_slice(b"\\u");
                encoded.extend_from_slice(&pair(high, digits));
                encoded.extend_from_slice(&pair(low, digits));
            }
        } else {
            encoded.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    encoded
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

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL_SAFE: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Without padding.
fn base64_of(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
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
    use super::*;

    fn patterns(value: &str) -> Vec<String> {
        let mut patterns = Patterns::default();
        patterns.add(value.as_bytes());
        patterns
            .plain
            .into_iter()
            .chain(patterns.wrapped)
            .map(|one| String::from_utf8(one).unwrap())
            .collect()
    }

    #[test]
    fn a_value_is_looked_for_in_all_its_spellings() {
        let found = patterns("s3cr\"t/<é ~");
        for expected in [
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
            "733363722274 2f3cc3a9207e".replace(' ', "").as_str(),
            "733363722274 2F3CC3A9207E".replace(' ', "").as_str(),
            "czNjciJ0LzzDqSB+",
            "czNjciJ0LzzDqSB-",
        ] {
            assert!(found.iter().any(|one| one == expected), "{expected}");
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
        for expected in
            ["first line", "second", "first line\r\n}\n  second\n", "first line\\r\\n}\\n  second\\n"]
        {
            assert!(found.iter().any(|one| one == expected), "{expected:?}");
        }
        assert!(!found.iter().any(|one| one == "}"));
    }
}
