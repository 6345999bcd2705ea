//! Entries as they are stored: the bytes that were hashed, and their position.

use escrow_model::{Entry, RunId};

use crate::chain::Hash;
use crate::error::{StoreError, StoreErrorKind};
use crate::persisted::{self, FORMAT, RecordError};

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

/// Reads an entry back, whatever format it has, as long as this Escrow knows that format.
pub(crate) fn decode(run: &str, seq: u64, bytes: &[u8]) -> Result<Entry, StoreError> {
    persisted::decode(bytes).map_err(|error| match error {
        RecordError::Format { found } => StoreError::new(
            StoreErrorKind::NewerVersion { found: u32::try_from(found).unwrap_or(u32::MAX), known: FORMAT },
            format!("entry {seq} of `{run}`: {error}"),
        ),
        RecordError::Text(_) | RecordError::Json(_) | RecordError::Restore(_) => StoreError::new(
            StoreErrorKind::Corrupt,
            format!("entry {seq} of `{run}` cannot be read: {error}"),
        ),
    })
}
