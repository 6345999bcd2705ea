//! Notices that some process has committed, for a microsecond or two per look.
//!
//! SQLite has no notifications. Its `data_version` changes when any other connection commits, and reading it
//! touches shared memory only, so looking every few milliseconds costs less than any file watcher.

use crate::fault::StoreError;
use crate::journal_trait::Journal;
use crate::store::Store;

/// Remembers what was seen; each reader has its own.
#[derive(Debug, Default)]
pub struct Watch {
    seen: Option<u64>,
}

impl Watch {
    /// The first look always finds a change.
    pub fn new() -> Watch {
        Watch::default()
    }

    /// Whether anything was committed since the last look: an entry, a message or a lease, of any run.
    pub fn changed(&mut self, store: &dyn Journal) -> Result<bool, StoreError> {
        let version = store.version()?;
        Ok(self.seen.replace(version) != Some(version))
    }
}

impl Store {
    /// Only comparable with other values of the same `Store`; 0 while there is no database.
    pub(crate) fn data_version(&self) -> Result<u64, StoreError> {
        self.read(|connection| {
            Ok(connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?)
        })
    }
}
