//! The high-water mark: a small file beside the database that says where the journals end, for as long as there is a
//! write-ahead log.
//!
//! ```text
//!   commit ──▶ log ──▶ mark (not synced; synced once, with the first commit that is)
//!   open ────▶ mark > database?  ──yes──▶ the log was removed or cut: a loss
//!   last orderly close ──▶ log folded into the database ──▶ no log, no mark
//! ```
//!
//! A log that is removed while no process lives leaves a sound but older database. Only something outside the log can
//! tell the difference.
//!
//! **Invariant:** the mark is written after the commit that it tells of, and read before the database. So it is never
//! ahead of a database that has lost nothing.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use escrow_model::RunId;
use rusqlite::{Connection, OptionalExtension};

use crate::commit::Durability;
use crate::error::StoreError;
use crate::loss::{JournalEnd, Loss};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::clock;

/// Losses that a process has noticed; a step of the schema.
pub(crate) const TABLES: &str = "
CREATE TABLE losses (
    noticed_at INTEGER NOT NULL,
    position INTEGER NOT NULL,
    run TEXT NOT NULL,
    seq INTEGER NOT NULL,
    found INTEGER NOT NULL,
    UNIQUE (position, run, seq, found)
) STRICT;
";

/// One write, so that a reader sees the old mark or the new one.
const FILE_BYTES: usize = 256;

/// The mark of a database.
pub(crate) fn mark_of(database: &Path) -> PathBuf {
    let mut mark = database.as_os_str().to_owned();
    mark.push("-mark");
    mark.into()
}

/// Keeps the mark of the database that this process writes.
pub(crate) struct HighWaterMark {
    path: PathBuf,
    file: Option<File>,
    written: Option<JournalEnd>,
    is_synced: bool,
}

impl HighWaterMark {
    pub(crate) fn new(database: &Path) -> HighWaterMark {
        HighWaterMark { path: mark_of(database), file: None, written: None, is_synced: false }
    }

    /// Records where the journals end. A mark that cannot be written is no reason to stop: less is noticed.
    pub(crate) fn record(&mut self, end: JournalEnd, durability: Durability) {
        let must_sync = durability == Durability::Full && !self.is_synced;
        if self.written.as_ref() == Some(&end) && !must_sync {
            return;
        }
        let Some(file) = self.file() else { return };
        let mut text = serde_json::to_string(&end).unwrap_or_default();
        text.extend(std::iter::repeat_n(' ', FILE_BYTES.saturating_sub(text.len() + 1)));
        text.push('\n');
        let mut written = file.write_all_at(text.as_bytes(), 0);
        if must_sync {
            written = written.and_then(|()| file.sync_data());
            self.is_synced = written.is_ok();
        }
        self.written = written.is_ok().then_some(end);
    }

    /// The open file. A process that closed the database in the meantime may have removed it.
    fn file(&mut self) -> Option<&File> {
        let is_there = self
            .file
            .as_ref()
            .and_then(|file| file.metadata().ok())
            .is_some_and(|metadata| metadata.nlink() > 0);
        if !is_there && self.path.exists() && !is_file(&self.path) {
            return None;
        }
        if !is_there {
            let options =
                OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&self.path);
            let file = options.and_then(|file| {
                file.set_permissions(Permissions::from_mode(0o600))?;
                Ok(file)
            });
            (self.file, self.is_synced) = (file.ok(), false);
        }
        self.file.as_ref()
    }
}

/// Where the journals end; nothing when there are no entries.
pub(crate) fn end(connection: &Connection) -> rusqlite::Result<Option<JournalEnd>> {
    connection
        .prepare_cached(
            "SELECT entries.global, journals.run, entries.seq FROM entries
             LEFT JOIN journals ON journals.id = entries.journal ORDER BY entries.global DESC LIMIT 1",
        )?
        .query_row([], |row| {
            // Runs that were removed leave an entry of no journal behind.
            let run: Option<String> = row.get(1)?;
            Ok(JournalEnd {
                position: row.get(0)?,
                run: RunId::from_stored(run.unwrap_or_default()),
                seq: row.get(2)?,
            })
        })
        .optional()
}

/// What the mark knows of and the database does not.
pub(crate) fn missing(connection: &Connection, database: &Path) -> rusqlite::Result<Option<Loss>> {
    let Some(last) = read(&mark_of(database)) else { return Ok(None) };
    let found = end(connection)?.map_or(0, |end| end.position);
    Ok((last.position > found).then_some(Loss { noticed_at: None, last, found }))
}

/// Records what is missing, so that it is known when the mark has moved on.
pub(crate) fn record_loss(connection: &Connection, database: &Path) -> rusqlite::Result<()> {
    if let Some(loss) = missing(connection, database)? {
        connection.execute(
            "INSERT INTO losses (noticed_at, position, run, seq, found) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO NOTHING",
            (clock::now(), loss.last.position, loss.last.run.as_str(), loss.last.seq, loss.found),
        )?;
        // What was recorded need not be noticed again, even if this process commits nothing.
        let _ = fs::remove_file(mark_of(database));
    }
    Ok(())
}

/// A pipe in its place would keep everybody waiting.
fn is_file(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.is_file())
}

fn read(path: &Path) -> Option<JournalEnd> {
    if !is_file(path) {
        return None;
    }
    serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
}

impl BlockingStore {
    /// Entries that are known to be missing, oldest loss first.
    pub fn losses(&self) -> Result<Vec<Loss>, StoreError> {
        let database = self.path().to_owned();
        let without_tables = self.lost_with_database();
        let found = self.read(move |connection| Ok(Some(losses(connection, &database)?)))?;
        Ok(found.unwrap_or(without_tables))
    }

    /// What the mark names beside a database without tables: the log that had them is gone. To be read before the
    /// database is.
    pub(crate) fn lost_with_database(&self) -> Vec<Loss> {
        let last = read(&mark_of(self.path()));
        last.map(|last| Loss { noticed_at: None, last, found: 0 }).into_iter().collect()
    }
}

pub(crate) fn losses(connection: &Connection, database: &Path) -> rusqlite::Result<Vec<Loss>> {
    // Before the table: a process may be recording it.
    let unrecorded = missing(connection, database)?;
    let mut statement = connection.prepare_cached(
        "SELECT noticed_at, position, run, seq, found FROM losses ORDER BY noticed_at, rowid",
    )?;
    let rows = statement.query_map([], |row| {
        Ok(Loss {
            noticed_at: Some(row.get(0)?),
            last: JournalEnd {
                position: row.get(1)?,
                run: RunId::from_stored(row.get::<_, String>(2)?),
                seq: row.get(3)?,
            },
            found: row.get(4)?,
        })
    })?;
    let mut losses = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    losses.extend(unrecorded.filter(|one| losses.iter().all(|known| known.last != one.last)));
    Ok(losses)
}
