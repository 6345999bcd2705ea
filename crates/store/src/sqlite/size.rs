//! The size of journals, and compaction.

use std::collections::BTreeMap;

use escrow_model::RunId;

use crate::error::StoreError;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::connect;

impl BlockingStore {
    /// The bytes of every run's entries.
    pub(crate) fn sizes(&self) -> Result<BTreeMap<RunId, u64>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "SELECT journals.run, coalesce(sum(length(entries.bytes)), 0)
                 FROM journals LEFT JOIN entries ON entries.journal = journals.id GROUP BY journals.id",
            )?;
            let rows = statement
                .query_map([], |row| Ok((RunId::from_stored(row.get::<_, String>(0)?), row.get(1)?)))?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Gives the space of removed runs back to the disk. It rewrites the file, so no other process may be writing.
    pub(crate) fn compact(&self) -> Result<(), StoreError> {
        self.verify_file()?;
        let compacted = connect::for_writing(self.path(), self.busy_timeout()).and_then(|(connection, _)| {
            connection.execute_batch("VACUUM")?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
            Ok(())
        });
        compacted.map_err(|error| error.at(self.path()))
    }
}
