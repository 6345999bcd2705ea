//! Leases: one holder at a time may write a run's journal, known by a random token.
//!
//! The token fences: a holder that slept through a takeover finds its commits refused. It is random because a
//! counter can repeat after a database was restored.

use std::time::Duration;

use escrow_model::{Millis, RunId};
use rusqlite::{Connection, OptionalExtension};

use crate::commit::Durability;
use crate::error::{StoreError, StoreErrorKind};
use crate::lease::{HeldLease, Holder, Lease, LeaseError, LeaseState, Liveness};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;
use crate::sqlite::{clock, entries};

impl BlockingStore {
    /// Takes a run that has no holder, or whose holder is gone as far as `judge` can tell.
    pub fn acquire(
        &self,
        run: &RunId,
        holder: &Holder,
        judge: impl Fn(&Holder) -> Liveness,
    ) -> Result<Lease, LeaseError> {
        // The judge looks at processes, so it is asked outside the transaction; the token tells whether the lease
        // that was judged is still the current one.
        loop {
            let Some(seen) = self.lease_of(run)? else {
                return Err(LeaseError::NoSuchRun(run.clone()));
            };
            if let Some(held) = seen.standing(&judge) {
                let (holder, expires_at) = (Box::new(held.holder.clone()), held.expires_at);
                return Err(LeaseError::Held { run: run.clone(), holder, expires_at });
            }
            let taking = self.taking(run, holder, &seen);
            if let Some(lease) = self.write(Durability::Grouped, taking)? {
                return Ok(lease);
            }
        }
    }

    /// The lease of a run; `None` when there is no such run.
    pub(super) fn lease_of(&self, run: &RunId) -> Result<Option<LeaseState>, StoreError> {
        self.read(|connection| state(connection, run))
    }

    /// Takes the run if its lease still is as it was seen. Not synced: a power cut ends every process that a lease
    /// could be for.
    pub(super) fn taking(
        &self,
        run: &RunId,
        holder: &Holder,
        seen: &LeaseState,
    ) -> impl FnMut(&Connection) -> Result<Option<Lease>, SqliteError> + Send + use<> {
        let (run, holder, ttl) = (run.clone(), holder.clone(), self.lease_ttl());
        let judged = seen.token().map(<[u8]>::to_vec);
        move |connection| {
            let unchanged = token(connection, &run)? == judged;
            unchanged.then(|| take(connection, &run, &holder, ttl)).transpose()
        }
    }

    /// Puts the expiry of these leases off, and names the runs that another holder has taken.
    pub fn renew(&self, leases: &[Lease]) -> Result<Vec<RunId>, StoreError> {
        self.write(Durability::Grouped, self.renewing(leases))
    }

    pub(super) fn renewing(
        &self,
        leases: &[Lease],
    ) -> impl FnMut(&Connection) -> Result<Vec<RunId>, SqliteError> + Send + use<> {
        let (leases, ttl) = (leases.to_vec(), self.lease_ttl());
        move |connection| {
            let mut extend = connection
                .prepare_cached("UPDATE journals SET expires_at = ?3 WHERE run = ?1 AND token = ?2")?;
            let expires_at = expiry(ttl);
            let mut lost = Vec::new();
            for lease in &leases {
                if extend.execute((lease.run().as_str(), lease.token(), expires_at))? == 0 {
                    lost.push(lease.run().clone());
                }
            }
            Ok(lost)
        }
    }

    /// Gives a run back. A lease that was lost before is left alone.
    pub fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.write(Durability::Grouped, releasing(lease))
    }

    /// The process that holds the run.
    pub fn holder(&self, run: &RunId) -> Result<Option<Holder>, StoreError> {
        Ok(match self.lease_of(run)? {
            Some(LeaseState::Held(held)) => Some(held.holder),
            Some(LeaseState::Free) | None => None,
        })
    }
}

pub(super) fn releasing(lease: &Lease) -> impl FnMut(&Connection) -> Result<(), SqliteError> + Send + use<> {
    let lease = lease.clone();
    move |connection| {
        connection
            .prepare_cached(
                "UPDATE journals SET token = NULL, holder = NULL, expires_at = NULL WHERE run = ?1 AND token = ?2",
            )?
            .execute((lease.run().as_str(), lease.token()))?;
        Ok(())
    }
}

/// Whether the run has a holder that keeps others from taking it.
pub(crate) fn is_driven(
    connection: &Connection,
    run: &RunId,
    judge: impl Fn(&Holder) -> Liveness,
) -> Result<bool, SqliteError> {
    Ok(state(connection, run)?.is_some_and(|state| state.standing(judge).is_some()))
}

/// Gives the run to a new holder, under a new token.
pub(crate) fn take(
    connection: &Connection,
    run: &RunId,
    holder: &Holder,
    ttl: Duration,
) -> Result<Lease, SqliteError> {
    let holder = serde_json::to_string(holder).map_err(|error| {
        SqliteError::Known(StoreErrorKind::Internal, format!("a holder cannot be written as JSON: {error}"))
    })?;
    let token = connection
        .prepare_cached(
            "UPDATE journals SET token = randomblob(16), holder = ?2, expires_at = ?3 WHERE run = ?1 RETURNING token",
        )?
        .query_row((run.as_str(), holder, expiry(ttl)), |row| row.get(0))
        .optional()?
        .ok_or_else(|| entries::no_such_run(run))?;
    Ok(Lease::new(run.clone(), token))
}

fn expiry(ttl: Duration) -> Millis {
    clock::now().saturating_add(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)).min(i64::MAX as u64)
}

fn token(connection: &Connection, run: &RunId) -> Result<Option<Vec<u8>>, SqliteError> {
    let token = connection
        .prepare_cached("SELECT token FROM journals WHERE run = ?1")?
        .query_row([run.as_str()], |row| row.get(0))
        .optional()?
        .ok_or_else(|| entries::no_such_run(run))?;
    Ok(token)
}

fn state(connection: &Connection, run: &RunId) -> Result<Option<LeaseState>, SqliteError> {
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
        let (Some(token), Some(holder), Some(expires_at)) = row else { return LeaseState::Free };
        // A holder that cannot be read cannot be judged; its lease stands until it expires.
        let holder = serde_json::from_str(&holder).unwrap_or_else(|_| Holder {
            pid: 0,
            host: "unknown".into(),
            machine_id: String::new(),
            boot_id: String::new(),
            pid_namespace: String::new(),
            process_started: 0,
        });
        LeaseState::Held(HeldLease { token, holder, expires_at, is_expired: clock::now() >= expires_at })
    }))
}
