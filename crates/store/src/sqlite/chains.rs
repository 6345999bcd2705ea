//! Defined chains. No journal records them, so they are kept here.

use escrow_model::{ChainId, ChainStatus, Millis};
use rusqlite::{Connection, OptionalExtension, Row};

use crate::chain_definition::{ChainDefined, ChainRow, DefineChain};
use crate::commit::Durability;
use crate::error::StoreError;
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::tables::{from_json, json, word};

/// What cannot be derived; a step of the schema.
pub(crate) const TABLES: &str = "
CREATE TABLE chains (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    definition TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'paused', 'disabled')),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    text TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    version INTEGER NOT NULL,
    file TEXT NOT NULL,
    directory TEXT NOT NULL,
    defined_by TEXT
) STRICT;
";

/// A step of the schema: a chain that is enabled again is as it was before it was disabled.
pub(crate) const PAUSED: &str = "ALTER TABLE chains ADD COLUMN paused INTEGER NOT NULL DEFAULT 0;";

const COLUMNS: &str = "id, name, definition, status, created_at, updated_at, text, sha256, version, file, directory, \
    defined_by";

impl BlockingStore {
    /// Activates a definition. A chain that was paused or disabled stays so.
    pub fn define_chain(&self, wanted: &DefineChain) -> Result<ChainDefined, StoreError> {
        let wanted = wanted.clone();
        self.write(Durability::Full, move |connection| {
            let DefineChain { name, definition, text, sha256, file, directory, by, at } = &wanted;
            let id = ChainId::of(name);
            let before = find(name, connection)?;
            if let Some(row) = &before
                && (&row.sha256, &row.file, &row.directory) == (sha256, file, directory)
            {
                return Ok(ChainDefined::Unchanged(row.clone()));
            }
            connection
                .prepare_cached(
                    "INSERT INTO chains (id, name, definition, created_at, updated_at, text, sha256, version, file,
                                         directory, defined_by)
                     VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, 1, ?7, ?8, ?9)
                     ON CONFLICT (id) DO UPDATE SET definition = excluded.definition,
                        updated_at = excluded.updated_at, text = excluded.text, sha256 = excluded.sha256,
                        version = version + (sha256 <> excluded.sha256), file = excluded.file,
                        directory = excluded.directory, defined_by = excluded.defined_by",
                )?
                .execute((id.as_str(), name, json(definition)?, at, text, sha256, file, directory, by))?;
            let row = connection.query_row(&format!("SELECT {COLUMNS} FROM chains WHERE id = ?1"), [id.as_str()], read)?;
            Ok(if before.is_some() { ChainDefined::Changed(row) } else { ChainDefined::New(row) })
        })
    }

    /// Sets the status of a chain. `None` when there is no such chain.
    pub fn set_chain_status(
        &self,
        name: &str,
        status: ChainStatus,
        at: Millis,
    ) -> Result<Option<ChainRow>, StoreError> {
        let name = name.to_owned();
        self.write(Durability::Full, move |connection| {
            connection
                .prepare_cached(
                    "UPDATE chains SET paused = (?2 = 'disabled' AND status = 'paused'), status = ?2, updated_at = ?3
                     WHERE name = ?1 AND status <> ?2",
                )?
                .execute((&name, status.as_str(), at))?;
            Ok(find(&name, connection)?)
        })
    }

    /// Undoes that a chain was disabled, and nothing else. `None` when there is no such chain.
    pub fn enable_chain(&self, name: &str, at: Millis) -> Result<Option<ChainRow>, StoreError> {
        let name = name.to_owned();
        self.write(Durability::Full, move |connection| {
            connection
                .prepare_cached(
                    "UPDATE chains SET status = iif(paused, 'paused', 'active'), paused = 0, updated_at = ?2
                     WHERE name = ?1 AND status = 'disabled'",
                )?
                .execute((&name, at))?;
            Ok(find(&name, connection)?)
        })
    }

    /// Every defined chain, by name.
    pub fn chains(&self) -> Result<Vec<ChainRow>, StoreError> {
        self.read(|connection| {
            let mut statement =
                connection.prepare_cached(&format!("SELECT {COLUMNS} FROM chains ORDER BY name"))?;
            let rows = statement.query_map([], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The chain with this name.
    pub fn chain(&self, name: &str) -> Result<Option<ChainRow>, StoreError> {
        self.read(|connection| Ok(find(name, connection)?))
    }
}

fn find(name: &str, connection: &Connection) -> rusqlite::Result<Option<ChainRow>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM chains WHERE name = ?1"))?
        .query_row([name], read)
        .optional()
}

/// The columns that [`read`] expects, of a table in a join.
pub(crate) fn columns_of(table: &str) -> String {
    COLUMNS.split(", ").map(|column| format!("{table}.{column}")).collect::<Vec<_>>().join(", ")
}

pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<ChainRow> {
    Ok(ChainRow {
        id: ChainId::from_stored(row.get::<_, String>(0)?),
        name: row.get(1)?,
        definition: from_json(row, 2)?,
        status: word(row, 3)?,
        created_at: row.get(4)?,
        updated_at: row.get(5)?,
        text: row.get(6)?,
        sha256: row.get(7)?,
        version: row.get(8)?,
        file: row.get(9)?,
        directory: row.get(10)?,
        defined_by: row.get(11)?,
    })
}
