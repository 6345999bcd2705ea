//! This machine, as far as the verbs ask for it.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use escrow_protocol::callback::{Callback, CallbackEnd};
use escrow_protocol::command::{FixtureFile, FixturesError, LedgerAccess, StateFile, World};
use escrow_protocol::receipt::{Ledger, LedgerError};
use escrow_protocol::telemetry::{TelemetryHost, TelemetryLog};

use crate::ledger::FileLedger;
use crate::{logs, process};

#[derive(Default)]
pub(crate) struct Here {
    receipts_named: u64,
}

impl World for Here {
    fn standard_input(&mut self, limit_bytes: usize) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        io::stdin().lock().take(limit_bytes as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
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
        callbacks.iter().map(process::run).collect()
    }

    fn open_ledger(&mut self, path: &Path, access: LedgerAccess) -> Result<Box<dyn Ledger>, LedgerError> {
        Ok(Box::new(FileLedger::open(path, access)?))
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
