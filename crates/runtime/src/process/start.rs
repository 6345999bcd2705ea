//! Starts a process in a group of its own and registers it.

use std::io::{self, PipeWriter};
#[cfg(target_os = "linux")]
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::Pid;
use tokio::process::ChildStdin;
use tracing::debug;

use super::child::Child;
use super::descendants::Tree;
use super::known::{Known, TOKEN_VARIABLE, Token};
#[cfg(target_os = "linux")]
use super::plain;

/// A process that runs.
pub(super) struct Started {
    pub(super) child: Child,
    pub(super) tree: Tree,
    pub(super) input: Option<ChildStdin>,
}

impl From<(tokio::process::Child, Tree)> for Started {
    fn from((mut child, tree): (tokio::process::Child, Tree)) -> Started {
        let input = child.stdin.take();
        Started { child: Child::Standard(child), tree, input }
    }
}

pub(super) fn spawn(
    mut command: Command,
    stdin: Stdio,
    stdout: Stdio,
    stderr: Stdio,
) -> io::Result<(tokio::process::Child, Tree)> {
    registered(|token| {
        command.env(TOKEN_VARIABLE, token.text()).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        let mut command = tokio::process::Command::from(command);
        let child = command.kill_on_drop(true).spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok((child, pid.expect("a child that was not reaped has a process id")))
    })
}

/// The fast path where there is one.
pub(super) fn spawn_plain(
    mut command: Command,
    stdout: PipeWriter,
    stderr: PipeWriter,
) -> io::Result<Started> {
    #[cfg(target_os = "linux")]
    if plain::is_possible(&command) {
        let (child, tree) = registered(|token| {
            command.env(TOKEN_VARIABLE, token.text());
            plain::start(&command, &plain::Streams { stdout: stdout.as_fd(), stderr: stderr.as_fd() })
        })?;
        return Ok(Started { child: Child::Plain(child), tree, input: None });
    }
    Ok(spawn(command, Stdio::null(), stdout.into(), stderr.into())?.into())
}

/// Starts a child and registers it, before a scan can mistake it for an orphan.
fn registered<T>(start: impl FnOnce(Token) -> io::Result<(T, Pid)>) -> io::Result<(T, Tree)> {
    let mut known = Known::lock();
    let token = known.begin();
    match start(token) {
        Ok((child, pid)) => {
            known.add_child(pid.as_raw_nonzero().get());
            // The command line stays out: it may contain secrets.
            debug!(pid = pid.as_raw_nonzero().get(), "process started");
            Ok((child, Tree::new(pid, token)))
        }
        Err(error) => {
            known.end(token);
            Err(error)
        }
    }
}
