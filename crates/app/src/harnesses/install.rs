//! Installs Escrow's hook into the configuration of hosts, and removes it.
//!
//! **Invariant:** every file is read and edited in memory before the first one is written. A file that cannot be parsed
//! leaves all of them as they were.

use std::io;
use std::path::{Path, PathBuf};

use escrow_harness::install::{HookFile, Installed, Problem, Uninstalled};

use super::Root;
use super::config_file::{read, real_file, refuse_read_only, remove, replace};
use crate::error::Error;

/// What happened to the configuration of one host.
#[derive(Debug)]
pub struct Change {
    pub host: &'static str,
    pub file: PathBuf,
    pub kind: ChangeKind,
    pub note: Option<&'static str>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    Installed,
    /// The hook called another program before.
    Updated,
    Unchanged,
    Uninstalled,
    /// The file held nothing else and is gone.
    Removed,
}

/// Installs the hook of `program` for every host.
pub fn install(hosts: &[&'static HookFile], root: &Root, program: &Path) -> Result<Vec<Change>, Error> {
    let program = program.to_str().ok_or_else(|| {
        Error::world("program", format!("the path `{}` is not UTF-8", program.display()))
            .help("move `escrow` to a path that is")
    })?;
    let mut planned = Vec::new();
    for host in hosts {
        let file = real_file(root, host)?;
        let old = read(&file)?;
        let new = host.install(old.as_deref(), program).map_err(|problem| refused(&file, &problem))?;
        let had = match &old {
            Some(old) => host.installed(old).map_err(|problem| refused(&file, &problem))?,
            None => Installed::default(),
        };
        let kind = match &old {
            Some(old) if *old == new => ChangeKind::Unchanged,
            _ if had.events.is_empty() => ChangeKind::Installed,
            _ => ChangeKind::Updated,
        };
        if kind != ChangeKind::Unchanged {
            refuse_read_only(&file)?;
        }
        planned.push((host, file, new, kind));
    }
    let mut changes = Vec::new();
    for (host, file, new, kind) in planned {
        if kind != ChangeKind::Unchanged {
            replace(&file, &new).map_err(|error| not_written(&file, &error))?;
        }
        changes.push(Change { host: host.host, file, kind, note: host.note });
    }
    Ok(changes)
}

/// Removes exactly what an installation added.
pub fn uninstall(hosts: &[&'static HookFile], root: &Root) -> Result<Vec<Change>, Error> {
    let mut planned = Vec::new();
    for host in hosts {
        let file = real_file(root, host)?;
        let Some(old) = read(&file)? else { continue };
        let installed = host.installed(&old).map_err(|problem| refused(&file, &problem))?;
        if installed.events.is_empty() {
            continue;
        }
        let new = host.uninstall(&old).map_err(|problem| refused(&file, &problem))?;
        if let Uninstalled::Text(text) = &new {
            let left = host.installed(text).map_err(|problem| refused(&file, &problem))?;
            if let Some(event) = left.events.first() {
                return Err(Error::author(
                    "not_removed",
                    format!("the hook of `{event}` in `{}` cannot be removed safely", file.display()),
                )
                .help("remove the entry that calls `escrow hook` by hand; Escrow has changed no file"));
            }
        }
        refuse_read_only(&file)?;
        planned.push((host, file, new));
    }
    let mut changes = Vec::new();
    for (host, file, new) in planned {
        let (done, kind) = match new {
            Uninstalled::Text(text) => (replace(&file, &text), ChangeKind::Uninstalled),
            Uninstalled::Nothing => (remove(root, &file), ChangeKind::Removed),
        };
        done.map_err(|error| not_written(&file, &error))?;
        changes.push(Change { host: host.host, file, kind, note: None });
    }
    Ok(changes)
}

fn refused(file: &Path, problem: &Problem) -> Error {
    let place = problem.place.map(|place| format!(":{}:{}", place.line, place.column)).unwrap_or_default();
    Error::author("unparsable", format!("`{}{place}`: {}", file.display(), problem.message))
        .help(problem.help)
}

fn not_written(file: &Path, error: &io::Error) -> Error {
    Error::world("unwritable", format!("cannot write `{}`: {error}", file.display()))
        .help("check the permissions of the directory")
}
