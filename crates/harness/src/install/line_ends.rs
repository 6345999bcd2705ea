//! The ends of lines of a file. A file of Windows stays one: what is inserted has its ends, and what is rewritten keeps them.

use std::borrow::Cow;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnds {
    /// Also a file that has both: it is left as it is.
    Lf,
    Crlf,
}

impl LineEnds {
    pub(super) fn of(text: &str) -> LineEnds {
        let all = text.matches('\n').count();
        if all > 0 && all == text.matches("\r\n").count() { LineEnds::Crlf } else { LineEnds::Lf }
    }

    /// The text with the ends that Escrow writes.
    pub(super) fn without(self, text: &str) -> Cow<'_, str> {
        match self {
            LineEnds::Lf => Cow::Borrowed(text),
            LineEnds::Crlf => Cow::Owned(text.replace("\r\n", "\n")),
        }
    }

    pub(super) fn with(self, text: String) -> String {
        match self {
            LineEnds::Lf => text,
            LineEnds::Crlf => text.replace('\n', "\r\n"),
        }
    }
}
