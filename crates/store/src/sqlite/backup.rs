//! Copies the database as one transaction left it, while other processes write.

use std::path::Path;
use std::time::Duration;

use escrow_model::RunId;
use rusqlite::Connection;
use rusqlite::backup::{Backup, StepResult};

use crate::error::{StoreError, StoreErrorKind};
use crate::sqlite::blocking::BlockingStore;
use crate::sqlite::connect;
use crate::sqlite::error::SqliteError;

impl BlockingStore {
    /// Copies the database to a file that does not exist yet, and names the runs in it. The copy is one file: no log
    /// lies beside it. `None` when there is no database, or an empty one.
    pub fn back_up(&self, to: &Path) -> Result<Option<Vec<RunId>>, StoreError> {
        self.read(|connection| copy(connection, to).map(Some))
    }
}

/// Copies every page in one step, under one read lock: the copy is what one transaction left.
pub(crate) fn copy_pages(from: &Connection, to: &mut Connection) -> Result<(), SqliteError> {
    let backup = Backup::new(from, to)?;
    for _ in 0..ATTEMPTS {
        match backup.step(-1)? {
            StepResult::Done => return Ok(()),
            _ => std::thread::sleep(PAUSE),
        }
    }
    Err(SqliteError::Known(StoreErrorKind::Locked, "the database was locked for too long".into()))
}

/// How often, and how long after each other, a locked database is tried.
const ATTEMPTS: u32 = 1_000;
const PAUSE: Duration = Duration::from_millis(10);

fn copy(connection: &Connection, to: &Path) -> Result<Vec<RunId>, SqliteError> {
    connect::make_private(to);
    let mut target = Connection::open(to)?;
    copy_pages(connection, &mut target)?;
    // The copy says that it has a log, like the original. Checked here, because its owner may need it years later.
    let problem: String = target.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if problem != "ok" {
        return Err(SqliteError::Known(
            StoreErrorKind::Corrupt,
            format!("the copy is damaged, and so may be the original: {problem}"),
        ));
    }
    let runs = {
        let mut statement = target.prepare("SELECT run FROM journals ORDER BY id")?;
        let rows = statement.query_map([], |row| Ok(RunId::from_stored(row.get::<_, String>(0)?)))?;
        rows.collect::<rusqlite::Result<_>>()?
    };
    target.close().map_err(|(_, error)| SqliteError::from(error))?;
    Ok(runs)
}
