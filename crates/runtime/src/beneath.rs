//! Files below a directory that a confined program could write to, without following any link in it.
//!
//! Escrow itself is not confined. A link that the program left behind would lead its writes, reads and removals to places
//! that the program may not reach.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::path::{Component, Path};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;

const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The root itself is trusted, and may be a link.
const ROOT: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Whether directories on the way are made.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Missing {
    Make,
    Refuse,
}

/// Opens a directory below `root`. No component below `root` may be a link.
pub(crate) fn open_directory(root: &Path, below: &[&str]) -> io::Result<OwnedFd> {
    let mut directory = openat(CWD, root, ROOT, Mode::empty())?;
    for name in below {
        directory = openat(&directory, *name, DIRECTORY, Mode::empty())?;
    }
    Ok(directory)
}

/// Creates a file anew, with the directories on its way. What has its name goes first: it may be a second name of another
/// file.
pub(crate) fn create_file(root: &Path, path: &Path) -> io::Result<File> {
    let (parent, name) = parent_of(root, path, Missing::Make)?;
    create_in(&parent, &name)
}

/// The same in an open directory.
pub(crate) fn create_in(directory: &OwnedFd, name: &OsStr) -> io::Result<File> {
    match unlinkat(directory, name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?))
}

/// Reads a plain file, at most so many bytes of it.
pub(crate) fn read_file(root: &Path, path: &Path, bytes_max: u64) -> io::Result<Vec<u8>> {
    let (parent, name) = parent_of(root, path, Missing::Refuse)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(&parent, &name, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a plain file"));
    }
    let mut contents = Vec::new();
    file.take(bytes_max).read_to_end(&mut contents)?;
    Ok(contents)
}

pub(crate) fn remove_file(root: &Path, path: &Path) -> io::Result<()> {
    let (parent, name) = parent_of(root, path, Missing::Refuse)?;
    Ok(unlinkat(&parent, &name, AtFlags::empty())?)
}

fn parent_of(root: &Path, path: &Path, missing: Missing) -> io::Result<(OwnedFd, OsString)> {
    let outside = || io::Error::new(io::ErrorKind::InvalidInput, "the path leaves its directory");
    let below = path.strip_prefix(root).map_err(|_| outside())?;
    let name = below.file_name().ok_or_else(outside)?.to_owned();
    let mut directory = openat(CWD, root, ROOT, Mode::empty())?;
    for component in below.parent().unwrap_or(Path::new("")).components() {
        let Component::Normal(component) = component else { return Err(outside()) };
        if missing == Missing::Make {
            match mkdirat(&directory, component, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        directory = openat(&directory, component, DIRECTORY, Mode::empty())?;
    }
    Ok((directory, name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    #[test]
    fn no_link_and_no_second_name_leads_out_of_the_directory() {
        let place = tempfile::tempdir().unwrap();
        let (home, other) = (place.path().join("home"), place.path().join("other"));
        std::fs::create_dir(&home).unwrap();
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join("file"), "theirs").unwrap();
        symlink(&other, home.join("linked")).unwrap();
        symlink(other.join("file"), home.join("file")).unwrap();
        std::fs::hard_link(other.join("file"), home.join("second")).unwrap();
        assert!(create_file(&home, &home.join("linked/file")).is_err());
        assert!(read_file(&home, &home.join("linked/file"), 100).is_err());
        assert!(read_file(&home, &home.join("file"), 100).is_err());
        assert!(remove_file(&home, &home.join("linked/file")).is_err());
        assert!(open_directory(&home, &["linked"]).is_err());
        assert!(create_file(&home, &other.join("file")).is_err());
        for name in ["file", "second", "new/deep/file"] {
            create_file(&home, &home.join(name)).unwrap().write_all(b"ours").unwrap();
            assert_eq!(read_file(&home, &home.join(name), 100).unwrap(), b"ours", "{name}");
        }
        assert_eq!(std::fs::read_to_string(other.join("file")).unwrap(), "theirs");
    }
}
