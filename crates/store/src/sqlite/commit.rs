//! Appends to journals: each commit is checked, chained and projected in one transaction.

use escrow_model::{Entry, RunId};
use rusqlite::Connection;

use crate::chain::Hash;
use crate::commit::{Commit, Committed, Created, NewRun};
use crate::error::{StoreError, StoreErrorKind};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::conflicts;
use crate::sqlite::decisions;
use crate::sqlite::entries::{self, Draft, Head};
use crate::sqlite::error::SqliteError;
use crate::sqlite::inbox;
use crate::sqlite::lease;
use crate::sqlite::tables::effects;

impl BlockingStore {
    /// Makes a run, its first entries and its lease in one transaction.
    pub fn create_run(&self, new: NewRun<'_>) -> Result<Created, StoreError> {
        self.write(new.durability, self.creating(new)?)
    }

    pub(super) fn creating(
        &self,
        new: NewRun<'_>,
    ) -> Result<impl FnMut(&Connection) -> Result<Created, SqliteError> + Send + use<>, StoreError> {
        let drafts = self.drafts(new.entries)?;
        let (run, holder, parent) = (new.run.clone(), new.holder.clone(), new.parent.cloned());
        let ttl = self.lease_ttl();
        Ok(move |connection: &Connection| {
            if let Some(parent) = &parent
                && !entries::head(connection, parent.run())?.is_some_and(|head| head.is_held_by(parent))
            {
                return Ok(Created::ParentFenced);
            }
            if entries::head(connection, &run)?.is_none()
                && let Some(conflict) = conflicts::of_start(connection, &run, &drafts)?
            {
                return Ok(Created::Conflict(Box::new(conflict)));
            }
            let Some(mut head) = entries::create(connection, &run)? else {
                return Ok(Created::AlreadyExists);
            };
            entries::append(connection, &run, &mut head, &drafts)?;
            let lease = lease::take(connection, &run, &holder, ttl)?;
            Ok(Created::Done { lease, seq: head.seq })
        })
    }

    /// Writes all of the commit or nothing, and waits for it.
    pub fn commit(&self, commit: Commit<'_>) -> Result<Committed, StoreError> {
        self.write(commit.durability, self.committing(commit)?)
    }

    pub(super) fn committing(
        &self,
        commit: Commit<'_>,
    ) -> Result<impl FnMut(&Connection) -> Result<Committed, SqliteError> + Send + use<>, StoreError> {
        let drafts = self.drafts(commit.entries)?;
        let expired = decisions::expired_by(commit.entries);
        let (lease, delivered, expected) =
            (commit.lease.clone(), commit.delivered.to_vec(), commit.expected_seq);
        Ok(move |connection: &Connection| {
            let Some(mut head) = entries::head(connection, lease.run())? else {
                return Err(entries::no_such_run(lease.run()));
            };
            if !head.is_held_by(&lease) {
                return Ok(Committed::Fenced);
            }
            if head.seq != expected {
                return done_before(connection, lease.run(), &head, expected, &drafts);
            }
            if let Some(taken) = effects::taken(connection, lease.run(), &drafts)? {
                return Ok(Committed::Taken(Box::new(taken)));
            }
            if let Some(conflict) = conflicts::of_reopening(connection, lease.run(), &drafts)? {
                return Ok(Committed::Conflict(Box::new(conflict)));
            }
            if decisions::are_decided(connection, lease.run(), &expired, &delivered)? {
                return Ok(Committed::DecidedInTime);
            }
            entries::append(connection, lease.run(), &mut head, &drafts)?;
            inbox::mark_delivered(connection, &head, &delivered)?;
            Ok(Committed::Done { seq: head.seq })
        })
    }

    /// Serialises on the caller's thread; the writer has enough to do.
    fn drafts(&self, entries: &[Entry]) -> Result<Vec<Draft>, StoreError> {
        let mut room = Vec::new();
        let drafts = entries.iter().map(|entry| Draft::new(entry, &mut room));
        drafts.collect::<Result<_, _>>().map_err(|error| error.at(self.path()))
    }
}

/// A commit whose answer was lost is sent again as it was. Its hashes are then in the journal already.
fn done_before(
    connection: &Connection,
    run: &RunId,
    head: &Head,
    expected: u64,
    drafts: &[Draft],
) -> Result<Committed, SqliteError> {
    let out_of_step = || {
        let kind = StoreErrorKind::OutOfStep { expected, actual: head.seq };
        SqliteError::Known(
            kind,
            format!("the commit follows entry {expected}, but the journal ends at {}", head.seq),
        )
    };
    let seq = expected + drafts.len() as u64;
    if drafts.is_empty() || seq > head.seq {
        return Err(out_of_step());
    }
    let before = if expected == 0 {
        Some(Hash::origin(run))
    } else {
        entries::hash_at(connection, head.id, expected)?
    };
    let Some(before) = before else { return Err(out_of_step()) };
    // The chain makes the last hash speak for all of them.
    let last = drafts
        .iter()
        .zip(expected + 1..)
        .fold(before, |hash: Hash, (draft, seq)| hash.next(seq, &draft.bytes));
    if entries::hash_at(connection, head.id, seq)? == Some(last) {
        Ok(Committed::AlreadyDone { seq })
    } else {
        Err(out_of_step())
    }
}
