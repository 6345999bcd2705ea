//! Exports and imports what people said of an invocation.

use rusqlite::Connection;

use crate::error::StoreError;
use crate::invocation_record::InvocationRecord;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;
use crate::sqlite::tables::from_json;

use super::{Said, say};

impl BlockingStore {
    /// What people said of an invocation, if anything.
    pub(crate) fn invocation_record(&self, id: &str) -> Result<Option<InvocationRecord>, StoreError> {
        self.read(|connection| {
            let said = said_of(id, connection)?;
            Ok((!said.is_empty()).then(|| InvocationRecord { id: id.to_owned(), said }))
        })
    }
}

/// When an imported statement is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hear {
    /// That it began.
    BeforeTheRun,
    /// That it ended, too.
    BehindTheRun,
}

/// Appends the statements that this store does not have yet. When the two histories differ, this store keeps its own.
pub(crate) fn take_in(
    record: &InvocationRecord,
    when: Hear,
    connection: &Connection,
) -> Result<(), SqliteError> {
    let here = said_of(&record.id, connection)?;
    let Some(more) = record.said.strip_prefix(here.as_slice()) else { return Ok(()) };
    for said in more {
        match (said, when) {
            (Said::Ended(_), Hear::BeforeTheRun) => break,
            (Said::Started(_), _) | (Said::Ended(_), Hear::BehindTheRun) => {
                say(&record.id, said, connection)?
            }
        }
    }
    Ok(())
}

fn said_of(id: &str, connection: &Connection) -> Result<Vec<Said>, SqliteError> {
    let mut statement = connection
        .prepare_cached("SELECT said FROM invocations_said WHERE invocation = ?1 ORDER BY number")?;
    let rows = statement.query_map([id], |row| from_json(row, 0))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
