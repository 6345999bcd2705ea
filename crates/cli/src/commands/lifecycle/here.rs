//! This machine, as far as the lifecycle verbs ask for it.

use std::fs;
use std::io::{self, BufRead, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use escrow_protocol::callback::{Callback, CallbackEnd};
use escrow_protocol::command::{
    Asked, FixtureFile, FixturesError, LedgerAccess, Line, ResidentAnswer, StateFile, World,
};
use escrow_protocol::dispatch::Client;
use escrow_protocol::receipt::{Ledger, LedgerError};
use escrow_protocol::telemetry::{TelemetryHost, TelemetryLog};
use escrow_runtime::callbacks::{self, Residents};
use escrow_store::{Mode, ReceiptLedger, StoreError, StoreErrorKind};

use super::logs;

#[derive(Default)]
pub(super) struct Here {
    receipts_named: u64,
    residents: Option<Residents>,
}

impl World for Here {
    fn standard_input(&mut self, limit_bytes: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::stdin().lock().take(limit_bytes as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn next_line(&mut self, limit_bytes: usize) -> io::Result<Line> {
        let mut input = io::stdin().lock();
        let mut line = Vec::new();
        input.by_ref().take(limit_bytes as u64 + 1).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(Line::End);
        }
        if line.len() > limit_bytes {
            return Ok(Line::TooLong);
        }
        Ok(Line::Bytes(line))
    }

    fn say(&mut self, line: &str) -> io::Result<()> {
        let mut output = io::stdout().lock();
        output.write_all(line.as_bytes())?;
        output.flush()
    }

    fn now_epoch_s(&mut self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    fn fresh_receipt_id(&mut self) -> String {
        self.receipts_named += 1;
        let nanos = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
        format!("rcpt-cli-{}-{}-{nanos}", std::process::id(), self.receipts_named)
    }

    fn run_callbacks(&mut self, callbacks: &[Callback]) -> Vec<CallbackEnd> {
        callbacks::run(callbacks)
    }

    fn take_in(&mut self, clients: &[Client]) -> io::Result<()> {
        self.residents = Some(Residents::new(clients.to_vec())?);
        Ok(())
    }

    fn ask_residents(&mut self, asked: &Asked<'_>) -> Vec<ResidentAnswer> {
        match &mut self.residents {
            Some(residents) => {
                residents.ask(asked.envelope, asked.version, asked.positions, asked.deadline_ms)
            }
            None => Vec::new(),
        }
    }

    fn tell_residents(&mut self, line: &str) {
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
            Err(error) => Err(LedgerError::Storage(words(&error, path))),
        }
    }

    fn fixtures(&mut self, root: &Path) -> Result<Vec<FixtureFile>, FixturesError> {
        if !root.is_dir() {
            return Err(FixturesError::NotADirectory);
        }
        let mut paths = Vec::new();
        collect(root, &mut paths)
            .map_err(|error| FixturesError::Unreadable { path: root.to_owned(), error })?;
        paths.sort();
        let read = |path: PathBuf| match fs::read(&path) {
            Ok(contents) => Ok(FixtureFile { path: path.into_os_string(), contents }),
            Err(error) => Err(FixturesError::Unreadable { path, error }),
        };
        paths.into_iter().map(read).collect()
    }

    fn state_directory(&mut self, workspace: &Path) -> PathBuf {
        let asked = Command::new("git")
            .args(["rev-parse", "--git-path", "lifeloop/renewal"])
            .current_dir(workspace)
            .stdin(Stdio::null())
            .output();
        match asked {
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
        logs::newest(host, repository.unwrap_or(Path::new(".")))
    }
}

/// Callers know two of these sentences by heart; the others say what to do.
fn words(error: &StoreError, path: &Path) -> String {
    match error.kind {
        StoreErrorKind::Unopenable => format!("unable to open database file: {}", path.display()),
        StoreErrorKind::NotADatabase => "file is not a database".to_owned(),
        _ => format!("{error}; {}", error.help()),
    }
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, paths)?;
        } else if path.extension().is_some_and(|extension| extension == "json") {
            paths.push(path);
        }
    }
    Ok(())
}
