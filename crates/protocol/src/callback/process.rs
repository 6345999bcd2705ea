//! A client process to run, and how it ended.

use std::ffi::OsString;

use super::Environment;

/// More output than this is a failure.
pub const STDOUT_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// Standard error is cut at this size, with a note.
pub const STDERR_LIMIT_BYTES: usize = 256 * 1024;

/// A process to run. Start, input, exit and draining share one deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// One compact dispatch envelope, then the end of input.
    pub input: Vec<u8>,
    pub deadline_ms: u64,
    pub environment: Environment,
}

/// How the process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackEnd {
    /// It could not be started.
    NotStarted(String),
    /// The deadline passed. The whole process tree was killed.
    TimedOut,
    /// Its output could not be read.
    Unreadable(String),
    /// It wrote more than [`STDOUT_LIMIT_BYTES`]. The whole process tree was killed.
    Flooded,
    /// It exited, and its output was read to the end.
    Finished(Finished),
}

/// A process that exited by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    /// At most [`STDERR_LIMIT_BYTES`] of it.
    pub stderr: Vec<u8>,
    pub stderr_was_cut: bool,
    /// Why the input could not be written. Not an error: a client may answer without reading.
    pub write_error: Option<String>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal,
}
