//! Where something stands in the source of an expression, in bytes.

use std::ops::Range;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl Span {
    pub(crate) fn new(start: usize, end: usize) -> Span {
        // Sources are refused above `SOURCE_BYTES_MAX`, long before a byte offset leaves `u32`.
        Span { start: u32::try_from(start).unwrap_or(u32::MAX), end: u32::try_from(end).unwrap_or(u32::MAX) }
    }

    pub(crate) fn to(self, end: Span) -> Span {
        Span { start: self.start, end: end.end.max(self.end) }
    }

    pub(crate) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}
