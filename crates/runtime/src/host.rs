//! What a check of type `playbook` asks for: a run inside the run, with a journal of its own.
//!
//! The supervisor knows only [`Host`]. Its implementation begins runs the same way as every other start, so it lives in
//! the application layer above.

use std::sync::Arc;

use escrow_engine::NestedLease;
use escrow_model::{
    Answer, FaultCode, Home, KeyKind, KeySpec, Millis, Mutates, OuterArtifact, Plan, ProviderFault,
    ProviderSpec, Reason, Request, RunId, RunOptions, ScopePath,
};

use escrow_store::Lease;

use crate::cancellation::Cancellation;
use crate::provider_world::LocalFuture;
use crate::supervisor::{DriveError, NestedNews, Surroundings};

pub(crate) const PLAYBOOK: ProviderSpec = ProviderSpec {
    name: "playbook",
    summary: "runs another playbook; its output is how that run ended and what it gave",
    keys: &[
        KeySpec { name: "playbook", kind: KeyKind::Plain, required: true },
        KeySpec { name: "with", kind: KeyKind::Inputs, required: false },
        KeySpec { name: "dir", kind: KeyKind::Text, required: false },
    ],
    mutates: Mutates::AsNested,
    home: Home::Runtime,
    timeout_ms: 24 * 60 * 60 * 1000,
    ..ProviderSpec::PURE
};

/// Starts nested runs, or resumes the ones that exist, and drives them until they end or wait.
pub trait Host {
    /// The same attempt always means the same nested run, so repeating a request repeats no work.
    fn nest(&self, request: NestRequest) -> LocalFuture<NestOutcome>;
}

/// An attempt of a check that nests a run.
pub struct NestRequest {
    /// The options of the run around it.
    pub parent: RunOptions,
    /// The plan of the run around it, which has the playbooks that it nests.
    pub parent_plan: Arc<Plan>,
    /// The actors who started or resumed the run around it.
    pub involved: Vec<String>,
    /// The hold on the run around it. Once it is lost, another process may have ended that run.
    pub parent_lease: Lease,
    pub parent_started_at: Millis,
    pub check: String,
    pub scope: ScopePath,
    pub attempt: u32,
    /// The fields of the check, rendered.
    pub request: Arc<Request>,
    /// What the run around it, and those around that, have verified.
    pub outer_artifacts: Vec<OuterArtifact>,
    /// The nested run of the attempt before.
    pub failed_before: Option<FailedBefore>,
    /// Where the parent works.
    pub surroundings: Surroundings,
    pub cancellation: Cancellation,
    /// Fires when the nested run should end the effects that are under way, and begin nothing further.
    pub making_way: Cancellation,
    /// Is told what the nested run commits.
    pub news: NewsSink,
}

/// A nested run that has ended, and when the attempt was started that opens it again.
#[derive(Clone, Debug)]
pub struct FailedBefore {
    pub run: RunId,
    pub reopened_at: Millis,
}

pub type NewsSink = Box<dyn Fn(NestedNews)>;

/// Where a nested run stands when its drive is over.
#[derive(Debug)]
pub enum NestOutcome {
    Answered(Box<Answer>),
    Waits {
        child: RunId,
        reason: Reason,
        lease: NestedLease,
    },
    /// This process cannot drive the nested run any further, for example because its disk is full. That says nothing
    /// about the nested run, so it is no answer: the drive of the parent ends as well, and a later one resumes both.
    Broken(DriveError),
}

/// Refuses every nested run: for simulations and tests, whose playbooks nest none.
pub struct NoHost;

impl Host for NoHost {
    fn nest(&self, _request: NestRequest) -> LocalFuture<NestOutcome> {
        let fault = ProviderFault::logical(FaultCode::Exception, "nested runs are not supported here");
        Box::pin(async { NestOutcome::Answered(Box::new(Answer::fault(fault))) })
    }
}
