//! One daemon of a simulated world: it holds fires that it has accepted and drives runs side by side, each by the real
//! supervisor. When it dies, all of that is lost at once.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use escrow_model::{RunId, RunStatus};
use escrow_runtime::DriveError;
use escrow_store::FireRow;

use crate::process::{Machine, Process, Task};

#[derive(Default)]
pub(super) struct Daemon {
    /// Accepted fires whose runs have not begun.
    pub(super) accepted: Vec<FireRow>,
    /// Fires whose runs have begun and that are not marked, with the run if it is driven here.
    pub(super) begun: Vec<(FireRow, Option<(Task, u32)>)>,
    pub(super) hosted: Vec<Hosted>,
    /// Does nothing, as after SIGSTOP.
    pub(super) frozen: bool,
}

/// A run that a daemon drives.
pub(super) struct Hosted {
    pub(super) run: RunId,
    pub(super) life: u32,
    driving: Pin<Box<dyn Future<Output = End>>>,
}

/// How the drive of a run ended.
pub(super) enum End {
    /// Where the run stands.
    Rested(RunStatus),
    Failed(DriveError),
    /// The whole daemon dies with it.
    Crashed,
}

impl Hosted {
    pub(super) fn start(run: RunId, task: Task, life: u32, machine: Machine) -> Hosted {
        let mut process = Process::start(task, life, machine);
        let driving = Box::pin(async move {
            let disk = std::sync::Arc::clone(&process.disk);
            tokio::select! {
                biased;
                () = disk.crashed() => End::Crashed,
                outcome = process.rest() => match outcome {
                    Ok(run) => End::Rested(run.status()),
                    Err(error) => End::Failed(error),
                },
            }
        });
        Hosted { run, life, driving }
    }
}

impl Daemon {
    /// Every life that this daemon keeps alive, with its run.
    pub(super) fn lives(&self) -> Vec<(u32, RunId)> {
        let begun = self.begun.iter().filter_map(|(fire, task)| Some((task.as_ref()?.1, fire.run.clone())));
        self.hosted.iter().map(|hosted| (hosted.life, hosted.run.clone())).chain(begun).collect()
    }
}

/// Lets all daemons work until one of their runs comes to rest.
pub(super) async fn next_end(daemons: &mut [Daemon]) -> (usize, Hosted, End) {
    poll_fn(|context| {
        for (at, daemon) in daemons.iter_mut().enumerate().filter(|(_, daemon)| !daemon.frozen) {
            for place in 0..daemon.hosted.len() {
                if let Poll::Ready(end) = daemon.hosted[place].driving.as_mut().poll(context) {
                    return Poll::Ready((at, daemon.hosted.swap_remove(place), end));
                }
            }
        }
        Poll::Pending
    })
    .await
}
