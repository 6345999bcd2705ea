//! Runs one process to its end, and ends everything that it started.
//!
//! ```text
//!   run ── spawn ──┬─ exits by itself ── linger ─┐
//!                  ├─ deadline ──────────────────┼─ SIGTERM ── grace ── SIGKILL ── Finished
//!                  └─ cancelled ─────────────────┘   (only when something is left)
//! ```
//!
//! **Invariant:** when `run` returns, no descendant of the process is left, also none that left its group or
//! holds its pipes; those that cannot be ended are counted in `unended`. What a command leaves in the
//! background is given a moment to finish, then it is ended like the rest: a check that has settled does
//! nothing more.

mod ancestors;
mod capture;
mod child;
#[cfg(target_os = "linux")]
mod descendants;
#[cfg(not(target_os = "linux"))]
#[path = "process/descendants_elsewhere.rs"]
mod descendants;
mod follow;
mod inherited;
mod known;
#[cfg(target_os = "linux")]
mod orphans;
#[cfg(not(target_os = "linux"))]
#[path = "process/orphans_elsewhere.rs"]
mod orphans;
#[cfg(target_os = "linux")]
mod plain;
mod program;
mod resident;
mod start;
#[cfg(target_os = "linux")]
mod table;
mod watch;

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io::{self, PipeWriter};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::pin::pin;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::fs::{OFlags, fcntl_setfl};
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tracing::debug;

pub use ancestors::{AROUND_VARIABLE, runs_around, runs_around_commands, runs_around_process};
pub use capture::{Captured, Spool, Stream, Watcher};
pub use inherited::withhold_inherited_descriptors;
pub use orphans::{Orphans, end_orphans_of};
pub use program::{SpawnError, find_program};
pub use resident::{NoLine, Resident};

use crate::cancellation::Cancellation;
use crate::redaction::Redactor;
use capture::Capture;
use follow::{Limits, follow};
use start::{Started, spawn, spawn_plain};

/// What to run, and how long and how loud it may be.
pub struct Process<'a> {
    /// Program, arguments, directory and environment. Its standard streams and its group are set by `run`.
    pub command: Command,
    /// The command inherits our environment, with its changes, and is called by the name of its program. Then it may be
    /// started by the fast path; a `Command` does not tell.
    pub is_plain: bool,
    /// `None`: `/dev/null`.
    pub stdin: Option<&'a [u8]>,
    /// Where output is kept whole.
    pub spool: Option<Spool<'a>>,
    pub live: Option<Watcher<'a>>,
    /// Knows what must not be in the output.
    pub redactor: Arc<Redactor>,
    /// Counted from before the process is started.
    pub deadline: Option<Duration>,
    /// When its output is whole.
    pub drain: Drain,
    pub cancellation: Cancellation,
    /// How long a process may take to end after it was asked to.
    pub grace: Duration,
    pub stdout_tail_bytes_max: usize,
    pub stderr_tail_bytes_max: usize,
}

impl<'a> Process<'a> {
    pub fn new(command: Command) -> Process<'a> {
        Process {
            command,
            is_plain: false,
            stdin: None,
            spool: None,
            live: None,
            redactor: Redactor::none(),
            deadline: None,
            drain: Drain::Linger,
            cancellation: Cancellation::never(),
            grace: GRACE,
            stdout_tail_bytes_max: 16 * 1024 * 1024,
            stderr_tail_bytes_max: 64 * 1024,
        }
    }
}

/// How long pipes may stay open after the process itself has exited: what it left behind may hold them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drain {
    /// For a moment. What has been said by then is taken.
    Linger,
    /// Until the deadline. Pipes that are still open then are a timeout.
    UntilDeadline,
}

/// How a process ended.
#[derive(Debug)]
pub struct Finished {
    pub end: End,
    pub stdout: Captured,
    pub stderr: Captured,
    pub duration: Duration,
    /// Why it was not given all of its input. It may not have wanted it.
    pub input_problem: Option<io::Error>,
    /// Descendants that could not be ended.
    pub unended: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Exited(i32),
    Signalled(i32),
    /// The deadline passed.
    TimedOut,
    Cancelled,
    /// The system did not tell how it ended.
    Lost,
}

/// Whether our parent asked for this signal to be ignored, as `nohup` does for `SIGHUP`. Must be called
/// before a signal handler is installed.
pub fn is_ignored_signal(number: i32) -> bool {
    #[cfg(target_os = "linux")]
    let ignored = table::ignored_signals().unwrap_or(0);
    #[cfg(not(target_os = "linux"))]
    let ignored = 0_u64;
    (1..=64).contains(&number) && ignored & (1 << (number - 1)) != 0
}

/// How long processes may take to end after they were asked to, unless the caller says otherwise.
pub const GRACE: Duration = Duration::from_secs(2);

/// Runs the process to its end. Dropping the future kills the process and what it started.
pub async fn run(process: Process<'_>) -> Result<Finished, SpawnError> {
    let program = process.command.get_program().to_owned();
    let directory = process.command.get_current_dir().map(Path::to_owned);
    let started = run_or_say_why(process).await;
    started.map_err(|error| SpawnError::from_io(error, &program, directory.as_deref()))
}

/// As [`run`], with the error of the system itself.
pub(crate) async fn run_or_say_why(process: Process<'_>) -> io::Result<Finished> {
    let began = Instant::now();
    let capture = |stream, tail_bytes_max| {
        let capture = Capture::new(stream, tail_bytes_max).spooled(process.spool);
        capture.redacted(&process.redactor).watched(process.live)
    };
    let mut stdout = capture(Stream::Stdout, process.stdout_tail_bytes_max);
    let mut stderr = capture(Stream::Stderr, process.stderr_tail_bytes_max);
    let ((out, its_out), (err, its_err)) = (pipe()?, pipe()?);
    let is_plain = process.is_plain && process.stdin.is_none();
    let started = if is_plain {
        spawn_plain(process.command, its_out, its_err)
    } else {
        let stdin = if process.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        spawn(process.command, stdin, its_out.into(), its_err.into()).map(Started::from)
    };
    let Started { mut child, mut tree, input } = started?;
    let input_problem = Cell::new(None);
    let has_ended = Cell::new(false);
    let talk = async {
        if input.is_none() {
            head_start(&has_ended).await;
        }
        tokio::join!(stdout.pump(out), stderr.pump(err), async {
            input_problem.set(feed(input, process.stdin.unwrap_or_default()).await.err());
        });
    };
    let limits = Limits {
        began,
        deadline: process.deadline,
        drain: process.drain,
        cancellation: &process.cancellation,
        grace: process.grace,
    };
    let (end, unended) = follow(&limits, &mut child, &mut tree, &has_ended, talk).await;
    drop(tree);
    debug!(?end, elapsed = ?began.elapsed(), unended, "process ended");
    let (stdout, stderr) = (stdout.finish(), stderr.finish());
    let input_problem = input_problem.into_inner();
    Ok(Finished { end, stdout, stderr, duration: began.elapsed(), input_problem, unended })
}

/// Our end, which never blocks, and the end that a process writes to.
fn pipe() -> io::Result<(OwnedFd, PipeWriter)> {
    let (ours, its) = io::pipe()?;
    fcntl_setfl(&ours, OFlags::NONBLOCK)?;
    Ok((ours.into(), its))
}

/// Most commands end within a few milliseconds. Reading starts after a delay, so that one read collects their output.
async fn head_start(has_ended: &Cell<bool>) {
    let mut over = pin!(tokio::time::sleep_until(end_of_head_start()));
    poll_fn(|context| if has_ended.get() { Poll::Ready(()) } else { over.as_mut().poll(context) }).await;
}

/// The same instant for all processes that start at about the same time, so that they share one timer.
fn end_of_head_start() -> tokio::time::Instant {
    static FIRST: OnceLock<tokio::time::Instant> = OnceLock::new();
    let first = FIRST.get_or_init(tokio::time::Instant::now);
    let rounds = first.elapsed().as_micros() / HEAD_START.as_micros() + 2;
    *first + HEAD_START * u32::try_from(rounds).unwrap_or(0)
}

/// Delay before output is read; at most twice this.
const HEAD_START: Duration = Duration::from_millis(4);

/// Writes all the input, or as much as the process wants, and closes the pipe.
async fn feed(pipe: Option<ChildStdin>, input: &[u8]) -> io::Result<()> {
    match pipe {
        Some(mut pipe) => pipe.write_all(input).await,
        None => Ok(()),
    }
}
