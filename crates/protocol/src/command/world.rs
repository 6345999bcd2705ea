//! What a verb may ask of the world.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use crate::callback::{Callback, CallbackEnd, CallbackFailure};
use crate::dispatch::Client;
use crate::envelope::{CallbackResponse, DispatchEnvelope};
use crate::manifest::AdapterEntry;
use crate::receipt::{Ledger, LedgerError};
use crate::telemetry::{TelemetryHost, TelemetryLog};
use crate::version::WireVersion;

/// Everything outside, behind one door: the terminal wires it to processes and files, a test to a script.
pub trait World {
    /// Standard input, read to its end, but no further than one byte past `limit_bytes`.
    fn standard_input(&mut self, limit_bytes: usize) -> io::Result<Vec<u8>>;

    /// Seconds since the epoch. A clock that stands before it reads 0.
    fn now_epoch_s(&mut self) -> u64;

    /// An id that no other receipt has.
    fn fresh_receipt_id(&mut self) -> String;

    /// Runs each callback, and tells how each ended, in the same order. They may run side by side.
    fn run_callbacks(&mut self, callbacks: &[Callback]) -> Vec<CallbackEnd>;

    /// Opens the ledger at a path.
    fn open_ledger(&mut self, path: &Path, access: LedgerAccess) -> Result<Box<dyn Ledger>, LedgerError>;

    /// Every `.json` file below a directory, sorted by path.
    fn fixtures(&mut self, root: &Path) -> Result<Vec<FixtureFile>, FixturesError>;

    /// The directory that holds the state of a workspace.
    fn state_directory(&mut self, workspace: &Path) -> PathBuf;

    /// One file of a state directory, if it is there.
    fn state_file(&mut self, directory: &Path, file: StateFile) -> io::Result<Option<String>>;

    /// The newest log that a harness has left for a repository.
    fn telemetry_log(&mut self, host: TelemetryHost, repository: Option<&Path>) -> Option<TelemetryLog>;

    /// The next line of standard input with its end, for verbs that stay.
    fn next_line(&mut self, limit_bytes: usize) -> io::Result<Line> {
        let _ = limit_bytes;
        Ok(Line::End)
    }

    /// Prints a line at once, for verbs that stay.
    fn say(&mut self, line: &str) -> io::Result<()> {
        let _ = line;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Takes in clients that stay. Each is started when it is first needed.
    fn take_in(&mut self, clients: &[Client]) -> io::Result<()> {
        let _ = clients;
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Asks clients that stay, all at once, and gives their answers in the order of the positions.
    fn ask_residents(&mut self, asked: &Asked<'_>) -> Vec<ResidentAnswer> {
        let nobody = CallbackFailure::NotStarted("nobody was taken in".to_owned());
        vec![Err(nobody); asked.positions.len()]
    }

    /// Sends a line that wants no answer to every client that stays.
    fn tell_residents(&mut self, line: &str) {
        let _ = line;
    }

    /// Adapters beyond the built-in ones, for those who ask with `--extended`.
    fn further_adapters(&self, version: WireVersion) -> Vec<AdapterEntry> {
        let _ = version;
        Vec::new()
    }
}

/// What a client that stays says to an event.
pub type ResidentAnswer = Result<CallbackResponse, CallbackFailure>;

/// One event for clients that stay.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'envelope> {
    pub envelope: &'envelope DispatchEnvelope,
    pub version: WireVersion,
    /// Which of the clients that were taken in.
    pub positions: &'envelope [usize],
    pub deadline_ms: u64,
}

/// A line of standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Bytes(Vec<u8>),
    TooLong,
    End,
}

/// Whether a ledger may be created by opening it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerAccess {
    Read,
    Write,
}

/// One file that may hold a fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FixtureFile {
    /// As it is to be printed: the root, then the path below it.
    pub path: OsString,
    pub contents: Vec<u8>,
}

/// Why there are no fixtures.
#[derive(Debug)]
pub enum FixturesError {
    NotADirectory,
    Unreadable { path: PathBuf, error: io::Error },
}

/// The files that hooks leave in a state directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFile {
    HostContext,
    HostCallback,
}

impl StateFile {
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostContext => "host-context-status.json",
            Self::HostCallback => "host-callback-status.json",
        }
    }
}
