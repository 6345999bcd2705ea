//! Compares the derived tables with what the journals say, without changing either.
//!
//! The tables are derived again in a temporary database; SQLite moves it to the disk when it grows.

use escrow_model::RunId;
use rusqlite::types::Value;
use rusqlite::{Connection, OptionalExtension, params_from_iter};

use crate::sqlite::backup::copy_pages;
use crate::sqlite::error::SqliteError;
use crate::sqlite::schema;
use crate::sqlite::tables::{self, TABLES};
use crate::state_verification::StateBreak;

/// The rows of a table that belong to one run alone.
struct RowsOfRun {
    table: &'static str,
    condition: &'static str,
    /// Columns that other runs change, and numbers that depend on other runs.
    shared: &'static [&'static str],
}

const ROWS_OF_RUN: &[RowsOfRun] = &[
    RowsOfRun { table: "runs", condition: "id = ?1", shared: &["attention", "root"] },
    RowsOfRun {
        table: "status_transitions",
        condition: "entity_type = 'run' AND entity_id = ?1",
        shared: &["id"],
    },
    RowsOfRun { table: "waits", condition: "run = ?1", shared: &[] },
    RowsOfRun { table: "warnings", condition: "run = ?1", shared: &[] },
    RowsOfRun { table: "artifacts", condition: "run_id = ?1", shared: &[] },
    RowsOfRun { table: "chain_runs", condition: "id = ?1", shared: &[] },
];

/// Searching the journals for more keys than this costs more than deriving from all of them.
const KEYS_SEARCHED_MAX: usize = 20;

/// Every table, derived from all journals. They must be intact.
pub(crate) fn differences(connection: &Connection) -> Result<Vec<StateBreak>, SqliteError> {
    let mut again = Connection::open("")?;
    copy_pages(connection, &mut again)?;
    tables::rebuild(&again)?;
    let mut breaks = Vec::new();
    for table in TABLES {
        let shared: &[&str] = if table.name == "status_transitions" { &["id"] } else { &[] };
        breaks.extend(compare(connection, &again, table.name, "true", shared, None)?);
    }
    Ok(breaks)
}

/// The rows of one run, derived from its journal alone. It must be intact.
pub(crate) fn differences_of(connection: &Connection, run: &RunId) -> Result<Vec<StateBreak>, SqliteError> {
    let again = derived_from(connection, "run = ?1", &[run.as_str()])?;
    copy(connection, &again, "added_outcomes", "run = ?1", &[run.as_str()])?;
    tables::rebuild(&again)?;
    let mut breaks = Vec::new();
    for RowsOfRun { table, condition, shared } in ROWS_OF_RUN {
        breaks.extend(compare(connection, &again, table, condition, shared, Some(run))?);
    }
    breaks.extend(effects_of(connection, &again, run)?);
    Ok(breaks)
}

/// The effects that a run attempted, or is recorded to have attempted.
///
/// `effect_key` is shared with other runs, so those rows are derived from every journal that has one of the keys.
fn effects_of(
    connection: &Connection,
    again: &Connection,
    run: &RunId,
) -> Result<Option<StateBreak>, SqliteError> {
    let own = "run = ?1 AND generation IS NOT NULL";
    let difference = compare(connection, again, "effects", own, &[], Some(run))?;
    if difference.is_some() {
        return Ok(difference);
    }
    let mut keys: Vec<String> = Vec::new();
    for database in [connection, again] {
        let mut select =
            database.prepare("SELECT key FROM effects WHERE run = ?1 AND generation IS NULL ORDER BY key")?;
        for key in select.query_map([run.as_str()], |row| row.get(0))? {
            keys.push(key?);
        }
    }
    keys.sort_unstable();
    keys.dedup();
    if keys.is_empty() {
        return Ok(None);
    }
    // The key as it stands in the bytes of an entry.
    let quoted: Vec<String> =
        keys.iter().map(|key| serde_json::Value::from(key.as_str()).to_string()).collect();
    let sought = if keys.len() <= KEYS_SEARCHED_MAX { &quoted[..] } else { &[] };
    let mentions: Vec<String> =
        (1..=sought.len()).map(|place| format!("instr(bytes, CAST(?{place} AS BLOB)) > 0")).collect();
    let condition = if mentions.is_empty() {
        "true".to_owned()
    } else {
        format!("id IN (SELECT journal FROM entries WHERE {})", mentions.join(" OR "))
    };
    let sought: Vec<&str> = sought.iter().map(String::as_str).collect();
    let shared = derived_from(connection, &condition, &sought)?;
    tables::rebuild(&shared)?;
    for key in &keys {
        if row_of(connection, key)? != row_of(&shared, key)? {
            return Ok(Some(StateBreak::Table { table: "effects", row: key.clone() }));
        }
    }
    Ok(None)
}

fn row_of(connection: &Connection, key: &str) -> Result<Option<Vec<Value>>, SqliteError> {
    let mut select = connection.prepare_cached("SELECT * FROM effects WHERE key = ?1")?;
    let count = select.column_count();
    Ok(select.query_row([key], |row| values(row, count)).optional()?)
}

/// A database with the journals that fulfil a condition; its tables are not derived yet.
fn derived_from(connection: &Connection, condition: &str, given: &[&str]) -> Result<Connection, SqliteError> {
    let mut again = Connection::open("")?;
    schema::migrate(&mut again)?;
    copy(connection, &again, "journals", condition, given)?;
    let entries = format!("journal IN (SELECT id FROM journals WHERE {condition})");
    copy(connection, &again, "entries", &entries, given)?;
    Ok(again)
}

fn copy(
    from: &Connection,
    to: &Connection,
    table: &str,
    condition: &str,
    given: &[&str],
) -> Result<(), SqliteError> {
    let columns = columns(from, table, &[])?;
    let places = vec!["?"; columns.len()].join(", ");
    let columns = columns.join(", ");
    let mut insert = to.prepare(&format!("INSERT INTO {table} ({columns}) VALUES ({places})"))?;
    let mut select = from.prepare(&format!("SELECT {columns} FROM {table} WHERE {condition}"))?;
    let mut rows = select.query(params_from_iter(given))?;
    while let Some(row) = rows.next()? {
        let values = (0..insert.parameter_count()).map(|column| row.get::<_, Value>(column));
        insert.execute(params_from_iter(values.collect::<rusqlite::Result<Vec<_>>>()?))?;
    }
    Ok(())
}

/// The first row that differs, named by its first column.
fn compare(
    stored: &Connection,
    again: &Connection,
    table: &'static str,
    condition: &str,
    shared: &[&str],
    run: Option<&RunId>,
) -> Result<Option<StateBreak>, SqliteError> {
    let columns = columns(again, table, shared)?;
    let order: Vec<String> = (1..=columns.len()).map(|column| column.to_string()).collect();
    let sql =
        format!("SELECT {} FROM {table} WHERE {condition} ORDER BY {}", columns.join(", "), order.join(", "));
    let (mut stored, mut again) = (stored.prepare(&sql)?, again.prepare(&sql)?);
    let run: Vec<&str> = run.map(RunId::as_str).into_iter().collect();
    let mut stored = stored.query(params_from_iter(&run))?;
    let mut again = again.query(params_from_iter(&run))?;
    loop {
        let stored = stored.next()?.map(|row| values(row, columns.len())).transpose()?;
        let again = again.next()?.map(|row| values(row, columns.len())).transpose()?;
        if stored != again {
            let row = run.first().map(|run| (*run).to_owned());
            let row = row.unwrap_or_else(|| named(again.as_ref().or(stored.as_ref())));
            return Ok(Some(StateBreak::Table { table, row }));
        }
        if stored.is_none() {
            return Ok(None);
        }
    }
}

fn values(row: &rusqlite::Row<'_>, count: usize) -> rusqlite::Result<Vec<Value>> {
    (0..count).map(|column| row.get(column)).collect()
}

/// The first value of a row that is a text: tables begin with what they are about.
fn named(row: Option<&Vec<Value>>) -> String {
    let text = |value: &Value| match value {
        Value::Text(text) => Some(text.clone()),
        Value::Null | Value::Integer(_) | Value::Real(_) | Value::Blob(_) => None,
    };
    row.and_then(|row| row.iter().find_map(text)).unwrap_or_default()
}

fn columns(connection: &Connection, table: &str, left_out: &[&str]) -> Result<Vec<String>, SqliteError> {
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1) ORDER BY cid")?;
    let names = statement.query_map([table], |row| row.get::<_, String>(0))?;
    let names = names.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok(names.into_iter().filter(|name| !left_out.contains(&name.as_str())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that speak for several runs: only a comparison of everything covers them.
    const OF_SEVERAL_RUNS: &[&str] = &["invocations"];

    #[test]
    fn every_derived_table_is_compared() {
        for table in TABLES {
            let of_run = ROWS_OF_RUN.iter().any(|rows| rows.table == table.name);
            let of_run = of_run || table.name == "effects";
            assert!(of_run || OF_SEVERAL_RUNS.contains(&table.name), "`{}` is not compared", table.name);
        }
    }
}
