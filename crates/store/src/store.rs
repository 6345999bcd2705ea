//! The store as callers hold it: a writer thread that starts with the first write, and a reading connection.

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use rusqlite::Connection;

use crate::commit::Durability;
use crate::connect;
use crate::fault::{StoreError, StoreErrorKind, Trouble};
use crate::tables;
use crate::writer::Writer;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Makes the database when it is not there. Its directory must be.
    Write,
    /// Makes nothing. A database that is not there has no runs.
    Read,
}

/// What rarely differs from the default.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long to wait for another process that writes.
    pub busy_timeout: Duration,
    /// How long a lease stands without being renewed, when nobody can tell whether its holder lives.
    pub lease_ttl: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { busy_timeout: Duration::from_secs(10), lease_ttl: Duration::from_secs(60) }
    }
}

/// Journals, tables, inbox and feed in one database file. Share it by reference or in an `Arc`.
pub struct Store {
    path: PathBuf,
    options: Options,
    /// Open and checked, but nothing was written yet: many processes never do.
    resting: Mutex<Option<Connection>>,
    writer: OnceLock<Writer>,
    reader: Mutex<Option<Connection>>,
}

impl Store {
    pub fn open(path: &Path, mode: Mode) -> Result<Store, StoreError> {
        Store::open_with(path, mode, Options::default())
    }

    pub fn open_with(path: &Path, mode: Mode, options: Options) -> Result<Store, StoreError> {
        let named = |trouble: Trouble| trouble.at(path);
        let (resting, reader) = match mode {
            Mode::Write => (Some(connect::for_writing(path, options.busy_timeout).map_err(named)?), None),
            Mode::Read => (None, connect::for_reading(path, options.busy_timeout).map_err(named)?),
        };
        Ok(Store {
            path: path.to_owned(),
            options,
            resting: Mutex::new(resting),
            writer: OnceLock::new(),
            reader: Mutex::new(reader),
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Drops every table and derives it again from the journals.
    pub fn rebuild(&self) -> Result<(), StoreError> {
        self.write(Durability::Full, tables::rebuild)
    }

    /// Waits for what goes on beside the writing. Dropping the store does so too; who ends without dropping it must.
    pub fn settle(&self) {
        if let Some(writer) = self.writer.get() {
            writer.settle();
        }
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        self.options.busy_timeout
    }

    pub(crate) fn lease_ttl(&self) -> Duration {
        self.options.lease_ttl
    }

    /// Runs a query. Where there is no database, the answer is the empty one.
    pub(crate) fn read<T: Default>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, Trouble>,
    ) -> Result<T, StoreError> {
        let mut reader = unpoisoned(&self.reader);
        let named = |trouble: Trouble| trouble.at(&self.path);
        if reader.is_none() {
            *reader = connect::for_reading(&self.path, self.options.busy_timeout).map_err(named)?;
        }
        match reader.as_ref() {
            Some(connection) => query(connection).map_err(named),
            None => Ok(T::default()),
        }
    }

    /// Has the writer do something, and waits until it is committed.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnMut(&Connection) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = sync_channel(1);
        self.write_with(durability, work, move |result| {
            // The receiver waits below until this has been sent.
            let _ = reply.send(result);
        });
        let gone = |_| StoreError::new(StoreErrorKind::Internal, "the writer of the store is gone");
        answer.recv().map_err(gone)?
    }

    pub(crate) fn write_with<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnMut(&Connection) -> Result<T, Trouble> + Send + 'static,
        reply: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) {
        match self.writer() {
            Ok(writer) => writer.submit(durability, work, reply),
            Err(error) => reply(Err(error)),
        }
    }

    fn writer(&self) -> Result<&Writer, StoreError> {
        if let Some(writer) = self.writer.get() {
            return Ok(writer);
        }
        let mut resting = unpoisoned(&self.resting);
        if let Some(connection) = resting.take() {
            let writer = Writer::new(connection, self.path.clone());
            let writer = writer.map_err(|error| Trouble::from(error).at(&self.path))?;
            return Ok(self.writer.get_or_init(|| writer));
        }
        self.writer.get().ok_or_else(|| {
            let message = format!("`{}` was opened for reading only", self.path.display());
            StoreError::new(StoreErrorKind::ReadOnly, message)
        })
    }
}

/// A query that panicked has left its connection usable: SQLite ends the statement when it is dropped.
fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
