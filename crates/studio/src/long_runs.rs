//! One thread for work that holds the journal of a long run in memory.
//!
//! The page of a run of 2,000 checks takes 25 MB while it is made, and the allocator keeps that for each thread that ever made one.
//! So one thread makes them all, one after another, and stays.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};

use escrow_app::Error;
use escrow_app::runs::RunRow;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// A journal with more entries is a long one.
const ENTRIES_MAX: u64 = 1_500;

type Job = Box<dyn FnOnce(&Runtime) + Send>;

#[derive(Default)]
pub(crate) struct LongRuns {
    /// Where jobs are sent to, once there was one. `None`: the thread could not be started.
    jobs: OnceLock<Option<Sender<Job>>>,
}

impl LongRuns {
    /// Does work that holds the journal of this run: at once, or, if that is a long one, when its turn comes.
    pub(crate) async fn holding<T, F>(
        &self,
        row: &RunRow,
        work: impl FnOnce() -> F + Send + 'static,
    ) -> Result<T, Error>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>>,
    {
        if row.seq <= ENTRIES_MAX {
            return work().await;
        }
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move |runtime| drop(answer.send(runtime.block_on(work()))));
        let gone = || Error::world("runtime", "no thread could be started for the page");
        let jobs = self.jobs.get_or_init(start).as_ref().ok_or_else(gone)?;
        jobs.send(job).map_err(|_| gone())?;
        // A panic drops the sender.
        answered.await.map_err(|_| Error::bug("this is a bug in Escrow: the page could not be made"))?
    }
}

fn start() -> Option<Sender<Job>> {
    let runtime = Builder::new_current_thread().enable_all().build().ok()?;
    let (jobs, waiting) = channel::<Job>();
    let work = move || {
        for job in waiting {
            // A panic ends the work that it happened in, and no other.
            let _ = catch_unwind(AssertUnwindSafe(|| job(&runtime)));
        }
    };
    std::thread::Builder::new().name("escrow-long-runs".into()).spawn(work).ok()?;
    Some(jobs)
}
