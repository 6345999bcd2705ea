//! The supervisor's surroundings: the time, the providers, the artifact directory and the other processes.
//!
//! The seam exists so that the same supervisor can be driven through a simulated world, in which the clock is wound by
//! hand and everything that can go wrong does.

use std::future::Future;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_engine::Input;
use escrow_model::{ExpectedArtifact, InspectedArtifact, Millis, RunId};
use escrow_store::{Holder, Liveness};
use tokio::task::JoinError;

use crate::cancellation::Cancellation;
use crate::entropy;
use crate::holder;
use crate::hook_spool;
use crate::inspection::inspect_for_secrets;
use crate::leftovers;
use crate::process::end_orphans_of;
use crate::providers::{self, Provider};
use crate::redaction::Redactor;

/// A future that stays on the thread of its drive.
pub type LocalFuture<T> = Pin<Box<dyn Future<Output = T>>>;

/// Queues an input for the supervisor's loop.
pub type InputSink = Rc<dyn Fn(Input)>;

/// An artifact directory and the artifacts that are expected in it.
pub struct InspectRequest {
    pub directory: PathBuf,
    pub expected: Vec<ExpectedArtifact>,
    pub redactor: Arc<Redactor>,
    /// Of the run.
    pub interruption: Cancellation,
}

pub trait ProviderWorld {
    /// Milliseconds since the epoch.
    fn now_ms(&self) -> Millis;

    /// The process that drives runs here.
    fn holder(&self) -> Holder;

    fn liveness(&self, holder: &Holder) -> Liveness;

    /// The provider of checks of this type.
    fn provider(&self, name: &str) -> Option<&dyn Provider>;

    /// The expected artifacts as they are found in the directory. Other tasks run meanwhile.
    fn inspect(&self, request: InspectRequest) -> LocalFuture<Vec<InspectedArtifact>>;

    /// Ends the processes that a dead Escrow has left running for this run; resolves to the number that could not be
    /// ended.
    fn end_orphans_of(&self, run: RunId, grace: Duration) -> LocalFuture<usize>;

    /// Takes in the receipts that the hooks of interrupted attempts have left in the spool of this run, and removes what
    /// else they have left there.
    fn collect_receipts(&self, run: RunId, spool: PathBuf, state: PathBuf) -> LocalFuture<()> {
        let _ = (run, spool, state);
        Box::pin(std::future::ready(()))
    }

    /// Hands the result of an effect to the loop. A simulation may repeat it.
    fn deliver(&self, input: Input, sink: &InputSink) {
        sink(input);
    }
}

/// The production implementation.
pub struct RealWorld;

impl ProviderWorld for RealWorld {
    fn now_ms(&self) -> Millis {
        entropy::now_ms()
    }

    fn holder(&self) -> Holder {
        holder::this_process()
    }

    fn liveness(&self, other: &Holder) -> Liveness {
        holder::liveness(other)
    }

    fn provider(&self, name: &str) -> Option<&dyn Provider> {
        providers::find(name)
    }

    fn inspect(&self, request: InspectRequest) -> LocalFuture<Vec<InspectedArtifact>> {
        Box::pin(async move {
            let redactor = Arc::clone(&request.redactor);
            // Hashing a large file takes a while.
            let seen = tokio::task::spawn_blocking(move || {
                let InspectRequest { directory, expected, redactor, interruption } = request;
                inspect_for_secrets(&directory, &expected, &redactor, &interruption)
            });
            let mut seen = match seen.await.map_err(JoinError::try_into_panic) {
                Ok(seen) => seen,
                // A bug is not a missing artifact: the supervisor notices the task that ends here.
                Err(Ok(panic)) => resume_unwind(panic),
                // The executor is shutting down, and this task with it.
                Err(Err(_)) => std::future::pending().await,
            };
            redactor.sightings(&mut seen);
            seen
        })
    }

    fn end_orphans_of(&self, run: RunId, grace: Duration) -> LocalFuture<usize> {
        Box::pin(async move { end_orphans_of(run.as_str(), grace).await.left })
    }

    fn collect_receipts(&self, run: RunId, spool: PathBuf, state: PathBuf) -> LocalFuture<()> {
        Box::pin(async move {
            let collected = tokio::task::spawn_blocking(move || {
                providers::ai::login::return_left(&spool);
                let collected = hook_spool::collect_left(run.as_str(), &spool, &state);
                leftovers::remove(&spool);
                collected
            });
            // Receipts that cannot be taken in stay where they are; the run does not depend on them.
            if let Ok(Err(problem)) = collected.await {
                tracing::warn!(problem, "receipts of interrupted attempts were not taken in");
            }
        })
    }
}
