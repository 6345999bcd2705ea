//! The handle of a database file: one writer that starts with the first write, and a pool of readers.

use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::commit::Durability;
use crate::error::{StoreError, StoreErrorKind};
use crate::sqlite::close::{Mark, tidy};
use crate::sqlite::error::SqliteError;
use crate::sqlite::identity::FileIdentity;
use crate::sqlite::readers::Readers;
use crate::sqlite::writer::{Caller, Writer};
use crate::sqlite::{connect, high_water_mark, tables};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Makes the database when it does not exist. Its directory must exist.
    Write,
    /// Makes nothing. A database that does not exist has no runs.
    Read,
}

/// Settings that rarely differ from the default.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How long to wait for another process that writes.
    pub busy_timeout: Duration,
    /// How long a lease stands without being renewed, when its holder cannot be judged.
    pub lease_ttl: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options { busy_timeout: Duration::from_secs(10), lease_ttl: Duration::from_secs(60) }
    }
}

/// The database file, with methods that block the calling thread until they are done. Clones share its connections.
///
/// What drives runs and serves people goes through the async traits of [`super::Store`] instead.
#[derive(Clone)]
pub struct BlockingStore {
    shared: Arc<Shared>,
}

struct Shared {
    path: PathBuf,
    mark: Mark,
    options: Options,
    /// Open and checked, but not written to yet: many processes never write.
    unused: Mutex<Option<(Connection, FileIdentity)>>,
    writer: OnceLock<Writer>,
    readers: Readers,
}

impl Drop for Shared {
    /// Closes every connection, and leaves one file if no other process has the database open.
    fn drop(&mut self) {
        if let Some(writer) = self.writer.take() {
            writer.settle();
        }
        self.unused.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        self.readers.close();
        tidy(&self.path, self.mark);
    }
}

impl BlockingStore {
    pub fn open(path: &Path, mode: Mode) -> Result<BlockingStore, StoreError> {
        BlockingStore::open_with(path, mode, Options::default())
    }

    pub fn open_with(path: &Path, mode: Mode, options: Options) -> Result<BlockingStore, StoreError> {
        let named = |error: SqliteError| error.at(path);
        let (unused, reader) = match mode {
            Mode::Write => (Some(connect::for_writing(path, options.busy_timeout).map_err(named)?), None),
            Mode::Read => (None, connect::for_reading(path, options.busy_timeout).map_err(named)?),
        };
        let mark = match &reader {
            Some((reader, _)) if high_water_mark::missing(reader, path).is_ok_and(|loss| loss.is_none()) => {
                Mark::Reached
            }
            Some(_) => Mark::Ahead,
            // A writer has recorded what it found missing.
            None if mode == Mode::Write => Mark::Reached,
            None => Mark::Ahead,
        };
        let identity = unused.as_ref().or(reader.as_ref()).map(|(_, identity)| *identity);
        let reader = reader.map(|(connection, _)| connection);
        let shared = Shared {
            path: path.to_owned(),
            mark,
            options,
            unused: Mutex::new(unused),
            writer: OnceLock::new(),
            readers: Readers::new(path, options.busy_timeout, identity, reader),
        };
        Ok(BlockingStore { shared: Arc::new(shared) })
    }

    pub fn path(&self) -> &Path {
        &self.shared.path
    }

    /// Drops every derived table and derives it again from the journals.
    pub fn rebuild(&self) -> Result<(), StoreError> {
        self.write(Durability::Full, tables::rebuild)
    }

    /// Waits for a checkpoint that is under way. Dropping the store does so too.
    pub fn settle(&self) {
        if let Some(writer) = self.shared.writer.get() {
            writer.settle();
        }
    }

    pub(crate) fn busy_timeout(&self) -> Duration {
        self.shared.options.busy_timeout
    }

    pub(crate) fn lease_ttl(&self) -> Duration {
        self.shared.options.lease_ttl
    }

    /// Runs a query. Where there is no database, the answer is the empty one.
    pub(crate) fn read<T: Default>(
        &self,
        query: impl FnOnce(&Connection) -> Result<T, SqliteError>,
    ) -> Result<T, StoreError> {
        self.shared.readers.read(query)
    }

    /// An error if the database was removed or replaced since it was opened.
    pub(crate) fn verify_file(&self) -> Result<(), StoreError> {
        self.shared.readers.verify_file()
    }

    /// Changes when any process commits. Only comparable with other values of the same store.
    pub fn version(&self) -> Result<u64, StoreError> {
        self.shared.readers.data_version()
    }

    /// Writes, and blocks the thread until the write is committed.
    pub(crate) fn write<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnMut(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = sync_channel(1);
        // The receiver waits below until this has been sent.
        let reply = move |result| drop(reply.send(result));
        self.writer()?.submit(durability, Caller::Thread, work, reply);
        answer.recv().unwrap_or_else(|_| Err(gone()))
    }

    /// Writes without blocking: done at the first poll when the write needs no sync and the database is free, else by
    /// the writer's thread.
    pub(crate) async fn write_async<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnMut(&Connection) -> Result<T, SqliteError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        // The caller may have dropped its future; the write stands all the same.
        let reply = move |result| drop(reply.send(result));
        self.writer()?.submit(durability, Caller::Task, work, reply);
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    fn writer(&self) -> Result<&Writer, StoreError> {
        let shared = &self.shared;
        if let Some(writer) = shared.writer.get() {
            return Ok(writer);
        }
        let mut unused = shared.unused.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((connection, identity)) = unused.take() {
            let writer = Writer::new(connection, shared.path.clone(), identity, self.busy_timeout());
            let writer = writer.map_err(|error| SqliteError::from(error).at(&shared.path))?;
            return Ok(shared.writer.get_or_init(|| writer));
        }
        shared.writer.get().ok_or_else(|| {
            let message = format!("`{}` was opened for reading only", shared.path.display());
            StoreError::new(StoreErrorKind::ReadOnly, message)
        })
    }
}

fn gone() -> StoreError {
    StoreError::new(StoreErrorKind::Internal, "the writer of the store is gone")
}
