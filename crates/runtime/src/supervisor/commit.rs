//! Commits a turn without stopping the hands: pipes are read while the disk syncs.

use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{Entry, Event};
use escrow_store::{Commit, Committed, Durability, Journal, Lease, MessageId, StoreError, StoreErrorKind};
use tokio::sync::oneshot;

use super::DriveError;

pub(super) struct Committer {
    store: Arc<dyn Journal>,
    lease: Lease,
}

impl Committer {
    pub(super) fn new(store: Arc<dyn Journal>, lease: Lease) -> Committer {
        Committer { store, lease }
    }

    pub(super) async fn commit(
        &self,
        run: &Run,
        expected_seq: u64,
        entries: &[Entry],
        delivered: &[MessageId],
    ) -> Result<(), DriveError> {
        let (sender, answer) = oneshot::channel();
        let durability = durability_of(run, entries);
        let commit = Commit { lease: &self.lease, expected_seq, entries, delivered, durability };
        self.store.commit_with(commit, Box::new(move |result| drop(sender.send(result))));
        let committed = answer.await.map_err(|_| {
            DriveError::Store(StoreError::new(StoreErrorKind::Internal, "the writer of the journal is gone"))
        })??;
        match committed {
            Committed::Done { .. } | Committed::AlreadyDone { .. } => Ok(()),
            Committed::Fenced => Err(DriveError::Fenced(self.lease.run().clone())),
        }
    }
}

/// Losing the last read-only checks in a power cut repeats them; losing an intent would repeat an effect.
pub(super) fn durability_of(run: &Run, entries: &[Entry]) -> Durability {
    let needs_sync = entries.iter().any(|entry| match &entry.event {
        Event::AttemptStarted { external, .. } => *external,
        Event::AttemptAnswered { check, .. } => run.is_external(check),
        Event::MessageDelivered { .. } | Event::WaitStarted { .. } | Event::WaitExpired { .. } => true,
        _ => false,
    });
    if needs_sync { Durability::Full } else { Durability::Grouped }
}
