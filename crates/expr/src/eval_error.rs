//! The public error of an evaluation.

use std::fmt;
use std::ops::Range;

use crate::span::Span;

/// A failed evaluation: its kind, its message and its span in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvalError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    kind: EvalErrorKind,
    name: String,
    message: String,
    span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvalErrorKind {
    /// A name that does not exist, or is used before it has a value.
    Reference,
    /// An operation that the value does not support.
    Type,
    /// A number outside the range that an operation accepts.
    Range,
    /// Malformed JSON or a malformed pattern.
    Syntax,
    /// The program threw a value.
    Thrown,
    /// The evaluation used up its budget. No `catch` sees it.
    Budget,
}

impl EvalError {
    pub fn kind(&self) -> EvalErrorKind {
        self.0.kind
    }

    /// The name JavaScript would give: `TypeError`, `ReferenceError`, …, and `BudgetError`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Bytes of the program's source.
    pub fn span(&self) -> Range<usize> {
        self.0.span.clone()
    }

    pub(crate) fn new(
        kind: EvalErrorKind,
        name: impl Into<String>,
        message: String,
        span: Span,
    ) -> EvalError {
        EvalError(Box::new(Details { kind, name: name.into(), message, span: span.range() }))
    }
}

impl fmt::Display for EvalError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.0.name, self.0.message)
    }
}

impl std::error::Error for EvalError {}
