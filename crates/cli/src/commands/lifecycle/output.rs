//! What a verb prints and how it exits.

use serde::Serialize;

/// The exit codes of all verbs. They are part of the wire's contract and differ from those of other Escrow verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LifecycleExit {
    Done = 0,
    /// Understood and refused.
    Refused = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The input or the storage cannot be read, or the answer cannot be written.
    Unreadable = 3,
}

impl LifecycleExit {
    pub(crate) const fn as_u8(self) -> u8 {
        self as u8
    }
}

/// Everything a verb prints, to be written as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VerbOutput {
    pub(super) stdout: String,
    pub(super) stderr: String,
    pub(super) exit: LifecycleExit,
}

impl VerbOutput {
    pub(super) fn printed(stdout: impl Into<String>) -> Self {
        Self { stdout: stdout.into(), stderr: String::new(), exit: LifecycleExit::Done }
    }
}

/// Why a verb has no result. The message is printed to standard error as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LifecycleError {
    pub(super) exit: LifecycleExit,
    pub(super) message: String,
}

impl LifecycleError {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { exit: LifecycleExit::Usage, message: message.into() }
    }

    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self { exit: LifecycleExit::Refused, message: message.into() }
    }

    pub(super) fn unreadable(message: impl Into<String>) -> Self {
        Self { exit: LifecycleExit::Unreadable, message: message.into() }
    }
}

impl From<LifecycleError> for VerbOutput {
    fn from(error: LifecycleError) -> Self {
        Self { stdout: String::new(), stderr: format!("{}\n", error.message), exit: error.exit }
    }
}

impl From<Result<String, LifecycleError>> for VerbOutput {
    fn from(result: Result<String, LifecycleError>) -> Self {
        match result {
            Ok(stdout) => Self::printed(stdout),
            Err(error) => error.into(),
        }
    }
}

/// A document as indented JSON with a final line break.
pub(super) fn pretty<T: Serialize + ?Sized>(value: &T) -> Result<String, LifecycleError> {
    match serde_json::to_string_pretty(value) {
        Ok(text) => Ok(text + "\n"),
        Err(error) => Err(LifecycleError::unreadable(format!("cannot write the answer: {error}"))),
    }
}
