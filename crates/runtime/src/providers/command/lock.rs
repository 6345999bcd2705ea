//! `lock: git`: a command that changes a repository runs while no other command with this key does, in any process.
//!
//! Git keeps its own files whole, but not its checkout: two merges at the same time read one index and each writes its
//! own, and what one of them brought is lost. The lock lies in the directory that all worktrees of a repository share,
//! and the system gives it up when the process that holds it is gone.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::Duration;

use escrow_model::{FaultCode, ProviderFault, Request};
use rustix::fs::{FlockOperation, flock};
use serde_json::Value;

use crate::git;
use crate::providers::Attempt;

/// What a command can be alone in.
pub(super) const WORDS: &[&str] = &["git"];

const NAME: &str = "escrow-lock";

/// How often a lock that another process holds is tried again.
const PATIENCE: Duration = Duration::from_millis(50);

/// Held as long as this lives.
pub(super) struct Hold {
    _file: Option<File>,
}

/// Waits until no other command of the repository runs; for one without the key, returns at once.
pub(super) async fn hold(request: &Request, attempt: &Attempt) -> Result<Hold, ProviderFault> {
    if request.fields.get("lock").and_then(Value::as_str) != Some("git") {
        return Ok(Hold { _file: None });
    }
    let logical = |message| ProviderFault::logical(FaultCode::own("lock"), message);
    let shared = git::common_directory(&attempt.directory).await.map_err(logical)?;
    wait_for(&shared.join(NAME), attempt).await
}

async fn wait_for(path: &Path, attempt: &Attempt) -> Result<Hold, ProviderFault> {
    loop {
        match try_lock(path) {
            Ok(Some(file)) => return Ok(Hold { _file: Some(file) }),
            Ok(None) => tokio::select! {
                () = tokio::time::sleep(PATIENCE) => {}
                () = attempt.cancellation.cancelled() => {
                    let message = "interrupted by the end of the run";
                    return Err(ProviderFault::transient(FaultCode::Cancelled, message));
                }
            },
            Err(error) => {
                let message = format!("cannot lock `{}`: {error}", path.display());
                return Err(ProviderFault::transient(FaultCode::Spawn, message));
            }
        }
    }
}

/// `None` while another process, or another run of this one, has it. The file stays: to remove it would give two
/// processes a lock each.
fn try_lock(path: &Path) -> io::Result<Option<File>> {
    let file = File::options().create(true).append(true).open(path)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::AGAIN) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Says that the time of the attempt was up before it began.
pub(super) fn out_of_time(limit: Duration) -> ProviderFault {
    let limit = super::words::duration(limit);
    let message = format!("another command changed the repository for {limit}; this one did not begin");
    ProviderFault::transient(FaultCode::Timeout, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_has_one_holder_and_is_free_when_that_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(NAME);
        let first = try_lock(&path).unwrap().expect("free");
        assert!(try_lock(&path).unwrap().is_none());
        drop(first);
        assert!(try_lock(&path).unwrap().is_some());
    }
}
