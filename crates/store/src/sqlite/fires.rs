//! Fires of chains: recorded, then decided, each in one transaction.
//!
//! ```text
//!   source ──record──▶ fires (recorded) ──decide──▶ accepted ──▶ begun
//!                          (chain, key)         └─▶ skipped, missed, failed: with a reason
//! ```
//!
//! **Invariant:** a chain and a key have one fire, whatever many processes record at once, and two accepted fires of a
//! chain never overlap.

pub(super) mod armed;
pub(super) mod decide;
mod ended;
pub(super) mod record;

use escrow_model::{ChainId, RunId};
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::error::StoreError;
use crate::fire::{FireFilter, FireRow};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::tables::{from_json, optional_word, word};

/// What cannot be derived; a step of the schema.
pub(crate) const TABLES: &str = "
CREATE TABLE fires (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    chain_id TEXT NOT NULL,
    chain TEXT NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    payload TEXT NOT NULL,
    depth INTEGER NOT NULL,
    status TEXT NOT NULL,
    reason_code TEXT,
    reason TEXT,
    run TEXT NOT NULL,
    decided_at INTEGER,
    UNIQUE (chain_id, key)
) STRICT;
CREATE INDEX fires_undecided ON fires (id) WHERE status IN ('recorded', 'accepted');
CREATE INDEX fires_by_chain ON fires (chain_id, id);
CREATE INDEX fires_by_run ON fires (run);

CREATE TABLE occurrences (
    chain_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    key TEXT NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    payload TEXT NOT NULL,
    depth INTEGER NOT NULL,
    used INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (chain_id, position, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX occurrences_unused ON occurrences (chain_id, position, at) WHERE used = 0;

CREATE TABLE armed_chains (
    chain_id TEXT PRIMARY KEY,
    updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE armed_triggers (
    chain_id TEXT NOT NULL,
    position INTEGER NOT NULL,
    chain TEXT NOT NULL,
    sources INTEGER NOT NULL,
    rule TEXT NOT NULL,
    source TEXT NOT NULL,
    event TEXT,
    anchor INTEGER NOT NULL,
    after INTEGER NOT NULL,
    next_at INTEGER,
    computed_at INTEGER NOT NULL,
    PRIMARY KEY (chain_id, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX armed_triggers_due ON armed_triggers (next_at) WHERE event IS NULL;
CREATE INDEX armed_triggers_computed ON armed_triggers (computed_at) WHERE event IS NULL;
CREATE INDEX armed_triggers_by_event ON armed_triggers (event) WHERE event IS NOT NULL;

CREATE TABLE cursors (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE deliveries (
    hook TEXT NOT NULL,
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    subject TEXT,
    at INTEGER NOT NULL,
    PRIMARY KEY (hook, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX deliveries_by_digest ON deliveries (hook, digest);
CREATE INDEX deliveries_by_subject ON deliveries (subject) WHERE subject IS NOT NULL;
CREATE INDEX deliveries_by_age ON deliveries (at);
";

/// A step of the schema: time alone does not tell what came before a definition, because clocks are set back.
pub(crate) const FEED: &str = "ALTER TABLE armed_triggers ADD COLUMN feed INTEGER NOT NULL DEFAULT 0;";

/// A step of the schema: fires whose run could not begin are few among many.
pub(crate) const FAILED: &str = "CREATE INDEX fires_failed ON fires (id) WHERE status = 'failed';";

const COLUMNS: &str =
    "id, chain_id, chain, key, at, event, payload, depth, status, reason_code, reason, run, decided_at";

fn read(row: &Row<'_>) -> rusqlite::Result<FireRow> {
    Ok(FireRow {
        id: row.get(0)?,
        chain_id: ChainId::from_stored(row.get::<_, String>(1)?),
        chain: row.get(2)?,
        key: row.get(3)?,
        at: row.get(4)?,
        event: row.get(5)?,
        payload: from_json(row, 6)?,
        depth: row.get(7)?,
        status: word(row, 8)?,
        code: optional_word(row, 9)?,
        reason: row.get(10)?,
        run: RunId::from_stored(row.get::<_, String>(11)?),
        decided_at: row.get(12)?,
    })
}

fn one(id: u64, connection: &Connection) -> rusqlite::Result<FireRow> {
    connection.prepare_cached(&format!("SELECT {COLUMNS} FROM fires WHERE id = ?1"))?.query_row([id], read)
}

impl BlockingStore {
    /// The fires that pass the filter, newest first.
    pub fn fires(&self, filter: &FireFilter) -> Result<Vec<FireRow>, StoreError> {
        let mut values = Vec::new();
        let mut conditions = vec!["1"];
        if let Some(chain) = &filter.chain {
            values.push(SqlValue::Text(ChainId::of(chain).as_str().to_owned()));
            conditions.push("chain_id = ?");
        }
        if filter.without_run {
            conditions.push("status <> 'begun'");
        }
        let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1));
        let condition = conditions.join(" AND ");
        let sql = format!("SELECT {COLUMNS} FROM fires WHERE {condition} ORDER BY id DESC LIMIT {limit}");
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(values), read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The fire of a run of a chain.
    pub fn fire_of_run(&self, run: &RunId) -> Result<Option<FireRow>, StoreError> {
        self.read(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM fires WHERE run = ?1");
            Ok(connection.prepare_cached(&sql)?.query_row([run.as_str()], read).optional()?)
        })
    }

    /// Fires without a final status, oldest first.
    pub fn undecided_fires(&self) -> Result<Vec<FireRow>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM fires WHERE status IN ('recorded', 'accepted') ORDER BY id"
            ))?;
            let rows = statement.query_map([], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// How far a source was read.
    pub fn cursor(&self, name: &str) -> Result<Option<String>, StoreError> {
        self.read(|connection| Ok(record::cursor(name, connection)?))
    }
}
