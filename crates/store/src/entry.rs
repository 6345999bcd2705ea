//! Entries as they are stored: the bytes that were hashed, and their position.

use escrow_model::{Entry, JOURNAL_VERSION, RunId};
use serde::Deserialize;

use crate::chain::Hash;
use crate::error::{StoreError, StoreErrorKind};

/// An entry as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredEntry {
    pub seq: u64,
    pub bytes: Vec<u8>,
    pub hash: Hash,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FeedEntry {
    /// The position among all entries. Positions only grow; some may be missing.
    pub global_seq: u64,
    pub run: RunId,
    pub seq: u64,
    /// The entry as it was hashed: JSON, with its version and time.
    pub bytes: Vec<u8>,
}

impl FeedEntry {
    pub fn decode(&self) -> Result<Entry, StoreError> {
        decode(self.run.as_str(), self.seq, &self.bytes)
    }
}

/// Reads an entry back, whatever version of Escrow wrote it, as long as this one knows that version.
pub(crate) fn decode(run: &str, seq: u64, bytes: &[u8]) -> Result<Entry, StoreError> {
    #[derive(Deserialize)]
    struct Versioned {
        v: u32,
    }
    serde_json::from_slice::<Entry>(bytes).ok().filter(|entry| entry.v == JOURNAL_VERSION).ok_or_else(|| {
        match serde_json::from_slice::<Versioned>(bytes) {
            Ok(Versioned { v }) if v != JOURNAL_VERSION => StoreError::new(
                StoreErrorKind::NewerVersion { found: v, known: JOURNAL_VERSION },
                format!("entry {seq} of `{run}` has version {v}, this Escrow knows {JOURNAL_VERSION}"),
            ),
            Ok(_) | Err(_) => StoreError::new(
                StoreErrorKind::Corrupt,
                format!("entry {seq} of `{run}` is not what Escrow writes"),
            ),
        }
    })
}
