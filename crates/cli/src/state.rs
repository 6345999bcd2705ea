//! Where Escrow keeps its state: `.escrow/` of the nearest ancestor that has one, else of the git root, else
//! here.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrow_model::RunId;
use escrow_store::{Mode, Store};

use crate::failure::Failure;

/// What belongs into version control, and what does not.
const GITIGNORE: &str = "\
# Written by escrow. State stays here; what people write is kept.
*
!.gitignore
!config.toml
!playbooks/
!playbooks/**
!agents/
!agents/**
!outcomes/
!outcomes/**
!chains/
!chains/**
";

#[derive(Clone, Debug)]
pub(crate) struct StateDirectory(PathBuf);

impl StateDirectory {
    /// `--state` or `ESCROW_STATE` if given, else found from the current directory.
    pub(crate) fn find(given: Option<&Path>) -> Result<StateDirectory, Failure> {
        let current = std::env::current_dir()
            .map_err(|error| Failure::world("directory", format!("no current directory: {error}")))?;
        if let Some(given) = given {
            return Ok(StateDirectory(current.join(given)));
        }
        let holder = current
            .ancestors()
            .find(|ancestor| ancestor.join(".escrow").is_dir())
            .or_else(|| current.ancestors().find(|ancestor| ancestor.join(".git").exists()))
            .unwrap_or(&current);
        Ok(StateDirectory(holder.join(".escrow")))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn artifacts(&self, run: &RunId) -> PathBuf {
        self.0.join("artifacts").join(run.as_str())
    }

    pub(crate) fn spool(&self, run: &RunId) -> PathBuf {
        self.0.join("spool").join(run.as_str())
    }

    /// For verbs that only look: a state that is not there has no runs.
    pub(crate) fn read(&self) -> Result<Arc<Store>, Failure> {
        Ok(Arc::new(Store::open(&self.database(), Mode::Read)?))
    }

    pub(crate) fn write(&self) -> Result<Arc<Store>, Failure> {
        self.create().map_err(|error| {
            Failure::world("state", format!("cannot write to `{}`: {error}", self.0.display()))
                .help("choose another directory with `--state DIR` or ESCROW_STATE")
        })?;
        Ok(Arc::new(Store::open(&self.database(), Mode::Write)?))
    }

    /// The directory and its `.gitignore`.
    pub(crate) fn create(&self) -> io::Result<()> {
        fs::create_dir_all(&self.0)?;
        let ignore = self.0.join(".gitignore");
        if !ignore.exists() {
            fs::write(ignore, GITIGNORE)?;
        }
        Ok(())
    }

    fn database(&self) -> PathBuf {
        self.0.join("escrow.db")
    }
}
