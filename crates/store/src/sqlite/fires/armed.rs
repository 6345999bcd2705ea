//! Armed triggers: the sources of active chains, with an index on the time and on the event that each waits for.

use escrow_model::{ChainStatus, Millis, TriggerSource};
use rusqlite::{Connection, Row};

use crate::chain_definition::ChainRow;
use crate::error::StoreError;
use crate::fire::{ArmChain, ArmedTrigger};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::chains;
use crate::sqlite::error::SqliteError;
use crate::sqlite::tables::{from_json, json};

const COLUMNS: &str = "chain_id, chain, position, sources, rule, source, anchor, after, feed";

impl BlockingStore {
    /// Chains whose triggers are not armed as their definition and status have them.
    pub fn unarmed_chains(&self) -> Result<Vec<ChainRow>, StoreError> {
        self.read(|connection| {
            let sql = format!(
                "SELECT {} FROM chains LEFT JOIN armed_chains ON armed_chains.chain_id = chains.id
                 WHERE armed_chains.updated_at IS NOT chains.updated_at",
                chains::columns_of("chains")
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([], chains::read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Schedules that are due, or whose next time was computed by a clock that was ahead.
    pub fn due_schedules(&self, now: Millis) -> Result<Vec<ArmedTrigger>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM armed_triggers
                 WHERE event IS NULL AND (next_at <= ?1 OR computed_at > ?1) ORDER BY next_at, chain_id, position"
            ))?;
            let rows = statement.query_map([now], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// When the next schedule is due.
    pub fn next_due(&self) -> Result<Option<Millis>, StoreError> {
        self.read(|connection| {
            let sql = "SELECT min(next_at) FROM armed_triggers WHERE event IS NULL";
            Ok(connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?)
        })
    }

    /// Triggers that wait for this event.
    pub fn listeners(&self, event: &str) -> Result<Vec<ArmedTrigger>, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&format!(
                "SELECT {COLUMNS} FROM armed_triggers WHERE event = ?1 ORDER BY chain_id, position"
            ))?;
            let rows = statement.query_map([event], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}

fn read(row: &Row<'_>) -> rusqlite::Result<ArmedTrigger> {
    Ok(ArmedTrigger {
        chain_id: escrow_model::ChainId::from_stored(row.get::<_, String>(0)?),
        chain: row.get(1)?,
        position: row.get(2)?,
        sources: row.get(3)?,
        rule: from_json(row, 4)?,
        source: from_json(row, 5)?,
        anchor: row.get(6)?,
        after: row.get(7)?,
        feed: row.get(8)?,
    })
}

/// Arms the triggers of a chain, unless its definition has changed meanwhile.
pub(crate) fn arming(chain: ArmChain) -> impl FnMut(&Connection) -> Result<(), SqliteError> + Send {
    move |connection| {
        let row = &chain.row;
        let id = row.id.as_str();
        let current: Option<Millis> = connection
            .prepare_cached("SELECT (SELECT updated_at FROM chains WHERE id = ?1)")?
            .query_row([id], |row| row.get(0))?;
        if current != Some(row.updated_at) {
            return Ok(());
        }
        let before: Vec<ArmedTrigger> = connection
            .prepare_cached(&format!("SELECT {COLUMNS} FROM armed_triggers WHERE chain_id = ?1"))?
            .query_map([id], read)?
            .collect::<rusqlite::Result<_>>()?;
        connection.prepare_cached("DELETE FROM armed_triggers WHERE chain_id = ?1")?.execute([id])?;
        if before.iter().map(|one| &one.source).ne(chain.sources.iter().map(|one| &one.source)) {
            // Occurrences are counted by the position of their source.
            connection
                .prepare_cached("DELETE FROM occurrences WHERE chain_id = ?1 AND used = 0")?
                .execute([id])?;
        }
        if row.status != ChainStatus::Active {
            // What changes meanwhile does not count. The next look after it is active again begins anew.
            connection
                .prepare_cached("DELETE FROM cursors WHERE name >= ?1 AND name < ?2")?
                .execute((format!("files:{id}:"), format!("files:{id};")))?;
        }
        let sources = match row.status {
            ChainStatus::Active => chain.sources.as_slice(),
            ChainStatus::Paused | ChainStatus::Disabled => &[],
        };
        let end: u64 = connection
            .prepare_cached("SELECT coalesce(max(global), 0) FROM entries")?
            .query_row([], |row| row.get(0))?;
        for (position, armed) in sources.iter().enumerate() {
            let same = before.iter().find(|one| one.source == armed.source);
            let now = (row.updated_at, row.updated_at, end);
            let (anchor, after, feed) = same.map_or(now, |one| (one.anchor, one.after, one.feed));
            let is_schedule = matches!(armed.source, TriggerSource::Schedule(_));
            connection
                .prepare_cached(
                    "INSERT INTO armed_triggers (chain_id, position, chain, sources, rule, source, event, anchor, after,
                                                 feed, next_at, computed_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
                )?
                .execute((
                    id,
                    position as u64,
                    &row.name,
                    sources.len() as u64,
                    json(&chain.rule)?,
                    json(&armed.source)?,
                    &armed.event,
                    anchor,
                    after,
                    feed,
                    // A look computes the time.
                    is_schedule.then_some(0),
                    chain.at,
                ))?;
        }
        connection
            .prepare_cached(
                "INSERT INTO armed_chains (chain_id, updated_at) VALUES (?1, ?2)
                 ON CONFLICT (chain_id) DO UPDATE SET updated_at = excluded.updated_at",
            )?
            .execute((id, row.updated_at))?;
        Ok(())
    }
}
