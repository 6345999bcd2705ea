//! `type: playbook`: a run inside a run, with a journal of its own.
//!
//! **Invariant:** the id of a nested run follows from its parent, check, scope and attempt. Whoever takes the
//! parent over finds the same nested run, goes on with it, or takes its result: nothing is run twice. When the parent
//! was opened again because it had failed, so is the nested run that failed in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{
    Answer, Entry, FaultClass, Home, InputKind, KeyKind, KeySpec, Message, Mutates, Plan, ProviderFault,
    ProviderSpec, Reason, ReasonCode, Request, RunId, RunOptions, RunStatus, ScopePath, folder_in_scope,
};
use escrow_store::{Created, Durability, Holder, Journal, LeaseError, NewRun};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::mpsc::UnboundedSender;

use crate::cancellation::Cancellation;
use crate::playbook_file;
use crate::process::Stream;
use crate::secrets::Secrets;
use crate::supervisor::{self, Beginning, Drive, DriveError, NestedNews, Observer, Report, Surroundings};
use crate::world::World;

/// How deep runs may nest.
const DEPTH_MAX: u32 = 8;

pub const SPEC: ProviderSpec = ProviderSpec {
    name: "playbook",
    summary: "runs another playbook; its output is how that run ended and what it gave",
    keys: &[
        KeySpec { name: "playbook", kind: KeyKind::Plain, required: true },
        KeySpec { name: "with", kind: KeyKind::Inputs, required: false },
    ],
    mutates: Mutates::AsNested,
    home: Home::EffectRunner,
    timeout_ms: 24 * 60 * 60 * 1000,
};

/// The check that nests a run.
pub(crate) struct Nest {
    pub(crate) parent: RunOptions,
    pub(crate) parent_started_at: u64,
    pub(crate) check: String,
    pub(crate) scope: ScopePath,
    pub(crate) attempt: u32,
    /// The nested run that failed before the run around it was opened again, and when that was.
    pub(crate) before: Option<(RunId, u64)>,
    pub(crate) surroundings: Surroundings,
    pub(crate) store: Arc<dyn Journal>,
    pub(crate) world: Rc<dyn World>,
    pub(crate) cancellation: Cancellation,
    /// To the run around it.
    pub(crate) reports: UnboundedSender<Report>,
}

/// How a nested run came to rest.
pub(crate) enum Rest {
    Answered(Box<Answer>),
    Waits { child: RunId, reason: Reason },
}

impl Nest {
    pub(crate) async fn perform(self, request: &Request) -> Rest {
        match self.run_to_rest(request).await {
            Ok(run) => rest_of(&run),
            Err(fault) => Rest::Answered(Box::new(Answer::fault(fault))),
        }
    }

    async fn run_to_rest(self, request: &Request) -> Result<Run, ProviderFault> {
        let (id, known) = self.find(request)?;
        let (run, lease, beginning) = match known {
            Some(run) if self.is_to_be_opened_again(&run) => {
                let judge = |holder: &Holder| self.world.liveness(holder);
                let lease = match self.store.acquire(&id, &self.world.holder(), &judge) {
                    Ok(lease) => lease,
                    Err(LeaseError::Held { .. }) => return Ok(run),
                    Err(error) => return Err(world(&error.to_string())),
                };
                // Somebody may have opened it before we held it.
                let mut run = self.known(&id)?.unwrap_or(run);
                match run.reopen_failed(self.world.now_ms(), None) {
                    Ok(turn) => (run, lease, Beginning::Reopened(turn)),
                    // What a person denied stays denied.
                    Err(_) => {
                        self.store.release(&lease).map_err(|error| world(&error.to_string()))?;
                        return Ok(run);
                    }
                }
            }
            Some(run) => {
                if run.status().is_terminal() {
                    return Ok(run);
                }
                if self.cancellation.is_cancelled() {
                    // By a message, because somebody else may hold it; who holds it opens its messages.
                    let message = Message::Cancel { by: None, system: true };
                    let sent = self.store.send(&id, &message, self.parent.run.as_str());
                    sent.map_err(|error| world(&error.to_string()))?;
                }
                let judge = |holder: &Holder| self.world.liveness(holder);
                let lease = match self.store.acquire(&id, &self.world.holder(), &judge) {
                    Ok(lease) => lease,
                    // Somebody else drives it, perhaps right now by an approval: it waits as far as we know.
                    Err(LeaseError::Held { .. }) => return Ok(run),
                    Err(error) => return Err(world(&error.to_string())),
                };
                (run, lease, Beginning::Resumed)
            }
            None if self.cancellation.is_cancelled() => {
                let message = "the run ended before the nested one began";
                return Err(ProviderFault::transient("cancelled", message));
            }
            None => self.begin(&id, request)?,
        };
        // Who was told by a message needs no second word.
        let interruption =
            if self.cancellation.is_cancelled() { Cancellation::never() } else { self.cancellation.clone() };
        let secrets = self.secrets(run.plan_of())?;
        let surroundings = Surroundings {
            artifacts: PathBuf::from(&run.options().artifacts),
            spool: self.surroundings.spool.with_file_name(id.as_str()),
            environment: self.surroundings.environment.without(secrets.withheld()),
            secrets: Arc::new(secrets),
            ..self.surroundings
        };
        let drive = Drive {
            run,
            lease,
            store: self.store,
            world: self.world,
            surroundings,
            observer: &mut Relay { place: format!("{}{}", self.check, self.scope), reports: self.reports },
            interruption,
        };
        drive.to_rest(beginning).await.map_err(|error| match &error {
            DriveError::Store(error) => world(&error.to_string()),
            DriveError::Inseparable(_) => world(&error.to_string()),
            DriveError::Fenced(id) => world(&format!("another process has taken over nested run `{id}`")),
            DriveError::Orphans { .. } | DriveError::Lost(_) => world(&error.to_string()),
        })
    }

    /// The run of this attempt, if somebody began it; else the one that failed before, if it was asked for the same.
    fn find(&self, request: &Request) -> Result<(RunId, Option<Run>), ProviderFault> {
        let id = self.child_id();
        if let Some(run) = self.known(&id)? {
            return Ok((id, Some(run)));
        }
        let before = self.before.as_ref().map(|(id, _)| self.known(id)).transpose()?.flatten();
        let same = |run: &Run| {
            inputs(run.plan_of(), request.fields.get("with")).is_ok_and(|now| now == run.options().inputs)
        };
        Ok(match before.filter(same) {
            Some(run) => (run.options().run.clone(), Some(run)),
            None => (id, None),
        })
    }

    fn is_to_be_opened_again(&self, run: &Run) -> bool {
        let Some((id, at)) = &self.before else { return false };
        let ended_before = run.ended_at().is_some_and(|ended| ended <= *at);
        run.options().run == *id && ended_before && !self.cancellation.is_cancelled()
    }

    fn child_id(&self) -> RunId {
        let text = format!("{}\0{}\0{}\0{}", self.parent.run, self.check, self.scope, self.attempt);
        let digest = Sha256::digest(text.as_bytes());
        let chance = digest.iter().take(8).fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        RunId::new(self.parent_started_at, chance)
    }

    /// The nested run as its journal has it, if somebody began it before.
    fn known(&self, id: &RunId) -> Result<Option<Run>, ProviderFault> {
        let entries = self.store.entries(id, 0).map_err(|error| world(&error.to_string()))?;
        if entries.is_empty() {
            return Ok(None);
        }
        let replayed = Run::replay(entries.iter().map(|(_, entry)| entry));
        replayed.map(Some).map_err(|error| world(&error.to_string()))
    }

    fn begin(
        &self,
        id: &RunId,
        request: &Request,
    ) -> Result<(Run, escrow_store::Lease, Beginning), ProviderFault> {
        if self.parent.depth + 1 > DEPTH_MAX {
            let message = format!("playbooks nest deeper than {DEPTH_MAX} runs");
            return Err(ProviderFault::logical("too_deep", message));
        }
        let name = request.fields.get("playbook").and_then(Value::as_str).unwrap_or_default();
        let (file, plan) = self.read(name)?;
        let inputs = inputs(&plan, request.fields.get("with"))?;
        let artifacts = self.surroundings.artifacts.join(folder_in_scope(&self.check, &self.scope));
        fs::create_dir_all(&artifacts)
            .map_err(|error| world(&format!("cannot create `{}`: {error}", artifacts.display())))?;
        let secrets = self.secrets(&plan)?;
        let facts = crate::facts::gather(&plan, &self.surroundings.directory, &artifacts, &secrets);
        let options = RunOptions {
            run: id.clone(),
            inputs,
            only: Vec::new(),
            tags: Vec::new(),
            exclude_tags: Vec::new(),
            parallelism: plan.max_parallelism.unwrap_or(self.parent.parallelism),
            timeout_ms: Some(plan.timeout_ms.map_or(request.timeout_ms, |own| own.min(request.timeout_ms))),
            depth: self.parent.depth + 1,
            parent: Some(self.parent.run.clone()),
            file: Some(file.display().to_string()),
            artifacts: artifacts.display().to_string(),
            ..self.parent.clone()
        };
        let (run, turn) =
            supervisor::begin(Arc::new(plan), options, facts, secrets.redactor(), self.world.now_ms())
                .map_err(|error| world(&error.to_string()))?;
        let holder = self.world.holder();
        let new =
            NewRun { run: id, holder: &holder, entries: &turn.entries, durability: Durability::Grouped };
        match self.store.create_run(new).map_err(|error| world(&error.to_string()))? {
            Created::Done { lease, .. } => Ok((run, lease, Beginning::New(turn))),
            Created::AlreadyExists => Err(world(&format!("nested run `{id}` exists already"))),
        }
    }

    /// Nobody should need its secrets to end a run.
    fn secrets(&self, plan: &Plan) -> Result<Secrets, ProviderFault> {
        if self.cancellation.is_cancelled() {
            return Ok(Secrets::at_hand(plan, &self.surroundings.directory));
        }
        Secrets::read(plan, &self.surroundings.directory)
            .map_err(|error| ProviderFault::logical("secret", error.to_string()))
    }

    /// Searched in the folder of the playbook that names it, then where commands run, then in the project's playbooks.
    fn read(&self, name: &str) -> Result<(PathBuf, Plan), ProviderFault> {
        let directory = &self.surroundings.directory;
        let beside = self.parent.file.as_deref().and_then(|file| Path::new(file).parent());
        let (path, bytes) = playbook_file::find(name, beside, directory).ok_or_else(|| {
            ProviderFault::logical("bad_playbook", format!("there is no playbook `{name}` to nest"))
        })?;
        let reading = playbook_file::read(&path, &bytes, directory);
        let plan = reading.plan.ok_or_else(|| {
            let what = playbook_file::first_problem(&reading.diagnostics).unwrap_or_default();
            ProviderFault::logical("bad_playbook", format!("`{}` cannot be run: {what}", path.display()))
        })?;
        Ok((path, plan))
    }
}

/// `with`, by the types that the nested playbook declares.
fn inputs(plan: &Plan, with: Option<&Value>) -> Result<Map<String, Value>, ProviderFault> {
    let bad = |message: String| ProviderFault::logical("bad_input", message);
    let given = match with {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(given)) => given.clone(),
        Some(_) => return Err(bad("`with` must be a map of inputs".into())),
    };
    for (name, value) in &given {
        let input =
            plan.inputs.get(name).ok_or_else(|| bad(format!("`{}` has no input `{name}`", plan.name)))?;
        if !input.kind.admits(value) && input.kind != InputKind::Any {
            return Err(bad(format!("input `{name}` must be {}, not {value}", input.kind.with_article())));
        }
    }
    for (name, input) in &plan.inputs {
        if input.required && input.default.is_none() && !given.contains_key(name) {
            return Err(bad(format!("input `{name}` of `{}` is required", plan.name)));
        }
    }
    Ok(given)
}

fn rest_of(run: &Run) -> Rest {
    let reason = run.reason().cloned().unwrap_or(Reason {
        code: ReasonCode::WaitingInput,
        summary: "another process drives the nested run".into(),
        evidence: Vec::new(),
    });
    let status = run.status();
    if !status.is_terminal() {
        return Rest::Waits { child: run.options().run.clone(), reason };
    }
    let outputs: Map<String, Value> = run
        .check_reports()
        .map(|check| (check.name.to_owned(), run.output_of(check.index).cloned().unwrap_or_default()))
        .collect();
    let options = run.options();
    let outcomes: Vec<Value> = run
        .outcomes()
        .map(|(at, outcome)| outcome.document(at, Some(options.run.as_str()), options.invocation.as_deref()))
        .collect();
    let output = json!({ "status": status, "reason": reason, "outputs": outputs, "outcomes": outcomes });
    let mut answer = Answer::done(output);
    answer.record.insert("run_id".into(), json!(run.options().run));
    if status != RunStatus::Completed {
        let class = match reason.code {
            ReasonCode::FailedExit
            | ReasonCode::FailedCheck
            | ReasonCode::FailedException
            | ReasonCode::TimedOutDeadline => FaultClass::Transient,
            _ => FaultClass::Logical,
        };
        // The reason travels upward unchanged, and so does what nobody knows.
        answer.ending = escrow_model::Ending::Fault(ProviderFault {
            code: reason.code.as_str().to_owned(),
            message: reason.summary,
            class,
            effect_unknown: run.has_unknown_effects(),
        });
    }
    Rest::Answered(Box::new(answer))
}

fn world(message: &str) -> ProviderFault {
    ProviderFault::transient("exception", message)
}

/// Tells the run around it what a nested run commits.
struct Relay {
    place: String,
    reports: UnboundedSender<Report>,
}

impl Observer for Relay {
    fn committed(&mut self, run: &Run, entries: &[Entry]) {
        let news = NestedNews {
            path: vec![self.place.clone()],
            run: run.options().run.clone(),
            plan: Arc::clone(run.plan_of()),
            entries: entries.to_vec(),
        };
        drop(self.reports.send(Report::Nested(news)));
    }

    fn output(&mut self, _check: &str, _scope: &ScopePath, _stream: Stream, _bytes: &[u8]) {}

    fn tick(&mut self, _run: &Run) {}

    fn nested(&mut self, news: &NestedNews) {
        let path = std::iter::once(&self.place).chain(&news.path).cloned().collect();
        let (run, plan, entries) = (news.run.clone(), Arc::clone(&news.plan), news.entries.clone());
        drop(self.reports.send(Report::Nested(NestedNews { path, run, plan, entries })));
    }
}
