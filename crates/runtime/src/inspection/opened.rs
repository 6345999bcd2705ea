//! One file beneath a directory, opened once: type, size and digest all come from that one descriptor.

use escrow_model::hex;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{FileType, Mode, fstat, open};
use sha2::{Digest, Sha256};

use super::DIRECTORY;
use super::beneath::{Refusal, Resolver};

#[derive(Debug)]
pub struct OpenedFile(File);

/// Opens a regular file beneath the directory, through no link that leads out. `None` when there is none.
pub fn open_beneath(directory: &Path, path: &str) -> Result<Option<OpenedFile>, String> {
    let opened = open(directory, DIRECTORY, Mode::empty())
        .map_err(Refusal::from)
        .and_then(|root| Resolver::best().open(root.as_fd(), path))
        .and_then(|file| match FileType::from_raw_mode(fstat(&file)?.st_mode) {
            FileType::RegularFile => Ok(file),
            _ => Err(Refusal::NotRegular),
        });
    match opened {
        Ok(file) => Ok(Some(OpenedFile(File::from(file)))),
        Err(Refusal::Absent) => Ok(None),
        Err(refusal) => Err(refusal.to_string()),
    }
}

impl OpenedFile {
    pub fn size(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    /// All of it, unless it is longer.
    pub fn read_at_most(&mut self, bytes_max: u64) -> io::Result<Option<Vec<u8>>> {
        self.0.rewind()?;
        let mut bytes = Vec::new();
        Read::by_ref(&mut self.0).take(bytes_max.saturating_add(1)).read_to_end(&mut bytes)?;
        Ok((bytes.len() as u64 <= bytes_max).then_some(bytes))
    }

    /// Copies all of it from its beginning, and tells its size and its digest. A file that grows meanwhile is
    /// copied as far as it reached when this began.
    pub fn copy(&mut self, to: &mut dyn Write) -> io::Result<(u64, String)> {
        self.0.rewind()?;
        let size = self.0.metadata()?.len();
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 128 * 1024];
        let mut copied = 0;
        let mut source = Read::by_ref(&mut self.0).take(size);
        loop {
            let count = match source.read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(error),
            };
            hasher.update(&buffer[..count]);
            to.write_all(&buffer[..count])?;
            copied += count as u64;
        }
        Ok((copied, hex(&hasher.finalize())))
    }
}
