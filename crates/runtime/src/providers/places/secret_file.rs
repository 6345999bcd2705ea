//! A secret that a command is handed as a file instead of a variable: programs that it starts do not inherit it, and
//! `ps e` does not show it.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Lies in the run's private directory and is removed when the command has ended.
#[derive(Debug)]
pub(super) struct SecretFile {
    name: String,
    path: PathBuf,
}

impl SecretFile {
    pub(super) fn create(spool: &Path, label: &str, name: &str, value: &OsStr) -> io::Result<SecretFile> {
        let path = spool.join(format!("secret-{label}-{name}"));
        let create = || OpenOptions::new().write(true).create_new(true).mode(0o400).open(&path);
        let mut file = match create() {
            // A process that was killed may have left it.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&path)?;
                create()?
            }
            other => other?,
        };
        let secret = SecretFile { name: name.to_owned(), path };
        file.set_permissions(Permissions::from_mode(0o400))?;
        file.write_all(value.as_bytes())?;
        Ok(secret)
    }

    pub(super) fn is_of(&self, name: &str) -> bool {
        self.name == name
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SecretFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
