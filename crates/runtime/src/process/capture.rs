//! Where the output of a process goes: all of it to a file, its end to memory, each piece to who watches.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tokio::io::{AsyncRead, AsyncReadExt};

/// One of the two ways in which a process talks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    /// Also the name of its spool file.
    pub fn as_str(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

/// What a stream came to.
#[derive(Debug, Default)]
pub struct Captured {
    /// The end of it, whole when `total_bytes` is no larger.
    pub tail: Vec<u8>,
    pub total_bytes: u64,
    /// All of it. Absent when nothing was written, or no spool was asked for.
    pub file: Option<PathBuf>,
    /// Why the file is not complete; the process was not disturbed by it.
    pub spool_problem: Option<String>,
}

impl Captured {
    pub fn is_truncated(&self) -> bool {
        self.total_bytes > self.tail.len() as u64
    }

    /// The tail as text, without the torn character that cutting may have left at its start.
    pub fn text(&self) -> String {
        let torn = if self.is_truncated() {
            self.tail.iter().take(3).take_while(|byte| (0x80..0xC0).contains(*byte)).count()
        } else {
            0
        };
        String::from_utf8_lossy(&self.tail[torn..]).into_owned()
    }
}

pub(super) struct Capture<'a> {
    stream: Stream,
    tail: VecDeque<u8>,
    tail_bytes_max: usize,
    total_bytes: u64,
    spool: Spool<'a>,
}

/// The file is made when the first byte comes: most commands say nothing on stderr, many nothing at all.
enum Spool<'a> {
    Nowhere,
    Due(&'a Path),
    Open { path: PathBuf, file: File },
    Broken { path: PathBuf, problem: String },
}

impl<'a> Capture<'a> {
    pub(super) fn new(stream: Stream, tail_bytes_max: usize, spool: Option<&'a Path>) -> Capture<'a> {
        let spool = spool.map_or(Spool::Nowhere, Spool::Due);
        Capture { stream, tail: VecDeque::new(), tail_bytes_max, total_bytes: 0, spool }
    }

    /// Reads until the other side closes. A read error is the end as well: nothing more can come.
    pub(super) async fn pump(
        &mut self,
        mut reader: impl AsyncRead + Unpin,
        live: Option<&dyn Fn(Stream, &[u8])>,
    ) {
        let mut chunk = Vec::with_capacity(CHUNK_BYTES);
        while let Ok(1..) = reader.read_buf(&mut chunk).await {
            self.take(&chunk);
            if let Some(live) = live {
                live(self.stream, &chunk);
            }
            chunk.clear();
        }
    }

    fn take(&mut self, chunk: &[u8]) {
        self.total_bytes += chunk.len() as u64;
        self.spool.write(self.stream, chunk);
        self.tail.extend(chunk);
        let excess = self.tail.len().saturating_sub(self.tail_bytes_max);
        self.tail.drain(..excess);
    }

    pub(super) fn finish(self) -> Captured {
        let (file, spool_problem) = match self.spool {
            Spool::Nowhere | Spool::Due(_) => (None, None),
            Spool::Open { path, .. } => (Some(path), None),
            Spool::Broken { path, problem } => (Some(path), Some(problem)),
        };
        Captured { tail: self.tail.into(), total_bytes: self.total_bytes, file, spool_problem }
    }
}

/// As much as a pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

impl Spool<'_> {
    fn write(&mut self, stream: Stream, chunk: &[u8]) {
        if let Spool::Due(directory) = self {
            let path = directory.join(stream.as_str());
            *self = match create(directory, &path) {
                Ok(file) => Spool::Open { path, file },
                Err(error) => Spool::Broken { path, problem: error.to_string() },
            };
        }
        if let Spool::Open { path, file } = self
            && let Err(error) = file.write_all(chunk)
        {
            *self = Spool::Broken { path: std::mem::take(path), problem: error.to_string() };
        }
    }
}

fn create(directory: &Path, path: &Path) -> io::Result<File> {
    match File::create(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            fs::create_dir_all(directory)?;
            File::create(path)
        }
        other => other,
    }
}
