//! The errors of a template: at parse time and at render time.

use std::ops::Range;

/// A template that cannot be parsed. `span` is a byte range of its source.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    pub message: String,
    pub span: Range<usize>,
    pub help: Option<String>,
}

impl TemplateError {
    pub(crate) fn new(message: impl Into<String>, span: Range<usize>) -> TemplateError {
        TemplateError { message: message.into(), span, help: None }
    }

    pub(crate) fn with_help(mut self, help: impl Into<String>) -> TemplateError {
        self.help = Some(help.into());
        self
    }

    /// The same error for a source that begins `offset` bytes into a larger one.
    pub(crate) fn moved(mut self, offset: usize) -> TemplateError {
        self.span = self.span.start + offset..self.span.end + offset;
        self
    }
}

/// A template that cannot be rendered over its scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    #[error("`{what}` is not defined")]
    Undefined { what: String },
    #[error("{message}")]
    Limit { message: String },
    #[error("{message}")]
    Failed { message: String },
    #[error("`{expression}` contains a NUL character, which no command can be given as text")]
    Nul { expression: String },
    #[error("`{expression}` is {bytes} bytes long; a command can be given at most {limit} in one value")]
    TooLarge { expression: String, bytes: usize, limit: usize },
}

impl RenderError {
    /// What to write instead, if anything.
    pub fn help(&self) -> Option<&'static str> {
        match self {
            RenderError::Undefined { .. } => {
                Some("test it with `is defined`, or give it a value with `| default(…)`")
            }
            RenderError::TooLarge { .. } => {
                Some("give it to the command through `stdin`, or read it from the file `$ESCROW_CONTEXT`")
            }
            RenderError::Limit { .. } | RenderError::Failed { .. } | RenderError::Nul { .. } => None,
        }
    }
}
