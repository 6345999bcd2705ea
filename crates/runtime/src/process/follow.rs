//! Stays with a process until its end, and ends what is left of it.

use std::cell::Cell;
use std::future::Future;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::pin::{Pin, pin};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use tokio::time::timeout;

use super::child::Child;
use super::descendants::Tree;
use super::{Drain, End};
use crate::cancellation::Cancellation;

/// How long leftovers of a process that exited may still write and end by themselves. `tee` behind a process
/// substitution needs a moment; a daemon needs forever.
const LINGER: Duration = Duration::from_millis(250);

/// How long to wait for what cannot be killed.
const KILL_WAIT: Duration = Duration::from_secs(2);

/// How long to wait for pipes to close when every process that we know of has ended.
const DRAIN: Duration = Duration::from_millis(100);
/// What the process may not exceed.
pub(super) struct Limits<'a> {
    pub(super) began: Instant,
    pub(super) deadline: Option<Duration>,
    pub(super) drain: Drain,
    pub(super) cancellation: &'a Cancellation,
    pub(super) grace: Duration,
}

impl Limits<'_> {
    async fn deadline(&self) {
        match self.deadline {
            Some(deadline) => tokio::time::sleep(deadline.saturating_sub(self.began.elapsed())).await,
            None => std::future::pending().await,
        }
    }
}

/// Talks with the process until its end, and ends what is left of it. Tells how many could not be ended.
pub(super) async fn follow(
    limits: &Limits<'_>,
    child: &mut Child,
    tree: &mut Tree,
    has_ended: &Cell<bool>,
    pipe_io: impl Future<Output = ()>,
) -> (End, usize) {
    let pipe_io = pin!(pipe_io);
    let mut pipe_io = PipeIo::new(pipe_io);
    let stop = pipe_io
        .during(async {
            tokio::select! {
                biased;
                status = child.wait() => Stop::Exited(status),
                () = limits.cancellation.cancelled() => Stop::Cancelled,
                () = limits.deadline() => Stop::Deadline,
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
    if let (Drain::UntilDeadline, End::Exited(_) | End::Signalled(_) | End::Lost) = (limits.drain, end) {
        tokio::select! {
            biased;
            () = pipe_io.finish() => {}
            () = limits.cancellation.cancelled() => end = End::Cancelled,
            () = limits.deadline() => end = End::TimedOut,
        }
    }

    let left_by_itself = match end {
        End::TimedOut | End::Cancelled => false,
        End::Exited(_) | End::Signalled(_) | End::Lost => {
            let quiet = async { tokio::join!(pipe_io.finish(), tree.gone()) };
            timeout(LINGER, quiet).await.is_ok()
        }
    };
    let mut unended = 0;
    if !left_by_itself {
        unended = pipe_io.during(end_everything(child, tree, limits.grace)).await;
        let _ = timeout(DRAIN, pipe_io.finish()).await;
    }
    (end, unended)
}

enum Stop {
    Exited(io::Result<ExitStatus>),
    Deadline,
    Cancelled,
}

fn end_of(status: io::Result<ExitStatus>) -> End {
    match status.map(|status| (status.code(), status.signal())) {
        Ok((Some(code), _)) => End::Exited(code),
        Ok((None, Some(signal))) => End::Signalled(signal),
        Ok((None, None)) | Err(_) => End::Lost,
    }
}

/// Asks the whole tree to end, then makes it. Tells how many processes are still there.
pub(super) async fn end_everything(child: &mut Child, tree: &mut Tree, grace: Duration) -> usize {
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

/// Reads and writes the pipes of a process while other futures are awaited.
struct PipeIo<'a, Work> {
    work: Pin<&'a mut Work>,
    is_over: bool,
}

impl<'a, Work: Future<Output = ()>> PipeIo<'a, Work> {
    fn new(work: Pin<&'a mut Work>) -> PipeIo<'a, Work> {
        PipeIo { work, is_over: false }
    }

    async fn during<T>(&mut self, other: impl Future<Output = T>) -> T {
        let mut other = pin!(other);
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
