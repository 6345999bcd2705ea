//! One row per run of a chain: what fired it, where it stands, and what its steps gave.

use escrow_model::{ChainId, Event, RunId, RunStatus};
use rusqlite::types::Value as SqlValue;
use rusqlite::{Connection, OptionalExtension, Row, params_from_iter};
use serde_json::Value;

use crate::chain_definition::{ChainRunFilter, ChainRunRow};
use crate::error::StoreError;
use crate::sqlite::blocking::BlockingStore;

use super::{Applied, Projection, from_json, json, word};

pub(crate) const TABLE: Projection = Projection {
    name: "chain_runs",
    create: "
CREATE TABLE chain_runs (
    id TEXT PRIMARY KEY,
    chain_id TEXT NOT NULL,
    trigger_event TEXT,
    invocation_id TEXT,
    status TEXT NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'failed', 'timed_out', 'aborted',
                                                             'cancelled', 'waiting_approval')),
    current_step INTEGER NOT NULL DEFAULT 0,
    step_outcomes TEXT NOT NULL DEFAULT '[]',
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    chain TEXT NOT NULL,
    fire_key TEXT NOT NULL,
    steps TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_chain_runs_chain ON chain_runs (chain_id, created_at DESC, id DESC);
CREATE INDEX idx_chain_runs_status ON chain_runs (status);
CREATE INDEX idx_chain_runs_invocation ON chain_runs (invocation_id) WHERE invocation_id IS NOT NULL;
CREATE INDEX chain_runs_newest ON chain_runs (created_at DESC, id DESC);
",
    apply,
};

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    match applied.event {
        Event::RunStarted { plan, options, .. } => {
            let Some(fire) = &options.fire else { return Ok(()) };
            let steps: Vec<&str> = plan.checks.iter().map(|check| check.name.as_str()).collect();
            let outcomes = vec![Value::Null; steps.len()];
            connection
                .prepare_cached(
                    "INSERT INTO chain_runs (id, chain_id, trigger_event, invocation_id, step_outcomes, created_at,
                                             updated_at, chain, fire_key, steps)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6, ?7, ?8, ?9)",
                )?
                .execute((
                    applied.run,
                    fire.chain.as_str(),
                    json(&options.event_object())?,
                    &options.invocation,
                    json(&outcomes)?,
                    applied.at,
                    &plan.name,
                    &fire.key,
                    json(&steps)?,
                ))?;
        }
        Event::AttemptStarted { check, .. } | Event::WaitStarted { check, .. } => {
            reach(applied, check, None, connection)?;
        }
        Event::AttemptAnswered { check, answer, .. } => {
            reach(applied, check, answer.primary_outcome(), connection)?;
        }
        _ => {}
    }
    if let Some(change) = &applied.change {
        let status = if change.to == RunStatus::Waiting { WAITING } else { change.to.as_str() };
        connection
            .prepare_cached("UPDATE chain_runs SET status = ?2, updated_at = ?3 WHERE id = ?1")?
            .execute((applied.run, status, applied.at))?;
    }
    Ok(())
}

/// The run has reached a step, which may have given an outcome.
fn reach(
    applied: &Applied<'_>,
    check: &str,
    outcome: Option<&Value>,
    connection: &Connection,
) -> rusqlite::Result<()> {
    let known: Option<(Vec<String>, Vec<Value>)> = connection
        .prepare_cached("SELECT steps, step_outcomes FROM chain_runs WHERE id = ?1")?
        .query_row([applied.run], |row| Ok((from_json(row, 0)?, from_json(row, 1)?)))
        .optional()?;
    let Some((steps, mut outcomes)) = known else { return Ok(()) };
    let Some(index) = steps.iter().position(|step| step == check) else { return Ok(()) };
    if let (Some(place), Some(outcome)) = (outcomes.get_mut(index), outcome) {
        *place = outcome.clone();
    }
    connection
        .prepare_cached(
            "UPDATE chain_runs SET current_step = ?2, step_outcomes = ?3, updated_at = ?4 WHERE id = ?1",
        )?
        .execute((applied.run, index as u64, json(&outcomes)?, applied.at))?;
    Ok(())
}

const COLUMNS: &str = "id, chain_id, chain, fire_key, trigger_event, invocation_id, status, current_step, \
    step_outcomes, created_at, updated_at";

/// The column has this word for a run that waits, and the words of `runs` for the others.
const WAITING: &str = "waiting_approval";

fn read(row: &Row<'_>) -> rusqlite::Result<ChainRunRow> {
    let is_waiting = row.get_ref(6)?.as_str()? == WAITING;
    Ok(ChainRunRow {
        id: RunId::from_stored(row.get::<_, String>(0)?),
        chain_id: ChainId::from_stored(row.get::<_, String>(1)?),
        chain: row.get(2)?,
        fire_key: row.get(3)?,
        trigger_event: from_json(row, 4)?,
        invocation_id: row.get(5)?,
        status: if is_waiting { RunStatus::Waiting } else { word(row, 6)? },
        current_step: row.get(7)?,
        step_outcomes: from_json(row, 8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
    })
}

impl BlockingStore {
    /// The runs of chains that pass the filter, newest first.
    pub fn chain_runs(&self, filter: &ChainRunFilter) -> Result<Vec<ChainRunRow>, StoreError> {
        let mut values = Vec::new();
        let condition = match &filter.chain {
            Some(chain) => {
                values.push(SqlValue::Text(ChainId::of(chain).as_str().to_owned()));
                "chain_id = ?"
            }
            None => "1",
        };
        let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1));
        let sql = format!(
            "SELECT {COLUMNS} FROM chain_runs WHERE {condition} ORDER BY created_at DESC, id DESC LIMIT {limit}"
        );
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(values), read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The run of a chain with exactly this id.
    pub fn chain_run(&self, id: &RunId) -> Result<Option<ChainRunRow>, StoreError> {
        self.read(|connection| {
            let sql = format!("SELECT {COLUMNS} FROM chain_runs WHERE id = ?1");
            Ok(connection.prepare_cached(&sql)?.query_row([id.as_str()], read).optional()?)
        })
    }
}
