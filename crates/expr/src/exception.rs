//! What stops an evaluation on its way up through the evaluator: a thrown value, an error, an exhausted budget.

use crate::eval_error::EvalErrorKind;
use crate::span::Span;
use crate::value::Value;

/// The error classes of JavaScript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    Error,
    Reference,
    Type,
    Range,
    Syntax,
    Uri,
}

impl ErrorClass {
    pub(crate) fn name(self) -> &'static str {
        match self {
            ErrorClass::Error => "Error",
            ErrorClass::Reference => "ReferenceError",
            ErrorClass::Type => "TypeError",
            ErrorClass::Range => "RangeError",
            ErrorClass::Syntax => "SyntaxError",
            ErrorClass::Uri => "URIError",
        }
    }

    pub(crate) fn eval_error_kind(self) -> EvalErrorKind {
        match self {
            ErrorClass::Error | ErrorClass::Uri => EvalErrorKind::Thrown,
            ErrorClass::Reference => EvalErrorKind::Reference,
            ErrorClass::Type => EvalErrorKind::Type,
            ErrorClass::Range => EvalErrorKind::Range,
            ErrorClass::Syntax => EvalErrorKind::Syntax,
        }
    }
}

/// Propagates up through the evaluator. A program can catch every variant except `Budget`.
pub(crate) enum Exception<'a> {
    Thrown { value: Value<'a>, span: Span },
    Error { kind: ErrorClass, message: String, span: Span },
    Budget { message: &'static str, span: Span },
}

/// The error is boxed to keep the success path small.
pub(crate) type EvalResult<'a, T = Value<'a>> = Result<T, Box<Exception<'a>>>;
