//! The committed entries of all runs, in the order of their commits.

use escrow_model::RunId;

use crate::entry::FeedEntry;
use crate::error::StoreError;
use crate::sqlite::blocking::BlockingStore;

impl BlockingStore {
    /// Up to `limit` entries that follow position `after`; 0 begins at the start.
    ///
    /// SQLite has one writer at a time, so positions follow the order of commits and none appears late. A database with
    /// many writers must ensure the same.
    pub fn feed(&self, after: u64, limit: usize) -> Result<Vec<FeedEntry>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT entries.global, journals.run, entries.seq, entries.bytes
                 FROM entries JOIN journals ON journals.id = entries.journal
                 WHERE entries.global > ?1 ORDER BY entries.global LIMIT ?2",
            )?;
            let rows = statement.query_map((after, limit), |row| {
                Ok(FeedEntry {
                    global_seq: row.get(0)?,
                    run: RunId::from_stored(row.get::<_, String>(1)?),
                    seq: row.get(2)?,
                    bytes: row.get(3)?,
                })
            })?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The position of the last entry, 0 when there is none.
    pub fn feed_end(&self) -> Result<u64, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached("SELECT coalesce(max(global), 0) FROM entries")?;
            Ok(statement.query_row([], |row| row.get(0))?)
        })
    }
}
