//! Outcomes that were added by hand. No journal records them, so they are kept here, and the roster covers
//! them.

use escrow_model::RunId;
use rusqlite::{Connection, Row};

use crate::commit::Durability;
use crate::error::StoreError;
use crate::outcome::AddedOutcome;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;
use crate::sqlite::recorded_rows::{self, RecordedTable};
use crate::sqlite::tables::{artifacts, from_json, json};

/// What cannot be derived; a step of the schema.
pub(crate) const TABLES: &str = "
CREATE TABLE added_outcomes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    run TEXT,
    added TEXT NOT NULL
) STRICT;
CREATE INDEX added_outcomes_by_run ON added_outcomes (run) WHERE run IS NOT NULL;
";

impl BlockingStore {
    /// Keeps an outcome that no run's journal tells of. Its id must be new.
    pub fn add_outcome(&self, added: &AddedOutcome) -> Result<(), StoreError> {
        self.add_outcomes(std::slice::from_ref(added), Durability::Grouped).map(drop)
    }

    /// Keeps those that are not here yet, and says how many they were.
    pub fn add_outcomes(&self, added: &[AddedOutcome], durability: Durability) -> Result<u64, StoreError> {
        let added = added.to_vec();
        self.write(durability, move |connection| {
            let mut number = 0;
            for one in &added {
                if artifacts::insert_added(one, connection)? {
                    connection
                        .prepare_cached("INSERT INTO added_outcomes (run, added) VALUES (?1, ?2)")?
                        .execute((one.run_id.as_ref().map(RunId::as_str), json(one)?))?;
                    recorded_rows::link_last(RecordedTable::Outcomes, connection)?;
                    number += 1;
                }
            }
            Ok(number)
        })
    }

    /// What was added to a run by hand, oldest first.
    pub fn added_to(&self, run: &RunId) -> Result<Vec<AddedOutcome>, StoreError> {
        self.read(|connection| {
            let mut statement = connection
                .prepare_cached("SELECT added FROM added_outcomes WHERE run = ?1 ORDER BY number")?;
            let rows = statement.query_map([run.as_str()], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

/// All of them, oldest first.
pub(crate) fn all(connection: &Connection) -> Result<Vec<AddedOutcome>, SqliteError> {
    let mut statement = connection.prepare_cached("SELECT added FROM added_outcomes ORDER BY number")?;
    let rows = statement.query_map([], read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

/// Forgets what was added to a run.
pub(crate) fn remove(run: &RunId, connection: &Connection) -> Result<(), SqliteError> {
    Ok(recorded_rows::forget(RecordedTable::Outcomes, run.as_str(), connection)?)
}

fn read(row: &Row<'_>) -> rusqlite::Result<AddedOutcome> {
    from_json(row, 0)
}
