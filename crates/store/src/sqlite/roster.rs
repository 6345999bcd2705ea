//! The roster: an append-only log, linked by hashes, of every run that was created, imported or removed here and of what
//! people recorded beside the journals.
//!
//! ```text
//!   link[n] = SHA-256(link[n-1] ‖ n as 8 bytes, big-endian ‖ what)      roster_head = (n, link[n])
//!   what    = run                                                       created or imported
//!           | "\0removed " run " " seq " " hash " " removed_at           removed by `gc`, with the end of its journal
//!           | "\0kept " table " " number " " digest                      a row of `added_outcomes`, `invocations_said`
//!           | "\0forgotten " table " " number                            the row was removed by `gc`
//! ```
//!
//! A run's own chain cannot tell that the whole run was deleted; the roster can. A removal is a link as well, so that a
//! deletion cannot be passed off as one.
//!
//! A roster from before that has another origin, and one link that says from where on removals (or rows) are links. With a
//! second one, or with one in a newer roster, a database could be made to look old in order to have a forgery linked.

use std::collections::BTreeSet;

use escrow_model::RunId;
use rusqlite::{Connection, OptionalExtension};

use crate::chain::Hash;
use crate::sqlite::clock;
use crate::sqlite::recorded_rows::{self, Digests, Note};
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

/// The link from which on removals are links. No run has such a name.
const REMOVALS_ARE_LINKS: &str = "\0removals are links";

/// The link from which on rows are links.
const ROWS_ARE_LINKED: &str = "\0kept rows are links";

/// Part of the transaction that creates the run.
pub(crate) fn record_created(connection: &Connection, run: &RunId) -> rusqlite::Result<()> {
    append(connection, run.as_str(), None)
}

/// Part of the transaction that removes the run, before its journal goes.
pub(crate) fn record_removed(connection: &Connection, run: &RunId) -> rusqlite::Result<()> {
    let end = connection
        .prepare_cached("SELECT seq, hash FROM journals WHERE run = ?1")?
        .query_row([run.as_str()], |row| {
            Ok(Removal { at: clock::now(), seq: row.get(0)?, hash: row.get(1)? })
        })
        .optional()?;
    end.map_or(Ok(()), |removal| append(connection, run.as_str(), Some(removal)))
}

/// When a run was removed, and how its journal ended.
#[derive(Clone, Copy)]
struct Removal {
    at: u64,
    seq: u64,
    hash: Hash,
}

impl Removal {
    fn what(&self, run: &str) -> String {
        format!("\0removed {run} {} {} {}", self.seq, self.hash, self.at)
    }
}

fn append(connection: &Connection, run: &str, removal: Option<Removal>) -> rusqlite::Result<()> {
    append_after(head(connection)?, connection, run, removal)
}

/// A link about something else than a run.
pub(crate) fn append_note(connection: &Connection, note: &str) -> rusqlite::Result<()> {
    append(connection, note, None)
}

fn append_after(
    (position, link): (u64, Hash),
    connection: &Connection,
    run: &str,
    removal: Option<Removal>,
) -> rusqlite::Result<()> {
    let position = position + 1;
    let what = removal.map(|removal| removal.what(run));
    let link = link.next(position, what.as_deref().unwrap_or(run).as_bytes());
    connection
        .prepare_cached(
            "INSERT INTO roster (position, run, link, removed_at, seq, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute((
            position,
            run,
            link,
            removal.map(|removal| removal.at),
            removal.map(|removal| removal.seq),
            removal.map(|removal| removal.hash),
        ))?;
    connection
        .prepare_cached("INSERT OR REPLACE INTO roster_head (only, position, link) VALUES (1, ?1, ?2)")?
        .execute((position, link))?;
    Ok(())
}

/// A step of the schema: removals were marks on the row of the run, and become links.
pub(crate) fn link_removals(connection: &Connection) -> rusqlite::Result<()> {
    if head(connection)?.0 == 0 {
        return Ok(());
    }
    let mut statement = connection.prepare(
        "SELECT run, removed_at, seq, hash FROM roster
         WHERE removed_at IS NOT NULL AND seq IS NOT NULL AND hash IS NOT NULL ORDER BY removed_at, position",
    )?;
    let rows = statement.query_map([], |row| {
        let removal = Removal { at: row.get(1)?, seq: row.get(2)?, hash: row.get(3)? };
        Ok((row.get::<_, String>(0)?, removal))
    })?;
    let marked = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    connection.execute("UPDATE roster SET removed_at = NULL, seq = NULL, hash = NULL", [])?;
    append(connection, REMOVALS_ARE_LINKS, None)?;
    marked.iter().try_for_each(|(run, removal)| append(connection, run, Some(*removal)))
}

/// A step of the schema: what people recorded becomes links.
pub(crate) fn link_recorded_rows(connection: &Connection) -> rusqlite::Result<()> {
    let end = match head(connection)? {
        (0, _) if recorded_rows::is_empty(connection)? => return Ok(()),
        (0, _) => (0, Hash::of_empty_roster_of_runs()),
        end => end,
    };
    append_after(end, connection, ROWS_ARE_LINKED, None)?;
    recorded_rows::link_all(connection)
}

/// Those that are removed and have no journal.
pub(crate) fn removed(connection: &Connection) -> rusqlite::Result<Vec<RunId>> {
    let mut statement = connection.prepare_cached(
        "SELECT DISTINCT run FROM roster WHERE removed_at IS NOT NULL AND run NOT IN (SELECT run FROM journals)",
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

/// A roster that was walked from its first link to its last.
pub(crate) struct Walked {
    /// Runs that `gc` removed.
    pub(crate) removed: u64,
    pub(crate) link: Hash,
    /// What people recorded and `gc` has not removed.
    pub(crate) recorded: Digests,
    pub(crate) breaks: Vec<StateBreak>,
}

/// Compares the roster with its links, its head and the journals.
pub(crate) fn walk(connection: &Connection) -> rusqlite::Result<Walked> {
    let mut walked =
        Walked { removed: 0, link: Hash::of_empty_roster(), recorded: Digests::new(), breaks: Vec::new() };
    let mut here = BTreeSet::new();
    let mut statement = connection
        .prepare_cached("SELECT position, run, link, removed_at, seq, hash FROM roster ORDER BY position")?;
    let mut rows = statement.query([])?;
    let (mut position, mut removed_entries) = (0, 0);
    let (mut must_say_removals_are_links, mut must_say_rows_are_linked) = (false, false);
    while let Some(row) = rows.next()? {
        let expected = position + 1;
        position = row.get(0)?;
        let run: String = row.get(1)?;
        let found = row.get::<_, Hash>(2).ok();
        let marks: (Option<u64>, Option<u64>, Option<Hash>) =
            (row.get(3)?, row.get(4).ok().flatten(), row.get(5).ok().flatten());
        let removal = match marks {
            (Some(at), Some(seq), Some(hash)) => Some(Removal { at, seq, hash }),
            _ => None,
        };
        let what = removal.map(|removal| removal.what(&run));
        let what = what.as_deref().unwrap_or(&run).as_bytes();
        if position == 1 && found == Some(Hash::of_empty_old_roster().next(1, what)) {
            walked.link = Hash::of_empty_old_roster();
            (must_say_removals_are_links, must_say_rows_are_linked) = (true, true);
        } else if position == 1 && found == Some(Hash::of_empty_roster_of_runs().next(1, what)) {
            (walked.link, must_say_rows_are_linked) = (Hash::of_empty_roster_of_runs(), true);
        }
        walked.link = walked.link.next(position, what);
        let is_out_of_turn = match removal {
            _ if run == REMOVALS_ARE_LINKS => !std::mem::take(&mut must_say_removals_are_links),
            _ if run == ROWS_ARE_LINKED => !std::mem::take(&mut must_say_rows_are_linked),
            Some(removal) => {
                walked.removed += 1;
                removed_entries += removal.seq;
                !here.remove(&run)
            }
            None if marks != (None, None, None) => true,
            None => match Note::read(&run) {
                Some(note) => must_say_rows_are_linked || !note.apply(&mut walked.recorded),
                None => !here.insert(run),
            },
        };
        if position != expected || found != Some(walked.link) || is_out_of_turn {
            // Every later link depends on this one, so only the first break tells anything.
            walked.breaks.push(StateBreak::Roster { position: expected });
            return Ok(walked);
        }
    }
    if must_say_removals_are_links || must_say_rows_are_linked || head(connection)? != (position, walked.link)
    {
        walked.breaks.push(StateBreak::Roster { position: position + 1 });
    }
    let mut statement = connection.prepare_cached("SELECT run FROM journals ORDER BY id")?;
    for run in statement.query_map([], |row| row.get::<_, String>(0))? {
        let run = run?;
        if !here.remove(&run) {
            walked.breaks.push(StateBreak::RunUnknown { run: RunId::from_stored(run) });
        }
    }
    walked.breaks.extend(here.into_iter().map(|run| StateBreak::RunMissing { run: RunId::from_stored(run) }));
    walked.breaks.extend(missing_entries(connection, removed_entries)?);
    Ok(walked)
}

/// Entries are numbered over all runs without gaps, except for those of runs that were removed. So a run that is gone
/// without a trace leaves a gap, unless its entries were the last.
fn missing_entries(connection: &Connection, removed: u64) -> rusqlite::Result<Option<StateBreak>> {
    let (last, kept): (u64, u64) = connection.query_row(
        "SELECT (SELECT coalesce(max(global), 0) FROM entries), (SELECT coalesce(sum(seq), 0) FROM journals)",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    let known = kept.saturating_add(removed);
    Ok((last != known).then_some(StateBreak::Entries { last, known }))
}
