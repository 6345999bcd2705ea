//! Where a part of a decoded scalar stands in the file: past quotes, escapes, indentation and folding.

use std::ops::Range;

use granit_parser::ScalarStyle;

use super::Node;

/// The place in `text` of a byte range of the decoded scalar `node`.
///
/// Characters that are not blank stand in the same order in the file as in the decoded value, whatever the
/// style; only blanks are folded, cut or inserted. So the two are walked side by side.
pub(crate) fn place_within(text: &str, node: &Node, range: &Range<usize>) -> Range<usize> {
    let Some(scalar) = node.scalar() else { return node.span.clone() };
    let Some(written) = text.get(node.span.clone()) else { return node.span.clone() };
    let mut cursor = Cursor { written, at: 0, style: scalar.style };
    cursor.open();
    let mut start = None;
    let mut end = None;
    for (offset, decoded) in scalar.text.char_indices() {
        let Some(found) = cursor.find(decoded) else { return node.span.clone() };
        if start.is_none() && offset >= range.start {
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
        // Past the end of the value: right behind its last character.
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

    /// Where the next decoded character stands, stepping over it.
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
                // A blank that folding made, or one at the very end: it stands nowhere in particular.
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
