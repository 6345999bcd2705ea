//! What a verb says and how it ends.

use serde::Serialize;

/// How a verb ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitCode {
    Done = 0,
    /// Understood, and refused.
    Refused = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The input or the storage cannot be read.
    Unreadable = 3,
}

impl ExitCode {
    pub const fn as_u8(self) -> u8 {
        self as u8
    }
}

/// Everything a verb has to say, to be written as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    pub stdout: String,
    pub stderr: String,
    pub exit_code: ExitCode,
}

impl Answer {
    pub(super) fn printed(stdout: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), stderr: String::new(), exit_code: ExitCode::Done }
    }

    pub(super) fn printed_line(line: &str) -> Self {
        Self::printed(format!("{line}\n"))
    }
}

/// Why a verb has nothing to print.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Failure {
    pub(super) exit_code: ExitCode,
    pub(super) message: String,
}

impl Failure {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { exit_code: ExitCode::Usage, message: message.into() }
    }

    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self { exit_code: ExitCode::Refused, message: message.into() }
    }

    pub(super) fn unreadable(message: impl Into<String>) -> Self {
        Self { exit_code: ExitCode::Unreadable, message: message.into() }
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        Self { stdout: String::new(), stderr: format!("{}\n", failure.message), exit_code: failure.exit_code }
    }
}

impl From<Result<String, Failure>> for Answer {
    fn from(result: Result<String, Failure>) -> Self {
        match result {
            Ok(stdout) => Self::printed(stdout),
            Err(failure) => failure.into(),
        }
    }
}

/// A document as people read it, with the line end that a terminal wants.
pub(super) fn pretty<T: Serialize + ?Sized>(value: &T) -> Result<String, Failure> {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(Failure::unreadable(format!("cannot write the answer: {error}"))),
    }
}
