//! One process of Escrow: the real supervisor on a simulated machine, which can be stopped at any moment.

use std::future::{Future, poll_fn};
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use escrow_app::{NestedFiles, NestedRuns};
use escrow_engine::Run;
use escrow_model::{Entry, RunId, RunOptions, ScopePath};
use escrow_runtime::process::Stream;
use escrow_runtime::providers::Environment;
use escrow_runtime::{
    Beginning, Canceller, Drive, DriveError, NestedNews, Observer, ProviderWorld, Secrets, Surroundings,
    cancellation,
};
use escrow_store::{Journal, Lease};
use tokio::task::LocalSet;

use crate::disk::Disk;
use crate::ledger::Ledger;

pub(crate) struct Process {
    driving: Pin<Box<dyn Future<Output = Result<Run, DriveError>>>>,
    pub(crate) run: RunId,
    pub(crate) canceller: Canceller,
    pub(crate) disk: Arc<Disk>,
    pub(crate) life: u32,
    /// Does nothing until it is woken, as after SIGSTOP.
    pub(crate) frozen: bool,
}

/// The run that a process drives.
pub(crate) struct Task {
    pub(crate) run: Run,
    pub(crate) lease: Lease,
    pub(crate) beginning: Beginning,
}

/// What a process finds on its machine.
pub(crate) struct Machine {
    pub(crate) disk: Disk,
    pub(crate) world: Rc<dyn ProviderWorld>,
    pub(crate) ledger: Arc<Ledger>,
    /// The run is compared with its journal after each commit.
    pub(crate) compares_replay: bool,
}

impl Process {
    pub(crate) fn start(task: Task, life: u32, machine: Machine) -> Process {
        let Machine { disk, world, ledger, compares_replay } = machine;
        let (canceller, interruption) = cancellation();
        let disk = Arc::new(disk);
        let journal: Arc<dyn Journal> = Arc::<Disk>::clone(&disk);
        // A run that was replayed equals its journal; one that begins has yet to be compared.
        let shadow = compares_replay.then(|| None);
        let mut watcher = Watcher { ledger, shadow };
        let Task { run, lease, beginning } = task;
        let id = run.options().run.clone();
        let surroundings = surroundings(run.options());
        let host = NestedRuns::new(Arc::clone(&journal), Rc::clone(&world));
        let host = Rc::new(host.with_files(Rc::new(NoFiles)));
        let driving = async move {
            let observer = &mut watcher;
            let making_way = escrow_runtime::Cancellation::never();
            let drive =
                Drive { run, lease, journal, world, host, surroundings, observer, interruption, making_way };
            let local = LocalSet::new();
            local.run_until(drive.to_rest(beginning)).await
        };
        Process { driving: Box::pin(driving), run: id, canceller, disk, life, frozen: false }
    }

    /// Drives the run until it ends or waits.
    pub(crate) async fn rest(&mut self) -> Result<Run, DriveError> {
        self.driving.as_mut().await
    }
}

/// Polls processes that have lost their run, next to the one that has it, until all of them have noticed.
pub(crate) async fn run_out(processes: &mut Vec<Process>) {
    poll_fn(|context| {
        processes.retain_mut(|process| process.frozen || process.driving.as_mut().poll(context).is_pending());
        if processes.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn surroundings(options: &RunOptions) -> Surroundings {
    // Runs of chains are open side by side, each with a directory of its own.
    let artifacts = match options.fire {
        Some(_) => PathBuf::from(&options.artifacts),
        None => PathBuf::from("/nowhere/artifacts"),
    };
    Surroundings {
        directory: PathBuf::from("/nowhere"),
        artifacts,
        spool: PathBuf::from("/nowhere/spool"),
        state: PathBuf::from("/nowhere"),
        environment: Environment::Minimal { also: Vec::new(), secrets: Vec::new() },
        secrets: Arc::new(Secrets::none()),
        grace: Duration::from_secs(1),
    }
}

/// No directories: nothing is delivered.
struct NoFiles;

impl NestedFiles for NoFiles {
    fn create_directory(&self, _path: &Path) -> io::Result<()> {
        Ok(())
    }
}

/// Compares the run with its journal after each commit, and checks that observers learn only of written entries.
struct Watcher {
    ledger: Arc<Ledger>,
    /// The run as its journal has it, once it has been compared; `None` inside when it has not.
    shadow: Option<Option<Run>>,
}

impl Observer for Watcher {
    fn committed(&mut self, run: &Run, entries: &[Entry]) {
        if run.entries() > self.ledger.run(&run.options().run).entries {
            self.ledger.problem("an observer learns of an entry that is not written");
        }
        let Some(shadow) = &mut self.shadow else { return };
        match shadow {
            Some(shadow) => {
                for entry in entries {
                    if let Err(error) = shadow.follow(entry) {
                        self.ledger.problem(format!("an entry is committed that cannot follow: {error}"));
                    }
                }
                if let Some(broken) = shadow.broken_invariant() {
                    self.ledger.problem(broken);
                }
                if shadow != run {
                    self.ledger.problem("the run is not what its journal says");
                }
            }
            None => *shadow = Some(run.clone()),
        }
    }

    fn output(&mut self, _check: &str, _scope: &ScopePath, _stream: Stream, _bytes: &[u8]) {}

    fn tick(&mut self, _run: &Run) {}

    fn nested(&mut self, news: &NestedNews) {
        if self.ledger.run(&news.run).entries < news.entries.len() as u64 {
            self.ledger.problem("an observer learns of a nested run that is not written");
        }
    }
}
