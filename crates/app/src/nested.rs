//! Nested runs: a check of type `playbook` runs another playbook, with a journal of its own.
//!
//! **Invariant:** the id of a nested run follows from its parent, check, scope and attempt. A process that takes the
//! parent over finds the same nested run and resumes it or takes its result: nothing runs twice. A further attempt, by a
//! retry or because the parent is reopened, opens the nested run of the attempt before again, whose confirmed effects
//! are kept. If that run may have changed the world, it keeps the inputs that it was started with, whatever `with` says
//! now: a new run would repeat its effects.
//!
//! A nested run begins from the plan of its parent, which contains the nested playbooks since the outermost run started.
//! No playbook is read from a file here.

mod answers;
mod news;

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use escrow_engine::{NestedLease, Run};
use escrow_model::{
    Answer, ChainStep, EffectOrigin, FaultCode, InputKind, Message, Plan, ProviderFault, Reason, ReasonCode,
    RunId, RunOptions, folder_in_scope,
};
use escrow_runtime::providers::Environment;
use escrow_runtime::{
    Beginning, Cancellation, Drive, DriveError, Host, LocalFuture, NestOutcome, NestRequest, ProviderWorld,
    SecretError, Secrets, Surroundings,
};
use escrow_store::{Holder, Journal, Lease, LeaseError, StoreError};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use answers::{
    conflicting, driven_by_another_process, elsewhere, failed, inputs, not_begun, not_in_the_snapshot,
    outcome_of,
};
use news::NewsObserver;

use crate::begin::{BeginError, StartRequest, begin};
use crate::conflicts::{Arbitration, Means, Settled, Unattended};
use crate::nested_files::{NestedFiles, ProjectFiles};
use crate::runs::as_at_start;

/// How deep runs may nest.
const DEPTH_MAX: u32 = 8;

/// Nests runs in this process and keeps their journals beside their parents'.
#[derive(Clone)]
pub struct NestedRuns {
    journal: Arc<dyn Journal>,
    world: Rc<dyn ProviderWorld>,
    files: Rc<dyn NestedFiles>,
}

impl NestedRuns {
    pub fn new(journal: Arc<dyn Journal>, world: Rc<dyn ProviderWorld>) -> NestedRuns {
        NestedRuns { journal, world, files: Rc::new(ProjectFiles) }
    }

    /// Creates directories elsewhere than in the file system.
    pub fn with_files(self, files: Rc<dyn NestedFiles>) -> NestedRuns {
        NestedRuns { files, ..self }
    }
}

impl Host for NestedRuns {
    fn nest(&self, request: NestRequest) -> LocalFuture<NestOutcome> {
        let nesting = Nesting { runs: self.clone(), request };
        Box::pin(async move {
            match nesting.drive_to_rest().await {
                Ok(Rested::At { run, inputs }) => outcome_of(&run, inputs),
                Ok(Rested::Elsewhere { child, reason }) => {
                    NestOutcome::Waits { child, reason, lease: NestedLease::HeldElsewhere }
                }
                Err(NestError::Fault(fault)) => NestOutcome::Answered(Box::new(Answer::fault(fault))),
                Err(NestError::Conflict { run, reason }) => conflicting(&run, reason),
                Err(NestError::Drive(error)) => NestOutcome::Broken(error),
            }
        })
    }
}

/// Where the drive of a nested run ended.
enum Rested {
    At {
        run: Box<Run>,
        inputs: Inputs,
    },
    /// Another process drives the run.
    Elsewhere {
        child: RunId,
        reason: Reason,
    },
}

/// Which inputs a nested run has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Inputs {
    /// Those that `with` gives.
    Given,
    /// Those that it was started with. `with` gives others now, but the run may have changed the world.
    OfTheFirstAttempt,
}

/// Why a nested run gives no result.
enum NestError {
    /// The check fails: the nested run could not be begun.
    Fault(ProviderFault),
    /// The check fails: another run has the concurrency group of the nested run, which stays as it ended.
    Conflict { run: Box<Run>, reason: Reason },
    /// This process cannot drive the run. The run itself is unharmed and may have had effects, so a fault, which a
    /// parent may retry with a new run, would repeat them.
    Drive(DriveError),
}

impl From<ProviderFault> for NestError {
    fn from(fault: ProviderFault) -> NestError {
        NestError::Fault(fault)
    }
}

impl From<StoreError> for NestError {
    fn from(error: StoreError) -> NestError {
        NestError::Drive(DriveError::Store(error))
    }
}

/// A run that this process holds and has to drive.
struct Taken {
    run: Run,
    lease: Lease,
    secrets: Secrets,
    beginning: Beginning,
    interruption: Cancellation,
}

/// A nested run, before this process drives it.
enum Found {
    Taken(Box<Taken>),
    Ended(Box<Run>),
    /// Another process drives the run.
    Held(Box<Run>),
}

impl Found {
    fn run(&self) -> &Run {
        match self {
            Found::Taken(taken) => &taken.run,
            Found::Ended(run) | Found::Held(run) => run,
        }
    }
}

struct Nesting {
    runs: NestedRuns,
    request: NestRequest,
}

impl Nesting {
    async fn drive_to_rest(self) -> Result<Rested, NestError> {
        let found = self.take().await?;
        let inputs = self.inputs_of(found.run());
        let Taken { run, lease, secrets, beginning, interruption } = match found {
            Found::Taken(taken) => *taken,
            Found::Ended(run) => return Ok(Rested::At { run, inputs }),
            Found::Held(run) => return Ok(elsewhere(&run)),
        };
        let child = run.options().run.clone();
        let NestedRuns { journal, world, .. } = self.runs.clone();
        let NestRequest { check, scope, surroundings, news, making_way, .. } = self.request;
        let surroundings = Surroundings {
            directory: PathBuf::from(&run.options().directory),
            artifacts: PathBuf::from(&run.options().artifacts),
            spool: surroundings.spool.with_file_name(run.options().run.as_str()),
            environment: environment(&run, &surroundings.environment.without(secrets.withheld()), &secrets),
            secrets: Arc::new(secrets),
            ..surroundings
        };
        let drive = Drive {
            run,
            lease,
            journal,
            world,
            host: Rc::new(self.runs),
            surroundings,
            observer: &mut NewsObserver { place: format!("{check}{scope}"), news, seen: None },
            interruption,
            making_way,
        };
        // Boxed: the future of a drive contains those of its nested runs.
        match Box::pin(drive.to_rest(beginning)).await {
            Ok(run) => Ok(Rested::At { run: Box::new(run), inputs }),
            Err(DriveError::Conflict(conflict)) => {
                let code = FaultCode::Nested(ReasonCode::FailedConflict);
                let message = format!("run {} is in the way of nested run {child}", conflict.root.id);
                Err(ProviderFault::transient(code, message).into())
            }
            Err(DriveError::Fenced(id)) if id == child => {
                Ok(Rested::Elsewhere { child, reason: driven_by_another_process() })
            }
            Err(error) => Err(NestError::Drive(error)),
        }
    }

    /// Finds or begins the nested run of this attempt, and takes its lease.
    async fn take(&self) -> Result<Found, NestError> {
        let (id, known) = self.find().await?;
        match known {
            Some(run) if self.is_to_be_reopened(&run) => self.reopen(&id, run).await,
            Some(run) if run.status().is_terminal() => Ok(Found::Ended(Box::new(run))),
            Some(run) => self.resume(&id, run).await,
            None if self.request.cancellation.is_cancelled() => Err(not_begun().into()),
            None => self.begin(&id).await.map(|taken| Found::Taken(Box::new(taken))),
        }
    }

    async fn reopen(&self, id: &RunId, run: Run) -> Result<Found, NestError> {
        if let Some(reason) = self.free_group(id, &run).await? {
            // The run stays as it ended; its check fails for the conflict, and may be retried.
            return Err(NestError::Conflict { run: Box::new(run), reason });
        }
        let Some(lease) = self.acquire(id).await? else { return Ok(Found::Held(Box::new(run))) };
        // Another process may have reopened it before this one held it.
        let mut run = self.known(id).await?.unwrap_or(run);
        match run.retry_failed(self.runs.world.now_ms(), None) {
            Ok(turn) => {
                let secrets = self.secrets_or_release(run.plan_of(), &lease).await?;
                let (beginning, interruption) =
                    (Beginning::Reopened { turn, by: None }, self.request.cancellation.clone());
                Ok(Found::Taken(Box::new(Taken { run, lease, secrets, beginning, interruption })))
            }
            // What a person denied stays denied.
            Err(_) => {
                self.runs.journal.release(&lease).await?;
                Ok(Found::Ended(Box::new(run)))
            }
        }
    }

    /// Returns when no other run has the concurrency group of this one, which has ended; else says why it cannot be
    /// opened again.
    async fn free_group(&self, id: &RunId, run: &Run) -> Result<Option<Reason>, NestError> {
        let (journal, world) = (self.runs.journal.as_ref(), self.runs.world.as_ref());
        let stopping = &self.request.cancellation;
        let means = Means { journal, world, stopping, arbiter: &Unattended };
        let mut arbitration = Arbitration::new(run.options(), run.plan_of(), means);
        while let Some(conflict) = journal.conflict(id, run.wanted_group()).await? {
            match arbitration.settle(run, &conflict).await? {
                Settled::TryAgain => {}
                Settled::Refused(reason) => return Ok(Some(reason)),
                Settled::Stopped => return Err(not_begun().into()),
            }
        }
        Ok(None)
    }

    async fn resume(&self, id: &RunId, run: Run) -> Result<Found, NestError> {
        let Some(lease) = self.acquire(id).await? else {
            // Another process drives it, and reads its inbox. For this one it waits.
            if self.request.cancellation.is_cancelled() {
                self.send_cancellation(id, false).await?;
            } else if self.request.making_way.is_cancelled() {
                self.send_cancellation(id, true).await?;
            }
            return Ok(Found::Held(Box::new(run)));
        };
        // Another process may have driven it before this one held it.
        let run = self.known(id).await?.unwrap_or(run);
        if run.status().is_terminal() {
            self.runs.journal.release(&lease).await?;
            return Ok(Found::Ended(Box::new(run)));
        }
        let secrets = if self.will_end(id).await? {
            let surroundings = &self.request.surroundings;
            Secrets::at_hand(run.plan_of(), &surroundings.directory).inside(&surroundings.secrets)
        } else {
            self.secrets_or_release(run.plan_of(), &lease).await?
        };
        // A run that is to end is told by a message, which it reads before it starts anything.
        let interruption = if self.request.cancellation.is_cancelled() {
            self.send_cancellation(id, false).await?;
            Cancellation::never()
        } else {
            self.request.cancellation.clone()
        };
        let beginning = self.resumed();
        Ok(Found::Taken(Box::new(Taken { run, lease, secrets, beginning, interruption })))
    }

    async fn send_cancellation(&self, id: &RunId, patient: bool) -> Result<(), NestError> {
        let message = Message::Cancel { by: None, system: true, successor: None, inside: None, patient };
        self.runs.journal.send(id, &message, self.request.parent.run.as_str()).await?;
        Ok(())
    }

    /// The actors who resumed the parent count as having resumed this run.
    fn resumed(&self) -> Beginning {
        Beginning::Resumed { by: self.request.involved.clone() }
    }

    /// `None` when another process holds the run.
    async fn acquire(&self, id: &RunId) -> Result<Option<Lease>, NestError> {
        let world = &self.runs.world;
        let judge = |holder: &Holder| world.liveness(holder);
        match self.runs.journal.acquire(id, &world.holder(), judge).await {
            Ok(lease) => Ok(Some(lease)),
            Err(LeaseError::Held { .. }) => Ok(None),
            Err(LeaseError::Store(error)) => Err(error.into()),
            Err(error @ LeaseError::NoSuchRun(_)) => Err(failed(&error).into()),
        }
    }

    /// The run of this attempt, if it was begun; else the one that failed before, if it stands on the same inputs and
    /// files or may have changed the world.
    async fn find(&self) -> Result<(RunId, Option<Run>), NestError> {
        let id = self.child_id();
        if let Some(run) = self.known(&id).await? {
            return Ok((id, Some(run)));
        }
        let before = match &self.request.failed_before {
            Some(before) => self.known(&before.run).await?,
            None => None,
        };
        let stands_on_the_same = |run: &Run| {
            self.inputs_of(run) == Inputs::Given
                && run.options().outer_artifacts == self.request.outer_artifacts
        };
        let continues = |run: &Run| stands_on_the_same(run) || run.has_lasting_effects();
        Ok(match before.filter(continues) {
            Some(run) => (run.options().run.clone(), Some(run)),
            None => (id, None),
        })
    }

    fn inputs_of(&self, run: &Run) -> Inputs {
        let given = self.given_inputs(run.plan_of());
        let are_same = given.is_ok_and(|given| given == run.options().inputs);
        if are_same { Inputs::Given } else { Inputs::OfTheFirstAttempt }
    }

    /// What `with` gives. A step of a chain may give a number or a boolean where text is wanted: events have numbers, and
    /// an input is text unless its playbook says otherwise.
    fn given_inputs(&self, plan: &Plan) -> Result<Map<String, Value>, ProviderFault> {
        let mut with = self.request.request.fields.get("with").cloned();
        if self.request.parent_plan.kind.chain().is_some()
            && let Some(Value::Object(given)) = &mut with
        {
            for (name, value) in given {
                let wants_text = plan.inputs.get(name).is_some_and(|input| input.kind == InputKind::String);
                if wants_text && (value.is_number() || value.is_boolean()) {
                    *value = Value::String(value.to_string());
                }
            }
        }
        inputs(plan, with.as_ref())
    }

    fn is_to_be_reopened(&self, run: &Run) -> bool {
        let Some(before) = &self.request.failed_before else { return false };
        let ended_before = run.ended_at().is_some_and(|ended| ended <= before.reopened_at);
        run.options().run == before.run && ended_before && !self.request.cancellation.is_cancelled()
    }

    fn child_id(&self) -> RunId {
        let NestRequest { parent, check, scope, attempt, .. } = &self.request;
        let text = format!("{}\0{check}\0{scope}\0{attempt}", parent.run);
        let digest = Sha256::digest(text.as_bytes());
        let number = digest.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        RunId::new(self.request.parent_started_at, number)
    }

    /// The nested run as its journal has it, if it was begun.
    async fn known(&self, id: &RunId) -> Result<Option<Run>, NestError> {
        let entries = self.runs.journal.entries(id, 0).await?;
        if entries.is_empty() {
            return Ok(None);
        }
        let replayed = Run::replay(entries.iter().map(|(_, entry)| entry));
        Ok(Some(replayed.map_err(|error| failed(&error))?))
    }

    /// Whether another nested run may have had effects with the same keys: one of an earlier attempt, or one of another
    /// run with the same `effect_key`, here or further out.
    fn shares_origin(&self) -> bool {
        let NestRequest { parent, parent_plan, check, failed_before, .. } = &self.request;
        let is_named =
            parent_plan.find(check).is_some_and(|check| parent_plan.check(check).effect_key.is_some());
        let is_shared_outside = parent.effect_origin.as_ref().is_some_and(|origin| origin.shared);
        failed_before.is_some() || is_named || is_shared_outside
    }

    /// Where the nested run works: where its parent does, or in `dir`.
    fn directory(&self) -> Result<String, NestError> {
        let parent = &self.request.parent.directory;
        let Some(own) = self.request.request.fields.get("dir").and_then(Value::as_str) else {
            return Ok(parent.clone());
        };
        let directory = Path::new(parent).join(own);
        if !directory.is_dir() {
            let message = format!("`dir`: `{}` is no directory", directory.display());
            return Err(ProviderFault::logical(FaultCode::own("no_directory"), message).into());
        }
        Ok(directory.display().to_string())
    }

    async fn begin(&self, id: &RunId) -> Result<Taken, NestError> {
        let NestRequest { parent, check, scope, request, surroundings, .. } = &self.request;
        if parent.depth + 1 > DEPTH_MAX {
            let message = format!("playbooks nest deeper than {DEPTH_MAX} runs");
            return Err(ProviderFault::logical(FaultCode::own("too_deep"), message).into());
        }
        let name = request.fields.get("playbook").and_then(Value::as_str).unwrap_or_default();
        let (file, plan) =
            self.request.parent_plan.nested_plan(name).ok_or_else(|| not_in_the_snapshot(name))?;
        let inputs = self.given_inputs(&plan)?;
        let directory = self.directory()?;
        let artifacts = surroundings.artifacts.join(folder_in_scope(check, scope));
        let created = self.runs.files.create_directory(&artifacts);
        created.map_err(|error| failed(&format!("cannot create `{}`: {error}", artifacts.display())))?;
        let secrets = self.secrets(&plan).await;
        let secrets =
            secrets.map_err(|error| ProviderFault::logical(FaultCode::own("secret"), error.to_string()))?;
        if self.request.cancellation.is_cancelled() || self.request.making_way.is_cancelled() {
            return Err(not_begun().into());
        }
        // A step of a chain has an invocation of its own.
        let chain = self.request.parent_plan.kind.chain();
        let step = chain
            .and_then(|_| self.request.parent_plan.find(check))
            .map(|step| ChainStep { chain_run: parent.run.clone(), index: step.0 });
        let options = RunOptions {
            run: id.clone(),
            inputs,
            only: Vec::new(),
            tags: Vec::new(),
            exclude_tags: Vec::new(),
            parallelism: plan.max_parallelism.unwrap_or(parent.parallelism),
            invocation: match &step {
                Some(step) => Some(step.chain_run.step_invocation(step.index).to_string()),
                None => parent.invocation.clone(),
            },
            fire: None,
            step,
            timeout_ms: Some(plan.timeout_ms.map_or(request.timeout_ms, |own| own.min(request.timeout_ms))),
            depth: parent.depth + 1,
            parent: Some(parent.run.clone()),
            again: Vec::new(),
            effect_origin: Some(EffectOrigin {
                key: request.idempotency_key.clone(),
                shared: self.shares_origin(),
            }),
            file: Some(file),
            directory,
            artifacts: artifacts.display().to_string(),
            started_by: self.request.involved.clone(),
            environment: request.environment.clone().or_else(|| parent.environment.clone()),
            outer_artifacts: self.request.outer_artifacts.clone(),
            ..parent.clone()
        };
        let parent_lease = Some(self.request.parent_lease.clone());
        let start = StartRequest { plan: Arc::new(plan), options, secrets, parent: parent_lease };
        let (journal, world) = (self.runs.journal.as_ref(), self.runs.world.as_ref());
        match begin(start, journal, world, &self.request.cancellation, &Unattended).await {
            Ok(begun) => Ok(Taken {
                run: begun.run,
                lease: begun.lease,
                secrets: begun.secrets,
                beginning: Beginning::New(begun.first_turn),
                interruption: self.request.cancellation.clone(),
            }),
            Err(BeginError::Stopped) => Err(not_begun().into()),
            Err(
                error @ (BeginError::SecretInPlan
                | BeginError::SecretInOptions
                | BeginError::SecretInInput { .. }),
            ) => Err(ProviderFault::logical(FaultCode::own("secret_written_down"), error.to_string()).into()),
            Err(BeginError::ParentFenced) => Err(NestError::Drive(DriveError::Fenced(parent.run.clone()))),
            Err(BeginError::AlreadyExists(id)) => {
                Err(failed(&format!("nested run `{id}` exists already")).into())
            }
            Err(error @ (BeginError::Inseparable(_) | BeginError::ArtifactsInUse(_))) => {
                Err(failed(&error).into())
            }
            // The run may have been created all the same.
            Err(BeginError::Store(error)) => Err(error.into()),
        }
    }

    /// Ending a run needs no secret command to be run: a cancellation ends the one that runs. The secrets of the run
    /// around are redacted too.
    async fn secrets(&self, plan: &Plan) -> Result<Secrets, SecretError> {
        let (directory, outer) = (&self.request.surroundings.directory, &self.request.surroundings.secrets);
        let read = tokio::select! {
            biased;
            () = self.request.cancellation.cancelled() => Ok(Secrets::at_hand(plan, directory)),
            read = Secrets::read_within(plan, directory, &self.request.parent.run) => read,
        };
        read.map(|secrets| secrets.inside(outer))
    }

    /// The secrets of a run that exists. If they cannot be read, it is not kept from others, and its check does not
    /// fail: the run may have had effects, which a new one would repeat.
    async fn secrets_or_release(&self, plan: &Plan, lease: &Lease) -> Result<Secrets, NestError> {
        match self.secrets(plan).await {
            Ok(secrets) => Ok(secrets),
            Err(error) => {
                self.runs.journal.release(lease).await?;
                Err(NestError::Drive(DriveError::Secret(error)))
            }
        }
    }

    /// Whether a message will end the run before it starts anything.
    async fn will_end(&self, id: &RunId) -> Result<bool, NestError> {
        let messages = self.runs.journal.undelivered(id).await?;
        Ok(messages.iter().any(|sent| match sent.message {
            Message::Deny { .. } | Message::Cancel { patient: false, .. } => true,
            // An effect that is under way may need its secrets.
            Message::Cancel { patient: true, .. } => false,
            Message::Approve { .. } | Message::Answer { .. } | Message::Assume { .. } => false,
        }))
    }
}

/// The environment of a nested run: what an approval has fixed, or that of the run around it.
fn environment(run: &Run, outer: &Environment, secrets: &Secrets) -> Environment {
    match &run.options().environment {
        Some(variables) => Environment::Captured { variables: variables.clone() }.without(secrets.withheld()),
        None if outer.is_inherited() => outer.clone().fixed(as_at_start(run, outer, secrets)),
        None => outer.clone(),
    }
}
