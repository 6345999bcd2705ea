//! Why an evaluation gave no value.

use std::fmt;
use std::ops::Range;

use crate::span::Span;
use crate::value::Value;

/// An evaluation that failed: what kind of failure, in words, and where in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    kind: FaultKind,
    name: String,
    message: String,
    span: Range<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// A name that does not exist, or is used before it has a value.
    Reference,
    /// An operation on a value that does not have it.
    Type,
    /// A number outside what an operation takes.
    Range,
    /// A text that is not what it should be: JSON, a pattern.
    Syntax,
    /// The program threw something itself.
    Thrown,
    /// The evaluation used up its budget. No `catch` sees it.
    Budget,
}

impl Fault {
    pub fn kind(&self) -> FaultKind {
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

    pub(crate) fn new(kind: FaultKind, name: impl Into<String>, message: String, span: Span) -> Fault {
        Fault(Box::new(Details { kind, name: name.into(), message, span: span.range() }))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.0.name, self.0.message)
    }
}

impl std::error::Error for Fault {}

/// The errors JavaScript itself throws and programs can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    Error,
    Reference,
    Type,
    Range,
    Syntax,
    Uri,
}

impl ErrorKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ErrorKind::Error => "Error",
            ErrorKind::Reference => "ReferenceError",
            ErrorKind::Type => "TypeError",
            ErrorKind::Range => "RangeError",
            ErrorKind::Syntax => "SyntaxError",
            ErrorKind::Uri => "URIError",
        }
    }

    pub(crate) fn fault_kind(self) -> FaultKind {
        match self {
            ErrorKind::Error | ErrorKind::Uri => FaultKind::Thrown,
            ErrorKind::Reference => FaultKind::Reference,
            ErrorKind::Type => FaultKind::Type,
            ErrorKind::Range => FaultKind::Range,
            ErrorKind::Syntax => FaultKind::Syntax,
        }
    }
}

/// A failure on its way up through the evaluator.
pub(crate) enum Failure<'a> {
    Thrown { value: Value<'a>, span: Span },
    Error { kind: ErrorKind, message: String, span: Span },
    Budget { message: &'static str, span: Span },
}

/// Boxed, so that the good way stays small.
pub(crate) type Outcome<'a, T = Value<'a>> = Result<T, Box<Failure<'a>>>;
