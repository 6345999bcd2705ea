//! Writes a file beneath a directory, for its owner alone: through no link, and over nothing that others share.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use escrow_model::ArtifactPath;
use rustix::fs::{AtFlags, Mode, OFlags, mkdirat, open, openat, unlinkat};
use rustix::io::Errno;

use super::DIRECTORY;
use crate::private_files::create_directory_alike;

/// Folders on the way are made. What had the name before is replaced, not written over: it may be a link.
pub fn write_beneath(directory: &Path, path: &ArtifactPath, content: &[u8]) -> io::Result<()> {
    create_directory_alike(directory)?;
    let mut here: OwnedFd = open(directory, DIRECTORY, Mode::empty())?;
    let (folders, name) = path.as_str().rsplit_once('/').unwrap_or(("", path.as_str()));
    for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
        match mkdirat(here.as_fd(), folder, Mode::from_raw_mode(0o700)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        here = openat(here.as_fd(), folder, DIRECTORY | OFlags::NOFOLLOW, Mode::empty())?;
    }
    match unlinkat(here.as_fd(), name, AtFlags::empty()) {
        Ok(()) | Err(Errno::NOENT) => {}
        Err(error) => return Err(error.into()),
    }
    let new = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    File::from(openat(here.as_fd(), name, new, Mode::from_raw_mode(0o600))?).write_all(content)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_outside_is_written_whatever_lies_in_the_way() {
        let home = tempfile::tempdir().unwrap();
        let (inside, outside) = (home.path().join("in"), home.path().join("out"));
        fs::create_dir_all(&outside).unwrap();
        fs::write(outside.join("kept"), "kept").unwrap();
        let write = |path: &str| write_beneath(&inside, &ArtifactPath::parse(path).unwrap(), b"new");
        write("a/b/c.md").unwrap();
        assert_eq!(fs::read(inside.join("a/b/c.md")).unwrap(), b"new");
        symlink("../out", inside.join("link")).unwrap();
        symlink("../out/kept", inside.join("file")).unwrap();
        fs::hard_link(outside.join("kept"), inside.join("hard")).unwrap();
        assert!(write("link/kept").is_err());
        assert!(write("link/new").is_err());
        write("file").unwrap();
        write("hard").unwrap();
        assert_eq!(fs::read(inside.join("file")).unwrap(), b"new");
        assert_eq!(fs::read(outside.join("kept")).unwrap(), b"kept");
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
        assert!(write("a").is_err(), "a folder is not replaced");
        assert!(write("file/below").is_err());
    }
}
