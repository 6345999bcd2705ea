//! Performs effects, each on a task of its own, and reports what came of them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use escrow_engine::{AttemptKey, Effect, Input, Run};
use escrow_model::{Answer, CheckIndex, ProviderFault, Request, ScopePath, folder_in_scope};
use escrow_store::Journal;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::{Report, Surroundings};
use crate::cancellation::{Canceller, cancellation};
use crate::nested::{self, Nest, Rest};
use crate::providers::{Attempt, Contexts, LiveOutput};
use crate::world::{Door, Look, World};

pub(super) struct EffectRunner {
    reports: mpsc::UnboundedSender<Report>,
    surroundings: Rc<Surroundings>,
    contexts: Rc<Contexts>,
    store: Arc<dyn Journal>,
    world: Rc<dyn World>,
    at_work: Rc<std::cell::RefCell<BTreeMap<AttemptKey, Work>>>,
}

/// What somebody is sent out for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EffectKind {
    Attempt,
    /// Only to look whether the attempt took effect.
    Reconcile,
}

struct Work {
    canceller: Canceller,
    task: AbortHandle,
}

impl EffectRunner {
    pub(super) fn new(
        reports: mpsc::UnboundedSender<Report>,
        surroundings: Surroundings,
        store: Arc<dyn Journal>,
        world: Rc<dyn World>,
    ) -> EffectRunner {
        let contexts = Rc::new(Contexts::new(surroundings.spool.clone()));
        EffectRunner {
            reports,
            surroundings: Rc::new(surroundings),
            contexts,
            store,
            world,
            at_work: Rc::default(),
        }
    }

    /// A check of which somebody was sent out and has ended without coming back: who comes back is crossed off first.
    pub(super) fn lost(&self) -> Option<CheckIndex> {
        let at_work = self.at_work.borrow();
        at_work.iter().find(|(_, work)| work.task.is_finished()).map(|(attempt, _)| attempt.check)
    }

    pub(super) fn is_idle(&self) -> bool {
        self.at_work.borrow().is_empty()
    }

    pub(super) fn perform(&mut self, run: &Run, effect: Effect) {
        match effect {
            Effect::Perform { attempt, request } => {
                self.send_out(run, attempt, request, EffectKind::Attempt);
            }
            Effect::Reconcile { attempt, request } => {
                self.send_out(run, attempt, request, EffectKind::Reconcile);
            }
            Effect::Stop { attempt } => {
                if let Some(work) = self.at_work.borrow().get(&attempt) {
                    work.canceller.cancel();
                }
            }
            Effect::Inspect { expected, attempt } => {
                let look = self.world.look(Look {
                    directory: self.surroundings.artifacts.clone(),
                    expected,
                    redactor: Arc::clone(self.surroundings.secrets.redactor()),
                });
                let (world, door) = (Rc::clone(&self.world), self.door());
                tokio::task::spawn_local(async move {
                    let seen = look.await;
                    let input = match attempt {
                        None => Input::Seen(seen),
                        Some(attempt) => Input::SeenAt { attempt, seen },
                    };
                    world.bring(input, &door);
                });
            }
        }
    }

    fn door(&self) -> Door {
        let reports = self.reports.clone();
        Rc::new(move |input| drop(reports.send(Report::Input(input))))
    }

    fn send_out(&mut self, run: &Run, attempt: AttemptKey, request: Arc<Request>, kind: EffectKind) {
        if self.at_work.borrow().contains_key(&attempt) {
            // A nested run that is looked after already.
            return;
        }
        let AttemptKey { check, scope, number } = &attempt;
        let spec = run.plan_of().check(*check);
        let (canceller, cancellation) = cancellation();
        let context = run.context(*check, scope);
        let surroundings = Rc::clone(&self.surroundings);
        let place = Attempt {
            run: run.options().run.clone(),
            invocation: run.options().invocation.clone(),
            check: spec.name.clone(),
            spool: surroundings.spool.clone(),
            state: surroundings.state.clone(),
            label: spool_label(&spec.name, scope, *number, kind),
            spool_from_bytes: SPOOL_FROM_BYTES,
            contexts: Rc::clone(&self.contexts),
            scope: scope.clone(),
            number: *number,
            directory: surroundings.directory.clone(),
            artifacts: self.artifacts_of(run, *check, scope),
            context,
            environment: surroundings.environment.clone(),
            secrets: surroundings.secrets.granted(&spec.secrets),
            redactor: Arc::clone(surroundings.secrets.redactor()),
            cancellation: cancellation.clone(),
            live: match kind {
                EffectKind::Attempt => Some(self.live(&spec.name, scope)),
                EffectKind::Reconcile => None,
            },
            grace: surroundings.grace,
        };
        let nests = kind == EffectKind::Attempt && request.provider == nested::SPEC.name;
        let nest = nests.then(|| Nest {
            parent: run.options().clone(),
            parent_started_at: run.started_at(),
            check: spec.name.clone(),
            scope: scope.clone(),
            attempt: *number,
            before: run.nested_before(&attempt).cloned().zip(run.reopened_at()),
            surroundings: (*self.surroundings).clone(),
            store: Arc::clone(&self.store),
            world: Rc::clone(&self.world),
            cancellation,
            reports: self.reports.clone(),
        });
        let (world, door) = (Rc::clone(&self.world), self.door());
        let (at_work, done) = (Rc::clone(&self.at_work), attempt.clone());
        let task = tokio::task::spawn_local(async move {
            let attempt = done.clone();
            let input = if let Some(nest) = nest {
                // Kept apart: whoever is sent out would else be as large as a whole run inside this one.
                match Box::pin(nest.perform(&request)).await {
                    Rest::Answered(answer) => Input::Answered { attempt, answer: *answer },
                    Rest::Waits { child, reason } => Input::NestedWaits { attempt, child, reason },
                }
            } else {
                let mut answer = match world.provider(&request.provider) {
                    Some(provider) => provider.perform(&request, &place).await,
                    None => Answer::fault(ProviderFault::logical(
                        "exception",
                        format!("no provider is called `{}`", request.provider),
                    )),
                };
                surroundings.secrets.redactor().answer(&mut answer);
                match kind {
                    EffectKind::Attempt => Input::Answered { attempt, answer },
                    EffectKind::Reconcile => Input::Reconciled { attempt, answer },
                }
            };
            at_work.borrow_mut().remove(&done);
            world.bring(input, &door);
        });
        self.at_work.borrow_mut().insert(attempt, Work { canceller, task: task.abort_handle() });
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
    /// Where a check delivers. A folder that cannot be made is noticed when nothing is in it.
    fn artifacts_of(&self, run: &Run, check: CheckIndex, scope: &ScopePath) -> PathBuf {
        let whole = &self.surroundings.artifacts;
        let spec = run.plan_of().check(check);
        if !spec.own_folder {
            return whole.clone();
        }
        let own = whole.join(folder_in_scope(&spec.name, scope));
        drop(std::fs::create_dir_all(&own));
        own
    }
}

impl Drop for EffectRunner {
    /// Whoever leaves the loop early must not leave processes behind.
    fn drop(&mut self) {
        for work in self.at_work.borrow().values() {
            work.task.abort();
        }
    }
}

/// Shorter output is kept in the journal alone; a file costs more than the command that fills it.
const SPOOL_FROM_BYTES: usize = 4096;

/// Begins the file names of an attempt: readable, unique, and safe whatever the check is called.
fn spool_label(check: &str, scope: &ScopePath, attempt: u32, kind: EffectKind) -> String {
    let safe: String = check
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .take(80)
        .collect();
    let items: String = scope.indices().iter().map(|index| format!(".{index}")).collect();
    let salt = check.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    let kind = match kind {
        EffectKind::Attempt => "",
        EffectKind::Reconcile => "-reconcile",
    };
    format!("{safe}-{salt:08x}{items}-{attempt}{kind}")
}
