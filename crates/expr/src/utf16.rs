//! Text positions in UTF-16 units, as JavaScript counts them.
//!
//! **Invariant:** texts stay valid UTF-8. A cut through a surrogate pair leaves the replacement character on both
//! sides, where JavaScript leaves half a character.

/// `text.length`.
pub(crate) fn length(text: &str) -> usize {
    // A character has one unit, and two when its first byte says that it has four bytes.
    text.bytes().map(|byte| usize::from(byte & 0xc0 != 0x80) + usize::from(byte >= 0xf0)).sum()
}

/// Part of a text: the bytes between two units, or a copy when an edge cuts a character.
pub(crate) enum Slice<'t> {
    Whole(&'t str),
    Cut(String),
}

/// The units from `start` up to `end`.
pub(crate) fn slice(text: &str, start: usize, end: usize) -> Slice<'_> {
    if start >= end {
        return Slice::Whole("");
    }
    if text.is_ascii() {
        return Slice::Whole(&text[start.min(text.len())..end.min(text.len())]);
    }
    let (from, cut_start) = byte_at(text, start);
    let (to, cut_end) = byte_at(text, end);
    if !cut_start && !cut_end {
        return Slice::Whole(&text[from..to]);
    }
    // A cut edge points at the character that is cut.
    let mut part = String::new();
    let mut from = from;
    if cut_start {
        part.push(char::REPLACEMENT_CHARACTER);
        from += 4;
    }
    if from <= to {
        part.push_str(&text[from..to]);
        if cut_end {
            part.push(char::REPLACEMENT_CHARACTER);
        }
    }
    Slice::Cut(part)
}

/// The byte offset of a unit, and whether it is the second half of a character.
fn byte_at(text: &str, unit: usize) -> (usize, bool) {
    let mut units = 0;
    for (byte, c) in text.char_indices() {
        if units >= unit {
            return (byte, false);
        }
        if units + c.len_utf16() > unit {
            return (byte, true);
        }
        units += c.len_utf16();
    }
    (text.len(), false)
}

/// The byte offset of a unit, rounded down to a character.
pub(crate) fn byte_of(text: &str, unit: usize) -> usize {
    if text.is_ascii() { unit.min(text.len()) } else { byte_at(text, unit).0 }
}

/// The unit offset of a byte.
pub(crate) fn unit_of(text: &str, byte: usize) -> usize {
    length(&text[..byte])
}

/// The unit at a position.
pub(crate) fn unit(text: &str, position: usize) -> Option<u16> {
    if text.is_ascii() {
        return text.as_bytes().get(position).map(|byte| u16::from(*byte));
    }
    text.encode_utf16().nth(position)
}

/// Order by units, as `<` and `sort` use it.
pub(crate) fn compare(left: &str, right: &str) -> std::cmp::Ordering {
    // Only what both have is looked at: a long text costs no more than the short one it is compared with.
    let common = left.len().min(right.len());
    if left.as_bytes()[..common].is_ascii() || right.as_bytes()[..common].is_ascii() {
        return left.cmp(right);
    }
    left.encode_utf16().cmp(right.encode_utf16())
}
