//! The files that `$ESCROW_CONTEXT` names: commands with the same context share one, and a file without users is
//! rewritten for the next context.
//!
//! On some file systems, creating a file costs half as much as a short command. A hundred independent commands have
//! the same event, inputs and outputs, so one file serves them all; in a chain, one file serves each in turn. The names
//! behind `$ESCROW_ENV` are reused as well: the kernel caches that a name is missing.

use std::cell::{Cell, RefCell};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, open, statat, unlinkat};
use sha2::{Digest, Sha256};

use crate::{leftovers, private_files};

/// The contexts of one run, beneath its spool directory, which is made with the first.
#[derive(Debug)]
pub struct Contexts {
    directory: PathBuf,
    files: RefCell<Vec<Rc<ContextFile>>>,
    made: Cell<u32>,
    /// The directory was not there before.
    fresh: Cell<bool>,
    /// Names of files that do not exist and that no running command may create.
    free_names: RefCell<Vec<String>>,
    names: Cell<u32>,
}

/// A file with the context of the commands that hold it.
#[derive(Debug)]
pub struct ContextFile {
    path: PathBuf,
    /// Its directory, open: lookups from here are shorter.
    place: OwnedFd,
    name: String,
    file: File,
    length: Cell<u64>,
    digest: Cell<[u8; 32]>,
    identity: Cell<Identity>,
}

/// Inode and change time.
type Identity = (u64, i64, i128);

impl Contexts {
    pub fn new(directory: impl Into<PathBuf>) -> Contexts {
        Contexts {
            directory: directory.into(),
            files: RefCell::default(),
            made: Cell::new(0),
            fresh: Cell::new(false),
            free_names: RefCell::default(),
            names: Cell::new(0),
        }
    }

    /// Whether this process created the directory.
    pub fn is_fresh(&self) -> bool {
        self.fresh.get()
    }

    /// A free name in the directory, for a file that a command may create.
    pub fn take_name(&self) -> String {
        self.free_names.borrow_mut().pop().unwrap_or_else(|| {
            let number = self.names.replace(self.names.get() + 1);
            format!("handback-{number}.env")
        })
    }

    /// Nothing is there any more, and who was told of the name has ended.
    pub fn give_name_back(&self, name: &str) {
        self.free_names.borrow_mut().push(name.to_owned());
    }

    /// A file with this content, which stays as long as it is held. It may be read only: another command may be
    /// reading it.
    pub fn file(&self, content: &[u8]) -> io::Result<Rc<ContextFile>> {
        let digest: [u8; 32] = Sha256::digest(content).into();
        let mut files = self.files.borrow_mut();
        // A command that changed its file all the same must not mislead the next one.
        files.retain(|file| is_held(file) || file.is_intact());
        let mut alike = files.iter().filter(|file| file.digest.get() == digest);
        if let Some(same) = alike.find(|file| !is_held(file) || file.is_intact()) {
            return Ok(Rc::clone(same));
        }
        if let Some(free) = files.iter().find(|file| !is_held(file)) {
            free.fill(content, digest)?;
            return Ok(Rc::clone(free));
        }
        let number = self.made.replace(self.made.get() + 1);
        let directory = std::path::absolute(&self.directory)?;
        let place = match open_directory(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private_files::create_directory(&directory)?;
                self.fresh.set(number == 0);
                open_directory(&directory)?
            }
            other => other?,
        };
        if number == 0 && !self.fresh.get() {
            leftovers::remove_handed_over(&directory);
        }
        let file = Rc::new(ContextFile::make(&directory, place, format!("context-{number}.json"))?);
        file.fill(content, digest)?;
        files.push(Rc::clone(&file));
        Ok(file)
    }
}

impl Drop for Contexts {
    /// The run has come to rest: no command reads them any more. A directory in which nothing else lies goes too.
    fn drop(&mut self) {
        for file in self.files.borrow().iter() {
            let _ = unlinkat(&file.place, &file.name, AtFlags::empty());
        }
        if self.made.get() > 0 {
            let _ = fs::remove_dir(&self.directory);
        }
    }
}

impl ContextFile {
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory that it lies in.
    pub fn place(&self) -> &OwnedFd {
        &self.place
    }

    fn make(directory: &Path, place: OwnedFd, name: String) -> io::Result<ContextFile> {
        let path = directory.join(&name);
        let create = || OpenOptions::new().write(true).create_new(true).mode(0o400).open(&path);
        let file = match create() {
            // A process that drove the run before may have left one.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&path)?;
                create()?
            }
            other => other?,
        };
        let (length, digest, identity) = (Cell::default(), Cell::default(), Cell::default());
        Ok(ContextFile { path, place, name, file, length, digest, identity })
    }

    fn fill(&self, content: &[u8], digest: [u8; 32]) -> io::Result<()> {
        let length = content.len() as u64;
        self.file.write_all_at(content, 0)?;
        // Cutting a file costs more than filling it, and contexts mostly grow.
        if length < self.length.replace(length) {
            self.file.set_len(length)?;
        }
        self.identity.set(identity(&fstat(&self.file)?));
        self.digest.set(digest);
        Ok(())
    }

    fn is_intact(&self) -> bool {
        let told = statat(&self.place, &self.name, AtFlags::SYMLINK_NOFOLLOW);
        told.is_ok_and(|told| identity(&told) == self.identity.get())
    }
}

fn is_held(file: &Rc<ContextFile>) -> bool {
    Rc::strong_count(file) > 1
}

fn identity(told: &Stat) -> Identity {
    (told.st_ino, told.st_ctime, i128::from(told.st_ctime_nsec))
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(file: &ContextFile) -> Vec<u8> {
        fs::read(file.path()).unwrap()
    }

    #[test]
    fn who_sees_the_same_shares_a_file_and_who_sees_something_else_does_not() {
        let folder = tempfile::tempdir().unwrap();
        let contexts = Contexts::new(folder.path());
        let first = contexts.file(b"{}").unwrap();
        let second = contexts.file(b"[]").unwrap();
        assert_eq!(contexts.file(b"{}").unwrap().path(), first.path());
        assert_eq!((read(&first), read(&second)), (b"{}".to_vec(), b"[]".to_vec()));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_file_that_nobody_holds_is_filled_again() {
        let folder = tempfile::tempdir().unwrap();
        let contexts = Contexts::new(folder.path());
        for number in 0..5 {
            let content = format!("{{\"step\": {number}}}").repeat(5 - number);
            assert_eq!(read(&contexts.file(content.as_bytes()).unwrap()), content.as_bytes());
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_was_changed_or_removed_misleads_nobody() {
        let folder = tempfile::tempdir().unwrap();
        let contexts = Contexts::new(folder.path());
        let first = contexts.file(b"{}").unwrap();
        fs::remove_file(first.path()).unwrap();
        fs::write(first.path(), "changed").unwrap();
        let second = contexts.file(b"{}").unwrap();
        assert_eq!(read(&second), b"{}");
        assert_ne!(second.path(), first.path());
        drop((first, second));
        assert_eq!(read(&contexts.file(b"[]").unwrap()), b"[]");
        assert_eq!(read(&Contexts::new(folder.path()).file(b"[1]").unwrap()), b"[1]");
    }
}
