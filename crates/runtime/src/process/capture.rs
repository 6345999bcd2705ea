//! Captures the output of a process: all of it in a file, its end in memory, each piece passed to observers.
//!
//! **Invariant:** secrets are taken out of the bytes before they go anywhere.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::io::Errno;

use super::watch::watch;
use crate::private_files::create_file_in;
use crate::redaction::{self, Redactor};

/// Standard output or standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stream {
    Stdout,
    Stderr,
}

impl Stream {
    /// Also the end of its file's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        }
    }
}

/// Sees every piece of output as it comes. Must not block.
pub type Watcher<'a> = &'a dyn Fn(Stream, &[u8]);

/// The captured output of a stream.
#[derive(Debug, Default)]
pub struct Captured {
    /// The end of it, whole when `total_bytes` is no larger.
    pub tail: Vec<u8>,
    pub total_bytes: u64,
    /// All of it. Absent when there was too little to make one.
    pub file: Option<PathBuf>,
    /// Why the file is not complete; the process was not disturbed by it.
    pub spool_problem: Option<String>,
    /// A secret was replaced in it.
    pub redacted: bool,
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

/// Where output is kept whole: in `directory`, as `<label>.stdout` and `<label>.stderr`.
///
/// A file is made when there are `from_bytes` of output, or when less has waited for a second: making one costs
/// as much as a short command, and what is short is in the answer anyway. 0 makes it for the first byte.
#[derive(Clone, Copy, Debug)]
pub struct Spool<'a> {
    /// Made when it is needed.
    pub directory: &'a Path,
    pub label: &'a str,
    pub from_bytes: usize,
}

pub(super) struct Capture<'a> {
    stream: Stream,
    tail: VecDeque<u8>,
    tail_bytes_max: usize,
    total_bytes: u64,
    file: Whole<'a>,
    redaction: redaction::Stream,
    /// Room for what redaction leaves.
    clean: Vec<u8>,
    live: Option<Watcher<'a>>,
}

/// Why a read stopped.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Drained {
    /// The other side has closed.
    Closed,
    Empty,
    More,
}

/// The file that has all of it.
enum Whole<'a> {
    Unwanted,
    /// All of it is in the tail so far.
    Due(Spool<'a>),
    Open {
        path: PathBuf,
        file: File,
    },
    Broken {
        path: PathBuf,
        problem: String,
    },
}

impl<'a> Capture<'a> {
    pub(super) fn new(stream: Stream, tail_bytes_max: usize) -> Capture<'a> {
        Capture {
            stream,
            tail: VecDeque::new(),
            tail_bytes_max,
            total_bytes: 0,
            file: Whole::Unwanted,
            redaction: redaction::Stream::new(Redactor::none()),
            clean: Vec::new(),
            live: None,
        }
    }

    pub(super) fn spooled(self, spool: Option<Spool<'a>>) -> Capture<'a> {
        Capture { file: spool.map_or(Whole::Unwanted, Whole::Due), ..self }
    }

    pub(super) fn redacted(self, redactor: &Arc<Redactor>) -> Capture<'a> {
        Capture { redaction: redaction::Stream::new(Arc::clone(redactor)), ..self }
    }

    pub(super) fn watched(self, live: Option<Watcher<'a>>) -> Capture<'a> {
        Capture { live, ..self }
    }

    /// Reads until the other side closes, from an end that does not block. A read error is the end as well: nothing
    /// more can come.
    pub(super) async fn pump(&mut self, pipe: OwnedFd) {
        let mut chunk = vec![0; CHUNK_BYTES_FIRST];
        if self.drain(&pipe, &mut chunk) == Drained::Closed {
            return;
        }
        let Ok(pipe) = watch(pipe) else { return };
        let mut patience = std::pin::pin!(tokio::time::sleep(PATIENCE));
        loop {
            tokio::select! {
                biased;
                ready = pipe.readable() => {
                    let Ok(mut ready) = ready else { return };
                    match self.drain(pipe.get_ref(), &mut chunk) {
                        Drained::Closed => return,
                        Drained::Empty => ready.clear_ready(),
                        Drained::More => tokio::task::yield_now().await,
                    }
                },
                () = &mut patience, if self.holds_back() => self.open(),
            }
        }
    }

    /// Takes what lies in the pipe, but not so much that others would have to wait.
    fn drain(&mut self, pipe: &OwnedFd, chunk: &mut Vec<u8>) -> Drained {
        for _ in 0..CHUNKS_AT_ONCE {
            match rustix::io::read(pipe, chunk.as_mut_slice()) {
                Ok(0) => return Drained::Closed,
                Ok(count) => {
                    let mut clean = std::mem::take(&mut self.clean);
                    self.redaction.push(&chunk[..count], &mut clean);
                    self.take(&clean);
                    clean.clear();
                    self.clean = clean;
                    if count == chunk.len() {
                        chunk.resize(CHUNK_BYTES, 0);
                    }
                }
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Drained::Empty,
                Err(_) => return Drained::Closed,
            }
        }
        Drained::More
    }

    fn take(&mut self, chunk: &[u8]) {
        if chunk.is_empty() {
            return;
        }
        self.total_bytes += chunk.len() as u64;
        // While the file is due the tail has everything, so it must not be cut before the file is made.
        if let Whole::Due(spool) = self.file
            && self.tail.len() + chunk.len() >= spool.from_bytes.min(self.tail_bytes_max)
        {
            self.open();
        }
        self.file.write(&[chunk]);
        self.tail.extend(chunk);
        let excess = self.tail.len().saturating_sub(self.tail_bytes_max);
        self.tail.drain(..excess);
        if let Some(live) = self.live {
            live(self.stream, chunk);
        }
    }

    fn holds_back(&self) -> bool {
        matches!(self.file, Whole::Due(_)) && !self.tail.is_empty()
    }

    /// Makes the file, with what came before.
    fn open(&mut self) {
        if let Whole::Due(spool) = self.file {
            let path = spool.directory.join(format!("{}.{}", spool.label, self.stream.as_str()));
            self.file = match create_file_in(spool.directory, &path) {
                Ok(file) => Whole::Open { path, file },
                Err(error) => Whole::Broken { path, problem: error.to_string() },
            };
            let (first, second) = self.tail.as_slices();
            self.file.write(&[first, second]);
        }
    }

    pub(super) fn finish(mut self) -> Captured {
        let mut rest = Vec::new();
        self.redaction.finish(&mut rest);
        self.take(&rest);
        // The journal holds text alone.
        if self.holds_back() && std::str::from_utf8(self.tail.make_contiguous()).is_err() {
            self.open();
        }
        let (file, spool_problem) = match self.file {
            Whole::Unwanted | Whole::Due(_) => (None, None),
            Whole::Open { path, .. } => (Some(path), None),
            Whole::Broken { path, problem } => (Some(path), Some(problem)),
        };
        let redacted = self.redaction.has_redacted();
        Captured { tail: self.tail.into(), total_bytes: self.total_bytes, file, spool_problem, redacted }
    }
}

/// Holds the output of most commands; a process that fills it gets the larger buffer.
const CHUNK_BYTES_FIRST: usize = 1_000;

/// How often a pipe is read before others have their turn.
const CHUNKS_AT_ONCE: usize = 16;

/// As much as a pipe holds.
const CHUNK_BYTES: usize = 64 * 1024;

/// How long a process may run before what it has said is on disk, for others to read.
const PATIENCE: Duration = Duration::from_secs(1);

impl Whole<'_> {
    fn write(&mut self, pieces: &[&[u8]]) {
        if let Whole::Open { path, file } = self
            && let Err(error) = pieces.iter().try_for_each(|piece| file.write_all(piece))
        {
            *self = Whole::Broken { path: std::mem::take(path), problem: error.to_string() };
        }
    }
}
