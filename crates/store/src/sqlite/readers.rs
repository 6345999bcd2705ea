//! A small pool of connections that only read.
//!
//! A reader never waits for the writer: each query sees the database as its last commit left it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::error::StoreError;
use crate::sqlite::connect;
use crate::sqlite::error::SqliteError;
use crate::sqlite::identity::FileIdentity;

/// Connections kept open between queries. More may be open while as many queries run at once.
const IDLE_MAX: usize = 4;

pub(crate) struct Readers {
    path: PathBuf,
    busy_timeout: Duration,
    /// The file that was opened first. Answers come from no other: they would contradict each other.
    identity: OnceLock<FileIdentity>,
    idle: Mutex<Vec<Connection>>,
    /// `data_version` is only comparable within one connection, so one is set apart for it.
    versions: Mutex<Option<Connection>>,
}

impl Readers {
    pub(crate) fn new(
        path: &Path,
        busy_timeout: Duration,
        identity: Option<FileIdentity>,
        first: Option<Connection>,
    ) -> Readers {
        Readers {
            path: path.to_owned(),
            busy_timeout,
            identity: identity.map_or_else(OnceLock::new, OnceLock::from),
            idle: Mutex::new(first.into_iter().collect()),
            versions: Mutex::default(),
        }
    }

    /// Runs a query. Where there is no database, the answer is the empty one.
    pub(crate) fn read<T: Default>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, SqliteError>,
    ) -> Result<T, StoreError> {
        self.verify_file()?;
        let idle = unpoisoned(&self.idle).pop();
        let Some(connection) = idle.map_or_else(|| self.open(), |connection| Ok(Some(connection)))? else {
            return Ok(T::default());
        };
        let answer = query(&connection).map_err(|error| error.at(&self.path));
        let mut idle = unpoisoned(&self.idle);
        if idle.len() < IDLE_MAX {
            idle.push(connection);
        }
        answer
    }

    /// Changes when any other connection commits; 0 while there is no database.
    ///
    /// SQLite has no notifications. Reading `data_version` touches shared memory only, so asking every few
    /// milliseconds costs less than any file watcher.
    pub(crate) fn data_version(&self) -> Result<u64, StoreError> {
        self.verify_file()?;
        let mut versions = unpoisoned(&self.versions);
        if versions.is_none() {
            *versions = self.open()?;
        }
        let Some(connection) = versions.as_ref() else { return Ok(0) };
        let version = connection
            .prepare_cached("PRAGMA data_version")
            .and_then(|mut statement| statement.query_row([], |row| row.get(0)));
        version.map_err(|error| SqliteError::from(error).at(&self.path))
    }

    /// Closes every connection that no query is using.
    pub(crate) fn close(&self) {
        unpoisoned(&self.idle).clear();
        unpoisoned(&self.versions).take();
    }

    /// An error if the database was removed or replaced since it was opened.
    pub(crate) fn verify_file(&self) -> Result<(), StoreError> {
        match self.identity.get() {
            Some(identity) => identity.verify(&self.path).map_err(|error| error.at(&self.path)),
            None => Ok(()),
        }
    }

    fn open(&self) -> Result<Option<Connection>, StoreError> {
        let opened = connect::for_reading(&self.path, self.busy_timeout);
        let Some((connection, identity)) = opened.map_err(|error| error.at(&self.path))? else {
            return Ok(None);
        };
        self.identity.get_or_init(|| identity);
        self.verify_file()?;
        Ok(Some(connection))
    }
}

/// The data behind these locks is valid after any panic.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
