//! Measures one opened file: identity, digest, and what the contract asks of its content.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::fd::OwnedFd;

use escrow_contract::read_json;
use escrow_model::{ARTIFACT_TEXT_BYTES_MAX, ExpectedArtifact, SeenFile, hex};
use rustix::fs::{FileType, Stat, fstat};
use rustix::io::Errno;
use sha2::{Digest, Sha256};

use super::beneath::Refusal;
use super::media;
use super::{Depth, InspectionOptions};
use crate::redaction::Search;

/// Larger files are refused: hashing 64 GiB takes minutes, and a file with holes can claim any size.
pub const HASHED_BYTES_MAX: u64 = 64 << 30;

/// Larger files are not parsed. A schema on one is not met.
pub const CONTENT_BYTES_MAX: u64 = 16 << 20;

/// So much of a file is read even when the run is interrupted: it takes a moment, and the delivery is known.
const UNINTERRUPTED_BYTES: u64 = 64 << 20;

const BUFFER_BYTES_MAX: usize = 128 * 1024;

/// How often a file that changes under our eyes is read again.
const READINGS_MAX: u32 = 3;

pub(super) fn read(
    file: OwnedFd,
    path: &str,
    expected: &ExpectedArtifact,
    options: InspectionOptions<'_>,
    buffer: &mut Vec<u8>,
) -> Result<SeenFile, Refusal> {
    let mut told = fstat(&file)?;
    if FileType::from_raw_mode(told.st_mode) != FileType::RegularFile {
        return Err(Refusal::NotRegular);
    }
    if options.depth == Depth::Identity {
        return Ok(seen(path, &told));
    }
    let mut file = File::from(file);
    for reading in 0..READINGS_MAX {
        if reading > 0 {
            file.rewind().map_err(|error| unreadable(&error))?;
        }
        let reading = Reading::of(&mut file, size_of(&told), expected, options, buffer)?;
        let after = fstat(&file)?;
        let is_the_same = identity(&told) == identity(&after) && reading.length == size_of(&after);
        told = after;
        if is_the_same {
            return Ok(reading.into_seen(path, &told, expected));
        }
    }
    Err(Refusal::Restless)
}

struct Reading {
    length: u64,
    sha256: String,
    /// The beginning, all of it when it is small enough; empty when it is not asked for.
    head: Vec<u8>,
    holds_secret: bool,
}

impl Reading {
    fn of(
        file: &mut File,
        size: u64,
        expected: &ExpectedArtifact,
        options: InspectionOptions<'_>,
        buffer: &mut Vec<u8>,
    ) -> Result<Reading, Refusal> {
        if size > HASHED_BYTES_MAX {
            return Err(Refusal::TooLarge);
        }
        let reads_text = expected.content_read && size <= ARTIFACT_TEXT_BYTES_MAX;
        let asks = expected.schema.is_some()
            || expected.kind.is_some()
            || expected.mime_type.is_some()
            || reads_text;
        let head_bytes_max = match asks {
            false => 0,
            true if size <= CONTENT_BYTES_MAX => CONTENT_BYTES_MAX,
            true => media::HEAD_BYTES,
        };
        let mut hasher = Sha256::new();
        let mut search = Search::new(options.redactor);
        let mut head = Vec::new();
        let mut length = 0;
        // Most deliveries are small; clearing a large buffer would cost more than reading them.
        let room = usize::try_from(size).map_or(BUFFER_BYTES_MAX, |size| (size + 1).min(BUFFER_BYTES_MAX));
        if buffer.len() < room {
            buffer.resize(room, 0);
        }
        loop {
            let count = match file.read(buffer) {
                Ok(0) => break,
                Ok(count) => count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(unreadable(&error)),
            };
            length += count as u64;
            if length > size {
                // It grows: reading could take as long as another process writes.
                break;
            }
            if length > UNINTERRUPTED_BYTES && options.interruption.is_cancelled() {
                return Err(Refusal::Interrupted);
            }
            hasher.update(&buffer[..count]);
            search.feed(&buffer[..count]);
            let is_short = count < buffer.len();
            let room = usize::try_from(head_bytes_max).unwrap_or(usize::MAX).saturating_sub(head.len());
            head.extend_from_slice(&buffer[..count.min(room)]);
            if length == size && is_short {
                // A short read at the expected size is the end of the file; skip the extra read.
                break;
            }
        }
        Ok(Reading { length, sha256: hex(&hasher.finalize()), head, holds_secret: search.found() })
    }

    fn into_seen(self, path: &str, told: &Stat, expected: &ExpectedArtifact) -> SeenFile {
        let is_whole = self.head.len() as u64 == self.length;
        let mime_type =
            expected.mime_type.as_deref().map(|wanted| media::type_of(path, &self.head, is_whole, wanted));
        let wants_content = expected.schema.is_some() || expected.kind.is_some();
        let read = if wants_content && is_whole { read_json(&self.head).ok() } else { None };
        let (content, repeated_key) = read.map_or((None, None), |read| (Some(read.value), read.repeated_key));
        let reads_text = expected.content_read && is_whole && self.length <= ARTIFACT_TEXT_BYTES_MAX;
        let text = if reads_text { String::from_utf8(self.head).ok() } else { None };
        SeenFile {
            sha256: self.sha256,
            text,
            mime_type,
            content,
            repeated_key,
            holds_secret: self.holds_secret,
            ..seen(path, told)
        }
    }
}

fn seen(path: &str, told: &Stat) -> SeenFile {
    let (inode, changed_ns) = identity(told);
    SeenFile {
        path: path.to_owned(),
        size: size_of(told),
        sha256: String::new(),
        inode,
        changed_ns,
        mime_type: None,
        content: None,
        repeated_key: None,
        holds_secret: false,
        text: None,
    }
}

/// Inode and change time in nanoseconds since the epoch.
#[allow(
    clippy::unnecessary_cast,
    clippy::cast_lossless,
    reason = "the types of these fields differ between systems"
)]
fn identity(told: &Stat) -> (u64, i64) {
    let nanoseconds = i64::try_from(told.st_ctime_nsec).unwrap_or(0);
    (told.st_ino as u64, (told.st_ctime as i64).saturating_mul(1_000_000_000).saturating_add(nanoseconds))
}

fn size_of(told: &Stat) -> u64 {
    u64::try_from(told.st_size).unwrap_or(0)
}

fn unreadable(error: &std::io::Error) -> Refusal {
    Refusal::Unreadable(Errno::from_io_error(error).unwrap_or(Errno::IO))
}
