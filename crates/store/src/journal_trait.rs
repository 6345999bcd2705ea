//! What a supervisor asks of whoever keeps its journal.
//!
//! SQLite is one that does. The seam is narrow, so that another database can offer the same, and so that a
//! simulated disk can fail where a real one would.

use escrow_model::{Entry, Event, Message, RunId};

use crate::commit::{Commit, Committed, Created, NewRun};
use crate::fault::StoreError;
use crate::inbox::{MessageId, Sent};
use crate::lease::{Holder, Lease, LeaseError, Liveness};
use crate::store::Store;

/// Tells what became of a commit; quick, and from any thread.
pub type Reply = Box<dyn FnOnce(Result<Committed, StoreError>) + Send>;

/// Keeps the journals, leases and messages of runs. The methods mean what those of [`Store`] mean.
pub trait Journal: Send + Sync {
    fn create_run(&self, new: NewRun<'_>) -> Result<Created, StoreError>;

    fn commit_with(&self, commit: Commit<'_>, reply: Reply);

    fn acquire(
        &self,
        run: &RunId,
        holder: &Holder,
        judge: &dyn Fn(&Holder) -> Liveness,
    ) -> Result<Lease, LeaseError>;

    fn renew(&self, leases: &[Lease]) -> Result<Vec<RunId>, StoreError>;

    fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Empty when there is no such run.
    fn entries(&self, run: &RunId, from_seq: u64) -> Result<Vec<(u64, Entry)>, StoreError>;

    fn send(&self, run: &RunId, message: &Message, from: &str) -> Result<MessageId, StoreError>;

    fn undelivered(&self, run: &RunId) -> Result<Vec<Sent>, StoreError>;

    /// Whether the run is there and has come to its end, for those that wait for it.
    fn has_ended(&self, run: &RunId) -> Result<bool, StoreError> {
        let entries = self.entries(run, 0)?;
        let last = entries.iter().rev().find_map(|(_, entry)| match entry.event {
            Event::RunEnded { .. } => Some(true),
            Event::RunReopened { .. } => Some(false),
            _ => None,
        });
        Ok(last.unwrap_or(false))
    }

    /// Differs from what it was when some process has committed.
    fn version(&self) -> Result<u64, StoreError>;
}

impl Journal for Store {
    fn create_run(&self, new: NewRun<'_>) -> Result<Created, StoreError> {
        Store::create_run(self, new)
    }

    fn commit_with(&self, commit: Commit<'_>, reply: Reply) {
        Store::commit_with(self, commit, reply);
    }

    fn acquire(
        &self,
        run: &RunId,
        holder: &Holder,
        judge: &dyn Fn(&Holder) -> Liveness,
    ) -> Result<Lease, LeaseError> {
        Store::acquire(self, run, holder, judge)
    }

    fn renew(&self, leases: &[Lease]) -> Result<Vec<RunId>, StoreError> {
        Store::renew(self, leases)
    }

    fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        Store::release(self, lease)
    }

    fn entries(&self, run: &RunId, from_seq: u64) -> Result<Vec<(u64, Entry)>, StoreError> {
        Store::entries(self, run, from_seq)
    }

    fn send(&self, run: &RunId, message: &Message, from: &str) -> Result<MessageId, StoreError> {
        Store::send(self, run, message, from)
    }

    fn undelivered(&self, run: &RunId) -> Result<Vec<Sent>, StoreError> {
        Store::undelivered(self, run)
    }

    fn has_ended(&self, run: &RunId) -> Result<bool, StoreError> {
        Store::has_ended(self, run)
    }

    fn version(&self) -> Result<u64, StoreError> {
        self.data_version()
    }
}
