//! The roster: every run that was created or imported here, in order, each linked to the one before.
//!
//! ```text
//!   link[n] = SHA-256(link[n-1] ‖ n as 8 bytes, big-endian ‖ run)      roster_head = (n, link[n])
//! ```
//!
//! A run's own chain cannot tell that the whole run was deleted; the roster can. `gc` leaves a tombstone: when the run was
//! removed, and how its journal ended.

use escrow_model::RunId;
use rusqlite::{Connection, OptionalExtension};

use crate::chain::Hash;
use crate::sqlite::clock;
use crate::state_verification::StateBreak;

/// Not derived from any journal; a step of the schema.
pub(crate) const TABLES: &str = "
CREATE TABLE roster (
    position INTEGER PRIMARY KEY,
    run TEXT NOT NULL,
    link BLOB NOT NULL,
    removed_at INTEGER,
    seq INTEGER,
    hash BLOB
) STRICT;
CREATE INDEX roster_by_run ON roster (run);

CREATE TABLE roster_head (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    position INTEGER NOT NULL,
    link BLOB NOT NULL
) STRICT;
";

/// Part of the transaction that creates the run.
pub(crate) fn enroll(connection: &Connection, run: &RunId) -> rusqlite::Result<()> {
    let (position, link) = head(connection)?;
    let position = position + 1;
    let link = link.next(position, run.as_str().as_bytes());
    connection.prepare_cached("INSERT INTO roster (position, run, link) VALUES (?1, ?2, ?3)")?.execute((
        position,
        run.as_str(),
        link,
    ))?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO roster_head (only, position, link) VALUES (1, ?1, ?2)")?
        .execute((position, link))?;
    Ok(())
}

/// Part of the transaction that removes the run, before its journal goes.
pub(crate) fn bury(connection: &Connection, run: &RunId) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE roster SET removed_at = ?2, seq = journals.seq, hash = journals.hash
             FROM journals WHERE journals.run = ?1 AND roster.run = ?1 AND roster.removed_at IS NULL",
        )?
        .execute((run.as_str(), clock::now()))?;
    Ok(())
}

/// Those that are removed and have no journal.
pub(crate) fn removed(connection: &Connection) -> rusqlite::Result<Vec<RunId>> {
    let mut statement = connection.prepare_cached(
        "SELECT run FROM roster WHERE removed_at IS NOT NULL AND run NOT IN (SELECT run FROM journals)",
    )?;
    let runs = statement.query_map([], |row| Ok(RunId::from_stored(row.get::<_, String>(0)?)))?;
    runs.collect()
}

fn head(connection: &Connection) -> rusqlite::Result<(u64, Hash)> {
    let head = connection
        .prepare_cached("SELECT position, link FROM roster_head")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    Ok(head.unwrap_or((0, Hash::of_empty_roster())))
}

/// A roster that was walked from its first run to its last.
pub(crate) struct Walked {
    /// Runs that `gc` removed.
    pub(crate) removed: u64,
    pub(crate) link: Hash,
    pub(crate) breaks: Vec<StateBreak>,
}

/// Compares the roster with its links, its head and the journals.
pub(crate) fn walk(connection: &Connection) -> rusqlite::Result<Walked> {
    let mut walked = Walked { removed: 0, link: Hash::of_empty_roster(), breaks: Vec::new() };
    let mut statement = connection.prepare_cached(
        "SELECT position, roster.run, link, removed_at IS NOT NULL, journals.id IS NOT NULL
         FROM roster LEFT JOIN journals ON journals.run = roster.run ORDER BY position",
    )?;
    let mut rows = statement.query([])?;
    let mut position = 0;
    while let Some(row) = rows.next()? {
        let expected = position + 1;
        position = row.get(0)?;
        let run = RunId::from_stored(row.get::<_, String>(1)?);
        walked.link = walked.link.next(position, run.as_str().as_bytes());
        if position != expected || row.get::<_, Hash>(2).ok() != Some(walked.link) {
            // Every later link depends on this one, so only the first break tells anything.
            walked.breaks.push(StateBreak::Roster { position: expected });
            return Ok(walked);
        }
        let (is_removed, has_journal): (bool, bool) = (row.get(3)?, row.get(4)?);
        walked.removed += u64::from(is_removed);
        if !is_removed && !has_journal {
            walked.breaks.push(StateBreak::RunMissing { run });
        }
    }
    if head(connection)? != (position, walked.link) {
        walked.breaks.push(StateBreak::Roster { position: position + 1 });
    }
    let mut statement = connection.prepare_cached(
        "SELECT run FROM journals WHERE run NOT IN (SELECT run FROM roster WHERE removed_at IS NULL) ORDER BY id",
    )?;
    let unknown = statement.query_map([], |row| row.get::<_, String>(0))?;
    for run in unknown {
        walked.breaks.push(StateBreak::RunUnknown { run: RunId::from_stored(run?) });
    }
    Ok(walked)
}
