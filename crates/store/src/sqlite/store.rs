//! The store on SQLite as other crates see it: open a database file, then speak to it through the async traits.
//!
//! ```text
//!   Journal, Queries, Records, Fires ──▶ Store ──▶ BlockingStore ──▶ writer, readers
//! ```
//!
//! Commits go to the writer, which does them at once when it can. Lookups run at the first poll. Scans, and writes that
//! people ask for now and then, run on tokio's threads for blocking work.
//!
//! **Invariant:** no future here blocks the thread that polls it for longer than an indexed lookup.

mod fires;
mod journal;
mod queries;
mod records;

use std::path::Path;

use escrow_model::{Entry, RunId};

use crate::error::{StoreError, StoreErrorKind};
use crate::sqlite::blocking::{BlockingStore, Mode, Options};
use crate::sqlite::entries;

/// A journal of at most this many entries is read at the first poll; a longer one on a thread for blocking work.
const ENTRIES_AT_ONCE_MAX: u64 = 256;

/// Journals, tables, inbox and feed in one database file. Clones share its connections.
#[derive(Clone)]
pub struct Store(BlockingStore);

impl Store {
    pub fn open(path: &Path, mode: Mode) -> Result<Store, StoreError> {
        Ok(Store(BlockingStore::open(path, mode)?))
    }

    pub fn open_with(path: &Path, mode: Mode, options: Options) -> Result<Store, StoreError> {
        Ok(Store(BlockingStore::open_with(path, mode, options)?))
    }

    /// The same database, for tests, benchmarks and the simulator: its methods block the calling thread.
    pub fn blocking(&self) -> &BlockingStore {
        &self.0
    }

    /// Runs a scan, or a write that is not a commit, on a thread for blocking work.
    async fn on_a_thread<T, E>(
        &self,
        work: impl FnOnce(&BlockingStore) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let store = self.0.clone();
        let gone = |_| StoreError::new(StoreErrorKind::Internal, "a thread of the store is gone");
        tokio::task::spawn_blocking(move || work(&store)).await.map_err(gone)?
    }

    async fn entries_from(&self, run: &RunId, from_seq: u64) -> Result<Vec<(u64, Entry)>, StoreError> {
        let end = self.0.read(|connection| Ok(entries::head(connection, run)?.map_or(0, |head| head.seq)))?;
        if end.saturating_sub(from_seq) <= ENTRIES_AT_ONCE_MAX {
            return self.0.entries(run, from_seq);
        }
        let run = run.clone();
        self.on_a_thread(move |store| store.entries(&run, from_seq)).await
    }
}
