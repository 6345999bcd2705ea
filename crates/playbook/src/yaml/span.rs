//! Maps ranges of a decoded scalar back to the file, across quotes, escapes, indentation and folding.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::Node;

/// The span in `text` of a byte range of the decoded scalar `node`.
///
/// In every style, characters other than white space appear in the same order in the file and in the decoded value;
/// only white space is folded, removed or inserted. So both are traversed in parallel.
pub(crate) fn span_within(text: &str, node: &Node, range: &Range<usize>) -> Range<usize> {
    let Some(scalar) = node.scalar() else { return node.span.clone() };
    let Some(written) = text.get(node.span.clone()) else { return node.span.clone() };
    let mut cursor = Cursor { written, at: 0, style: scalar.style };
    cursor.open();
    // An error at the end points after the last visible character, not after trailing white space.
    let text_end = scalar.text.trim_end().len();
    let range = range.start.min(text_end)..range.end.min(text_end);
    let mut start = None;
    let mut end = None;
    for (offset, decoded) in scalar.text.char_indices() {
        let Some(found) = cursor.find(decoded) else { return node.span.clone() };
        if start.is_none() && offset >= range.start && range.start < text_end {
            start = Some(found.start);
        }
        if offset < range.end {
            end = Some(found.end);
        } else {
            break;
        }
    }
    let base = node.span.start;
    match (start, end) {
        (Some(start), Some(end)) if start < end => base + start..base + end,
        (Some(start), _) => base + start..base + start,
        // Past the end of the value: directly after its last character.
        (None, Some(end)) => base + end..base + end,
        (None, None) => node.span.clone(),
    }
}

struct Cursor<'t> {
    written: &'t str,
    at: usize,
    style: ScalarStyle,
}

impl Cursor<'_> {
    fn open(&mut self) {
        if matches!(self.style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<char> {
        self.written.get(self.at..)?.chars().next()
    }

    /// The range of the next decoded character. Advances past it.
    fn find(&mut self, decoded: char) -> Option<Range<usize>> {
        loop {
            let start = self.at;
            let found = self.peek();
            if self.style == ScalarStyle::DoubleQuoted && found == Some('\\') {
                match self.escape_length() {
                    Escape::Character(length) => {
                        self.at += length;
                        return Some(start..self.at);
                    }
                    Escape::LineBreak => self.at += 1,
                }
            } else if found == Some(decoded) {
                self.at += decoded.len_utf8();
                if self.style == ScalarStyle::SingleQuoted && decoded == '\'' {
                    self.at += 1;
                }
                return Some(start..self.at);
            } else if decoded.is_whitespace() {
                // White space from folding, or at the end: it has no exact position.
                let end = start + found.filter(|next| next.is_whitespace()).map_or(0, char::len_utf8);
                self.at = end;
                return Some(start..end);
            } else if found.is_some_and(char::is_whitespace) {
                self.at += found.map_or(1, char::len_utf8);
            } else {
                return None;
            }
        }
    }

    fn escape_length(&self) -> Escape {
        let rest = &self.written[self.at..];
        match rest.as_bytes().get(1) {
            Some(b'x') => Escape::Character(4),
            Some(b'U') => Escape::Character(10),
            Some(b'u') => {
                let high = rest.get(2..6).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let paired = high.is_some_and(|unit| (0xD800..0xDC00).contains(&unit));
                Escape::Character(if paired { 12 } else { 6 })
            }
            Some(b'\n' | b'\r') => Escape::LineBreak,
            _ => Escape::Character(1 + rest[1..].chars().next().map_or(0, char::len_utf8)),
        }
    }
}

enum Escape {
    Character(usize),
    LineBreak,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Diagnostics;
    use crate::yaml::parse;

    /// Finds `needle` in the decoded value of `key` and compares the source text of its span.
    fn check(text: &str, needle: &str, expected: &str) {
        let root = parse(text, &mut Diagnostics::default()).expect("it is YAML");
        let node = root.get("key").expect("it has the key");
        let decoded = node.string().expect("a string");
        let start = decoded.find(needle).expect("the value has it");
        let span = span_within(text, node, &(start..start + needle.len()));
        assert_eq!(&text[span], expected, "in {text:?}");
    }

    #[test]
    fn parts_of_scalars_are_found_in_every_style() {
        check("key: a plain bad value", "bad", "bad");
        check("key: a plain\n  bad value", "bad", "bad");
        check("key: 'it''s a bad ''value'''", "bad", "bad");
        check("key: 'it''s a bad ''value'''", "'s", "''s");
        check("key: 'folded\n\n   over bad lines'", "bad", "bad");
        check(r#"key: "tab\t quote\" bad \u00e9""#, "bad", "bad");
        check(r#"key: "caf\u00e9 \U0001F600 bad""#, "é \u{1F600} bad", r"\u00e9 \U0001F600 bad");
        check(r#"key: "\uD83D\uDE00 bad""#, "bad", "bad");
        check("key: \"one \\\n     bad line\"", "bad", "bad");
        check("key: |\n  first\n    bad indented\n  last\n", "bad", "bad");
        check("key: |2-\n    first\n  bad\n", "bad", "bad");
        check("key: >-\n  first\n  bad\n\n  last\n", "bad", "bad");
        check("key: |\r\n  first\r\n  bad\r\n", "bad", "bad");
        check("key: |\n  日本\n  é bad\n", "bad", "bad");
        check("key: &anchor !!str bad", "bad", "bad");
    }

    #[test]
    fn the_end_of_a_value_excludes_trailing_white_space() {
        let text = "key: |\n  a +\n\nnext: 1\n";
        let root = parse(text, &mut Diagnostics::default()).expect("it is YAML");
        let node = root.get("key").expect("it has the key");
        let length = node.string().expect("a string").len();
        assert_eq!(span_within(text, node, &(length..length)), 12..12);
    }
}
