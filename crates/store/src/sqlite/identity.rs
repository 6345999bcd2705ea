//! Which file a connection has open, so that one that was removed or replaced is noticed.
//!
//! SQLite keeps writing to a file that has lost its name, and reports success. Such a commit is lost with the process,
//! so an effect that relies on it would leave no record.
//!
//! **Invariant:** a transaction is confirmed only if its database, and the log that it was written to, have their names
//! before and after the commit.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::error::StoreErrorKind;
use crate::sqlite::connect::log_of;
use crate::sqlite::error::SqliteError;

/// How often a database is opened again because its path named another file afterwards. A layered file system gives a
/// file another identity when it is first opened for writing.
const OPENED_MAX: u32 = 3;

/// A file on this machine. A number is not given to another file while this one is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

impl FileIdentity {
    /// The file that a path names; `None` when it names none that can be looked at.
    pub(crate) fn of(path: &Path) -> Option<FileIdentity> {
        let metadata = fs::metadata(path).ok()?;
        Some(FileIdentity { device: metadata.dev(), inode: metadata.ino() })
    }

    /// An error unless the path still names this file.
    pub(crate) fn verify(self, path: &Path) -> Result<(), SqliteError> {
        if FileIdentity::of(path) == Some(self) { Ok(()) } else { Err(replaced("the database")) }
    }
}

/// Opens a database, and says which file was opened.
pub(crate) fn opened<T>(
    path: &Path,
    mut open: impl FnMut() -> Result<T, SqliteError>,
) -> Result<(T, FileIdentity), SqliteError> {
    for _ in 0..OPENED_MAX {
        let before = FileIdentity::of(path);
        let opened = open()?;
        if let Some(identity) = FileIdentity::of(path)
            && Some(identity) == before
        {
            return Ok((opened, identity));
        }
    }
    Err(replaced("the database"))
}

/// The files that a writer appends to: the database and its write-ahead log.
pub(crate) struct WrittenFiles {
    database: PathBuf,
    database_identity: FileIdentity,
    log: PathBuf,
    /// Known from the first transaction on. SQLite keeps the log for as long as a connection is open.
    log_identity: Option<FileIdentity>,
}

impl WrittenFiles {
    pub(crate) fn new(database: &Path, database_identity: FileIdentity) -> WrittenFiles {
        WrittenFiles {
            database: database.to_owned(),
            database_identity,
            log: log_of(database),
            log_identity: None,
        }
    }

    /// To be called inside a transaction, when SQLite has opened the log.
    pub(crate) fn verify(&mut self) -> Result<(), SqliteError> {
        self.database_identity.verify(&self.database)?;
        let log = FileIdentity::of(&self.log);
        if log.is_none() || self.log_identity.is_some_and(|known| Some(known) != log) {
            return Err(replaced("the write-ahead log of the database"));
        }
        self.log_identity = log;
        Ok(())
    }
}

fn replaced(what: &str) -> SqliteError {
    SqliteError::Known(StoreErrorKind::Replaced, format!("{what} was removed or replaced while it was open"))
}
