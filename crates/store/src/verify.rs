//! Finds the first entry of a journal that is not what was written.

use std::fmt;

use escrow_model::RunId;

use crate::chain::Hash;
use crate::fault::{StoreError, StoreErrorKind, Trouble};
use crate::journal::{self, StoredEntry};
use crate::store::Store;

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
    /// The journal once went on to `recorded`.
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
        if let Err(trouble) = journal::decode(run.as_str(), seq, &entry.bytes) {
            return broken(reason_of(&trouble));
        }
    }
    Verification::Intact { entries: entries.len() as u64, hash }
}

/// Why an entry cannot be read back.
fn reason_of(trouble: &Trouble) -> Break {
    match trouble.kind() {
        StoreErrorKind::NewerVersion { found, .. } => Break::UnknownVersion { found },
        _ => Break::NotJson,
    }
}

impl Store {
    /// Recomputes the chain of a run from its first entry.
    pub fn verify(&self, run: &RunId) -> Result<Verification, StoreError> {
        self.read(|connection| {
            // One snapshot, so that a commit in between does not look like a break.
            let snapshot = connection.unchecked_transaction()?;
            let Some(head) = journal::head(&snapshot, run)? else { return Ok(Verification::NoSuchRun) };
            let mut statement = snapshot
                .prepare_cached("SELECT seq, bytes, hash FROM entries WHERE journal = ?1 ORDER BY seq")?;
            let mut rows = statement.query([head.id])?;
            let (mut seq, mut hash) = (0, Hash::origin(run));
            while let Some(row) = rows.next()? {
                let expected = seq + 1;
                let broken = |reason| Ok(Verification::Broken { seq: expected, reason });
                seq = row.get(0)?;
                if seq != expected {
                    return broken(Break::Gap { found: seq });
                }
                let Ok(bytes) = row.get_ref(1)?.as_blob() else { return broken(Break::NotJson) };
                hash = hash.next(seq, bytes);
                if row.get::<_, Hash>(2).ok() != Some(hash) {
                    return broken(Break::HashMismatch);
                }
                if let Err(trouble) = journal::decode(run.as_str(), seq, bytes) {
                    return broken(reason_of(&trouble));
                }
            }
            if seq < head.seq {
                return Ok(Verification::Broken {
                    seq: seq + 1,
                    reason: Break::CutOff { recorded: head.seq },
                });
            }
            if seq > head.seq || hash != head.hash {
                return Ok(Verification::Broken { seq, reason: Break::NotRecorded });
            }
            Ok(Verification::Intact { entries: seq, hash })
        })
    }
}
