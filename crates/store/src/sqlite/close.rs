//! Leaves one file behind: the last process to close the database folds the write-ahead log into it and removes it.
//!
//! SQLite does so when the last connection closes, and knows that it is the last because no other process holds a lock.
//! Two processes that close at the same moment each see the other's lock, so a log that is still there is looked at
//! once more.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use crate::sqlite::connect::log_of;
use crate::sqlite::high_water_mark;

/// How often, and how long after each other, a log that is still there is looked at.
const ATTEMPTS: u32 = 2;
const PAUSE: Duration = Duration::from_millis(2);

/// What the high-water mark beside the database means to this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// The entries that it tells of are in the database.
    Reached,
    /// It tells of entries that are missing from the database, and no process has recorded that yet.
    Ahead,
}

/// After every connection of this process is closed. Problems are left to the next process.
pub(crate) fn tidy(database: &Path, mark: Mark) {
    let is_there = |path: &Path| path.try_exists().unwrap_or(true);
    let log = log_of(database);
    for _ in 0..ATTEMPTS {
        if !is_there(&log) {
            break;
        }
        std::thread::sleep(PAUSE);
        // Closing it does the work, if no other process has the database open.
        drop(touch(database));
    }
    if mark == Mark::Reached && !is_there(&log) {
        let _ = fs::remove_file(high_water_mark::mark_of(database));
    }
}

/// Opens the database and reads from it: only then does SQLite look at the log.
fn touch(database: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(database, flags)?;
    connection.busy_timeout(Duration::ZERO)?;
    connection.query_row("PRAGMA schema_version", [], |_| Ok(()))?;
    Ok(connection)
}
