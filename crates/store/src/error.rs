//! Why a store could not do what it was asked, in words that a person can act on.

use std::error::Error;
use std::sync::Arc;

use thiserror::Error as ThisError;

/// A store that could not do what it was asked. Nothing of the failed operation was written.
#[derive(Clone, Debug, ThisError)]
#[error("{message}")]
pub struct StoreError {
    pub kind: StoreErrorKind,
    /// One line that names the database.
    pub message: String,
    #[source]
    source: Option<Arc<dyn Error + Send + Sync>>,
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
    /// Written before the first release, in a form that no release reads.
    Unreleased {
        found: u32,
    },
    /// Written by an older Escrow, and opened only for reading.
    OlderVersion {
        found: u32,
        known: u32,
    },
    /// Its path names another file than the one that was opened, or none.
    Replaced,
    /// The disk failed. Whether the commit survived is only known once it is repeated.
    Io,
    NoSuchRun,
    /// The commit expects a journal that ends elsewhere.
    OutOfStep {
        expected: u64,
        actual: u64,
    },
    /// The commit delivers a message that was delivered before, or belongs to another run.
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

    pub(crate) fn caused_by(mut self, source: impl Error + Send + Sync + 'static) -> StoreError {
        self.source = Some(Arc::new(source));
        self
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
            StoreErrorKind::Unreleased { .. } => {
                "move the file away, or choose another directory with `--state`; the file was not changed"
            }
            StoreErrorKind::NewerVersion { .. } => {
                "use the newer Escrow that wrote it; the file was not changed"
            }
            StoreErrorKind::OlderVersion { .. } => {
                "run any verb that writes, for instance `escrow run`, to bring it up to date"
            }
            StoreErrorKind::Replaced => {
                "put the file back, or end this process, restore a backup and start it again; nothing was written"
            }
            StoreErrorKind::Io => "check the disk; repeating the command is safe",
            StoreErrorKind::NoSuchRun => "`escrow runs` lists the runs",
            StoreErrorKind::OutOfStep { .. } | StoreErrorKind::Internal => {
                "this is a bug in Escrow; please report it"
            }
            StoreErrorKind::MessageGone => "it was delivered before; nothing is left to do",
            StoreErrorKind::FinalStatus => "a run that has ended stays as it is; resume it or start another",
        }
    }
}
