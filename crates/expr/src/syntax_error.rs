//! The error of a source that cannot be parsed.

use std::fmt;
use std::ops::Range;

use crate::span::Span;

/// The source cannot be parsed as an expression or a block. `span` is a byte range of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    pub message: String,
    pub span: Range<usize>,
    pub help: Option<String>,
}

impl SyntaxError {
    pub(crate) fn new(message: impl Into<String>, span: Span) -> Box<SyntaxError> {
        Box::new(SyntaxError { message: message.into(), span: span.range(), help: None })
    }

    pub(crate) fn with_help(
        message: impl Into<String>,
        span: Span,
        help: impl Into<String>,
    ) -> Box<SyntaxError> {
        Box::new(SyntaxError { message: message.into(), span: span.range(), help: Some(help.into()) })
    }
}

impl fmt::Display for SyntaxError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "SyntaxError: {}", self.message)
    }
}

impl std::error::Error for SyntaxError {}
