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
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::entries::{Draft, first};
use crate::sqlite::error::SqliteError;
use crate::sqlite::tables::{runs, waits};

/// What a run needs for itself while it is open. A run shares its group with those around it and those inside it, and
/// its artifact directory with all that have the same root.
struct Needs<'a> {
    run: &'a str,
    parent: Option<String>,
    root: String,
    group: Option<&'a str>,
    artifacts: Option<&'a str>,
}

/// In the way of a run that these first entries create. One that ends with them delivers nothing.
pub(crate) fn of_start(
    connection: &Connection,
    run: &RunId,
    drafts: &[Draft],
) -> Result<Option<RunConflict>, SqliteError> {
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
    let parent = options.parent.as_ref().map(RunId::to_string);
    find(connection, &Needs { run: run.as_str(), parent, root, group: group.as_deref(), artifacts })
}

/// In the way of a run that these entries open again.
pub(crate) fn of_reopening(
    connection: &Connection,
    run: &RunId,
    drafts: &[Draft],
) -> Result<Option<RunConflict>, SqliteError> {
    let reopened = drafts.iter().find_map(|draft| match &draft.event {
        Some(Event::RunReopened { group, .. }) => Some(group),
        _ => None,
    });
    let Some(group) = reopened else { return Ok(None) };
    let Some(row) = row(connection, run.as_str())? else { return Ok(None) };
    let root = root_of(connection, run.as_str())?.unwrap_or_else(|| run.to_string());
    let parent = parent_of(connection, run.as_str())?;
    let artifacts = Some(row.artifacts_directory.as_str());
    find(connection, &Needs { run: run.as_str(), parent, root, group: group.as_deref(), artifacts })
}

fn find(connection: &Connection, needs: &Needs<'_>) -> Result<Option<RunConflict>, SqliteError> {
    if let Some(group) = needs.group
        && let Some(holder) = holder_of_group(connection, group, needs)?
    {
        return conflict(connection, Contested::Group(group.to_owned()), holder, needs).map(Some);
    }
    if let Some(artifacts) = needs.artifacts
        && let Some((holder, directory)) = holder_of_directory(connection, artifacts, &needs.root)?
    {
        return conflict(connection, Contested::Artifacts(directory), holder, needs).map(Some);
    }
    Ok(None)
}

/// The oldest open run that has the group, and is neither around this one nor inside it.
fn holder_of_group(
    connection: &Connection,
    group: &str,
    needs: &Needs<'_>,
) -> Result<Option<String>, SqliteError> {
    let holders: Vec<(String, String)> = connection
        .prepare_cached(
            "SELECT id, root FROM runs WHERE concurrency_group = ?1 AND status IN ('running', 'waiting')
             ORDER BY started_at, id",
        )?
        .query_map([group], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<rusqlite::Result<_>>()?;
    for (holder, root) in holders {
        if root != needs.root {
            return Ok(Some(holder));
        }
        let is_around = runs_around(connection, needs.parent.clone())?.contains(&holder);
        let is_inside = || -> Result<bool, SqliteError> {
            let parent = parent_of(connection, &holder)?;
            Ok(runs_around(connection, parent)?.iter().any(|around| around == needs.run))
        };
        if holder != needs.run && !is_around && !is_inside()? {
            return Ok(Some(holder));
        }
    }
    Ok(None)
}

/// A parent and the runs around it, the innermost first.
fn runs_around(connection: &Connection, parent: Option<String>) -> Result<Vec<String>, SqliteError> {
    let mut around = Vec::new();
    let mut next = parent;
    while let Some(run) = next {
        next = parent_of(connection, &run)?;
        around.push(run);
    }
    Ok(around)
}

fn parent_of(connection: &Connection, run: &str) -> Result<Option<String>, SqliteError> {
    match first(connection, &RunId::from_stored(run.to_owned()))?.map(|entry| entry.event) {
        Some(Event::RunStarted { options, .. }) => Ok(options.parent.as_ref().map(RunId::to_string)),
        Some(_) | None => Ok(None),
    }
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

fn conflict(
    connection: &Connection,
    over: Contested,
    holder: String,
    needs: &Needs<'_>,
) -> Result<RunConflict, SqliteError> {
    let root = root_of(connection, &holder)?.unwrap_or_else(|| holder.clone());
    let is_sibling = root == needs.root;
    let outermost = if is_sibling { branch_of(connection, &holder, needs)? } else { root };
    let inside = runs_inside(connection, &outermost, is_sibling)?;
    // The root of an imported run may not be here.
    let row_of_outermost = match row(connection, &outermost)? {
        Some(row) => Some(row),
        None => row(connection, &holder)?,
    };
    let root = row_of_outermost.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    let has_open_effects = connection
        .prepare_cached(
            "SELECT EXISTS (SELECT 1 FROM effects WHERE state IN ('intended', 'unknown')
                            AND run IN (SELECT value FROM json_each(?1)))",
        )?
        .query_row([&inside], |row| row.get(0))?;
    let wait = waits::first_open_of(&inside, connection)?.map(Box::new);
    Ok(RunConflict { over, holder: RunId::from_stored(holder), root, is_sibling, has_open_effects, wait })
}

/// The outermost run around a holder that is not around the run that needs something.
fn branch_of(connection: &Connection, holder: &str, needs: &Needs<'_>) -> Result<String, SqliteError> {
    let shared = runs_around(connection, needs.parent.clone())?;
    let around = runs_around(connection, parent_of(connection, holder)?)?;
    let own = around.into_iter().take_while(|run| !shared.contains(run)).last();
    Ok(own.unwrap_or_else(|| holder.to_owned()))
}

/// A run and those inside it, as a JSON array of ids.
fn runs_inside(connection: &Connection, outermost: &str, is_nested: bool) -> Result<String, SqliteError> {
    let root = root_of(connection, outermost)?.unwrap_or_else(|| outermost.to_owned());
    let nested: Vec<String> = connection
        .prepare_cached("SELECT id FROM runs WHERE root = ?1 AND depth > 0")?
        .query_map([&root], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let mut inside = vec![outermost.to_owned()];
    for run in nested.into_iter().filter(|run| run != outermost) {
        let parent = || parent_of(connection, &run);
        if !is_nested || runs_around(connection, parent()?)?.iter().any(|around| around == outermost) {
            inside.push(run);
        }
    }
    Ok(serde_json::to_string(&inside).expect("ids are text"))
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

impl BlockingStore {
    /// The open run that keeps this one, which has ended, from being opened again with this concurrency group.
    pub fn conflict(&self, run: &RunId, group: Option<&str>) -> Result<Option<Box<RunConflict>>, StoreError> {
        self.read(|connection| {
            let Some(own) = row(connection, run.as_str())? else { return Ok(None) };
            let root = root_of(connection, run.as_str())?.unwrap_or_else(|| run.to_string());
            let parent = parent_of(connection, run.as_str())?;
            let artifacts = Some(own.artifacts_directory.as_str());
            let needs = Needs { run: run.as_str(), parent, root, group, artifacts };
            Ok(find(connection, &needs)?.map(Box::new))
        })
    }
}
