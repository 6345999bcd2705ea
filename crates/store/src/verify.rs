//! Finds the first entry of a journal that is not what was written.

use std::fmt;

use escrow_model::RunId;

use crate::chain::Hash;
use crate::entry::{StoredEntry, decode};
use crate::error::{StoreError, StoreErrorKind};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Verification {
    /// Every entry is as it was written. The last hash names the whole journal.
    Intact { entries: u64, hash: Hash },
    /// Entries before `seq` are as they were written; nothing can be said of those after it.
    Broken { seq: u64, reason: Break },
    #[default]
    NoSuchRun,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Break {
    /// The entry, its hash or something before it was changed.
    HashMismatch,
    /// The entry is missing; `found` is the next one that is there.
    Gap {
        found: u64,
    },
    /// Entries up to `recorded` were committed and are missing at the end.
    CutOff {
        recorded: u64,
    },
    /// The journal says that it ends before this entry, or in another one.
    NotRecorded,
    NotJson,
    UnknownVersion {
        found: u32,
    },
}

impl fmt::Display for Break {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Break::HashMismatch => formatter.write_str("the hash does not match"),
            Break::Gap { found } => write!(formatter, "the entry is missing, the next one is {found}"),
            Break::CutOff { recorded } => {
                write!(formatter, "the journal ends before it, though it once had {recorded} entries")
            }
            Break::NotRecorded => formatter.write_str("the journal does not record this as its last entry"),
            Break::NotJson => formatter.write_str("the entry is not what Escrow writes"),
            Break::UnknownVersion { found } => {
                write!(formatter, "the entry has version {found}, which this Escrow does not know")
            }
        }
    }
}

/// Recomputes the chain of a journal that is not in a store, for instance an exported one.
pub fn verify_entries(run: &RunId, entries: &[StoredEntry]) -> Verification {
    let mut hash = Hash::origin(run);
    for (entry, seq) in entries.iter().zip(1..) {
        let broken = |reason| Verification::Broken { seq, reason };
        if entry.seq != seq {
            return broken(Break::Gap { found: entry.seq });
        }
        hash = hash.next(seq, &entry.bytes);
        if entry.hash != hash {
            return broken(Break::HashMismatch);
        }
        if let Err(error) = decode(run.as_str(), seq, &entry.bytes) {
            return broken(reason_of(&error));
        }
    }
    Verification::Intact { entries: entries.len() as u64, hash }
}

/// Why an entry cannot be read back.
pub(crate) fn reason_of(error: &StoreError) -> Break {
    match error.kind {
        StoreErrorKind::NewerVersion { found, .. } => Break::UnknownVersion { found },
        _ => Break::NotJson,
    }
}
