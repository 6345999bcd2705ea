//! Secrets that a command is handed as files instead of variables: programs that it starts do not inherit the value, and
//! `ps e` does not show it.
//!
//! ```text
//!   $XDG_RUNTIME_DIR/escrow/           a place of the user, 0700: in memory where the system has one
//!     └─ 3f9a…/                        one for each attempt, locked by the process that made it
//!          └─ TOKEN                    0400
//! ```
//!
//! They do not lie in the state: that is copied, kept and read by others. The directory of an attempt goes when its command
//! has ended. The kernel frees the lock of a process that was killed, so the next process of the user finds and
//! removes the directories that were left behind.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fstat, open, stat};
use rustix::process::geteuid;

use crate::entropy::random_u64;

/// The files of one attempt.
#[derive(Debug)]
pub(crate) struct SecretFiles {
    directory: PathBuf,
    files: Vec<(String, PathBuf)>,
    /// While it is held, no other process removes the directory.
    _lock: OwnedFd,
}

impl SecretFiles {
    pub(crate) fn create(secrets: &[(&str, &OsStr)]) -> io::Result<SecretFiles> {
        SecretFiles::create_in(&places(), secrets)
    }

    /// In the first place that takes them.
    fn create_in(places: &[PathBuf], secrets: &[(&str, &OsStr)]) -> io::Result<SecretFiles> {
        let mut failure = io::Error::from(io::ErrorKind::NotFound);
        for place in places {
            match SecretFiles::create_at(place, secrets) {
                Ok(files) => return Ok(files),
                Err(error) => failure = error,
            }
        }
        Err(failure)
    }

    fn create_at(place: &Path, secrets: &[(&str, &OsStr)]) -> io::Result<SecretFiles> {
        let mut files = SecretFiles::directory_in(place)?;
        for (name, value) in secrets {
            let path = files.directory.join(name);
            let mut file = OpenOptions::new().write(true).create_new(true).mode(0o400).open(&path)?;
            file.set_permissions(Permissions::from_mode(0o400))?;
            file.write_all(value.as_bytes())?;
            files.files.push(((*name).to_owned(), path));
        }
        Ok(files)
    }

    fn directory_in(place: &Path) -> io::Result<SecretFiles> {
        for _ in 0..ATTEMPTS {
            make_directory(place)?;
            open_own(place)?;
            let directory = place.join(format!("{:016x}", random_u64()?));
            // Another process may be sweeping: before the directory is locked, it looks like one that was left.
            match make_directory(&directory) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                made => made?,
            }
            let Ok(lock) = open_own(&directory) else { continue };
            flock(&lock, FlockOperation::LockExclusive)?;
            let (held, there) = (fstat(&lock)?, stat(&directory));
            if there.is_ok_and(|there| there.st_ino == held.st_ino && there.st_dev == held.st_dev) {
                return Ok(SecretFiles { directory, files: Vec::new(), _lock: lock });
            }
        }
        Err(io::Error::other(format!("`{}` is being removed again and again", place.display())))
    }

    pub(crate) fn path_of(&self, name: &str) -> Option<&Path> {
        self.files.iter().find(|(of, _)| of == name).map(|(_, path)| path.as_path())
    }

    pub(crate) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.files.iter().map(|(_, path)| path.as_path())
    }
}

impl Drop for SecretFiles {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.directory);
        // Unless another attempt has one there.
        let _ = self.directory.parent().map(fs::remove_dir);
    }
}

const ATTEMPTS: usize = 16;

/// Removes what processes that were killed have left.
pub fn sweep() {
    sweep_in(&places());
}

fn sweep_in(places: &[PathBuf]) {
    for place in places {
        if open_own(place).is_err() {
            continue;
        }
        for entry in fs::read_dir(place).into_iter().flatten().flatten() {
            let path = entry.path();
            let left = open_own(&path).is_ok_and(|left| {
                let is_free = flock(&left, FlockOperation::NonBlockingLockExclusive).is_ok();
                if is_free {
                    let _ = fs::remove_dir_all(&path);
                }
                is_free
            });
            if left {
                tracing::debug!(path = %path.display(), "removed secrets of a process that was killed");
            }
        }
        let _ = fs::remove_dir(place);
    }
}

/// Where they may lie, the best place first.
fn places() -> Vec<PathBuf> {
    let user = geteuid().as_raw();
    let of_the_session = env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    let mut places: Vec<PathBuf> = of_the_session.map(|path| path.join("escrow")).into_iter().collect();
    if cfg!(target_os = "linux") {
        places.push(format!("/run/user/{user}/escrow").into());
        places.push(format!("/dev/shm/escrow-{user}").into());
    }
    places.push(env::temp_dir().join(OsString::from(format!("escrow-{user}"))));
    places.dedup();
    places
}

fn make_directory(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => fs::set_permissions(path, Permissions::from_mode(0o700)),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Opens a directory that belongs to this user and that no other user can enter. In a shared place another user may have put something there.
fn open_own(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = open(path, flags, Mode::empty())?;
    let found = fstat(&directory)?;
    if found.st_uid != geteuid().as_raw() || found.st_mode & 0o077 != 0 {
        let message = format!("`{}` is not private", path.display());
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(path: &Path) -> usize {
        fs::read_dir(path).map_or(0, Iterator::count)
    }

    #[test]
    fn they_are_gone_with_their_attempt_and_so_is_an_empty_place() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("escrow");
        let secrets = [("TOKEN", OsStr::new("value"))];
        let first = SecretFiles::create_in(std::slice::from_ref(&place), &secrets).unwrap();
        let second = SecretFiles::create_in(std::slice::from_ref(&place), &secrets).unwrap();
        assert_eq!(fs::read(first.path_of("TOKEN").unwrap()).unwrap(), b"value");
        assert_eq!(first.path_of("OTHER"), None);
        drop(first);
        assert!(second.paths().all(Path::exists));
        drop(second);
        assert!(!place.exists());
    }

    #[test]
    fn only_what_nobody_holds_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let place = [folder.path().join("escrow")];
        let held = SecretFiles::create_in(&place, &[("TOKEN", OsStr::new("value"))]).unwrap();
        let left = place[0].join("0123");
        make_directory(&left).unwrap();
        fs::write(left.join("TOKEN"), "value").unwrap();
        sweep_in(&place);
        assert!(!left.exists() && held.paths().all(Path::exists));
        drop(held);
        assert_eq!(entries(folder.path()), 0);
    }

    #[test]
    fn a_place_that_others_can_enter_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let shared = folder.path().join("shared");
        fs::create_dir(&shared).unwrap();
        fs::set_permissions(&shared, Permissions::from_mode(0o755)).unwrap();
        let (link, own) = (folder.path().join("link"), folder.path().join("own"));
        fs::create_dir(folder.path().join("elsewhere")).unwrap();
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &link).unwrap();
        let places = [folder.path().join("no/where"), shared.clone(), link, own.clone()];
        let files = SecretFiles::create_in(&places, &[("TOKEN", OsStr::new("value"))]).unwrap();
        assert!(files.path_of("TOKEN").unwrap().starts_with(own));
        assert_eq!(entries(&shared), 0);
        assert!(SecretFiles::create_in(&places[..2], &[]).is_err());
    }
}
