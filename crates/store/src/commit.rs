//! Commits and their results.

use escrow_model::{Entry, RunId};

use crate::conflict::RunConflict;
use crate::effect::TakenEffect;
use crate::lease::{Holder, Lease};
use crate::message::MessageId;

/// What a power cut may undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Durability {
    /// The latest commits, in reverse order. For work that may be repeated.
    Grouped,
    /// Nothing: the answer comes when the commit is on the disk. For external intents and results, and for messages.
    Full,
}

/// A run's first entries.
#[derive(Clone, Copy, Debug)]
pub struct NewRun<'a> {
    pub run: &'a RunId,
    pub holder: &'a Holder,
    pub entries: &'a [Entry],
    pub durability: Durability,
    /// The lease of the run that nests it.
    pub parent: Option<&'a Lease>,
}

#[derive(Clone, Debug)]
pub enum Created {
    /// The run exists, and the caller holds it.
    Done { lease: Lease, seq: u64 },
    /// The run exists already, perhaps because the answer to an earlier attempt was lost. `acquire` tells.
    AlreadyExists,
    /// Another process has taken the run that nests it, and may have ended it. Nothing was created.
    ParentFenced,
    /// Another run has the concurrency group or the artifact directory. Nothing was created.
    Conflict(Box<RunConflict>),
}

/// The next entries of a run.
#[derive(Clone, Copy, Debug)]
pub struct Commit<'a> {
    pub lease: &'a Lease,
    /// The last sequence number that the caller knows; 0 before the first entry.
    pub expected_seq: u64,
    pub entries: &'a [Entry],
    /// The messages that these entries deliver.
    pub delivered: &'a [MessageId],
    pub durability: Durability,
}

#[must_use = "a fenced holder must stop"]
#[derive(Clone, Debug, PartialEq)]
pub enum Committed {
    /// The journal now ends at `seq`.
    Done { seq: u64 },
    /// Another process holds the run. Nothing was written; the caller must stop.
    Fenced,
    /// Another run has the key of an effect that these entries intend. Nothing was written.
    Taken(Box<TakenEffect>),
    /// Another run has the concurrency group, or the artifact directory, of a run that these entries open again. Nothing
    /// was written.
    Conflict(Box<RunConflict>),
    /// A wait would expire that was decided in time. Nothing was written; the caller must deliver that message first.
    DecidedInTime,
    /// The very same commit was written before.
    AlreadyDone { seq: u64 },
}
