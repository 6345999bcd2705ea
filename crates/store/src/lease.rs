//! The right to commit to a run, and its holder.

use std::fmt;

use escrow_model::{Millis, RunId};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::error::StoreError;

/// A process that drives runs, described so that others can tell whether it still lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    /// For people; two machines may have the same name.
    pub host: String,
    /// Stays the same through restarts of the machine; empty where there is none.
    #[serde(default)]
    pub machine_id: String,
    /// Changes with every boot: a process id means nothing after the next one.
    pub boot_id: String,
    /// A process id means nothing in another one; empty where there are none.
    #[serde(default)]
    pub pid_namespace: String,
    /// When the process started, as the kernel counts: process ids are used again.
    pub process_started: u64,
}

/// What the caller can tell of another holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// It runs. Its lease stands, however old: a laptop that slept expires every lease at once.
    Alive,
    Dead,
    /// It is on another machine. Its lease stands until it expires.
    Unknown,
}

/// The right to commit to a run.
#[derive(Clone, PartialEq, Eq)]
pub struct Lease {
    run: RunId,
    token: Vec<u8>,
}

impl Lease {
    /// For implementations of [`crate::Journal`].
    pub fn new(run: RunId, token: Vec<u8>) -> Lease {
        Lease { run, token }
    }

    pub fn run(&self) -> &RunId {
        &self.run
    }

    pub fn token(&self) -> &[u8] {
        &self.token
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Lease({})", self.run)
    }
}

#[derive(Debug, Error)]
pub enum LeaseError {
    #[error("run `{run}` is held by process {} on `{}`", .holder.pid, .holder.host)]
    Held { run: RunId, holder: Box<Holder>, expires_at: Millis },
    #[error("there is no run `{0}`")]
    NoSuchRun(RunId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The lease of a run, as others see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeaseState {
    Free,
    Held(HeldLease),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLease {
    pub token: Vec<u8>,
    pub holder: Holder,
    pub expires_at: Millis,
    /// By the clock of the store.
    pub is_expired: bool,
}

impl LeaseState {
    /// The lease that keeps others from taking the run, if there is one.
    pub fn standing(&self, judge: impl Fn(&Holder) -> Liveness) -> Option<&HeldLease> {
        match self {
            LeaseState::Free => None,
            LeaseState::Held(held) => match judge(&held.holder) {
                Liveness::Alive => Some(held),
                Liveness::Dead => None,
                Liveness::Unknown => (!held.is_expired).then_some(held),
            },
        }
    }

    /// The token that fences the current holder.
    pub fn token(&self) -> Option<&[u8]> {
        match self {
            LeaseState::Free => None,
            LeaseState::Held(held) => Some(&held.token),
        }
    }
}
