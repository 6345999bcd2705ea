//! What a supervisor finds outside itself: the time, the hands that do the work, the other processes.
//!
//! There is one real world. The seam is here so that the same supervisor can be driven through a simulated one,
//! in which time is wound by hand and everything that can go wrong does.

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_engine::Input;
use escrow_model::{ExpectedArtifact, InspectedArtifact, Millis, RunId};
use escrow_store::{Holder, Liveness};

use crate::chance;
use crate::holder;
use crate::inspection::inspect_for_secrets;
use crate::process::end_orphans_of;
use crate::providers::{self, Provider};
use crate::redaction::Redactor;

pub type Local<T> = Pin<Box<dyn Future<Output = T>>>;

/// Takes an input to the loop that waits for it.
pub type Door = Rc<dyn Fn(Input)>;

/// What a look at the artifact directory needs to know.
pub struct Look {
    pub directory: PathBuf,
    pub expected: Vec<ExpectedArtifact>,
    pub redactor: Arc<Redactor>,
}

pub trait World {
    /// Milliseconds since the epoch.
    fn now_ms(&self) -> Millis;

    /// Who drives runs here.
    fn holder(&self) -> Holder;

    fn liveness(&self, holder: &Holder) -> Liveness;

    /// Whoever does the work of checks of this type.
    fn provider(&self, name: &str) -> Option<&dyn Provider>;

    /// What lies in the artifact directory. The hands go on meanwhile.
    fn look(&self, look: Look) -> Local<Vec<InspectedArtifact>>;

    /// Ends what an Escrow that is gone left running for this run; tells how many processes could not be ended.
    fn end_orphans_of(&self, run: RunId, grace: Duration) -> Local<usize>;

    /// Carries what came of an effect to the loop.
    fn bring(&self, input: Input, door: &Door) {
        door(input);
    }
}

/// The one that there is.
pub struct RealWorld;

impl World for RealWorld {
    fn now_ms(&self) -> Millis {
        chance::now_ms()
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

    fn look(&self, look: Look) -> Local<Vec<InspectedArtifact>> {
        Box::pin(async move {
            let redactor = Arc::clone(&look.redactor);
            // Hashing a large file takes a while.
            let seen = tokio::task::spawn_blocking(move || {
                inspect_for_secrets(&look.directory, &look.expected, &redactor)
            });
            let mut seen = seen.await.unwrap_or_default();
            look.redactor.sightings(&mut seen);
            seen
        })
    }

    fn end_orphans_of(&self, run: RunId, grace: Duration) -> Local<usize> {
        Box::pin(async move { end_orphans_of(run.as_str(), grace).await.left })
    }
}
