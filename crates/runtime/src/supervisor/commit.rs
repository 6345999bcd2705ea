//! Commits the entries of a turn, as durably as their risk demands.

use std::collections::BTreeSet;
use std::sync::Arc;

use escrow_engine::{Disclosure, Run};
use escrow_model::{Entry, Event};
use escrow_store::{Commit, Committed, Durability, Journal, Lease, MessageId, TakenEffect};

use super::DriveError;

/// What became of a turn.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum TurnCommit {
    Done,
    /// A wait would expire that was decided in time. The turn must be made again, with that message first.
    DecidedInTime,
    /// Another run has the key of an effect that the turn intends. The turn must be made again, knowing that.
    Taken(Box<TakenEffect>),
    /// Templates have rendered a secret in these places. The turn must be made again without them.
    Discloses(BTreeSet<Disclosure>),
}

pub(super) struct Committer {
    journal: Arc<dyn Journal>,
    lease: Lease,
}

impl Committer {
    pub(super) fn new(journal: Arc<dyn Journal>, lease: Lease) -> Committer {
        Committer { journal, lease }
    }

    /// Other tasks run while the disk syncs: pipes are read meanwhile.
    pub(super) async fn commit(
        &self,
        run: &Run,
        expected_seq: u64,
        entries: &[Entry],
        delivered: &[MessageId],
    ) -> Result<TurnCommit, DriveError> {
        let durability = durability_of(run, entries);
        let commit = Commit { lease: &self.lease, expected_seq, entries, delivered, durability };
        match self.journal.commit(commit).await? {
            Committed::Done { .. } | Committed::AlreadyDone { .. } => Ok(TurnCommit::Done),
            Committed::DecidedInTime => Ok(TurnCommit::DecidedInTime),
            Committed::Taken(taken) => Ok(TurnCommit::Taken(taken)),
            Committed::Conflict(conflict) => Err(DriveError::Conflict(conflict)),
            Committed::Fenced => Err(DriveError::Fenced(self.lease.run().clone())),
        }
    }
}

/// Losing the last read-only checks in a power cut repeats them; losing an intent would repeat an effect.
pub(super) fn durability_of(run: &Run, entries: &[Entry]) -> Durability {
    let needs_sync = entries.iter().any(|entry| match &entry.event {
        Event::AttemptStarted { external, .. } => *external,
        Event::AttemptAnswered { check, .. } => run.is_external(check),
        Event::Reconciled { .. } | Event::EffectReused { .. } => true,
        Event::MessageDelivered { .. } | Event::WaitStarted { .. } | Event::WaitExpired { .. } => true,
        _ => false,
    });
    if needs_sync { Durability::Full } else { Durability::Grouped }
}
