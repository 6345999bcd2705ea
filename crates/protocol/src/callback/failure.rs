//! Interprets the end of a client process.

use super::{CallbackEnd, Exit, Finished, STDOUT_LIMIT_BYTES};
use crate::envelope::CallbackResponse;
use crate::validation::ValidationError;
use crate::version::WireVersion;
use crate::vocabulary::FailureClass;

/// The response of a client, or why there is none.
pub type CallbackResult = Result<CallbackResponse, CallbackFailure>;

/// Why a client gave no response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CallbackFailure {
    #[error("failed to spawn callback subprocess: {0}")]
    NotStarted(String),
    #[error("failed to write request to subprocess stdin: {0}")]
    Unwritable(String),
    #[error("failed to read subprocess stdout: {0}")]
    Unreadable(String),
    #[error("callback subprocess exceeded configured timeout")]
    TimedOut,
    #[error("callback subprocess exited with code {code}: {stderr}")]
    ExitCode { code: i32, stderr: String },
    #[error("callback subprocess terminated by signal: {stderr}")]
    Signalled { stderr: String },
    #[error("subprocess stdout was not a valid JSON CallbackResponse: {0}")]
    Garbage(String),
    #[error("subprocess returned a CallbackResponse that failed validation: {0}")]
    Invalid(ValidationError),
    #[error("client declined the event with error {code}: {message}")]
    Declined { code: i64, message: String },
    #[error(
        "subprocess invoker refused receipt.emitted plan: invalid event envelope: receipt.emitted is a \
         notification event and must not produce a lifecycle receipt"
    )]
    Notification,
}

impl CallbackFailure {
    pub const fn failure_class(&self) -> FailureClass {
        match self {
            Self::NotStarted(_)
            | Self::Unwritable(_)
            | Self::Unreadable(_)
            | Self::ExitCode { .. }
            | Self::Signalled { .. } => FailureClass::TransportError,
            Self::TimedOut => FailureClass::Timeout,
            Self::Garbage(_) | Self::Invalid(_) | Self::Notification => FailureClass::InvalidRequest,
            // The JSON-RPC codes for a message that was not understood.
            Self::Declined { code: -32_700 | -32_602..=-32_600, .. } => FailureClass::InvalidRequest,
            Self::Declined { .. } => FailureClass::InternalError,
        }
    }

    /// A stable name for machines.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::NotStarted(_) => "callback_not_started",
            Self::Unwritable(_) => "callback_input_refused",
            Self::Unreadable(_) => "callback_output_unreadable",
            Self::TimedOut => "callback_timed_out",
            Self::ExitCode { .. } => "callback_exit_code",
            Self::Signalled { .. } => "callback_signalled",
            Self::Garbage(_) => "callback_output_garbage",
            Self::Invalid(_) => "callback_response_invalid",
            Self::Declined { .. } => "callback_declined",
            Self::Notification => "callback_notification",
        }
    }
}

/// The response of a process, if it ended well and answered in the version of its request.
pub fn interpret(end: CallbackEnd, version: WireVersion) -> CallbackResult {
    match end {
        CallbackEnd::NotStarted(why) => Err(CallbackFailure::NotStarted(why)),
        CallbackEnd::TimedOut => Err(CallbackFailure::TimedOut),
        CallbackEnd::Unreadable(why) => Err(CallbackFailure::Unreadable(why)),
        CallbackEnd::Flooded => {
            Err(CallbackFailure::Unreadable(format!("subprocess stdout exceeded {STDOUT_LIMIT_BYTES} bytes")))
        }
        CallbackEnd::Finished(finished) => interpret_finished(&finished, version),
    }
}

fn interpret_finished(finished: &Finished, version: WireVersion) -> CallbackResult {
    match finished.exit {
        Exit::Code(0) => {}
        Exit::Code(code) => return Err(CallbackFailure::ExitCode { code, stderr: said(finished) }),
        Exit::Signal => return Err(CallbackFailure::Signalled { stderr: said(finished) }),
    }
    match (read(&finished.stdout, version), &finished.write_error) {
        (Err(_), Some(why)) => Err(CallbackFailure::Unwritable(why.clone())),
        (result, _) => result,
    }
}

fn read(stdout: &[u8], version: WireVersion) -> CallbackResult {
    let garbage = |error: serde_json::Error| CallbackFailure::Garbage(error.to_string());
    let response = match std::str::from_utf8(stdout) {
        Ok(text) => CallbackResponse::read(text).map_err(garbage)?,
        // Parsed as bytes only for the position of the error.
        Err(_) => serde_json::from_slice(stdout).map_err(garbage)?,
    };
    response.validate_as(version).map_err(CallbackFailure::Invalid)?;
    Ok(response)
}

fn said(finished: &Finished) -> String {
    let mut text = String::from_utf8_lossy(&finished.stderr).into_owned();
    if finished.stderr_was_cut {
        text.push_str("\n[stderr truncated]\n");
    }
    text
}
