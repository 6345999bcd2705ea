//! One life of Escrow: the real supervisor on a simulated machine, which can be stopped at any moment.

use std::future::{Future, poll_fn};
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use escrow_engine::Run;
use escrow_model::{Entry, ScopePath};
use escrow_runtime::cancellation::{Canceller, cancellation};
use escrow_runtime::host::NoHost;
use escrow_runtime::process::Stream;
use escrow_runtime::provider_world::ProviderWorld;
use escrow_runtime::providers::Environment;
use escrow_runtime::secrets::Secrets;
use escrow_runtime::supervisor::{Beginning, Drive, DriveError, Observer, Surroundings};
use escrow_store::{Journal, Lease};
use tokio::task::LocalSet;

use crate::disk::Disk;
use crate::ledger::Ledger;

pub(crate) struct Process {
    driving: Pin<Box<dyn Future<Output = Result<Run, DriveError>>>>,
    pub(crate) canceller: Canceller,
    pub(crate) disk: Arc<Disk>,
    pub(crate) life: u32,
    /// Does nothing until it is woken, as after SIGSTOP.
    pub(crate) frozen: bool,
}

/// What a process is to drive.
pub(crate) struct Task {
    pub(crate) run: Run,
    pub(crate) lease: Lease,
    pub(crate) beginning: Beginning,
}

impl Process {
    pub(crate) fn start(
        task: Task,
        life: u32,
        disk: Disk,
        world: Rc<dyn ProviderWorld>,
        ledger: &Arc<Ledger>,
        compares: bool,
    ) -> Process {
        let (canceller, interruption) = cancellation();
        let disk = Arc::new(disk);
        let journal: Arc<dyn Journal> = Arc::<Disk>::clone(&disk);
        // What was replayed is known to be what the journal says; what begins is not yet.
        let shadow = compares.then(|| None);
        let mut watcher = Watcher { ledger: Arc::clone(ledger), shadow };
        let Task { run, lease, beginning } = task;
        let driving = async move {
            let observer = &mut watcher;
            let surroundings = surroundings();
            let drive = Drive {
                run,
                lease,
                journal,
                world,
                host: Rc::new(NoHost),
                surroundings,
                observer,
                interruption,
            };
            let local = LocalSet::new();
            local.run_until(drive.to_rest(beginning)).await
        };
        Process { driving: Box::pin(driving), canceller, disk, life, frozen: false }
    }

    /// Goes on until it has nothing more to do.
    pub(crate) async fn rest(&mut self) -> Result<Run, DriveError> {
        self.driving.as_mut().await
    }
}

/// Lets processes that have lost their run go on beside another, until the last of them has noticed.
pub(crate) async fn wither(processes: &mut Vec<Process>) {
    poll_fn(|context| {
        processes.retain_mut(|process| process.frozen || process.driving.as_mut().poll(context).is_pending());
        if processes.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

fn surroundings() -> Surroundings {
    Surroundings {
        directory: PathBuf::from("/nowhere"),
        artifacts: PathBuf::from("/nowhere/artifacts"),
        spool: PathBuf::from("/nowhere/spool"),
        state: PathBuf::from("/nowhere"),
        environment: Environment::Minimal { also: Vec::new(), secrets: Vec::new() },
        secrets: Arc::new(Secrets::none()),
        grace: Duration::from_secs(1),
    }
}

/// Compares the run with its journal after each commit, and makes sure that nobody is told of what is not
/// written.
struct Watcher {
    ledger: Arc<Ledger>,
    /// The run as its journal has it, once it has been compared; `None` inside when it has not.
    shadow: Option<Option<Run>>,
}

impl Observer for Watcher {
    fn committed(&mut self, run: &Run, entries: &[Entry]) {
        if run.entries() > self.ledger.entries() {
            self.ledger.problem("somebody is told of an entry that is not written");
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
}
