//! Opens a file beneath a directory, whatever links lie on the way.
//!
//! Links that stay beneath are followed, relative ones only; everything else is refused. The kernel does it
//! where it can (`openat2`). Elsewhere the same is done step by step, each step by descriptor and without
//! following anything the step itself did not read.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path};
#[cfg(target_os = "linux")]
use std::sync::OnceLock;

use escrow_model::Problem;
use rustix::fs::{CWD, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use thiserror::Error;

use super::DIRECTORY;

/// Why a place holds nothing that counts.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum Refusal {
    #[error("nothing is there")]
    Absent,
    #[error("a link leads out of the directory")]
    Outside,
    #[error("too many links")]
    Loop,
    #[error("not a regular file")]
    NotRegular,
    #[error("larger than {} GiB", super::HASHED_BYTES_MAX >> 30)]
    TooLarge,
    #[error("it changes while it is read")]
    Restless,
    #[error("it was not read to its end, because the run was interrupted")]
    Interrupted,
    #[error("it cannot be read: {0}")]
    Unreadable(Errno),
}

impl Refusal {
    /// The artifact problem that is reported for this refusal.
    pub(super) fn problem(&self) -> Problem {
        match self {
            Refusal::Outside | Refusal::Loop => Problem::Outside,
            Refusal::NotRegular => Problem::WrongType,
            Refusal::Absent
            | Refusal::TooLarge
            | Refusal::Restless
            | Refusal::Interrupted
            | Refusal::Unreadable(_) => Problem::Absent,
        }
    }
}

impl From<Errno> for Refusal {
    fn from(error: Errno) -> Refusal {
        match error {
            // Something on the way is a file. Then the file itself is not there.
            Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG => Refusal::Absent,
            Errno::XDEV => Refusal::Outside,
            Errno::LOOP => Refusal::Loop,
            // A socket cannot be opened.
            Errno::NXIO | Errno::OPNOTSUPP | Errno::ISDIR | Errno::NODEV => Refusal::NotRegular,
            error => Refusal::Unreadable(error),
        }
    }
}

/// Who resolves names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resolver {
    #[cfg(target_os = "linux")]
    Kernel,
    Steps,
}

impl Resolver {
    /// The kernel, if it knows how: not before Linux 5.6, and not in every sandbox.
    pub(super) fn best() -> Resolver {
        #[cfg(target_os = "linux")]
        {
            static KERNEL_KNOWS_HOW: OnceLock<bool> = OnceLock::new();
            if *KERNEL_KNOWS_HOW.get_or_init(|| open_by_kernel(CWD, ".").is_ok()) {
                return Resolver::Kernel;
            }
        }
        Resolver::Steps
    }

    /// Opens the directory itself, through no link at all: when the run began this was its real place, so a link
    /// on the way was laid by somebody who was at work in it.
    pub(super) fn open_directory(self, path: &Path) -> Result<OwnedFd, Errno> {
        match self {
            #[cfg(target_os = "linux")]
            Resolver::Kernel => {
                use rustix::fs::{ResolveFlags, openat2};
                openat2(CWD, path, DIRECTORY, Mode::empty(), ResolveFlags::NO_SYMLINKS)
            }
            Resolver::Steps => open_directory_by_steps(path),
        }
    }

    pub(super) fn open(self, root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Refusal> {
        match self {
            #[cfg(target_os = "linux")]
            Resolver::Kernel => open_by_kernel(root, path),
            Resolver::Steps => open_by_steps(root, path),
        }
    }
}

/// Opening never waits for the other end of a pipe or a terminal.
const FILE: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);

fn open_directory_by_steps(path: &Path) -> Result<OwnedFd, Errno> {
    let start = if path.is_absolute() { "/" } else { "." };
    let mut here = openat(CWD, start, DIRECTORY, Mode::empty())?;
    for component in path.components() {
        let name = match component {
            Component::Normal(name) => name,
            Component::ParentDir => "..".as_ref(),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => continue,
        };
        here = match openat(&here, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
            // Of a link it may be said that it is no directory.
            Err(Errno::NOTDIR | Errno::MLINK) if readlinkat(&here, name, Vec::new()).is_ok() => {
                Err(Errno::LOOP)
            }
            other => other,
        }?;
    }
    Ok(here)
}

#[cfg(target_os = "linux")]
fn open_by_kernel(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Refusal> {
    use rustix::fs::{ResolveFlags, openat2};

    let beneath = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS;
    // A rename elsewhere in the tree may make the kernel unsure; it then asks to be asked again.
    for _ in 0..32 {
        match openat2(root, path, FILE, Mode::empty(), beneath) {
            Err(Errno::AGAIN) => {}
            other => return Ok(other?),
        }
    }
    open_by_steps(root, path)
}

fn open_by_steps(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Refusal> {
    const LINKS_MAX: u32 = 40;
    let mut links = 0;
    let mut trail: Vec<OwnedFd> = Vec::new();
    let mut ahead = segments(path.as_bytes());
    while let Some(segment) = ahead.pop_front() {
        if segment.is_empty() || segment == "." {
            continue;
        }
        if segment == ".." {
            trail.pop().ok_or(Refusal::Outside)?;
            continue;
        }
        let here = trail.last().map_or(root, AsFd::as_fd);
        let flags = if ahead.is_empty() { FILE } else { DIRECTORY };
        match openat(here, &segment, flags | OFlags::NOFOLLOW, Mode::empty()) {
            Ok(file) if ahead.is_empty() => return Ok(file),
            Ok(next) => trail.push(next),
            Err(error @ (Errno::LOOP | Errno::MLINK | Errno::NOTDIR)) => {
                let Ok(target) = readlinkat(here, &segment, Vec::new()) else { return Err(error.into()) };
                links += 1;
                if links > LINKS_MAX {
                    return Err(Refusal::Loop);
                }
                if target.as_bytes().starts_with(b"/") {
                    return Err(Refusal::Outside);
                }
                for part in segments(target.as_bytes()).into_iter().rev() {
                    ahead.push_front(part);
                }
            }
            Err(error) => return Err(error.into()),
        }
    }
    // The way ended at a directory.
    Err(Refusal::NotRegular)
}

fn segments(path: &[u8]) -> VecDeque<OsString> {
    path.split(|byte| *byte == b'/').map(|segment| OsString::from_vec(segment.to_vec())).collect()
}
