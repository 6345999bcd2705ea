//! A secret that a command is handed as an open file: nothing lies on the disk, and the value is gone with the last
//! process that holds it.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use command_fds::{CommandFdExt as _, FdMapping};

/// Scripts use the numbers up to 9 for themselves.
const FIRST: i32 = 20;

/// The value, readable under a number that only the command has.
#[derive(Debug)]
pub(super) struct SecretDescriptor {
    name: String,
    number: i32,
    path: PathBuf,
    file: OwnedFd,
}

impl SecretDescriptor {
    /// `place` counts the descriptors of one command.
    pub(super) fn create(place: usize, name: &str, value: &OsStr) -> io::Result<SecretDescriptor> {
        let number = FIRST + i32::try_from(place).map_err(io::Error::other)?;
        let path = PathBuf::from(format!("/dev/fd/{number}"));
        Ok(SecretDescriptor { name: name.to_owned(), number, path, file: file_with(value.as_bytes())? })
    }

    pub(super) fn is_of(&self, name: &str) -> bool {
        self.name == name
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Gives the descriptors to the command and to no other process: ours are closed when a program is started.
pub(super) fn hand_over(secrets: &[SecretDescriptor], command: &mut Command) -> io::Result<()> {
    if secrets.is_empty() {
        return Ok(());
    }
    let mut mappings = Vec::with_capacity(secrets.len());
    for secret in secrets {
        mappings.push(FdMapping { parent_fd: secret.file.try_clone()?, child_fd: secret.number });
    }
    command.fd_mappings(mappings).map_err(io::Error::other)?;
    Ok(())
}

/// A file in memory that cannot be changed any more. Each program that opens its path reads it from the beginning.
#[cfg(target_os = "linux")]
fn file_with(value: &[u8]) -> io::Result<OwnedFd> {
    use rustix::fs::{MemfdFlags, Mode, SealFlags, fchmod, fcntl_add_seals, memfd_create};
    let file = memfd_create("secret", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut rest = value;
    let mut offset = 0;
    while !rest.is_empty() {
        // Without moving the position, from which `<&20` reads.
        let written = rustix::io::pwrite(&file, rest, offset)?;
        rest = &rest[written..];
        offset += written as u64;
    }
    fchmod(&file, Mode::RUSR)?;
    fcntl_add_seals(&file, SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE)?;
    Ok(file)
}

/// A pipe, which can be read once. A value always fits.
#[cfg(not(target_os = "linux"))]
fn file_with(value: &[u8]) -> io::Result<OwnedFd> {
    use std::io::Write as _;
    let (reader, mut writer) = io::pipe()?;
    writer.write_all(value)?;
    Ok(reader.into())
}
