//! Hosts runs: one on the calling thread, or many at once on threads of their own.
//!
//! ```text
//!   spawn ──▶ queue ──▶ at most `hosted_max` threads ──▶ a runtime per piece of work ──▶ Handle::join
//! ```
//!
//! **Invariant:** a panic ends the work that it happened in, and no other. A nested run is driven by the thread of the
//! run around it, and a run that waits for a person is driven by none, so neither takes one of the places.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::app::App;
use crate::error::Error;
use crate::panics::caught;

/// Does the work of a use case on the calling thread.
pub fn block_on<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Error::world("runtime", format!("cannot start: {error}")))?.block_on(work)
}

/// Hosts the runs of an [`App`].
pub struct Driver {
    app: Arc<App>,
    hosted_max: usize,
    queue: Arc<Mutex<Queue>>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<Job>,
    /// Threads that are at work. Each takes the next job when its own is done, and ends when none is left.
    threads: usize,
}

type Job = Box<dyn FnOnce() + Send>;

/// The answer of a piece of work.
#[must_use = "the work continues, but its errors are lost"]
pub struct Handle<T>(oneshot::Receiver<Result<T, Error>>);

impl<T> Handle<T> {
    /// Waits until the work is done. Work whose turn had not come when the driver was stopped is [`Error::stopped`].
    pub async fn join(self) -> Result<T, Error> {
        let gone = |_| Error::world("runtime", "no thread could be started for the run");
        self.0.await.map_err(gone)?
    }
}

impl Driver {
    /// `hosted_max` runs are driven at once; others wait for their turn.
    pub fn new(app: Arc<App>, hosted_max: NonZeroUsize) -> Driver {
        Driver { app, hosted_max: hosted_max.get(), queue: Arc::default() }
    }

    pub fn app(&self) -> &Arc<App> {
        &self.app
    }

    /// Hosts a use case, usually one that drives a run, on a thread with a runtime of its own.
    pub fn spawn<T, W, F>(&self, work: W) -> Handle<T>
    where
        T: Send + 'static,
        W: FnOnce(Arc<App>) -> F + Send + 'static,
        F: Future<Output = Result<T, Error>>,
    {
        let (answer, handle) = oneshot::channel();
        let app = Arc::clone(&self.app);
        let job = move || {
            let answered = if app.is_stopping() {
                Err(Error::stopped())
            } else {
                block_on(async { caught(Box::pin(work(app))).await? })
            };
            // A caller that has dropped its handle does not ask.
            drop(answer.send(answered));
        };
        self.host(Box::new(job));
        Handle(handle)
    }

    /// Asks every run of the app to end, and starts no more.
    pub fn stop(&self) {
        self.app.stop();
    }

    /// Returns when nothing is hosted any more.
    pub async fn idle(&self) {
        while lock(&self.queue).threads > 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn host(&self, job: Job) {
        let mut queue = lock(&self.queue);
        queue.waiting.push_back(job);
        if queue.threads >= self.hosted_max {
            return;
        }
        let shared = Arc::clone(&self.queue);
        let started = thread::Builder::new().name("run".into()).spawn(move || work_off(&shared));
        match started {
            Ok(_) => queue.threads += 1,
            // The threads that exist will take it.
            Err(_) if queue.threads > 0 => {}
            // Dropping the job answers its handle.
            Err(_) => queue.waiting.clear(),
        }
    }
}

fn work_off(queue: &Mutex<Queue>) {
    loop {
        let next = {
            let mut queue = lock(queue);
            let next = queue.waiting.pop_front();
            if next.is_none() {
                queue.threads -= 1;
            }
            next
        };
        match next {
            Some(job) => job(),
            None => return,
        }
    }
}

/// Jobs are run outside the lock and catch their own panics, so the queue is whole whenever the lock is taken.
fn lock(queue: &Mutex<Queue>) -> MutexGuard<'_, Queue> {
    queue.lock().unwrap_or_else(PoisonError::into_inner)
}
