//! Errors of SQLite, sorted into the kinds that a store reports.

use std::fmt;
use std::path::Path;

use rusqlite::ErrorCode;

use crate::error::{StoreError, StoreErrorKind};

/// An error inside the store, before it is known which database it concerns.
#[derive(Debug)]
pub(crate) enum SqliteError {
    Sql(rusqlite::Error),
    Known(StoreErrorKind, String),
}

impl fmt::Display for SqliteError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SqliteError::Sql(_) => write!(formatter, "the database {}", predicate(self.kind())),
            SqliteError::Known(_, message) => formatter.write_str(message),
        }
    }
}

impl From<rusqlite::Error> for SqliteError {
    fn from(error: rusqlite::Error) -> SqliteError {
        SqliteError::Sql(error)
    }
}

impl From<StoreError> for SqliteError {
    fn from(error: StoreError) -> SqliteError {
        SqliteError::Known(error.kind, error.message)
    }
}

impl SqliteError {
    pub(crate) fn kind(&self) -> StoreErrorKind {
        match self {
            SqliteError::Known(kind, _) => *kind,
            SqliteError::Sql(error) => classify(error),
        }
    }

    pub(crate) fn at(self, path: &Path) -> StoreError {
        let kind = self.kind();
        match self {
            SqliteError::Known(_, message) => {
                StoreError::new(kind, format!("{message} (in `{}`)", path.display()))
            }
            SqliteError::Sql(error) => {
                StoreError::new(kind, format!("`{}` {}", path.display(), predicate(kind))).caused_by(error)
            }
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
        StoreErrorKind::Unreleased { .. } => "was written before the first release",
        StoreErrorKind::OlderVersion { .. } => "was written by an older Escrow",
        StoreErrorKind::Replaced => "was removed or replaced while it was open",
        StoreErrorKind::Io => "could not be read or written",
        StoreErrorKind::FinalStatus => "refused the commit: a terminal status is final",
        StoreErrorKind::NoSuchRun
        | StoreErrorKind::OutOfStep { .. }
        | StoreErrorKind::MessageGone
        | StoreErrorKind::Internal => "refused the operation",
    }
}
