//! Invocations as they are asked for.

use escrow_model::RunId;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};

use crate::error::StoreError;
use crate::invocation::{InvocationFilter, InvocationReason, InvocationRow};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::tables::{from_json, optional_word, word};

const COLUMNS: &str = "id, name, skill, prompt, started_by, started_at, ended_at, ended_by_hand, status, health, \
    reason_code, reason_summary, reason_evidence, decisive_run, \
    running, waiting, completed, failed, timed_out, aborted, cancelled, chain_run_id, step_index";

fn read(row: &Row<'_>) -> rusqlite::Result<InvocationRow> {
    let mut counts = [0; 7];
    for (place, count) in counts.iter_mut().enumerate() {
        *count = row.get(14 + place)?;
    }
    Ok(InvocationRow {
        id: row.get(0)?,
        name: row.get(1)?,
        skill: row.get(2)?,
        prompt: row.get(3)?,
        started_by: row.get(4)?,
        started_at: row.get(5)?,
        ended_at: row.get(6)?,
        ended_by_hand: row.get(7)?,
        status: word(row, 8)?,
        health: optional_word(row, 9)?,
        reason: match row.get::<_, Option<String>>(10)? {
            Some(code) => {
                Some(InvocationReason { code, summary: row.get(11)?, evidence: from_json(row, 12)? })
            }
            None => None,
        },
        decisive_run: row.get::<_, Option<String>>(13)?.map(RunId::from_stored),
        counts,
        chain_run_id: row.get::<_, Option<String>>(21)?.map(RunId::from_stored),
        step_index: row.get(22)?,
    })
}

pub(crate) fn find(id: &str, connection: &Connection) -> rusqlite::Result<Option<InvocationRow>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM invocations WHERE id = ?1"))?
        .query_row([id], read)
        .optional()
}

impl BlockingStore {
    pub fn invocation(&self, id: &str) -> Result<Option<InvocationRow>, StoreError> {
        self.read(|connection| Ok(find(id, connection)?))
    }

    /// The invocation with this id, or those whose id begins so, with or without `i_`; at most a few. `last` is the
    /// newest.
    pub fn invocations_named(&self, name: &str) -> Result<Vec<InvocationRow>, StoreError> {
        if name == "last" {
            return self.invocations(&InvocationFilter { limit: Some(1), ..InvocationFilter::default() });
        }
        self.read(|connection| {
            // Ids that came from elsewhere need not begin with `i_`.
            if let Some(exact) = find(name, connection)? {
                return Ok(vec![exact]);
            }
            let start = if name.starts_with("i_") { name.to_owned() } else { format!("i_{name}") };
            let end = format!("{start}\u{7f}");
            let sql = format!(
                "SELECT {COLUMNS} FROM invocations WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 8"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([&start, &end], read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// Invocations, newest first.
    pub fn invocations(&self, filter: &InvocationFilter) -> Result<Vec<InvocationRow>, StoreError> {
        let mut conditions = String::from("1");
        let mut values = Vec::new();
        if let Some(status) = filter.status {
            conditions.push_str(" AND status = ?");
            values.push(Value::Text(status.as_str().to_owned()));
        }
        if let Some(since) = filter.since {
            conditions.push_str(" AND started_at >= ?");
            values.push(Value::Integer(i64::try_from(since).unwrap_or(i64::MAX)));
        }
        let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1));
        let sql = format!(
            "SELECT {COLUMNS} FROM invocations WHERE {conditions} ORDER BY started_at DESC, id DESC LIMIT {limit}"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(values), read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }
}
