//! Finds the open run that has what a starting run needs for itself: its concurrency group, or its artifact directory.
//!
//! It is asked in the transaction that creates or reopens the run. Two processes that start at the same instant cannot
//! both find nothing.

use std::path::Path;

use escrow_model::{Event, RunId};
use rusqlite::{Connection, OptionalExtension};

use crate::conflict::{Contested, RunConflict};
use crate::error::StoreError;
use crate::run::RunRow;
use crate::sqlite::entries::Draft;
use crate::sqlite::store::Store;
use crate::sqlite::tables::{runs, waits};
use crate::sqlite::trouble::Trouble;

/// What a run needs for itself while it is open. Runs inside the same root share it.
struct Needs<'a> {
    root: String,
    group: Option<&'a str>,
    artifacts: Option<&'a str>,
}

/// In the way of a run that these first entries create. One that ends with them delivers nothing.
pub(crate) fn of_start(
    connection: &Connection,
    run: &RunId,
    drafts: &[Draft],
) -> Result<Option<RunConflict>, Trouble> {
    let Some(Event::RunStarted { options, group, .. }) =
        drafts.first().and_then(|draft| draft.event.as_ref())
    else {
        return Ok(None);
    };
    let root = match &options.parent {
        Some(parent) => root_of(connection, parent.as_str())?.unwrap_or_else(|| parent.to_string()),
        None => run.to_string(),
    };
    let ends = drafts.iter().any(|draft| matches!(draft.event, Some(Event::RunEnded { .. })));
    let artifacts = (!ends).then_some(options.artifacts.as_str());
    find(connection, &Needs { root, group: group.as_deref(), artifacts })
}

/// In the way of a run that these entries open again.
pub(crate) fn of_reopening(
    connection: &Connection,
    run: &RunId,
    drafts: &[Draft],
) -> Result<Option<RunConflict>, Trouble> {
    let reopened = drafts.iter().find_map(|draft| match &draft.event {
        Some(Event::RunReopened { group, .. }) => Some(group),
        _ => None,
    });
    let Some(group) = reopened else { return Ok(None) };
    let Some(row) = row(connection, run.as_str())? else { return Ok(None) };
    let root = root_of(connection, run.as_str())?.unwrap_or_else(|| run.to_string());
    find(connection, &Needs { root, group: group.as_deref(), artifacts: Some(&row.artifacts_directory) })
}

fn find(connection: &Connection, needs: &Needs<'_>) -> Result<Option<RunConflict>, Trouble> {
    if let Some(group) = needs.group
        && let Some(holder) = holder_of_group(connection, group, &needs.root)?
    {
        return conflict(connection, Contested::Group(group.to_owned()), holder).map(Some);
    }
    if let Some(artifacts) = needs.artifacts
        && let Some((holder, directory)) = holder_of_directory(connection, artifacts, &needs.root)?
    {
        return conflict(connection, Contested::Artifacts(directory), holder).map(Some);
    }
    Ok(None)
}

/// The oldest open run outside of this root that has the group.
fn holder_of_group(connection: &Connection, group: &str, root: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached(
            "SELECT id FROM runs WHERE concurrency_group = ?1 AND status IN ('running', 'waiting')
             AND root <> ?2 ORDER BY started_at, id LIMIT 1",
        )?
        .query_row((group, root), |row| row.get(0))
        .optional()
}

/// The oldest open run outside of this root that delivers into this directory, into one around it or into one within it;
/// with its directory.
fn holder_of_directory(
    connection: &Connection,
    directory: &str,
    root: &str,
) -> rusqlite::Result<Option<(String, String)>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, artifacts_directory FROM runs INDEXED BY runs_by_artifacts
         WHERE status IN ('running', 'waiting') AND root <> ?1
         ORDER BY started_at, id",
    )?;
    let wanted = Path::new(directory);
    let mut rows = statement.query([root])?;
    while let Some(row) = rows.next()? {
        let held: String = row.get(1)?;
        if wanted.starts_with(&held) || Path::new(&held).starts_with(wanted) {
            return Ok(Some((row.get(0)?, held)));
        }
    }
    Ok(None)
}

fn conflict(connection: &Connection, over: Contested, holder: String) -> Result<RunConflict, Trouble> {
    let root = root_of(connection, &holder)?.unwrap_or_else(|| holder.clone());
    // The root of an imported run may not be here.
    let outermost = match row(connection, &root)? {
        Some(row) => Some(row),
        None => row(connection, &holder)?,
    };
    let outermost = outermost.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let has_open_effects = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM effects WHERE state IN ('intended', 'unknown')
                            AND run IN (SELECT ?1 UNION SELECT id FROM runs WHERE root = ?1 AND depth > 0))",
        )?
        .query_row([&root], |row| row.get(0))?;
    let wait = waits::first_open_below(&root, connection)?.map(Box::new);
    Ok(RunConflict { over, holder: RunId::from_stored(holder), root: outermost, has_open_effects, wait })
}

fn root_of(connection: &Connection, run: &str) -> rusqlite::Result<Option<String>> {
    connection
        .prepare_cached("SELECT root FROM runs WHERE id = ?1")?
        .query_row([run], |row| row.get(0))
        .optional()
}

fn row(connection: &Connection, run: &str) -> rusqlite::Result<Option<RunRow>> {
    connection
        .prepare_cached(&format!("SELECT {} FROM runs WHERE id = ?1", runs::COLUMNS))?
        .query_row([run], runs::read)
        .optional()
}

impl Store {
    /// The open run that keeps this one, which has ended, from being opened again with this concurrency group.
    pub fn conflict(&self, run: &RunId, group: Option<&str>) -> Result<Option<Box<RunConflict>>, StoreError> {
        self.read(|connection| {
            let Some(own) = row(connection, run.as_str())? else { return Ok(None) };
            let root = root_of(connection, run.as_str())?.unwrap_or_else(|| run.to_string());
            let needs = Needs { root, group, artifacts: Some(&own.artifacts_directory) };
            Ok(find(connection, &needs)?.map(Box::new))
        })
    }
}
