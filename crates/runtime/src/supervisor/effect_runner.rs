//! Performs effects, each on a task of its own, and reports their results.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::iter;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use escrow_engine::{AttemptKey, Effect, Input, Inspection, Run};
use escrow_model::{Answer, CheckIndex, FaultCode, ProviderFault, Request, ScopePath, folder_in_scope};
use escrow_store::{Journal, Lease};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::{Report, Surroundings, ledger};
use crate::cancellation::{Cancellation, Canceller, cancellation};
use crate::host::{self, FailedBefore, Host, NestOutcome, NestRequest, NewsSink};
use crate::private_files::create_directory_alike;
use crate::provider_world::{InputSink, InspectRequest, ProviderWorld};
use crate::providers::{Attempt, Contexts, Environment, LiveOutput, ProgressSink};
use crate::redaction::REDACTED;

pub(super) struct EffectRunner {
    reports: mpsc::UnboundedSender<Report>,
    surroundings: Rc<Surroundings>,
    contexts: Rc<Contexts>,
    world: Rc<dyn ProviderWorld>,
    host: Rc<dyn Host>,
    /// The hold on the run whose effects these are.
    lease: Lease,
    journal: Arc<dyn Journal>,
    interruption: Cancellation,
    tasks: Rc<RefCell<BTreeMap<TaskKey, Task>>>,
}

/// What a task answers. A task that has ended and is still listed has no answer to give.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum TaskKey {
    Attempt(AttemptKey),
    Inspection(Inspection),
    Consult(CheckIndex, ScopePath),
}

/// What a task of an attempt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EffectKind {
    Attempt,
    /// Only finds out whether the attempt took effect.
    Reconcile,
}

struct Task {
    /// Only attempts can be asked to end; the others end soon.
    requests: Option<Requests>,
    abort: AbortHandle,
}

struct Requests {
    /// Asks an attempt to end.
    canceller: Canceller,
    /// Asks a nested run to begin nothing further.
    way_maker: Canceller,
}

impl EffectRunner {
    pub(super) fn new(
        reports: mpsc::UnboundedSender<Report>,
        surroundings: Surroundings,
        world: Rc<dyn ProviderWorld>,
        host: Rc<dyn Host>,
        lease: Lease,
        journal: Arc<dyn Journal>,
        interruption: Cancellation,
    ) -> EffectRunner {
        let contexts = Rc::new(Contexts::new(surroundings.spool.clone()));
        EffectRunner {
            reports,
            surroundings: Rc::new(surroundings),
            contexts,
            world,
            host,
            lease,
            journal,
            interruption,
            tasks: Rc::default(),
        }
    }

    /// What a task was for that has ended without an answer: a task that answers removes itself first.
    pub(super) fn lost(&self, run: &Run) -> Option<String> {
        let tasks = self.tasks.borrow();
        let (key, _) = tasks.iter().find(|(_, task)| task.abort.is_finished())?;
        let check = match key {
            TaskKey::Attempt(attempt)
            | TaskKey::Inspection(Inspection::Attempt(attempt) | Inspection::Before(attempt)) => {
                attempt.check
            }
            TaskKey::Consult(check, _) => *check,
            TaskKey::Inspection(Inspection::Run) => return Some("artifacts".to_owned()),
        };
        Some(run.plan_of().check(check).name.clone())
    }

    /// Whether no attempt is under way.
    pub(super) fn is_idle(&self) -> bool {
        !self.tasks.borrow().keys().any(|key| matches!(key, TaskKey::Attempt(_)))
    }

    pub(super) fn perform(&mut self, run: &Run, effect: Effect) {
        match effect {
            Effect::Perform { attempt, request } => {
                self.start(run, attempt, request, EffectKind::Attempt);
            }
            Effect::Reconcile { attempt, request } => {
                self.start(run, attempt, request, EffectKind::Reconcile);
            }
            Effect::Consult { check, scope, key, .. } => self.consult(run, check, scope, key),
            Effect::Stop { attempt } => self.ask(attempt, |requests| requests.canceller.cancel()),
            Effect::MakeWay { attempt } => self.ask(attempt, |requests| requests.way_maker.cancel()),
            Effect::Inspect { expected, outer, of } => {
                let own = (self.surroundings.artifacts.clone(), expected);
                let outer = outer.iter().map(|one| (PathBuf::from(&one.directory), vec![one.expected()]));
                let inspections: Vec<_> = iter::once(own)
                    .chain(outer)
                    .map(|(directory, expected)| {
                        let redactor = Arc::clone(self.surroundings.secrets.redactor());
                        let interruption = self.interruption.clone();
                        self.world.inspect(InspectRequest { directory, expected, redactor, interruption })
                    })
                    .collect();
                let (world, inputs) = (Rc::clone(&self.world), self.inputs());
                let (tasks, key) = (Rc::clone(&self.tasks), TaskKey::Inspection(of.clone()));
                let done = key.clone();
                let task = tokio::task::spawn_local(async move {
                    let mut seen = Vec::new();
                    for inspection in inspections {
                        seen.extend(inspection.await);
                    }
                    tasks.borrow_mut().remove(&done);
                    world.deliver(of.answered(seen), &inputs);
                });
                self.watch(key, task.abort_handle());
            }
        }
    }

    fn consult(&self, run: &Run, check: CheckIndex, scope: ScopePath, key: String) {
        let (world, journal, inputs) = (Rc::clone(&self.world), Arc::clone(&self.journal), self.inputs());
        let (id, name) = (run.options().run.clone(), run.plan_of().check(check).name.clone());
        let (reports, surroundings) = (self.reports.clone(), Rc::clone(&self.surroundings));
        let (tasks, task_key) = (Rc::clone(&self.tasks), TaskKey::Consult(check, scope.clone()));
        let done = task_key.clone();
        let task = tokio::task::spawn_local(async move {
            let place = (&id, name.as_str(), &scope);
            let consulted = ledger::consult(&*journal, &*world, &key, place, &surroundings).await;
            tasks.borrow_mut().remove(&done);
            match consulted {
                Ok(effect) => {
                    let effect = effect.map(Box::new);
                    world.deliver(Input::LedgerAnswered { check, scope, key, effect }, &inputs);
                }
                Err(error) => drop(reports.send(Report::Broken(error.into()))),
            }
        });
        self.watch(task_key, task.abort_handle());
    }

    fn watch(&self, key: TaskKey, abort: AbortHandle) {
        self.tasks.borrow_mut().insert(key, Task { requests: None, abort });
    }

    /// Asks an attempt for something, if it is under way.
    fn ask(&self, attempt: AttemptKey, what: impl FnOnce(&Requests)) {
        let tasks = self.tasks.borrow();
        if let Some(requests) = tasks.get(&TaskKey::Attempt(attempt)).and_then(|task| task.requests.as_ref())
        {
            what(requests);
        }
    }

    fn inputs(&self) -> InputSink {
        let reports = self.reports.clone();
        Rc::new(move |input| drop(reports.send(Report::Input(input))))
    }

    fn start(&mut self, run: &Run, attempt: AttemptKey, request: Arc<Request>, kind: EffectKind) {
        let key = TaskKey::Attempt(attempt.clone());
        if self.tasks.borrow().contains_key(&key) {
            // A nested run that is driven already.
            return;
        }
        let AttemptKey { check, scope, number } = &attempt;
        let spec = run.plan_of().check(*check);
        let (canceller, cancelled) = cancellation();
        let (way_maker, making_way) = cancellation();
        let context = run.context(*check, scope);
        let surroundings = Rc::clone(&self.surroundings);
        let place = Attempt {
            run: run.options().run.clone(),
            invocation: run.options().invocation.clone(),
            check: spec.name.clone(),
            spool: surroundings.spool.clone(),
            state: surroundings.state.clone(),
            label: match kind {
                EffectKind::Attempt => spool_label(&spec.name, scope, *number),
                EffectKind::Reconcile => format!("{}-reconcile", spool_label(&spec.name, scope, *number)),
            },
            spool_from_bytes: SPOOL_FROM_BYTES,
            contexts: Rc::clone(&self.contexts),
            scope: scope.clone(),
            number: *number,
            directory: surroundings.directory.clone(),
            artifacts: self.artifacts_of(run, *check, scope),
            context,
            environment: match &request.environment {
                Some(variables) => Environment::Captured { variables: variables.clone() },
                None => surroundings.environment.clone(),
            },
            secrets: surroundings.secrets.granted(&spec.secrets),
            secret_files: spec.secret_files.clone(),
            secret_descriptors: spec.secret_descriptors.clone(),
            redactor: Arc::clone(surroundings.secrets.redactor()),
            cancellation: cancelled.clone(),
            live: match kind {
                EffectKind::Attempt => Some(self.live(&spec.name, scope)),
                EffectKind::Reconcile => None,
            },
            progress: match kind {
                EffectKind::Attempt => Some(self.progress(&spec.name, scope)),
                EffectKind::Reconcile => None,
            },
            grace: surroundings.grace,
        };
        let nests = kind == EffectKind::Attempt && host::PLAYBOOK.is(&request.provider);
        let nesting = nests.then(|| {
            let earlier = run.nested_before(&attempt).map(|(run, at)| (run.clone(), at));
            self.host.nest(NestRequest {
                parent: run.options().clone(),
                parent_plan: Arc::clone(run.plan_of()),
                involved: run.involved().map(str::to_owned).collect(),
                parent_lease: self.lease.clone(),
                parent_started_at: run.started_at(),
                check: spec.name.clone(),
                scope: scope.clone(),
                attempt: *number,
                request: Arc::clone(&request),
                outer_artifacts: run.outer_artifacts(*check, scope),
                failed_before: earlier.map(|(run, reopened_at)| FailedBefore { run, reopened_at }),
                surroundings: (*self.surroundings).clone(),
                cancellation: cancelled,
                making_way,
                news: self.news(),
            })
        });
        let (world, inputs) = (Rc::clone(&self.world), self.inputs());
        let (tasks, done, reports) = (Rc::clone(&self.tasks), key.clone(), self.reports.clone());
        let task = tokio::task::spawn_local(async move {
            let input = if let Some(nesting) = nesting {
                match nesting.await {
                    NestOutcome::Answered(mut answer) => {
                        // The nested run has redacted its own secrets: `***` marks the output as redacted.
                        if answer.output.to_string().contains(REDACTED) {
                            answer.mark_redacted();
                        }
                        Input::Answered { attempt, answer: *answer }
                    }
                    NestOutcome::Waits { child, reason, lease } => {
                        Input::NestedWaits { attempt, child, reason, lease }
                    }
                    NestOutcome::Broken(error) => {
                        tasks.borrow_mut().remove(&done);
                        drop(reports.send(Report::Broken(error)));
                        return;
                    }
                }
            } else {
                let mut answer = match world.provider(request.provider.as_str()) {
                    Some(provider) => match kind {
                        EffectKind::Attempt => provider.perform(&request, &place).await,
                        EffectKind::Reconcile => provider.reconcile(&request, &place).await,
                    },
                    None => Answer::fault(ProviderFault::logical(
                        FaultCode::Exception,
                        format!("no provider is called `{}`", request.provider),
                    )),
                };
                surroundings.secrets.redactor().answer(&mut answer);
                match kind {
                    EffectKind::Attempt => Input::Answered { attempt, answer },
                    EffectKind::Reconcile => Input::Reconciled { attempt, answer },
                }
            };
            tasks.borrow_mut().remove(&done);
            world.deliver(input, &inputs);
        });
        let requests = Some(Requests { canceller, way_maker });
        self.tasks.borrow_mut().insert(key, Task { requests, abort: task.abort_handle() });
    }

    /// Passes on what a nested run commits.
    fn news(&self) -> NewsSink {
        let reports = self.reports.clone();
        Box::new(move |news| drop(reports.send(Report::Nested(news))))
    }

    /// Passes the figures of a harness on as they come.
    fn progress(&self, check: &str, scope: &ScopePath) -> ProgressSink {
        let (reports, check, scope) = (self.reports.clone(), check.to_owned(), scope.clone());
        Box::new(move |progress| {
            let progress = Box::new(progress.clone());
            drop(reports.send(Report::Progress { check: check.clone(), scope: scope.clone(), progress }));
        })
    }

    /// Passes output on as it comes.
    fn live(&self, check: &str, scope: &ScopePath) -> LiveOutput {
        let (reports, check, scope) = (self.reports.clone(), check.to_owned(), scope.clone());
        Box::new(move |stream, bytes: &[u8]| {
            let report =
                Report::Output { check: check.clone(), scope: scope.clone(), stream, bytes: bytes.to_vec() };
            drop(reports.send(report));
        })
    }
}

impl EffectRunner {
    /// The directory that a check delivers to. A folder that cannot be made shows up as missing artifacts.
    fn artifacts_of(&self, run: &Run, check: CheckIndex, scope: &ScopePath) -> PathBuf {
        let whole = &self.surroundings.artifacts;
        let spec = run.plan_of().check(check);
        if !spec.own_folder {
            return whole.clone();
        }
        let own = whole.join(folder_in_scope(&spec.name, scope));
        drop(create_directory_alike(&own));
        own
    }
}

impl Drop for EffectRunner {
    /// A loop that ends early must not leave processes behind.
    fn drop(&mut self) {
        for task in self.tasks.borrow().values() {
            task.abort.abort();
        }
    }
}

/// Shorter output is kept in the journal alone; a file costs more than the command that fills it.
const SPOOL_FROM_BYTES: usize = 4096;

/// Begins the file names of an attempt: readable, unique, and safe whatever the check is called.
pub fn spool_label(check: &str, scope: &ScopePath, attempt: u32) -> String {
    let safe: String = check
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .take(80)
        .collect();
    let items: String = scope.indices().iter().map(|index| format!(".{index}")).collect();
    let salt = check.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    format!("{safe}-{salt:08x}{items}-{attempt}")
}
