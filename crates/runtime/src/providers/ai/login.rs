//! Lends the login of the user to a harness, and takes it back.
//!
//! **Invariant:** one borrower at a time: two programs that renew the same token would invalidate each other's. What comes
//! back replaces the file at once, or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use escrow_harness::Auth;
use escrow_model::{FaultCode, ProviderFault};
use rustix::fs::{FlockOperation, flock};
use std::os::unix::fs::MetadataExt;

use super::super::Attempt;
use super::home::PrivateHome;
use super::task::Task;
use crate::beneath;
use crate::private_files::create_file;

/// A login that is lent, or nothing.
pub(super) enum LentLogin {
    None,
    Lent {
        source: PathBuf,
        /// The private home, which the harness can write to.
        home: PathBuf,
        target: PathBuf,
        contents: Vec<u8>,
        /// Held until the login was given back.
        _lock: File,
    },
}

/// How often a login that another agent has is asked for again.
const PATIENCE: Duration = Duration::from_millis(50);

/// Credential files are a few kilobytes.
const BYTES_MAX: u64 = 1 << 20;

impl LentLogin {
    pub(super) async fn borrow(
        task: &Task<'_>,
        home: &PrivateHome,
        attempt: &Attempt,
        timeout_ms: u64,
    ) -> Result<LentLogin, ProviderFault> {
        let spec = task.harness.spec();
        if task.auth == Auth::Key {
            return Ok(LentLogin::None);
        }
        let Some(file) = spec.login else {
            let message =
                format!("the login of `{}` is no file and cannot be lent; use `auth: key`", spec.name);
            return Err(ProviderFault::logical(FaultCode::own("login"), message));
        };
        let Some(user) = std::env::var_os("HOME") else {
            let message = "`HOME` is not set, so there is no login to lend";
            return Err(ProviderFault::logical(FaultCode::own("login"), message));
        };
        let (source, target) = (Path::new(&user).join(file.source), home.path().join(file.target));
        let missing = |error: &io::Error| {
            let message = format!(
                "there is no login to lend: `{}`: {error}; log in with `{}` first, or use `auth: key`",
                source.display(),
                spec.name
            );
            ProviderFault::logical(FaultCode::own("login"), message)
        };
        let deadline = Instant::now() + Duration::from_millis(timeout_ms);
        let lock = loop {
            match try_lock(&source).map_err(|error| missing(&error))? {
                Some(lock) => break lock,
                None if Instant::now() >= deadline => {
                    let message = format!("the login of `{}` is lent to another agent", spec.name);
                    return Err(ProviderFault::transient(FaultCode::Timeout, message));
                }
                None => tokio::select! {
                    () = tokio::time::sleep(PATIENCE) => {}
                    () = attempt.cancellation.cancelled() => {
                        let message = "interrupted by the end of the run";
                        return Err(ProviderFault::transient(FaultCode::Cancelled, message));
                    }
                },
            }
        };
        let contents = read(&source).map_err(|error| missing(&error))?;
        let home = home.path().to_owned();
        beneath::create_file(&home, &target)
            .and_then(|mut file| file.write_all(&contents))
            .map_err(|error| missing(&error))?;
        Ok(LentLogin::Lent { source, home, target, contents, _lock: lock })
    }

    /// Takes the login back. A login that the harness renewed replaces that of the user.
    pub(super) fn give_back(self) -> io::Result<()> {
        let LentLogin::Lent { source, home, target, contents, _lock: lock } = self else { return Ok(()) };
        let returned = beneath::read_file(&home, &target, BYTES_MAX);
        let _ = beneath::remove_file(&home, &target);
        match returned {
            Ok(returned) if returned != contents && is_whole(&returned) => replace(&source, &returned)?,
            Ok(_) | Err(_) => {}
        }
        drop(lock);
        Ok(())
    }
}

/// A harness that was killed while it wrote leaves half a file.
fn is_whole(contents: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(contents).is_ok_and(|value| value.is_object())
}

/// The file, locked; `None` while another process has it. A lock on a file that was replaced meanwhile is worth nothing.
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = File::open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::AGAIN) => return Ok(None),
        Err(error) => return Err(error.into()),
    }
    let (held, there) = (file.metadata()?, fs::metadata(path)?);
    Ok((held.ino() == there.ino() && held.dev() == there.dev()).then_some(file))
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let mut contents = Vec::new();
    io::Read::read_to_end(&mut io::Read::take(file, BYTES_MAX), &mut contents)?;
    Ok(contents)
}

/// Replaces the file that a path leads to, keeping its mode.
fn replace(path: &Path, contents: &[u8]) -> io::Result<()> {
    let path = path.canonicalize()?;
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".escrow-{}", std::process::id()));
    let beside = path.with_file_name(name);
    let mode = fs::metadata(&path)?.permissions();
    let written = create_file(&beside).and_then(|mut file| {
        file.write_all(contents)?;
        file.sync_all()?;
        fs::set_permissions(&beside, mode)?;
        fs::rename(&beside, &path)
    });
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_lent_to_one_at_a_time_and_replaced_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("auth.json");
        fs::write(&path, "{}").unwrap();
        let first = try_lock(&path).unwrap().expect("free");
        assert!(try_lock(&path).unwrap().is_none());
        replace(&path, b"{\"a\":1}").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "{\"a\":1}");
        drop(first);
        assert!(try_lock(&path).unwrap().is_some());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(is_whole(b"{}") && !is_whole(b"{\"a\":") && !is_whole(b""));
    }
}
