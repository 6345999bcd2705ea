//! One row per version of an outcome; nothing is overwritten.
//!
//! Ids begin with their time, so the order of ids is that of age: every list, whatever it is narrowed to, is read
//! from one index from its end.

use escrow_model::{Event, Millis, Outcome, OutcomeId, RecordedOutcome, RunId, ScopePath};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use crate::error::StoreError;
use crate::outcome::{AddedOutcome, OutcomeFilter, OutcomeRow};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::error::SqliteError;

use super::{Applied, Projection, from_json, json, runs};

pub(crate) const TABLE: Projection = Projection {
    name: "artifacts",
    create: "
CREATE TABLE artifacts (
    id TEXT PRIMARY KEY,
    invocation_id TEXT,
    run_id TEXT,
    created_at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    passed INTEGER,
    summary TEXT NOT NULL,
    content TEXT NOT NULL,
    file_path TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX artifacts_by_kind ON artifacts (kind, id, passed);
CREATE INDEX artifacts_by_run ON artifacts (run_id, id) WHERE run_id IS NOT NULL;
CREATE INDEX artifacts_by_invocation ON artifacts (invocation_id, id) WHERE invocation_id IS NOT NULL;
",
    apply,
};

fn apply(applied: &Applied<'_>, connection: &Connection) -> rusqlite::Result<()> {
    let Event::OutcomeStored { outcome } = applied.event else { return Ok(()) };
    let invocation = runs::before(applied.run, connection)?.and_then(|before| before.invocation);
    insert(outcome, applied.at, Some(applied.run), invocation.as_deref(), connection).map(drop)
}

/// What was added by hand has no journal to come from; it is put back from where it was written down.
pub(crate) fn refill(connection: &Connection) -> Result<(), SqliteError> {
    for added in crate::sqlite::outcomes::all(connection)? {
        insert_added(&added, connection)?;
    }
    Ok(())
}

/// False when one of this id is here already.
pub(crate) fn insert_added(added: &AddedOutcome, connection: &Connection) -> rusqlite::Result<bool> {
    let run = added.run_id.as_ref().map(RunId::as_str);
    insert(&added.outcome, added.created_at, run, added.invocation_id.as_deref(), connection)
}

fn insert(
    recorded: &RecordedOutcome,
    at: Millis,
    run: Option<&str>,
    invocation: Option<&str>,
    connection: &Connection,
) -> rusqlite::Result<bool> {
    let Outcome { kind, summary, passed, content } = &recorded.outcome;
    // An id is used once; a journal from elsewhere that uses one again does not change what is here.
    let inserted = connection
        .prepare_cached(
            "INSERT OR IGNORE INTO artifacts
                 (id, invocation_id, run_id, created_at, kind, name, passed, summary, content, file_path)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute((
            recorded.id.as_str(),
            invocation,
            run,
            at,
            kind,
            &recorded.name,
            passed,
            summary,
            json(content)?,
            &recorded.file_path,
        ))?;
    Ok(inserted > 0)
}

const COLUMNS: &str =
    "id, invocation_id, run_id, created_at, kind, name, passed, summary, content, file_path";

fn read(row: &Row<'_>) -> rusqlite::Result<OutcomeRow> {
    Ok(OutcomeRow {
        invocation_id: row.get(1)?,
        run_id: row.get::<_, Option<String>>(2)?.map(RunId::from_stored),
        created_at: row.get(3)?,
        outcome: RecordedOutcome {
            id: OutcomeId::from_stored(row.get::<_, String>(0)?),
            name: row.get(5)?,
            outcome: Outcome {
                kind: row.get(4)?,
                passed: row.get(6)?,
                summary: row.get(7)?,
                content: from_json(row, 8)?,
            },
            check: None,
            scope: ScopePath::root(),
            file_path: row.get(9)?,
        },
    })
}

/// The query of a filter, newest first.
fn query(filter: &OutcomeFilter) -> (String, Vec<Value>) {
    let mut conditions = String::from("1");
    let mut values = Vec::new();
    let mut narrow = |condition: &str, value: Option<Value>| {
        if let Some(value) = value {
            conditions.push_str(" AND ");
            conditions.push_str(condition);
            values.push(value);
        }
    };
    let text = |text: &str| Value::Text(text.to_owned());
    narrow("run_id = ?", filter.run.as_ref().map(|run| text(run.as_str())));
    narrow("invocation_id = ?", filter.invocation.as_deref().map(text));
    narrow("kind = ?", filter.kind.as_deref().map(text));
    narrow("passed = ?", filter.passed.map(|passed| Value::Integer(passed.into())));
    narrow("id >= ?", filter.since.map(|since| text(OutcomeId::new(since, 0).as_str())));
    narrow("id > ?", filter.after.as_ref().map(|after| text(after.as_str())));
    let order = if filter.oldest_first { "ASC" } else { "DESC" };
    let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(-1));
    (format!("SELECT {COLUMNS} FROM artifacts WHERE {conditions} ORDER BY id {order} LIMIT {limit}"), values)
}

impl BlockingStore {
    /// The outcomes that pass the filter, newest first.
    pub fn outcomes(&self, filter: &OutcomeFilter) -> Result<Vec<OutcomeRow>, StoreError> {
        let (sql, values) = query(filter);
        self.read(|connection| {
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map(params_from_iter(values), read)?;
            Ok(rows.collect::<rusqlite::Result<_>>()?)
        })
    }

    /// The outcome with this id, or those whose id begins so, with or without `o_`; at most a few.
    pub fn outcomes_named(&self, name: &str) -> Result<Vec<OutcomeRow>, StoreError> {
        let start = if name.starts_with("o_") { name.to_owned() } else { format!("o_{name}") };
        let end = format!("{start}\u{7f}");
        self.read(|connection| {
            let sql = format!(
                "SELECT {COLUMNS} FROM artifacts WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT 8"
            );
            let mut statement = connection.prepare_cached(&sql)?;
            let rows = statement.query_map([&start, &end], read)?;
            let mut found = rows.collect::<rusqlite::Result<Vec<_>>>()?;
            if let Some(exact) = found.iter().position(|row| row.outcome.id.as_str() == start) {
                found = vec![found.swap_remove(exact)];
            }
            Ok(found)
        })
    }

    /// The newest outcome of an invocation. Every kept outcome is of a registered kind.
    pub fn primary_outcome(&self, invocation: &str) -> Result<Option<OutcomeRow>, StoreError> {
        let filter = OutcomeFilter {
            invocation: Some(invocation.to_owned()),
            limit: Some(1),
            ..OutcomeFilter::default()
        };
        Ok(self.outcomes(&filter)?.pop())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_is_answered_from_one_index_without_sorting() {
        let connection = Connection::open_in_memory().expect("a database");
        connection.execute_batch(TABLE.create).expect("the table");
        let (kind, run) = (Some("ci_result".to_owned()), Some(RunId::new(1, 1)));
        let all = OutcomeFilter::default();
        for (filter, index) in [
            (OutcomeFilter { limit: Some(100), ..all.clone() }, "SCAN artifacts"),
            (OutcomeFilter { since: Some(1), ..all.clone() }, "USING PRIMARY KEY (id>?)"),
            (OutcomeFilter { kind: kind.clone(), ..all.clone() }, "USING INDEX artifacts_by_kind (kind=?)"),
            (
                OutcomeFilter { kind: kind.clone(), passed: Some(false), since: Some(7), ..all.clone() },
                "USING INDEX artifacts_by_kind (kind=? AND id>?)",
            ),
            (OutcomeFilter { run: run.clone(), ..all.clone() }, "USING INDEX artifacts_by_run (run_id=?)"),
            (
                OutcomeFilter { invocation: Some("i".into()), limit: Some(1), ..all.clone() },
                "USING INDEX artifacts_by_invocation (invocation_id=?)",
            ),
        ] {
            let (sql, values) = query(&filter);
            let plan: Vec<String> = connection
                .prepare(&format!("EXPLAIN QUERY PLAN {sql}"))
                .and_then(|mut statement| {
                    statement.query_map(params_from_iter(values), |row| row.get(3))?.collect()
                })
                .expect("a plan");
            assert!(plan.len() == 1 && plan[0].contains(index), "{filter:?}: {plan:?}");
        }
    }
}
