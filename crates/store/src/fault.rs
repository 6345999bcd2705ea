//! What can go wrong with a database, in words that a person can act on.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rusqlite::ErrorCode;
use thiserror::Error;

/// A store that could not do what it was asked. Nothing of the failed operation was written.
#[derive(Clone, Debug, Error)]
#[error("{message}")]
pub struct StoreError {
    pub kind: StoreErrorKind,
    /// One line that names the database.
    pub message: String,
    #[source]
    source: Option<Arc<rusqlite::Error>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreErrorKind {
    DiskFull,
    /// The file or its directory may not be written.
    ReadOnly,
    /// It cannot be opened at all: a missing directory, a directory in its place, no permission.
    Unopenable,
    /// Another process kept it locked for longer than the busy timeout.
    Locked,
    /// A damaged database, or an entry that is not what was written.
    Corrupt,
    NotADatabase,
    /// A healthy database that belongs to another program.
    Foreign,
    /// Written by a newer Escrow.
    NewerVersion {
        found: u32,
        known: u32,
    },
    /// Written by an older Escrow, and opened only for reading.
    OlderVersion {
        found: u32,
        known: u32,
    },
    /// The disk failed. Whether the commit survived is only known once it is repeated.
    Io,
    NoSuchRun,
    /// The commit expects a journal that ends elsewhere.
    OutOfStep {
        expected: u64,
        actual: u64,
    },
    /// The commit opens a message that was opened before, or belongs to another run.
    MessageGone,
    /// The commit leads out of a terminal status.
    FinalStatus,
    /// A bug in Escrow: a statement that the schema refuses, a writer that is gone.
    Internal,
}

impl StoreError {
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> StoreError {
        StoreError { kind, message: message.into(), source: None }
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self.kind {
            StoreErrorKind::DiskFull => "free some space and run the command again; nothing was lost",
            StoreErrorKind::ReadOnly => {
                "make the file and its directory writable, or choose another with `--state`"
            }
            StoreErrorKind::Unopenable => {
                "check that the directory exists and may be read, or choose another with `--state`"
            }
            StoreErrorKind::Locked => {
                "another process is writing to it; try again, or find the process that hangs"
            }
            StoreErrorKind::Corrupt => {
                "keep a copy of the file, then restore a backup; `escrow verify` names the first bad entry"
            }
            StoreErrorKind::NotADatabase | StoreErrorKind::Foreign => {
                "move the file away, or choose another directory with `--state`"
            }
            StoreErrorKind::NewerVersion { .. } => {
                "use the newer Escrow that wrote it; the file was not changed"
            }
            StoreErrorKind::OlderVersion { .. } => {
                "run any verb that writes, for instance `escrow run`, to bring it up to date"
            }
            StoreErrorKind::Io => "check the disk; repeating the command is safe",
            StoreErrorKind::NoSuchRun => "`escrow runs` lists the runs",
            StoreErrorKind::OutOfStep { .. } | StoreErrorKind::Internal => {
                "this is a bug in Escrow; please report it"
            }
            StoreErrorKind::MessageGone => "it was opened before; nothing is left to do",
            StoreErrorKind::FinalStatus => "a run that has ended stays as it is; resume it or start another",
        }
    }
}

/// An error inside the store, before it is known which database it concerns.
#[derive(Debug)]
pub(crate) enum Trouble {
    Sql(rusqlite::Error),
    Known(StoreErrorKind, String),
}

impl fmt::Display for Trouble {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::Sql(_) => write!(formatter, "the database {}", predicate(self.kind())),
            Trouble::Known(_, message) => formatter.write_str(message),
        }
    }
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Trouble {
        Trouble::Sql(error)
    }
}

impl Trouble {
    pub(crate) fn kind(&self) -> StoreErrorKind {
        match self {
            Trouble::Known(kind, _) => *kind,
            Trouble::Sql(error) => classify(error),
        }
    }

    pub(crate) fn at(self, path: &Path) -> StoreError {
        let kind = self.kind();
        match self {
            Trouble::Known(_, message) => {
                StoreError { kind, message: format!("{message} (in `{}`)", path.display()), source: None }
            }
            Trouble::Sql(error) => StoreError {
                kind,
                message: format!("`{}` {}", path.display(), predicate(kind)),
                source: Some(Arc::new(error)),
            },
        }
    }
}

/// The text with which `status_transitions` refuses a row.
pub(crate) const FINAL_STATUS: &str = "a terminal status is final";

/// Shared memory that cannot grow: the way in which a full disk meets the WAL index.
const IOERR_SHMSIZE: i32 = 4874;

fn classify(error: &rusqlite::Error) -> StoreErrorKind {
    let rusqlite::Error::SqliteFailure(failure, text) = error else {
        return match error {
            rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => StoreErrorKind::Corrupt,
            _ => StoreErrorKind::Internal,
        };
    };
    match failure.code {
        ErrorCode::DiskFull => StoreErrorKind::DiskFull,
        ErrorCode::SystemIoFailure if failure.extended_code == IOERR_SHMSIZE => StoreErrorKind::DiskFull,
        ErrorCode::SystemIoFailure | ErrorCode::OutOfMemory => StoreErrorKind::Io,
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => StoreErrorKind::ReadOnly,
        ErrorCode::CannotOpen => StoreErrorKind::Unopenable,
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked | ErrorCode::FileLockingProtocolFailed => {
            StoreErrorKind::Locked
        }
        ErrorCode::DatabaseCorrupt => StoreErrorKind::Corrupt,
        ErrorCode::NotADatabase => StoreErrorKind::NotADatabase,
        ErrorCode::ConstraintViolation if text.as_deref() == Some(FINAL_STATUS) => {
            StoreErrorKind::FinalStatus
        }
        _ => StoreErrorKind::Internal,
    }
}

fn predicate(kind: StoreErrorKind) -> &'static str {
    match kind {
        StoreErrorKind::DiskFull => "cannot grow: the disk is full",
        StoreErrorKind::ReadOnly => "may not be written",
        StoreErrorKind::Unopenable => "cannot be opened",
        StoreErrorKind::Locked => "was locked by another process for too long",
        StoreErrorKind::Corrupt => "is damaged",
        StoreErrorKind::NotADatabase => "is not a database",
        StoreErrorKind::Foreign => "belongs to another program",
        StoreErrorKind::NewerVersion { .. } => "was written by a newer Escrow",
        StoreErrorKind::OlderVersion { .. } => "was written by an older Escrow",
        StoreErrorKind::Io => "could not be read or written",
        StoreErrorKind::FinalStatus => "refused the commit: a terminal status is final",
        StoreErrorKind::NoSuchRun
        | StoreErrorKind::OutOfStep { .. }
        | StoreErrorKind::MessageGone
        | StoreErrorKind::Internal => "refused the operation",
    }
}
