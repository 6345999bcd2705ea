//! Lists what lies beneath a directory, for patterns: by descriptor, within limits, through no link.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Dir, FileType, Mode, OFlags, openat};
use rustix::io::Errno;

/// Directories deeper than this are not looked into: the look is refused.
pub const DEPTH_MAX: usize = 32;

/// With more entries than this the look is refused.
pub const ENTRIES_MAX: usize = 100_000;

/// The paths of everything that is no directory, links included, in order. Names that are no UTF-8 match no
/// pattern and are passed over; so are directories that may not be read.
pub(super) fn file_names(root: BorrowedFd<'_>) -> Result<BTreeSet<String>, String> {
    let mut walk = Walk { names: BTreeSet::new(), entries: 0 };
    let top = open_directory(root, ".")
        .map_err(|error| format!("the artifact directory cannot be read: {error}"))?;
    walk.visit(top.as_fd(), "", 1)?;
    Ok(walk.names)
}

struct Walk {
    names: BTreeSet<String>,
    entries: usize,
}

impl Walk {
    /// Depth first, so that no more descriptors are open than directories are nested.
    fn visit(&mut self, directory: BorrowedFd<'_>, prefix: &str, depth: usize) -> Result<(), String> {
        let Ok(listing) = Dir::read_from(directory) else { return Ok(()) };
        let mut below = Vec::new();
        for entry in listing {
            let Ok(entry) = entry else { break };
            let name = entry.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            self.entries += 1;
            if self.entries > ENTRIES_MAX {
                return Err(format!("more than {ENTRIES_MAX} entries in the artifact directory"));
            }
            let Ok(name) = name.to_str() else { continue };
            match entry.file_type() {
                FileType::Directory | FileType::Unknown => below.push(name.to_owned()),
                _ => {
                    self.names.insert(format!("{prefix}{name}"));
                }
            }
        }
        for name in below {
            let path = format!("{prefix}{name}");
            match open_directory(directory, &name) {
                Ok(_) if depth == DEPTH_MAX => {
                    return Err(format!("directories deeper than {DEPTH_MAX} in the artifact directory"));
                }
                Ok(next) => self.visit(next.as_fd(), &format!("{path}/"), depth + 1)?,
                // Some file systems do not tell the type in a listing. Trying told.
                Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                    self.names.insert(path);
                }
                Err(Errno::MFILE | Errno::NFILE) => return Err("too many files are open".into()),
                Err(_) => {}
            }
        }
        Ok(())
    }
}

fn open_directory(at: BorrowedFd<'_>, name: &str) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(at, name, flags, Mode::empty())
}
