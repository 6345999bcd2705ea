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

mod capture;
mod child;
#[cfg(target_os = "linux")]
mod descendants;
#[cfg(not(target_os = "linux"))]
#[path = "process/descendants_elsewhere.rs"]
mod descendants;
mod known;
#[cfg(target_os = "linux")]
mod orphans;
#[cfg(not(target_os = "linux"))]
#[path = "process/orphans_elsewhere.rs"]
mod orphans;
#[cfg(target_os = "linux")]
mod plain;
mod resident;
mod spawn;
#[cfg(target_os = "linux")]
mod table;
mod watch;

use std::cell::Cell;
use std::future::{Future, poll_fn};
use std::io::{self, PipeWriter};
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::pin::Pin;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::process::Pid;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::time::timeout;

pub use capture::{Captured, Spool, Stream, Watcher};
pub use orphans::{Orphans, end_orphans_of};
pub use resident::{NoLine, Resident};
pub use spawn::{SpawnError, find_program};

use crate::cancellation::Cancellation;
use crate::redaction::Redactor;
use capture::Capture;
use child::Child;
use descendants::Tree;
use known::{Known, TOKEN_VARIABLE, Token};

/// What to run, and how long and how loud it may be.
pub struct Process<'a> {
    /// Program, arguments, directory and environment. Its standard streams and its group are set by `run`.
    pub command: Command,
    /// The command inherits our environment, with its changes, and is called by the name of its program. Then it may be
    /// started the short way; a `Command` does not tell.
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

/// How a process that was started came to its end.
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

/// How long processes may take to end after they were asked to, unless the caller says otherwise.
pub const GRACE: Duration = Duration::from_secs(2);

/// How long leftovers of a process that exited may still write and end by themselves. `tee` behind a process
/// substitution needs a moment; a daemon needs forever.
const LINGER: Duration = Duration::from_millis(250);

/// How long to wait for what cannot be killed.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// How long to wait for pipes to close when every process that we know of has ended.
const DRAIN: Duration = Duration::from_millis(100);

/// Runs the process to its end. Dropping the future kills the process and what it started.
pub async fn run(process: Process<'_>) -> Result<Finished, SpawnError> {
    let program = process.command.get_program().to_owned();
    let directory = process.command.get_current_dir().map(Path::to_owned);
    let started = run_or_say_why(process).await;
    started.map_err(|error| SpawnError::from_io(error, &program, directory.as_deref()))
}

/// The same, for those who have to repeat what the system said.
pub(crate) async fn run_or_say_why(process: Process<'_>) -> io::Result<Finished> {
    let began = Instant::now();
    let capture = |stream, tail_bytes_max| {
        let capture = Capture::new(stream, tail_bytes_max).spooled(process.spool);
        capture.redacted(&process.redactor).watched(process.live)
    };
    let mut stdout = capture(Stream::Stdout, process.stdout_tail_bytes_max);
    let mut stderr = capture(Stream::Stderr, process.stderr_tail_bytes_max);
    let (out, its_out) = io::pipe()?;
    let (err, its_err) = io::pipe()?;
    let is_plain = process.is_plain && process.stdin.is_none();
    let Started { mut child, mut tree, input } = if is_plain {
        spawn_plain(process.command, its_out, its_err)?
    } else {
        let stdin = if process.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
        spawn(process.command, stdin, its_out.into(), its_err.into())?.into()
    };
    let input_problem = Cell::new(None);
    let has_ended = Cell::new(false);
    let mut talk = Talk::new(async {
        if input.is_none() {
            head_start(&has_ended).await;
        }
        tokio::join!(stdout.pump(out.into()), stderr.pump(err.into()), async {
            input_problem.set(feed(input, process.stdin.unwrap_or_default()).await.err());
        });
    });

    let stop = talk
        .during(async {
            tokio::select! {
                biased;
                status = child.wait() => Stop::Exited(status),
                () = process.cancellation.cancelled() => Stop::Cancelled,
                () = pass(process.deadline, began) => Stop::Deadline,
            }
        })
        .await;
    let mut end = match stop {
        Stop::Exited(status) => {
            has_ended.set(true);
            tree.child_was_reaped();
            end_of(status)
        }
        Stop::Cancelled => End::Cancelled,
        Stop::Deadline => End::TimedOut,
    };
    if let (Drain::UntilDeadline, End::Exited(_) | End::Signalled(_) | End::Lost) = (process.drain, end) {
        tokio::select! {
            biased;
            () = talk.finish() => {}
            () = process.cancellation.cancelled() => end = End::Cancelled,
            () = pass(process.deadline, began) => end = End::TimedOut,
        }
    }

    let left_by_itself = match end {
        End::TimedOut | End::Cancelled => false,
        End::Exited(_) | End::Signalled(_) | End::Lost => {
            let quiet = async { tokio::join!(talk.finish(), tree.gone()) };
            timeout(LINGER, quiet).await.is_ok()
        }
    };
    let mut unended = 0;
    if !left_by_itself {
        unended = talk.during(end_everything(&mut child, &mut tree, process.grace)).await;
        let _ = timeout(DRAIN, talk.finish()).await;
    }
    drop(talk);
    drop(tree);
    let (stdout, stderr) = (stdout.finish(), stderr.finish());
    let input_problem = input_problem.into_inner();
    Ok(Finished { end, stdout, stderr, duration: began.elapsed(), input_problem, unended })
}

enum Stop {
    Exited(io::Result<ExitStatus>),
    Deadline,
    Cancelled,
}

/// A process that runs.
struct Started {
    child: Child,
    tree: Tree,
    input: Option<ChildStdin>,
}

impl From<(tokio::process::Child, Tree)> for Started {
    fn from((mut child, tree): (tokio::process::Child, Tree)) -> Started {
        let input = child.stdin.take();
        Started { child: Child::Standard(child), tree, input }
    }
}

fn spawn(
    mut command: Command,
    stdin: Stdio,
    stdout: Stdio,
    stderr: Stdio,
) -> io::Result<(tokio::process::Child, Tree)> {
    registered(|token| {
        command.env(TOKEN_VARIABLE, token.text()).stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
        let mut command = tokio::process::Command::from(command);
        let child = command.kill_on_drop(true).spawn()?;
        let pid = child.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        Ok((child, pid.expect("a child that nobody has waited for has a number")))
    })
}

#[cfg(target_os = "linux")]
fn spawn_plain(mut command: Command, stdout: PipeWriter, stderr: PipeWriter) -> io::Result<Started> {
    let mut is_refused = false;
    let started = registered(|token| {
        command.env(TOKEN_VARIABLE, token.text());
        let streams = plain::Streams { stdout: stdout.as_fd(), stderr: stderr.as_fd() };
        plain::start(&command, &streams)?.ok_or_else(|| {
            is_refused = true;
            io::ErrorKind::Unsupported.into()
        })
    });
    match started {
        Ok((child, tree)) => Ok(Started { child: Child::Plain(child), tree, input: None }),
        Err(_) if is_refused => Ok(spawn(command, Stdio::null(), stdout.into(), stderr.into())?.into()),
        Err(error) => Err(error),
    }
}

#[cfg(not(target_os = "linux"))]
fn spawn_plain(command: Command, stdout: PipeWriter, stderr: PipeWriter) -> io::Result<Started> {
    Ok(spawn(command, Stdio::null(), stdout.into(), stderr.into())?.into())
}

/// Starts a child and registers it, before anybody can take it for an orphan.
fn registered<T>(start: impl FnOnce(Token) -> io::Result<(T, Pid)>) -> io::Result<(T, Tree)> {
    let mut known = Known::lock();
    let token = known.begin();
    match start(token) {
        Ok((child, pid)) => {
            known.add_child(pid.as_raw_nonzero().get());
            Ok((child, Tree::new(pid, token)))
        }
        Err(error) => {
            known.end(token);
            Err(error)
        }
    }
}

/// Most commands end before anybody could read along. Then what they have said lies in their pipes, and one look
/// takes it all: being woken for every piece costs more.
async fn head_start(has_ended: &Cell<bool>) {
    let mut over = std::pin::pin!(tokio::time::sleep(HEAD_START));
    poll_fn(|context| if has_ended.get() { Poll::Ready(()) } else { over.as_mut().poll(context) }).await;
}

/// Shorter than anybody who watches would notice.
const HEAD_START: Duration = Duration::from_millis(5);

/// Writes all the input, or as much as the process wants, and closes the pipe.
async fn feed(pipe: Option<ChildStdin>, input: &[u8]) -> io::Result<()> {
    match pipe {
        Some(mut pipe) => pipe.write_all(input).await,
        None => Ok(()),
    }
}

async fn pass(deadline: Option<Duration>, began: Instant) {
    match deadline {
        Some(deadline) => tokio::time::sleep(deadline.saturating_sub(began.elapsed())).await,
        None => std::future::pending().await,
    }
}

fn end_of(status: io::Result<ExitStatus>) -> End {
    match status.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => End::Exited(code),
        Ok((None, Some(signal))) => End::Signalled(signal),
        Ok((None, None)) | Err(_) => End::Lost,
    }
}

/// Asks the whole tree to end, then makes it. Tells how many processes are still there.
async fn end_everything(child: &mut Child, tree: &mut Tree, grace: Duration) -> usize {
    tree.terminate();
    let ended = timeout(grace, async {
        let _ = child.wait().await;
        tree.child_was_reaped();
        tree.gone().await;
    });
    if ended.await.is_ok() {
        return 0;
    }
    let killed = timeout(KILL_WAIT, async {
        // It may have moved to another group. Where it has ended already, this does nothing.
        let _ = child.start_kill();
        tree.kill().await;
        let _ = child.wait().await;
        tree.child_was_reaped();
        tree.kill().await;
    });
    if killed.await.is_ok() { 0 } else { tree.count() }
}

/// The reading and writing beside the waiting: goes on while other things are awaited.
struct Talk<'a> {
    work: Pin<Box<dyn Future<Output = ()> + 'a>>,
    is_over: bool,
}

impl<'a> Talk<'a> {
    fn new(work: impl Future<Output = ()> + 'a) -> Talk<'a> {
        Talk { work: Box::pin(work), is_over: false }
    }

    async fn during<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = std::pin::pin!(other);
        loop {
            tokio::select! {
                () = &mut self.work, if !self.is_over => self.is_over = true,
                outcome = &mut other => return outcome,
            }
        }
    }

    async fn finish(&mut self) {
        if !self.is_over {
            (&mut self.work).await;
            self.is_over = true;
        }
    }
}
