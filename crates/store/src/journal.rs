//! The write side of a store: journals, leases and inboxes of runs.
//!
//! The supervisor knows only this trait. SQLite implements it; so does a simulated disk that fails where a real one
//! would.

use std::future::Future;
use std::pin::Pin;

use escrow_model::{Entry, Event, Message, RunId};

use crate::commit::{Commit, Committed, Created, NewRun};
use crate::conflict::RunConflict;
use crate::effect::EffectRow;
use crate::error::StoreError;
use crate::lease::{Holder, Lease, LeaseError, LeaseState, Liveness};
use crate::message::{MessageId, Sent};

/// What a store answers. It may be ready at its first poll.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Journals, leases and inboxes of runs. Futures must be polled inside a tokio runtime.
///
/// Dropping a future of a write does not take the write back: it may or may not have happened, as after a crash.
pub trait Journal: Send + Sync {
    /// Makes a run, its first entries and its lease in one transaction.
    fn create_run<'a>(&'a self, new: NewRun<'a>) -> StoreFuture<'a, Result<Created, StoreError>>;

    /// Writes all of the commit or nothing. The answer comes when the commit is as durable as it asks to be.
    fn commit<'a>(&'a self, commit: Commit<'a>) -> StoreFuture<'a, Result<Committed, StoreError>>;

    /// The lease of a run; `None` when there is no such run.
    fn lease_of<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Option<LeaseState>, StoreError>>;

    /// Takes a run whose lease still is as `seen`. `None` when it has changed meanwhile.
    fn take_lease<'a>(
        &'a self,
        run: &'a RunId,
        holder: &'a Holder,
        seen: &'a LeaseState,
    ) -> StoreFuture<'a, Result<Option<Lease>, StoreError>>;

    /// Puts the expiry of these leases off, and names the runs that another holder has taken.
    fn renew<'a>(&'a self, leases: &'a [Lease]) -> StoreFuture<'a, Result<Vec<RunId>, StoreError>>;

    /// Gives a run back. A lease that was lost before is left alone.
    fn release<'a>(&'a self, lease: &'a Lease) -> StoreFuture<'a, Result<(), StoreError>>;

    /// The entries from `from_seq` on; empty when there is no such run.
    fn entries<'a>(
        &'a self,
        run: &'a RunId,
        from_seq: u64,
    ) -> StoreFuture<'a, Result<Vec<(u64, Entry)>, StoreError>>;

    /// Puts a message into a run's inbox, synced to the disk.
    fn send<'a>(
        &'a self,
        run: &'a RunId,
        message: &'a Message,
        from: &'a str,
    ) -> StoreFuture<'a, Result<MessageId, StoreError>>;

    /// The messages that no commit has delivered, oldest first.
    fn undelivered<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<Vec<Sent>, StoreError>>;

    /// The effect that has this key in the ledger.
    fn effect<'a>(&'a self, key: &'a str) -> StoreFuture<'a, Result<Option<EffectRow>, StoreError>>;

    /// The open run that keeps this one, which has ended, from being opened again with this concurrency group.
    fn conflict<'a>(
        &'a self,
        run: &'a RunId,
        group: Option<&'a str>,
    ) -> StoreFuture<'a, Result<Option<Box<RunConflict>>, StoreError>>;

    /// Whether the run exists and has ended.
    fn has_ended<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move {
            let entries = self.entries(run, 0).await?;
            let last = entries.iter().rev().find_map(|(_, entry)| match entry.event {
                Event::RunEnded { .. } => Some(true),
                Event::RunReopened { .. } => Some(false),
                _ => None,
            });
            Ok(last.unwrap_or(false))
        })
    }

    /// Whether a nested run that waits can be driven again: it has ended, or a message has come for it or for a run
    /// inside it.
    fn is_ready<'a>(&'a self, run: &'a RunId) -> StoreFuture<'a, Result<bool, StoreError>> {
        Box::pin(async move { Ok(self.has_ended(run).await? || !self.undelivered(run).await?.is_empty()) })
    }

    /// Changes whenever any process commits. Only comparable with other values from the same store.
    fn version(&self) -> StoreFuture<'_, Result<u64, StoreError>>;
}

impl dyn Journal + '_ {
    /// Takes a run that has no holder, or whose holder is gone as far as `judge` can tell.
    pub async fn acquire(
        &self,
        run: &RunId,
        holder: &Holder,
        judge: impl Fn(&Holder) -> Liveness,
    ) -> Result<Lease, LeaseError> {
        // The judge looks at processes, so it is asked outside the transaction; `take_lease` notices when the lease
        // that was judged is no longer the current one.
        loop {
            let Some(seen) = self.lease_of(run).await? else {
                return Err(LeaseError::NoSuchRun(run.clone()));
            };
            if let Some(held) = seen.standing(&judge) {
                return Err(LeaseError::Held {
                    run: run.clone(),
                    holder: Box::new(held.holder.clone()),
                    expires_at: held.expires_at,
                });
            }
            if let Some(lease) = self.take_lease(run, holder, &seen).await? {
                return Ok(lease);
            }
        }
    }
}
