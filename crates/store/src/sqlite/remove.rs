//! Removes runs for good.

use escrow_model::RunId;
use rusqlite::Connection;

use crate::commit::Durability;
use crate::error::StoreError;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::{attention, invocations, outcomes, roster, tables};

impl BlockingStore {
    /// Removes these runs: their journals, their messages, the outcomes that were added to them and all that was derived
    /// from them. The roster keeps how they ended. Says how many there were. A process that still holds one of them fails at its next commit.
    ///
    /// The tables are rebuilt, because a row may speak for several runs. That takes some microseconds for each
    /// entry that stays, so many runs should be removed at once.
    pub fn remove(&self, runs: &[RunId]) -> Result<u64, StoreError> {
        let runs = runs.to_vec();
        self.write(Durability::Full, move |connection| {
            let end: Option<i64> =
                connection.query_row("SELECT max(global) FROM entries", [], |row| row.get(0))?;
            let mut removed = 0;
            let asked_for = invocations::of_runs(&runs, connection)?;
            for run in &runs {
                roster::record_removed(connection, run)?;
                for table in ["entries", "inbox"] {
                    let sql = format!(
                        "DELETE FROM {table} WHERE journal = (SELECT id FROM journals WHERE run = ?1)"
                    );
                    connection.prepare_cached(&sql)?.execute([run.as_str()])?;
                }
                outcomes::remove(run, connection)?;
                let gone = connection
                    .prepare_cached("DELETE FROM journals WHERE run = ?1")?
                    .execute([run.as_str()])?;
                removed += gone as u64;
            }
            if removed > 0 {
                keep_place(connection, end)?;
                invocations::forget_empty(&asked_for, connection)?;
                tables::rebuild(connection)?;
                attention::forget_gone(connection)?;
            }
            Ok(removed)
        })
    }
}

impl BlockingStore {
    /// The runs that were removed, and not imported again since.
    pub fn removed_runs(&self) -> Result<Vec<RunId>, StoreError> {
        self.read(|connection| Ok(roster::removed(connection)?))
    }
}

/// Positions of the feed only grow, even when the last entries are removed: an empty entry of no journal keeps the
/// highest one.
fn keep_place(connection: &Connection, end: Option<i64>) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM entries WHERE journal = 0", [])?;
    connection.execute(
        "INSERT INTO entries (global, journal, seq, bytes, hash) SELECT ?1, 0, 1, x'', x''
         WHERE ?1 > (SELECT coalesce(max(global), 0) FROM entries)",
        [end],
    )?;
    Ok(())
}
