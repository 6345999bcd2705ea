//! The state directory: `.escrow/` of the nearest ancestor that has one, else of the git root, else of the current
//! directory.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrow_model::RunId;
use escrow_runtime::{private_files, project};
use escrow_store::{Mode, Store, StoreErrorKind};

use crate::backup::DATABASE;
use crate::error::Error;

/// Keeps state out of version control, and the files that people write in it.
const GITIGNORE: &str = "\
# Written by escrow. State stays here; what people write is kept.
*
!.gitignore
!config.toml
!playbooks/
!playbooks/**
!agents/
!agents/**
!rules/
!rules/**
!outcomes/
!outcomes/**
!chains/
!chains/**
";

/// Names every path below the state directory, so that no caller puts them together.
#[derive(Clone, Debug)]
pub struct StateDirectory(PathBuf);

impl StateDirectory {
    /// The given directory, or the one that belongs to the current directory. Creates nothing.
    pub fn find(given: Option<&Path>) -> Result<StateDirectory, Error> {
        let current = std::env::current_dir()
            .map_err(|error| Error::world("directory", format!("no current directory: {error}")))?;
        if let Some(given) = given {
            // Taken for a directory, the address of a shared database would silently be a private one, and its password
            // the name of a folder.
            if let Some((scheme, _)) = given.to_string_lossy().split_once("://") {
                let message =
                    format!("the state is a directory, and `{scheme}://…` is the address of a service");
                return Err(Error::author("state_address", message)
                    .help("name a directory with `--state DIR` or ESCROW_STATE"));
            }
            return Ok(StateDirectory(current.join(given)));
        }
        let found = project::nearest(&current)
            .map_err(|error| Error::world("state", error.to_string()).help(error.help()))?;
        if let Some(found) = found {
            return Ok(StateDirectory(found));
        }
        let git = current.ancestors().find(|ancestor| ancestor.join(".git").exists());
        Ok(StateDirectory(git.unwrap_or(&current).join(project::NAME)))
    }

    /// A directory that is known.
    pub(crate) fn at(path: &Path) -> StateDirectory {
        StateDirectory(path.to_owned())
    }

    /// An error that says where the state was looked for, when there is none yet.
    pub fn expect_there(&self) -> Result<(), Error> {
        self.refuse_lost_database()?;
        if self.path().join(DATABASE).is_file() {
            return Ok(());
        }
        let message = format!("there is no state in `{}`", self.path().display());
        Err(Error::author("no_state", message)
            .help("call it in the project whose run waits, or name its state with `--state DIR`"))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where a run delivers its artifacts, unless its order names another directory.
    pub fn artifacts(&self, run: &RunId) -> PathBuf {
        self.0.join("artifacts").join(run.as_str())
    }

    /// Where a run's commands stream their output.
    pub fn spool(&self, run: &RunId) -> PathBuf {
        self.0.join("spool").join(run.as_str())
    }

    /// Where the plays of a show with worktrees work, if the state lies in the repository.
    pub fn worktrees(&self, run: &RunId) -> PathBuf {
        self.0.join("worktrees").join(run.as_str())
    }

    /// A store that only reads. A state directory that does not exist has no runs. A database of an older Escrow is
    /// brought up to date first.
    pub fn read(&self) -> Result<Arc<Store>, Error> {
        self.refuse_lost_database()?;
        match Store::open(&self.database(), Mode::Read) {
            // Opening it to write takes the steps that it lacks.
            Err(error) if matches!(error.kind, StoreErrorKind::OlderVersion { .. }) => {
                drop(Store::open(&self.database(), Mode::Write)?);
                Ok(Arc::new(Store::open(&self.database(), Mode::Read)?))
            }
            opened => Ok(Arc::new(opened?)),
        }
    }

    /// A store that also writes. Creates the state directory.
    pub fn write(&self) -> Result<Arc<Store>, Error> {
        self.create().map_err(|error| {
            Error::world("state", format!("cannot write to `{}`: {error}", self.0.display()))
                .help("choose another directory with `--state DIR` or ESCROW_STATE")
        })?;
        self.refuse_lost_database()?;
        Ok(Arc::new(Store::open(&self.database(), Mode::Write)?))
    }

    /// A new state has no database, or an empty one when the process that created it was killed. Files of runs beside
    /// it show that there was one with content, and so does a write-ahead log beside no database.
    fn refuse_lost_database(&self) -> Result<(), Error> {
        let database = self.database();
        let lost = match fs::metadata(&database) {
            Ok(file) if file.len() == 0 => "is empty",
            Err(error) if error.kind() == io::ErrorKind::NotFound => "is missing",
            Ok(_) | Err(_) => return Ok(()),
        };
        let holds_runs = |folder: &str| {
            let entries = fs::read_dir(self.0.join(folder));
            let is_of_run = |entry: fs::DirEntry| entry.file_name().as_encoded_bytes().starts_with(b"r_");
            entries.is_ok_and(|entries| entries.flatten().any(is_of_run))
        };
        let has_log = lost == "is missing" && self.0.join(format!("{DATABASE}-wal")).exists();
        if !has_log && !holds_runs("artifacts") && !holds_runs("spool") {
            return Ok(());
        }
        let message = format!("`{}` {lost}, but files of its runs are beside it", database.display());
        Err(Error::world("state", message).help(
            "restore it from a backup; to begin anew, remove `escrow.db*` and the folders `artifacts` and `spool` beside it",
        ))
    }

    /// Creates the directory and its `.gitignore`, both for their owner alone.
    ///
    /// A `.escrow/` that is there, for instance from a clone, loses the rights of group and others. A directory of any
    /// other name was made for something else, too, and keeps its rights.
    pub fn create(&self) -> io::Result<()> {
        match fs::metadata(&self.0) {
            Ok(there) if there.is_dir() => {
                if self.0.file_name().is_some_and(|name| name == project::NAME) {
                    // It belongs to another user, who is trusted.
                    let _ = private_files::tighten_one(&self.0, &there);
                }
            }
            Ok(_) | Err(_) => private_files::create_directory(&self.0)?,
        }
        let ignore = self.0.join(".gitignore");
        if !ignore.exists() {
            private_files::create_file(&ignore)?.write_all(GITIGNORE.as_bytes())?;
        }
        Ok(())
    }

    /// Creates a file for an export: inside the state for its owner alone, elsewhere as the umask says.
    pub fn create_export(&self, path: &Path) -> io::Result<fs::File> {
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let is_inside = match (parent.canonicalize(), self.0.canonicalize()) {
            (Ok(parent), Ok(state)) => parent.starts_with(state),
            (_, _) => false,
        };
        if is_inside { private_files::create_file(path) } else { fs::File::create(path) }
    }

    /// Where journals and receipts are.
    pub fn database(&self) -> PathBuf {
        self.0.join("escrow.db")
    }
}
