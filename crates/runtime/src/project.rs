//! Finds `.escrow/` by searching upwards, and decides whether it can be trusted.
//!
//! A directory that another user owns could hold playbooks, agents and rules of theirs, and a database that they can
//! read. Only directories that are found by searching are judged: one that is named by hand is trusted.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// The name of a state directory.
pub const NAME: &str = ".escrow";

/// Names trusted directories of other users: absolute paths, separated by colons.
pub const TRUST_VARIABLE: &str = "ESCROW_TRUST";

#[derive(Debug, Error)]
pub enum ProjectError {
    #[error("`{}` belongs to another user (uid {owner})", .path.display())]
    Foreign { path: PathBuf, owner: u32 },
    #[error("`{}` belongs to another user (uid {owner}), so it is not read", .path.display())]
    ForeignDefinition { path: PathBuf, owner: u32 },
    #[error("`{}` is a link that leads nowhere", .path.display())]
    Dangling { path: PathBuf },
    #[error("`{}` is a link that leads back to itself", .path.display())]
    Looping { path: PathBuf },
    #[error("`{}` is not a directory", .path.display())]
    NotADirectory { path: PathBuf },
    #[error("cannot examine `{}`: {source}", .path.display())]
    Unreadable { path: PathBuf, source: io::Error },
}

impl ProjectError {
    pub fn help(&self) -> String {
        match self {
            ProjectError::Foreign { path, .. } => format!(
                "if you trust its owner, set {TRUST_VARIABLE}={0}; or name it with `--state {0}`",
                path.display()
            ),
            ProjectError::ForeignDefinition { path, .. } => {
                format!("if you trust its content, make it your own: chown \"$USER\" {}", path.display())
            }
            ProjectError::Dangling { .. }
            | ProjectError::Looping { .. }
            | ProjectError::NotADirectory { .. }
            | ProjectError::Unreadable { .. } => {
                "repair or remove it, or name another directory with `--state DIR`".into()
            }
        }
    }
}

/// The nearest `.escrow/` at or above `directory`, if there is one. One that cannot be used ends the search: what lies
/// further up belongs to another project.
pub fn nearest(directory: &Path) -> Result<Option<PathBuf>, ProjectError> {
    for ancestor in directory.ancestors() {
        let path = ancestor.join(NAME);
        match fs::symlink_metadata(&path) {
            Ok(own) => return examine(&path, &own).map(|()| Some(path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(ProjectError::Unreadable { path, source }),
        }
    }
    Ok(None)
}

/// The folder `name` of a `.escrow/` that was found by searching, when both exist and can be trusted.
pub fn trusted_folder(above: &Path, name: &str) -> Option<PathBuf> {
    let state = above.join(NAME);
    let folder = state.join(name);
    let own = fs::symlink_metadata(&state).ok()?;
    (folder.is_dir() && examine(&state, &own).is_ok()).then_some(folder)
}

/// Whether a definition below a `.escrow/` can be read: a profile, a playbook, rules or an outcome kind. It, its folders and
/// the links on the way must belong to this user or to root, unless the `.escrow/` is named as trusted. A file elsewhere is
/// not judged.
pub fn examine_definition(path: &Path) -> Result<(), ProjectError> {
    let Some(state) = path.ancestors().find(|above| above.file_name().is_some_and(|name| name == NAME))
    else {
        return Ok(());
    };
    let users = Users::of_this_process();
    let accepts = |owner: u32| owner == 0 || users.accept(owner);
    for part in path.ancestors().take_while(|part| *part != state) {
        let owners = [fs::symlink_metadata(part), fs::metadata(part)];
        let foreign = owners.into_iter().flatten().map(|one| one.uid()).find(|owner| !accepts(*owner));
        if let Some(owner) = foreign
            && !is_named_trusted(state)
        {
            return Err(ProjectError::ForeignDefinition { path: part.to_owned(), owner });
        }
    }
    Ok(())
}

fn examine(path: &Path, own: &Metadata) -> Result<(), ProjectError> {
    let path = path.to_owned();
    let meant = match fs::metadata(&path) {
        Ok(meant) => meant,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(ProjectError::Dangling { path }),
        Err(error) if rustix::io::Errno::from_io_error(&error) == Some(rustix::io::Errno::LOOP) => {
            return Err(ProjectError::Looping { path });
        }
        Err(source) => return Err(ProjectError::Unreadable { path, source }),
    };
    if !meant.is_dir() {
        return Err(ProjectError::NotADirectory { path });
    }
    let users = Users::of_this_process();
    // A link of another user chooses the directory as much as its target does.
    let foreign = [own.uid(), meant.uid()].into_iter().find(|owner| !users.accept(*owner));
    match foreign {
        Some(owner) if !is_named_trusted(&path) => Err(ProjectError::Foreign { path, owner }),
        Some(_) | None => Ok(()),
    }
}

fn is_named_trusted(path: &Path) -> bool {
    let Some(trusted) = std::env::var_os(TRUST_VARIABLE) else { return false };
    std::env::split_paths(&trusted).filter(|named| named.is_absolute()).any(|named| {
        named == path
            || named.canonicalize().is_ok_and(|named| path.canonicalize().is_ok_and(|path| path == named))
    })
}

/// The users whose directories this process accepts.
struct Users {
    effective: u32,
    /// The user who called `sudo`, when this process is root.
    behind_sudo: Option<u32>,
}

impl Users {
    fn of_this_process() -> Users {
        let effective = rustix::process::geteuid().as_raw();
        let behind_sudo = std::env::var("SUDO_UID").ok().and_then(|uid| uid.parse().ok());
        Users { effective, behind_sudo: behind_sudo.filter(|_| effective == 0) }
    }

    fn accept(&self, owner: u32) -> bool {
        owner == self.effective || Some(owner) == self.behind_sudo
    }
}
