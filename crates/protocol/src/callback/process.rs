//! What a client's process is given, and what it did.

use std::ffi::OsString;

use super::Environment;

/// More than this on standard output is a flood, and a failure.
pub const STDOUT_LIMIT_BYTES: usize = 16 * 1024 * 1024;

/// More than this on standard error is cut, and says so.
pub const STDERR_LIMIT_BYTES: usize = 256 * 1024;

/// One process to run: started, given its input, waited for and drained, all before one deadline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Callback {
    pub program: OsString,
    pub arguments: Vec<OsString>,
    /// One compact dispatch envelope. Nothing follows it.
    pub input: Vec<u8>,
    pub deadline_ms: u64,
    pub environment: Environment,
}

/// What came of running it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallbackEnd {
    /// It could not be started.
    NotStarted(String),
    /// The deadline came first. The whole tree of processes has been ended.
    TimedOut,
    /// Its output could not be read.
    Unreadable(String),
    /// It wrote more than [`STDOUT_LIMIT_BYTES`]. The whole tree of processes has been ended.
    Flooded,
    /// It ended, and its output was read to the end.
    Finished(Finished),
}

/// A process that ended by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finished {
    pub exit: Exit,
    pub stdout: Vec<u8>,
    /// At most [`STDERR_LIMIT_BYTES`] of it.
    pub stderr: Vec<u8>,
    pub stderr_was_cut: bool,
    /// Why the input could not be written, if it was not: a client may answer without listening.
    pub write_error: Option<String>,
}

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    Code(i32),
    Signal,
}
