//! The reasons why a script is refused.

use std::ops::Range;

use crate::error::TemplateError;
use crate::limits::SOURCE_BYTES_MAX;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ShellError {
    pub kind: ShellErrorKind,
    pub message: String,
    pub span: Range<usize>,
    pub help: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShellErrorKind {
    /// The content of `{{ }}` is not an expression.
    Template,
    /// `{% … %}`: the script would depend on values.
    Statement,
    /// A `\` or a `$` directly before the value would change what the reference means.
    Adjacent,
    /// Quoting `$'…'`.
    AnsiQuotes,
    /// Quoting `` `…` ``.
    Backticks,
    /// Quoting `$((…))` or `((…))`.
    Arithmetic,
    /// Quoting `${…}`.
    Parameter,
    /// Quoting a here-document whose delimiter is quoted.
    QuotedHeredoc,
    HeredocDelimiter,
    /// Quoting `[[ … ]]`, where some operators compute their operands.
    Brackets,
    /// Quoting `name=( … )`.
    Array,
    /// As the name of a variable or a function.
    Name,
    /// As the name of a command.
    Command,
    /// In an argument that is itself a program.
    Program,
    /// The shells that may be `/bin/sh` disagree on what the script means.
    Ambiguous,
    /// The script ends within quotes or brackets.
    Unfinished,
}

impl ShellErrorKind {
    fn message(self) -> &'static str {
        match self {
            ShellErrorKind::Template => "this is not an expression",
            ShellErrorKind::Statement => "`{% %}` cannot be used in a shell script",
            ShellErrorKind::Adjacent => "a value cannot follow a `$` or a `\\`",
            ShellErrorKind::AnsiQuotes => "a value cannot stand within `$'…'`",
            ShellErrorKind::Backticks => "a value cannot stand within backticks",
            ShellErrorKind::Arithmetic => "a value within arithmetic would be read as code",
            ShellErrorKind::Parameter => "a value cannot stand within `${…}`",
            ShellErrorKind::QuotedHeredoc => {
                "a value cannot stand in a here-document whose delimiter is quoted"
            }
            ShellErrorKind::HeredocDelimiter => "a value cannot be the delimiter of a here-document",
            ShellErrorKind::Brackets => "a value within `[[ ]]` can be read as code",
            ShellErrorKind::Array => "a value cannot stand within an array",
            ShellErrorKind::Name => "a value cannot be the name of a variable or a function",
            ShellErrorKind::Command => "a value cannot be the name of a command",
            ShellErrorKind::Program => "a value here would be read as code",
            ShellErrorKind::Ambiguous => "shells disagree on what this means",
            ShellErrorKind::Unfinished => "the script ends within this",
        }
    }

    fn help(self) -> &'static str {
        match self {
            ShellErrorKind::Template => {
                "to write `{{` itself, put the text between `{% raw %}` and `{% endraw %}`"
            }
            ShellErrorKind::Statement => {
                "decide in the shell (`if [ {{ … }} = yes ]; then …`), or with `if:` on the check"
            }
            ShellErrorKind::Adjacent => "write `{{ … }}` alone: it is already a complete word",
            ShellErrorKind::AnsiQuotes => "close the quotes before the value and open them behind it",
            ShellErrorKind::Backticks => "write `$(…)`",
            ShellErrorKind::Arithmetic => "compute in the template: `{{ n + 1 }}`",
            ShellErrorKind::Parameter => "use a default in the template (`{{ x | default('y') }}`)",
            ShellErrorKind::QuotedHeredoc => "write the delimiter without quotes",
            ShellErrorKind::Brackets => "write `[ … ]`",
            ShellErrorKind::Array => "use the positional parameters: `set -- {{ … }}`",
            ShellErrorKind::Command => "write the command's name, or a path such as `./scripts/{{ … }}`",
            // The script is read by nothing that knows its code, so it takes any value.
            ShellErrorKind::Program => {
                "keep the command in a script of its own, and give that the value: `./script {{ … }}`"
            }
            ShellErrorKind::Ambiguous => "write it in a way that every POSIX shell reads alike",
            ShellErrorKind::Unfinished => "close it",
            ShellErrorKind::HeredocDelimiter => "write the delimiter out",
            ShellErrorKind::Name => "write the name out: `name={{ … }}`",
        }
    }
}

impl ShellError {
    pub(super) fn new(kind: ShellErrorKind, span: Range<usize>) -> ShellError {
        ShellError { kind, message: kind.message().to_owned(), span, help: kind.help().to_owned() }
    }

    pub(super) fn saying(mut self, message: impl Into<String>) -> ShellError {
        self.message = message.into();
        self
    }

    pub(super) fn helping(mut self, help: impl Into<String>) -> ShellError {
        self.help = help.into();
        self
    }

    pub(super) fn template(error: TemplateError) -> ShellError {
        let help = error.help.unwrap_or_else(|| ShellErrorKind::Template.help().to_owned());
        ShellError { kind: ShellErrorKind::Template, message: error.message, span: error.span, help }
    }

    pub(super) fn too_long(bytes: usize) -> ShellError {
        ShellError::new(ShellErrorKind::Unfinished, 0..0)
            .saying(format!("the script is {bytes} bytes long; {SOURCE_BYTES_MAX} are allowed"))
            .helping("keep it in a file and run that")
    }
}
