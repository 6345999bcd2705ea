//! The hooks of harnesses on this machine: which hosts are meant, and whose configuration.
//!
//! `install` edits configurations, `status` says what is installed, `doctor` starts the programs, and `receipts` reads
//! what their hooks have reported.

mod config_file;
mod doctor;
mod install;
mod receipts;
mod status;

use std::path::{Path, PathBuf};

use escrow_harness::install::{HookFile, hook_file, hook_files};
use escrow_runtime::harness_program;

pub use doctor::{Diagnosis, diagnose};
pub use escrow_protocol::envelope::LifecycleReceipt;
pub use install::{Change, ChangeKind, install, uninstall};
pub use receipts::{gaps, receipts, receipts_of_run};
pub use status::{Claim, HostStatus, Versions, status};

use crate::error::Error;
use crate::state::StateDirectory;

/// Whose configuration is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Project,
    User,
}

/// The directory that holds the configuration of every host.
#[derive(Clone, Debug)]
pub struct Root {
    pub scope: Scope,
    pub directory: PathBuf,
}

impl Root {
    pub fn find(scope: Scope, state: &StateDirectory) -> Result<Root, Error> {
        let directory = match scope {
            Scope::Project => state.path().parent().map(Path::to_owned),
            Scope::User => std::env::var_os("HOME").filter(|home| !home.is_empty()).map(PathBuf::from),
        };
        let directory = directory.ok_or_else(|| {
            Error::author("no_home", "HOME is not set").help("set HOME, or use `--project`")
        })?;
        Ok(Root { scope, directory })
    }

    fn file(&self, host: &HookFile) -> PathBuf {
        self.directory.join(match self.scope {
            Scope::Project => host.project,
            Scope::User => host.user,
        })
    }
}

/// The hosts that are meant: the named one, or all.
pub fn hosts(named: Option<&str>) -> Result<Vec<&'static HookFile>, Error> {
    let Some(name) = named else { return Ok(hook_files().collect()) };
    let known = || hook_files().map(|file| file.host).collect::<Vec<_>>().join(", ");
    match hook_file(name) {
        Some(file) => Ok(vec![file]),
        None => Err(Error::not_found("unknown_host", format!("unknown host `{name}`"))
            .help(format!("choose one of {}", known()))),
    }
}

/// The version of the program of a host.
fn version_of(host: &HookFile, program: &Path) -> Option<String> {
    let package = escrow_harness::find(host.host).map_or("", |harness| harness.spec().package);
    harness_program::version(program, package)
}

/// Without a named host, those whose program is on this machine.
pub fn hosts_to_install(named: Option<&str>) -> Result<Vec<&'static HookFile>, Error> {
    let mut hosts = hosts(named)?;
    if named.is_none() {
        hosts.retain(|file| harness_program::find(file.host).is_some());
    }
    if hosts.is_empty() {
        return Err(Error::author("no_harness", "no harness is on PATH")
            .help("install one, or name a host with `--host HOST`"));
    }
    Ok(hosts)
}
