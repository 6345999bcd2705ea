//! A child that was started: waiting for it, and killing it when its future is dropped.

use std::io;
use std::process::ExitStatus;

/// Dropping it kills the process, if that has not ended.
pub(super) enum Child {
    Standard(tokio::process::Child),
    #[cfg(target_os = "linux")]
    Plain(super::plain::PlainChild),
}

impl Child {
    /// Resolves when it has ended. May be given up and asked again.
    pub(super) async fn wait(&mut self) -> io::Result<ExitStatus> {
        match self {
            Child::Standard(child) => child.wait().await,
            #[cfg(target_os = "linux")]
            Child::Plain(child) => child.wait().await,
        }
    }

    /// How it has ended, if it has.
    pub(super) fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        match self {
            Child::Standard(child) => child.try_wait(),
            #[cfg(target_os = "linux")]
            Child::Plain(child) => child.try_wait(),
        }
    }

    pub(super) fn start_kill(&mut self) -> io::Result<()> {
        match self {
            Child::Standard(child) => child.start_kill(),
            #[cfg(target_os = "linux")]
            Child::Plain(child) => child.start_kill(),
        }
    }
}
