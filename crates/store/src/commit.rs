//! The one way in which a journal grows: checked, chained and projected in one transaction.

use escrow_model::{Entry, RunId};
use rusqlite::Connection;

use crate::chain::Hash;
use crate::fault::{StoreError, StoreErrorKind, Trouble};
use crate::inbox::{self, MessageId};
use crate::journal::{self, Draft, Head};
use crate::lease::{self, Holder, Lease};
use crate::store::Store;

/// What a power cut may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The latest commits, never their order. For what may be repeated.
    Grouped,
    /// Nothing: the answer comes when it is on the disk. For intents, results, messages.
    Full,
}

/// A run's first entries.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    pub run: &'a RunId,
    pub holder: &'a Holder,
    pub entries: &'a [Entry],
    pub durability: Durability,
}

#[derive(Clone, Debug)]
pub enum Created {
    /// The run exists, and the caller holds it.
    Done { lease: Lease, seq: u64 },
    /// Somebody made it before, perhaps the caller, whose answer was lost. `acquire` tells.
    AlreadyExists,
}

/// The next entries of a run.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    pub lease: &'a Lease,
    /// The last sequence number that the caller knows; 0 before the first entry.
    pub expected_seq: u64,
    pub entries: &'a [Entry],
    /// The messages that these entries open.
    pub delivered: &'a [MessageId],
    pub durability: Durability,
}

#[must_use = "a fenced holder must stop"]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// The journal now ends at `seq`.
    Done { seq: u64 },
    /// Someone else holds the run. Nothing was written; the caller must stop.
    Fenced,
    /// The very same commit was written before.
    AlreadyDone { seq: u64 },
}

impl Store {
    /// Makes a run, its first entries and its lease at once.
    pub fn create_run(&self, new: NewRun<'_>) -> Result<Created, StoreError> {
        let drafts = self.drafts(new.entries)?;
        let (run, holder) = (new.run.clone(), new.holder.clone());
        let ttl = self.lease_ttl();
        self.write(new.durability, move |connection| {
            let Some(mut head) = journal::create(connection, &run)? else {
                return Ok(Created::AlreadyExists);
            };
            journal::append(connection, &run, &mut head, &drafts)?;
            let lease = lease::take(connection, &run, &holder, ttl)?;
            Ok(Created::Done { lease, seq: head.seq })
        })
    }

    /// Writes all of the commit or nothing, and waits for it.
    pub fn commit(&self, commit: Commit<'_>) -> Result<Committed, StoreError> {
        let work = self.commit_work(commit)?;
        self.write(commit.durability, work)
    }

    /// Like [`Store::commit`], but answers through `reply`, from the writer's thread: it must be quick.
    pub fn commit_with(
        &self,
        commit: Commit<'_>,
        reply: impl FnOnce(Result<Committed, StoreError>) + Send + 'static,
    ) {
        match self.commit_work(commit) {
            Ok(work) => self.write_with(commit.durability, work, reply),
            Err(error) => reply(Err(error)),
        }
    }

    fn commit_work(
        &self,
        commit: Commit<'_>,
    ) -> Result<impl FnMut(&Connection) -> Result<Committed, Trouble> + Send + use<>, StoreError> {
        let drafts = self.drafts(commit.entries)?;
        let (lease, delivered, expected) =
            (commit.lease.clone(), commit.delivered.to_vec(), commit.expected_seq);
        Ok(move |connection: &Connection| {
            let Some(mut head) = journal::head(connection, lease.run())? else {
                return Err(journal::no_such_run(lease.run()));
            };
            if !head.is_held_by(&lease) {
                return Ok(Committed::Fenced);
            }
            if head.seq != expected {
                return done_before(connection, lease.run(), &head, expected, &drafts);
            }
            journal::append(connection, lease.run(), &mut head, &drafts)?;
            inbox::mark_delivered(connection, &head, &delivered)?;
            Ok(Committed::Done { seq: head.seq })
        })
    }

    /// Serialises on the caller's thread; the writer has enough to do.
    fn drafts(&self, entries: &[Entry]) -> Result<Vec<Draft>, StoreError> {
        let mut room = Vec::new();
        let drafts = entries.iter().map(|entry| Draft::new(entry, &mut room));
        drafts.collect::<Result<_, _>>().map_err(|trouble| trouble.at(self.path()))
    }
}

/// A commit whose answer was lost is sent again as it was. Its hashes are then in the journal already.
fn done_before(
    connection: &Connection,
    run: &RunId,
    head: &Head,
    expected: u64,
    drafts: &[Draft],
) -> Result<Committed, Trouble> {
    let out_of_step = || {
        let kind = StoreErrorKind::OutOfStep { expected, actual: head.seq };
        Trouble::Known(
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
        journal::hash_at(connection, head.id, expected)?
    };
    let Some(before) = before else { return Err(out_of_step()) };
    // The chain makes the last hash speak for all of them.
    let last = drafts
        .iter()
        .zip(expected + 1..)
        .fold(before, |hash: Hash, (draft, seq)| hash.next(seq, &draft.bytes));
    if journal::hash_at(connection, head.id, seq)? == Some(last) {
        Ok(Committed::AlreadyDone { seq })
    } else {
        Err(out_of_step())
    }
}
