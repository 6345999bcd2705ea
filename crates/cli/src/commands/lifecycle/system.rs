//! What the verbs need from the machine: input, time, processes, ledgers and files.
//!
//! [`LocalSystem`](super::local_system::LocalSystem) is the production implementation; tests script their own.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use escrow_protocol::callback::{Callback, CallbackEnd, CallbackResult};
use escrow_protocol::dispatch::Client;
use escrow_protocol::envelope::DispatchEnvelope;
use escrow_protocol::manifest::AdapterEntry;
use escrow_protocol::receipt::{Ledger, LedgerError};
use escrow_protocol::telemetry::{TelemetryHost, TelemetryLog};
use escrow_protocol::version::WireVersion;

pub(super) trait System {
    /// Reads standard input to its end, but at most one byte past `limit_bytes`.
    fn standard_input(&mut self, limit_bytes: usize) -> io::Result<Vec<u8>>;

    /// Reads the next line of standard input, with its line break.
    fn next_line(&mut self, limit_bytes: usize) -> io::Result<InputLine>;

    /// The same, but only if the line comes in time.
    fn next_line_within(&mut self, limit_bytes: usize, timeout: Duration) -> io::Result<Option<InputLine>> {
        let _ = timeout;
        self.next_line(limit_bytes).map(Some)
    }

    /// Prints a line at once, while the verb keeps running.
    fn print_line(&mut self, line: &str) -> io::Result<()>;

    /// Seconds since the epoch; 0 if the clock is set before it.
    fn now_epoch_s(&mut self) -> u64;

    /// An id that no other receipt has.
    fn fresh_receipt_id(&mut self) -> String;

    /// Runs the callbacks, possibly side by side, and returns how each ended, in the same order.
    fn run_callbacks(&mut self, callbacks: &[Callback]) -> Vec<CallbackEnd>;

    /// Registers resident clients. Each is started by the first event that needs it and then kept.
    fn register_residents(&mut self, clients: &[Client]) -> io::Result<()>;

    /// Asks resident clients, all at once, and returns their answers in the order of the positions.
    fn ask_residents(&mut self, question: &ResidentQuestion<'_>) -> Vec<CallbackResult>;

    /// Sends a line that expects no answer to every resident client.
    fn notify_residents(&mut self, line: &str);

    /// Opens the ledger at a path.
    fn open_ledger(&mut self, path: &Path, access: LedgerAccess) -> Result<Box<dyn Ledger>, LedgerError>;

    /// The ledger of the state directory, which `--extended` reads when no other is named.
    fn state_ledger(&mut self) -> Result<PathBuf, String> {
        Err("there is no state directory".to_owned())
    }

    /// Every `.json` file below a directory, sorted by path.
    fn fixtures(&mut self, root: &Path) -> Result<Vec<FixtureFile>, FixturesError>;

    /// The directory that holds the hook state of a workspace.
    fn state_directory(&mut self, workspace: &Path) -> PathBuf;

    /// One file of a state directory, if it exists.
    fn state_file(&mut self, directory: &Path, file: StateFile) -> io::Result<Option<String>>;

    /// The newest log that a harness wrote for a repository.
    fn telemetry_log(&mut self, host: TelemetryHost, repository: Option<&Path>) -> Option<TelemetryLog>;

    /// Adapters beyond the built-in ones, available with `--extended`.
    fn further_adapters(&self, version: WireVersion) -> Vec<AdapterEntry> {
        let _ = version;
        Vec::new()
    }
}

/// One event for resident clients.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResidentQuestion<'envelope> {
    pub(super) envelope: &'envelope DispatchEnvelope,
    pub(super) version: WireVersion,
    /// Indexes into the registered clients.
    pub(super) positions: &'envelope [usize],
    pub(super) deadline_ms: u64,
}

/// A line of standard input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum InputLine {
    Bytes(Vec<u8>),
    TooLong,
    End,
}

/// Whether opening a ledger may create it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LedgerAccess {
    Read,
    Write,
}

/// A file that may hold a conformance fixture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FixtureFile {
    /// As printed: the root, then the path below it.
    pub(super) path: OsString,
    pub(super) contents: Vec<u8>,
}

/// Why the fixtures cannot be listed.
#[derive(Debug)]
pub(super) enum FixturesError {
    NotADirectory,
    Unreadable { path: PathBuf, error: io::Error },
}

/// The files that hooks write into a state directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StateFile {
    HostContext,
    HostCallback,
}

impl StateFile {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::HostContext => "host-context-status.json",
            Self::HostCallback => "host-callback-status.json",
        }
    }
}
