//! The files that `$ESCROW_CONTEXT` names: one for each different content, shared by the commands that see it.
//!
//! Making a file is, on some file systems, half the price of a short command. A hundred independent commands
//! see the same event, inputs and outputs, so one file serves them all.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// The contexts of one run, beneath its spool directory.
#[derive(Debug)]
pub struct Contexts {
    directory: PathBuf,
    written: RefCell<BTreeMap<[u8; 32], Written>>,
}

#[derive(Debug)]
struct Written {
    path: PathBuf,
    identity: (u64, i64, i64),
}

impl Contexts {
    pub fn new(directory: impl Into<PathBuf>) -> Contexts {
        Contexts { directory: directory.into(), written: RefCell::default() }
    }

    /// A file with this content. It may be read only: another command may be reading it.
    pub fn file(&self, content: &[u8]) -> io::Result<PathBuf> {
        let digest: [u8; 32] = Sha256::digest(content).into();
        let mut written = self.written.borrow_mut();
        if let Some(known) = written.get(&digest)
            // A command that changed it all the same must not mislead the next one.
            && identity(&known.path).is_ok_and(|identity| identity == known.identity)
        {
            return Ok(known.path.clone());
        }
        let path = std::path::absolute(&self.directory)?.join(format!("context-{}.json", short(&digest)));
        write(&path, content)?;
        let identity = identity(&path)?;
        written.insert(digest, Written { path: path.clone(), identity });
        Ok(path)
    }
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let create = || OpenOptions::new().write(true).create_new(true).mode(0o444).open(path);
    let mut file = match create() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(path)?;
            create()?
        }
        other => other?,
    };
    file.write_all(content)
}

/// Inode and change time.
fn identity(path: &Path) -> io::Result<(u64, i64, i64)> {
    fs::symlink_metadata(path).map(|told| (told.ino(), told.ctime(), told.ctime_nsec()))
}

fn short(digest: &[u8; 32]) -> String {
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_content_is_written_once_and_again_when_it_was_changed() {
        let folder = tempfile::tempdir().unwrap();
        let contexts = Contexts::new(folder.path());
        let first = contexts.file(b"{}").unwrap();
        assert_eq!(contexts.file(b"{}").unwrap(), first);
        assert_ne!(contexts.file(b"[]").unwrap(), first);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        fs::remove_file(&first).unwrap();
        fs::write(&first, "changed").unwrap();
        assert_eq!(fs::read(contexts.file(b"{}").unwrap()).unwrap(), b"{}");
        assert_eq!(Contexts::new(folder.path()).file(b"[]").map(fs::read).unwrap().unwrap(), b"[]");
    }
}
