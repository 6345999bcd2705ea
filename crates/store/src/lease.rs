//! Who may write a run's journal: one holder at a time, known by a random token.
//!
//! The token fences: a holder that slept through a takeover finds its commits refused. It is random because a
//! counter can repeat after a database was restored.

use std::fmt;
use std::time::Duration;

use escrow_model::{Millis, RunId};
use rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::clock;
use crate::commit::Durability;
use crate::fault::{StoreError, Trouble};
use crate::journal;
use crate::store::Store;

/// A process that drives runs, described so that others can tell whether it still lives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    pub pid: u32,
    pub host: String,
    /// Changes with every boot: a process id means nothing after the next one.
    pub boot_id: String,
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
    /// A lease that another journal_trait than SQLite gives.
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
    Held { run: RunId, holder: Holder, expires_at: Millis },
    #[error("there is no run `{0}`")]
    NoSuchRun(RunId),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A lease as others see it.
struct Seen {
    token: Vec<u8>,
    holder: Holder,
    expires_at: Millis,
}

impl Store {
    /// Takes a run that nobody holds, or whose holder is gone as far as `judge` can tell.
    pub fn acquire(
        &self,
        run: &RunId,
        holder: &Holder,
        judge: impl Fn(&Holder) -> Liveness,
    ) -> Result<Lease, LeaseError> {
        // The judge looks at processes, so it is asked outside the transaction; the token says whether the
        // lease that was judged is still the one that is there.
        loop {
            let Some(seen) = self.read(|connection| seen(connection, run))? else {
                return Err(LeaseError::NoSuchRun(run.clone()));
            };
            if let Some(seen) = &seen {
                let stands = match judge(&seen.holder) {
                    Liveness::Alive => true,
                    Liveness::Dead => false,
                    Liveness::Unknown => clock::now() < seen.expires_at,
                };
                if stands {
                    let (holder, expires_at) = (seen.holder.clone(), seen.expires_at);
                    return Err(LeaseError::Held { run: run.clone(), holder, expires_at });
                }
            }
            let judged = seen.map(|seen| seen.token);
            let (run, holder, ttl) = (run.clone(), holder.clone(), self.lease_ttl());
            // Not synced: a power cut ends every process that a lease could be for.
            let taken = self.write(Durability::Grouped, move |connection| {
                let unchanged = token(connection, &run)? == judged;
                unchanged.then(|| take(connection, &run, &holder, ttl)).transpose()
            })?;
            if let Some(lease) = taken {
                return Ok(lease);
            }
        }
    }

    /// Puts the expiry of these leases off, and names the runs that were lost to someone else.
    pub fn renew(&self, leases: &[Lease]) -> Result<Vec<RunId>, StoreError> {
        let (leases, ttl) = (leases.to_vec(), self.lease_ttl());
        self.write(Durability::Grouped, move |connection| {
            let mut extend = connection
                .prepare_cached("UPDATE journals SET expires_at = ?3 WHERE run = ?1 AND token = ?2")?;
            let expires_at = expiry(ttl);
            let mut lost = Vec::new();
            for lease in &leases {
                if extend.execute((lease.run.as_str(), &lease.token, expires_at))? == 0 {
                    lost.push(lease.run.clone());
                }
            }
            Ok(lost)
        })
    }

    /// Lets go of a run. A lease that was lost before is none of ours: nothing happens.
    pub fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.write(Durability::Grouped, move |connection| {
            connection
                .prepare_cached(
                    "UPDATE journals SET token = NULL, holder = NULL, expires_at = NULL WHERE run = ?1 AND token = ?2",
                )?
                .execute((lease.run.as_str(), &lease.token))?;
            Ok(())
        })
    }

    /// Who holds the run, if anybody does.
    pub fn holder(&self, run: &RunId) -> Result<Option<Holder>, StoreError> {
        let seen = self.read(|connection| seen(connection, run))?;
        Ok(seen.flatten().map(|seen| seen.holder))
    }
}

/// Whether somebody holds the run who lives, or of whom nobody can tell and whose lease has not expired.
pub(crate) fn is_driven(
    connection: &Connection,
    run: &RunId,
    judge: impl Fn(&Holder) -> Liveness,
) -> Result<bool, Trouble> {
    let seen = seen(connection, run)?.flatten();
    Ok(seen.is_some_and(|seen| match judge(&seen.holder) {
        Liveness::Alive => true,
        Liveness::Dead => false,
        Liveness::Unknown => clock::now() < seen.expires_at,
    }))
}

/// Gives the run to a new holder, under a new token.
pub(crate) fn take(
    connection: &Connection,
    run: &RunId,
    holder: &Holder,
    ttl: Duration,
) -> Result<Lease, Trouble> {
    let holder = serde_json::to_string(holder).map_err(|error| {
        Trouble::Known(
            crate::StoreErrorKind::Internal,
            format!("a holder cannot be written as JSON: {error}"),
        )
    })?;
    let token = connection
        .prepare_cached(
            "UPDATE journals SET token = randomblob(16), holder = ?2, expires_at = ?3 WHERE run = ?1 RETURNING token",
        )?
        .query_row((run.as_str(), holder, expiry(ttl)), |row| row.get(0))
        .optional()?
        .ok_or_else(|| journal::no_such_run(run))?;
    Ok(Lease { run: run.clone(), token })
}

fn expiry(ttl: Duration) -> Millis {
    clock::now().saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)).min(i64::MAX as u64)
}

fn token(connection: &Connection, run: &RunId) -> Result<Option<Vec<u8>>, Trouble> {
    let token = connection
        .prepare_cached("SELECT token FROM journals WHERE run = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| journal::no_such_run(run))?;
    Ok(token)
}

/// The outer option is the run, the inner one its holder.
fn seen(connection: &Connection, run: &RunId) -> Result<Option<Option<Seen>>, Trouble> {
    let row = connection
        .prepare_cached("SELECT token, holder, expires_at FROM journals WHERE run = ?1")?
        .query_row([run.as_str()], |row| {
            Ok((
                row.get::<_, Option<Vec<u8>>>(0)?,
                row.get::<_, Option<String>>(1)?,
                row.get::<_, Option<u64>>(2)?,
            ))
        })
        .optional()?;
    Ok(row.map(|row| {
        let (Some(token), Some(holder), Some(expires_at)) = row else { return None };
        // A holder that cannot be read cannot be judged; its lease stands until it expires.
        let holder = serde_json::from_str(&holder).unwrap_or_else(|_| Holder {
            pid: 0,
            host: "unknown".into(),
            boot_id: String::new(),
            process_started: 0,
        });
        Some(Seen { token, holder, expires_at })
    }))
}
