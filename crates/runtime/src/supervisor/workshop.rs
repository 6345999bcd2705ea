//! Performs effects, each on a task of its own, and reports what came of them.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use escrow_engine::{Effect, Input, Run};
use escrow_model::{Answer, CheckIndex, ProviderFault, ScopePath};
use escrow_store::Keeper;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::{Report, Surroundings};
use crate::cancellation::{Canceller, cancellation};
use crate::nested::{self, Nest, Rest};
use crate::providers::{Attempt, Contexts};
use crate::world::{Door, Look, World};

pub(super) struct Workshop {
    reports: mpsc::UnboundedSender<Report>,
    surroundings: Rc<Surroundings>,
    contexts: Rc<Contexts>,
    store: Arc<dyn Keeper>,
    world: Rc<dyn World>,
    at_work: Rc<std::cell::RefCell<BTreeMap<Key, Work>>>,
}

type Key = (CheckIndex, ScopePath, u32);

struct Work {
    canceller: Canceller,
    task: AbortHandle,
}

impl Workshop {
    pub(super) fn new(
        reports: mpsc::UnboundedSender<Report>,
        surroundings: Surroundings,
        store: Arc<dyn Keeper>,
        world: Rc<dyn World>,
    ) -> Workshop {
        let contexts = Rc::new(Contexts::new(surroundings.spool.clone()));
        Workshop {
            reports,
            surroundings: Rc::new(surroundings),
            contexts,
            store,
            world,
            at_work: Rc::default(),
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.at_work.borrow().is_empty()
    }

    pub(super) fn perform(&mut self, run: &Run, effect: Effect) {
        match effect {
            Effect::Perform { check, scope, attempt, request } => {
                let key = (check, scope.clone(), attempt);
                let name = run.plan_of().check(check).name.clone();
                let (canceller, cancellation) = cancellation();
                let reports = self.reports.clone();
                let door = self.door();
                let world = Rc::clone(&self.world);
                let surroundings = Rc::clone(&self.surroundings);
                let contexts = Rc::clone(&self.contexts);
                let at_work = Rc::clone(&self.at_work);
                let context = serde_json::to_vec(&run.context(check, &scope)).unwrap_or_default();
                let run_id = run.options().run.clone();
                let invocation = run.options().invocation.clone();
                let granted = surroundings.secrets.granted(&run.plan_of().check(check).secrets);
                let done = key.clone();
                let nest = Nest {
                    parent: run.options().clone(),
                    parent_started_at: run.started_at(),
                    check: name.clone(),
                    scope: scope.clone(),
                    attempt,
                    surroundings: (*self.surroundings).clone(),
                    store: Arc::clone(&self.store),
                    world: Rc::clone(&self.world),
                    cancellation: cancellation.clone(),
                };
                let task = tokio::task::spawn_local(async move {
                    let live = {
                        let (name, scope) = (name.clone(), scope.clone());
                        move |stream, bytes: &[u8]| {
                            let report = Report::Output {
                                check: name.clone(),
                                scope: scope.clone(),
                                stream,
                                bytes: bytes.to_vec(),
                            };
                            drop(reports.send(report));
                        }
                    };
                    let place = Attempt {
                        run: run_id,
                        invocation,
                        check: name.clone(),
                        spool: surroundings.spool.clone(),
                        label: spool_label(&name, &scope, attempt),
                        spool_from_bytes: SPOOL_FROM_BYTES,
                        contexts,
                        scope: scope.clone(),
                        number: attempt,
                        directory: surroundings.directory.clone(),
                        artifacts: surroundings.artifacts.clone(),
                        context: Box::new(move || context.clone()),
                        environment: surroundings.environment.clone(),
                        secrets: granted,
                        redactor: Arc::clone(surroundings.secrets.redactor()),
                        cancellation,
                        live: Some(Box::new(live)),
                        grace: surroundings.grace,
                    };
                    if request.provider == nested::SPEC.name {
                        let rest = nest.perform(&request).await;
                        at_work.borrow_mut().remove(&done);
                        let input = match rest {
                            Rest::Answered(answer) => {
                                Input::Answered { check, scope, attempt, answer: *answer }
                            }
                            Rest::Waits { child, reason } => {
                                Input::NestedWaits { check, scope, attempt, child, reason }
                            }
                        };
                        world.bring(input, &door);
                        return;
                    }
                    let mut answer = match world.provider(&request.provider) {
                        Some(provider) => provider.perform(&request, &place).await,
                        None => Answer::fault(ProviderFault::logical(
                            "exception",
                            format!("no provider is called `{}`", request.provider),
                        )),
                    };
                    surroundings.secrets.redactor().answer(&mut answer);
                    at_work.borrow_mut().remove(&done);
                    world.bring(Input::Answered { check, scope, attempt, answer }, &door);
                });
                let work = Work { canceller, task: task.abort_handle() };
                self.at_work.borrow_mut().insert(key, work);
            }
            Effect::Stop { check, scope, attempt } => {
                if let Some(work) = self.at_work.borrow().get(&(check, scope, attempt)) {
                    work.canceller.cancel();
                }
            }
            Effect::Inspect => {
                let look = self.world.look(Look {
                    directory: self.surroundings.artifacts.clone(),
                    expected: run.plan_of().artifacts.expected.clone(),
                    redactor: Arc::clone(self.surroundings.secrets.redactor()),
                });
                let (world, door) = (Rc::clone(&self.world), self.door());
                tokio::task::spawn_local(async move {
                    world.bring(Input::Seen(look.await), &door);
                });
            }
        }
    }

    fn door(&self) -> Door {
        let reports = self.reports.clone();
        Rc::new(move |input| drop(reports.send(Report::Input(input))))
    }
}

impl Drop for Workshop {
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
fn spool_label(check: &str, scope: &ScopePath, attempt: u32) -> String {
    let safe: String = check
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .take(80)
        .collect();
    let items: String = scope.indices().iter().map(|index| format!(".{index}")).collect();
    let salt = check.bytes().fold(0_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    format!("{safe}-{salt:08x}{items}-{attempt}")
}
