//! Finds runs: by filter, by id, by unique prefix, or the last one; and the event of one.

use escrow_model::RunId;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};
use serde_json::Map;

use crate::error::StoreError;
use crate::run::{LookupError, RunFilter, RunKinds, RunRow};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;
use crate::sqlite::tables::{from_json, runs};

/// How many candidates an ambiguous name shows.
const CANDIDATES_MAX: usize = 8;

impl BlockingStore {
    /// The runs that pass the filter, newest first.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunRow>, StoreError> {
        let mut conditions = String::from("1");
        let mut values = Vec::new();
        let mut narrow = |condition: &str, value: Option<Value>| {
            if let Some(value) = value {
                conditions.push_str(" AND ");
                conditions.push_str(condition);
                values.push(value);
            }
        };
        narrow("status = ?", filter.status.map(|status| Value::Text(status.as_str().to_owned())));
        narrow("playbook = ?", filter.playbook.clone().map(Value::Text));
        narrow("invocation_id = ?", filter.invocation.clone().map(Value::Text));
        narrow("started_at >= ?", filter.since.map(integer));
        match filter.kinds {
            RunKinds::All => {}
            // As the index of shows has it: a parameter would not find it.
            RunKinds::Shows => conditions.push_str(" AND kind = 'show'"),
            RunKinds::Playbooks => narrow("kind = ?", Some(Value::Text("playbook".to_owned()))),
        }
        let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1));
        let rest = format!("WHERE {conditions} ORDER BY started_at DESC, id DESC LIMIT {limit}");
        self.read(|connection| select(connection, &rest, values))
    }

    /// Whether the run with exactly this id exists and has ended.
    pub(crate) fn has_ended(&self, run: &RunId) -> Result<bool, StoreError> {
        let found =
            self.read(|connection| select(connection, "WHERE id = ?", vec![Value::Text(run.to_string())]))?;
        Ok(found.first().is_some_and(|row| row.status.is_terminal()))
    }

    /// Whether a nested run has ended, or has a message that is not delivered, or a run that it waits for has.
    pub(crate) fn is_ready(&self, run: &RunId) -> Result<bool, StoreError> {
        self.read(|connection| {
            let mut statement = connection.prepare_cached(
                "WITH RECURSIVE inside (run) AS (
                     VALUES (?1)
                     UNION SELECT waits.id FROM waits JOIN inside ON waits.run = inside.run
                     WHERE waits.kind = 'nested' AND waits.resolved_at IS NULL)
                 SELECT EXISTS (
                     SELECT 1 FROM inside JOIN journals ON journals.run = inside.run
                     JOIN inbox ON inbox.journal = journals.id AND inbox.delivered_seq IS NULL)
                 OR EXISTS (
                     SELECT 1 FROM inside JOIN runs ON runs.id = inside.run
                     WHERE runs.status NOT IN ('running', 'waiting'))",
            )?;
            Ok(statement.query_row([run.as_str()], |row| row.get(0))?)
        })
    }

    /// The payload of the event that a run is about; empty when it has none.
    pub fn event_payload(&self, run: &RunId) -> Result<Map<String, serde_json::Value>, StoreError> {
        self.read(|connection| {
            let payload = connection
                .prepare_cached("SELECT payload FROM runs WHERE id = ?1 AND payload IS NOT NULL")?
                .query_row([run.as_str()], |row| from_json(row, 0))
                .optional()?;
            Ok(payload.unwrap_or_default())
        })
    }

    /// The run with this id, with or without `r_`, or a unique beginning of one. `last` is the newest run that is not
    /// nested in another; when all are nested, the newest of them.
    pub fn run(&self, name: &str) -> Result<RunRow, LookupError> {
        let found = self.read(|connection| {
            if name == "last" {
                let newest = "ORDER BY started_at DESC, id DESC LIMIT 1";
                let asked_for = select(connection, &format!("WHERE depth = 0 {newest}"), Vec::new())?;
                return if asked_for.is_empty() {
                    select(connection, newest, Vec::new())
                } else {
                    Ok(asked_for)
                };
            }
            let start = if name.starts_with("r_") { name.to_owned() } else { format!("r_{name}") };
            let exact = select(connection, "WHERE id = ?", vec![Value::Text(start.clone())])?;
            if !exact.is_empty() || name.is_empty() {
                return Ok(exact);
            }
            // Ids are ASCII, so everything that begins with `start` sorts before this.
            let end = format!("{start}\u{7f}");
            let rest = format!("WHERE id > ? AND id < ? ORDER BY id DESC LIMIT {CANDIDATES_MAX}");
            select(connection, &rest, vec![Value::Text(start), Value::Text(end)])
        })?;
        let candidates = found.iter().map(|row| row.id.clone()).collect();
        match <[RunRow; 1]>::try_from(found) {
            Ok([row]) => Ok(row),
            Err(found) if found.is_empty() => Err(LookupError::None(name.to_owned())),
            Err(_) => Err(LookupError::Ambiguous { name: name.to_owned(), candidates }),
        }
    }
}

fn select(connection: &Connection, rest: &str, values: Vec<Value>) -> Result<Vec<RunRow>, SqliteError> {
    let mut statement = connection.prepare_cached(&format!("SELECT {} FROM runs {rest}", runs::COLUMNS))?;
    let rows = statement.query_map(params_from_iter(values), runs::read)?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}

fn integer(value: u64) -> Value {
    Value::Integer(i64::try_from(value).unwrap_or(i64::MAX))
}
