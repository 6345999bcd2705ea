//! Begins a run: the one way from a plan to a run in the journal, for top-level and nested runs alike.
//!
//!   StartRequest ──▶ redact the payload ──▶ gather facts ──▶ first turn ──▶ create in the journal ──▶ Begun
//!
//! **Invariant:** a run whose plan, inputs or options contain the value of a declared secret is refused before anything
//! is written: redacting it would make it a different run. The event's payload is not chosen by the person who starts
//! the run: it is redacted, and the engine keeps the stars from external checks.

use std::path::Path;
use std::sync::Arc;

use escrow_engine::{Run, Turn};
use escrow_model::{Plan, Reason, RunId, RunOptions};
use escrow_runtime::{Cancellation, FoundSecret, Inseparable, ProviderWorld, Secrets, facts};
use escrow_store::{Contested, Created, Durability, Journal, Lease, NewRun, RunConflict, StoreError};
use thiserror::Error;

use crate::conflicts::{Arbiter, Arbitration, Means, Settled, named};

/// A plan with everything that a run of it needs. Its artifact directory exists.
pub struct StartRequest {
    pub plan: Arc<Plan>,
    pub options: RunOptions,
    /// The secrets of the plan, as [`Secrets::read`] found them.
    pub secrets: Secrets,
    /// The lease of the run that nests it.
    pub parent: Option<Lease>,
}

/// A run that is in the journal and held by this process, ready to be driven.
#[derive(Debug)]
pub struct Begun {
    pub run: Run,
    pub lease: Lease,
    pub secrets: Secrets,
    /// The committed first turn; its effects are still to be performed.
    pub first_turn: Turn,
}

#[derive(Debug, Error)]
pub enum BeginError {
    #[error("the playbook contains the value of a declared secret")]
    SecretInPlan,
    #[error("a path or an option of the run contains the value of a declared secret")]
    SecretInOptions,
    #[error("input `{input}` holds the value of {secret}")]
    SecretInInput { input: String, secret: FoundSecret },
    #[error(transparent)]
    Inseparable(#[from] Inseparable),
    #[error("the run was stopped before it began")]
    Stopped,
    #[error("run `{0}` exists already")]
    AlreadyExists(RunId),
    #[error("another process has taken over the run that nests it")]
    ParentFenced,
    /// Another open run delivers there.
    #[error("{} delivers into this artifact directory, one around it or one within it", named(&.0.root))]
    ArtifactsInUse(Box<RunConflict>),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Whether a nested playbook contains the value of a secret that it declares, as far as that can be read without running
/// a command: the journal of this run would contain it long before the nested run begins.
fn has_nested_secret(plan: &Plan, directory: &Path) -> bool {
    plan.nested.files.iter().any(|(file, nested)| {
        let redactor = Secrets::redactor_of(&nested.plan.secrets, directory);
        plan.nested.reachable(file).iter().any(|(_, inner)| redactor.finds_in_plan(&inner.plan))
    })
}

/// Begins the run and returns when its first turn is committed. When `stopping` fires before that, nothing is begun.
///
/// When another run has its concurrency group, the run follows the rule of its playbook: it begins later, or it is begun
/// and has ended.
pub async fn begin(
    request: StartRequest,
    journal: &dyn Journal,
    world: &dyn ProviderWorld,
    stopping: &Cancellation,
    arbiter: &dyn Arbiter,
) -> Result<Begun, BeginError> {
    let StartRequest { plan, mut options, secrets, parent } = request;
    let redactor = secrets.redactor();
    let redacted = redactor.payload(&mut options);
    if redactor.finds_in_plan(&plan) || has_nested_secret(&plan, Path::new(&options.directory)) {
        return Err(BeginError::SecretInPlan);
    }
    if redactor.finds_in_options(&options) {
        return Err(BeginError::SecretInOptions);
    }
    for (name, value) in &options.inputs {
        if let Some(secret) = secrets.found_in(value) {
            return Err(BeginError::SecretInInput { input: name.clone(), secret });
        }
    }
    let timeout_ms = options.timeout_ms.or(plan.timeout_ms);
    let asked_at = world.now_ms();
    let mut arbitration = Arbitration::new(&options, &plan, Means { journal, world, stopping, arbiter });
    let mut refused: Option<Reason> = None;
    loop {
        // Facts are gathered after the wait: what the other run delivered was there before this one.
        // Git may take its time. Dropping the question ends it.
        let mut facts = tokio::select! {
            biased;
            () = stopping.cancelled() => return Err(BeginError::Stopped),
            facts = facts::gather(&plan, &options, &secrets) => facts,
        };
        facts.redacted |= redacted;
        let now = world.now_ms();
        let mut options = options.clone();
        if arbitration.has_waited() {
            // The time that it waited counts.
            let left = |timeout: u64| timeout.saturating_sub(now.saturating_sub(asked_at)).max(1);
            options.timeout_ms = timeout_ms.map(left);
        }
        let plan = Arc::clone(&plan);
        let (run, first_turn) = match refused.take() {
            None => escrow_runtime::begin(&plan, options, facts, redactor, now)?,
            Some(reason) => escrow_runtime::refuse(plan, options, facts, redactor, now, reason)?,
        };
        let (id, holder) = (run.options().run.clone(), world.holder());
        let entries = &first_turn.entries;
        let (durability, parent) = (Durability::Grouped, parent.as_ref());
        let new = NewRun { run: &id, holder: &holder, entries, durability, parent };
        match journal.create_run(new).await? {
            Created::Done { lease, .. } => return Ok(Begun { run, lease, secrets, first_turn }),
            Created::AlreadyExists => return Err(BeginError::AlreadyExists(id)),
            Created::ParentFenced => return Err(BeginError::ParentFenced),
            Created::Conflict(conflict) => match conflict.over {
                Contested::Artifacts(_) => return Err(BeginError::ArtifactsInUse(conflict)),
                Contested::Group(_) => match arbitration.settle(&run, &conflict).await? {
                    Settled::TryAgain => {}
                    Settled::Refused(reason) => refused = Some(reason),
                    Settled::Stopped => return Err(BeginError::Stopped),
                },
            },
        }
    }
}
