//! The production [`System`]: standard streams, the clock, processes, files and the store's ledger.

use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use escrow_app::{StateDirectory, hooks};
use escrow_protocol::callback::{Callback, CallbackEnd, CallbackResult};
use escrow_protocol::dispatch::Client;
use escrow_protocol::manifest::{AdapterEntry, Registry};
use escrow_protocol::receipt::{Ledger, LedgerError};
use escrow_protocol::telemetry::{TelemetryHost, TelemetryLog};
use escrow_protocol::version::WireVersion;
use escrow_runtime::callbacks::{self, Residents};
use escrow_store::{Mode, ReceiptLedger, StoreError, StoreErrorKind};
use tracing::debug;

use super::system::{
    FixtureFile, FixturesError, InputLine, LedgerAccess, ResidentQuestion, StateFile, System,
};
use super::telemetry_logs;

#[derive(Default)]
pub(super) struct LocalSystem {
    receipt_ids_made: u64,
    residents: Option<Residents>,
    /// Lines of standard input, read on a thread so that waiting for them can end.
    lines: Option<mpsc::Receiver<io::Result<InputLine>>>,
}

fn read_line(limit_bytes: usize) -> io::Result<InputLine> {
    let mut input = io::stdin().lock();
    let mut line = Vec::new();
    input.by_ref().take(limit_bytes as u64 + 1).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(InputLine::End);
    }
    if line.len() > limit_bytes {
        return Ok(InputLine::TooLong);
    }
    Ok(InputLine::Bytes(line))
}

impl System for LocalSystem {
    fn standard_input(&mut self, limit_bytes: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::stdin().lock().take(limit_bytes as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn next_line(&mut self, limit_bytes: usize) -> io::Result<InputLine> {
        read_line(limit_bytes)
    }

    fn next_line_within(&mut self, limit_bytes: usize, timeout: Duration) -> io::Result<Option<InputLine>> {
        let lines = self.lines.get_or_insert_with(|| {
            let (tell, told) = mpsc::sync_channel(0);
            std::thread::spawn(move || {
                loop {
                    let line = read_line(limit_bytes);
                    let is_last = !matches!(line, Ok(InputLine::Bytes(_)));
                    if tell.send(line).is_err() || is_last {
                        break;
                    }
                }
            });
            told
        });
        match lines.recv_timeout(timeout) {
            Ok(line) => line.map(Some),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Ok(Some(InputLine::End)),
        }
    }

    fn print_line(&mut self, line: &str) -> io::Result<()> {
        let mut output = io::stdout().lock();
        output.write_all(line.as_bytes())?;
        output.flush()
    }

    fn now_epoch_s(&mut self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    fn fresh_receipt_id(&mut self) -> String {
        self.receipt_ids_made += 1;
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        format!("rcpt-cli-{}-{}-{nanos}", std::process::id(), self.receipt_ids_made)
    }

    fn run_callbacks(&mut self, callbacks: &[Callback]) -> Vec<CallbackEnd> {
        let started = Instant::now();
        let ends = callbacks::run(callbacks);
        debug!(callbacks = callbacks.len(), elapsed = ?started.elapsed(), "callbacks ended");
        ends
    }

    fn register_residents(&mut self, clients: &[Client]) -> io::Result<()> {
        self.residents = Some(Residents::new(clients.to_vec())?);
        Ok(())
    }

    fn ask_residents(&mut self, question: &ResidentQuestion<'_>) -> Vec<CallbackResult> {
        let ResidentQuestion { envelope, version, positions, deadline_ms } = *question;
        match &mut self.residents {
            Some(residents) => residents.ask(envelope, version, positions, deadline_ms),
            None => Vec::new(),
        }
    }

    fn notify_residents(&mut self, line: &str) {
        if let Some(residents) = &mut self.residents {
            residents.tell(line);
        }
    }

    fn open_ledger(&mut self, path: &Path, access: LedgerAccess) -> Result<Box<dyn Ledger>, LedgerError> {
        let mode = match access {
            LedgerAccess::Read => Mode::Read,
            LedgerAccess::Write => Mode::Write,
        };
        match ReceiptLedger::open(path, mode) {
            Ok(ledger) => Ok(Box::new(ledger)),
            Err(error) => Err(LedgerError::Storage(storage_message(&error, path))),
        }
    }

    fn state_ledger(&mut self) -> Result<PathBuf, String> {
        let named = std::env::var_os("ESCROW_STATE").filter(|named| !named.is_empty()).map(PathBuf::from);
        let state = StateDirectory::find(named.as_deref()).map_err(|error| error.to_string())?;
        if hooks::are_waiting(state.path())
            && let Ok(mut ledger) = ReceiptLedger::open(&state.database(), Mode::Write)
        {
            hooks::collect_waiting(state.path(), &mut ledger).map_err(|error| error.to_string())?;
        }
        Ok(state.database())
    }

    fn further_adapters(&self, version: WireVersion) -> Vec<AdapterEntry> {
        // The crate's own adapters keep their claims; `--extended` adds those that it does not have.
        let builtin = Registry::builtin(version);
        escrow_harness::dialects()
            .filter(|dialect| builtin.find(dialect.harness).is_none())
            .map(|dialect| escrow_harness::manifest::adapter(dialect, version))
            .collect()
    }

    fn fixtures(&mut self, root: &Path) -> Result<Vec<FixtureFile>, FixturesError> {
        if !root.is_dir() {
            return Err(FixturesError::NotADirectory);
        }
        let mut paths = Vec::new();
        collect_json(root, &mut paths)
            .map_err(|error| FixturesError::Unreadable { path: root.to_owned(), error })?;
        paths.sort();
        let read = |path: PathBuf| match fs::read(&path) {
            Ok(contents) => Ok(FixtureFile { path: path.into_os_string(), contents }),
            Err(error) => Err(FixturesError::Unreadable { path, error }),
        };
        paths.into_iter().map(read).collect()
    }

    fn state_directory(&mut self, workspace: &Path) -> PathBuf {
        let git = Command::new("git")
            .args(["rev-parse", "--git-path", "lifeloop/renewal"])
            .current_dir(workspace)
            .stdin(Stdio::null())
            .output();
        match git {
            Ok(output) if output.status.success() => {
                workspace.join(String::from_utf8_lossy(&output.stdout).trim_end())
            }
            Ok(_) | Err(_) => workspace.join(".lifeloop/renewal"),
        }
    }

    fn state_file(&mut self, directory: &Path, file: StateFile) -> io::Result<Option<String>> {
        match fs::read_to_string(directory.join(file.name())) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn telemetry_log(&mut self, host: TelemetryHost, repository: Option<&Path>) -> Option<TelemetryLog> {
        telemetry_logs::newest(host, repository.unwrap_or(Path::new(".")))
    }
}

/// The first two messages are those of release 0.9.0; the others say what to do.
fn storage_message(error: &StoreError, path: &Path) -> String {
    match error.kind {
        StoreErrorKind::Unopenable => format!("unable to open database file: {}", path.display()),
        StoreErrorKind::NotADatabase => "file is not a database".to_owned(),
        _ => format!("{error}; {}", error.help()),
    }
}

fn collect_json(directory: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect_json(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    Ok(())
}
