//! The simulated machine as one process of Escrow sees it: its clock, the other processes, and what it delivers.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_engine::Input;
use escrow_model::{InspectedArtifact, Millis, RunId};
use escrow_runtime::providers::Provider;
use escrow_runtime::{InputSink, InspectRequest, LocalFuture, ProviderWorld};
use escrow_store::{Holder, Liveness};
use escrow_testkit::Rng;

use crate::case::AnswerFaults;
use crate::clock::Clock;
use crate::ledger::Ledger;
use crate::provider::{Answers, SimulatedProvider};

pub(crate) struct SimulatedWorld {
    clock: Arc<Clock>,
    ledger: Arc<Ledger>,
    provider: SimulatedProvider,
    /// Decides which answers are duplicated, and which orphans finish their work.
    rng: RefCell<Rng>,
}

impl SimulatedWorld {
    pub(crate) fn new(
        clock: &Arc<Clock>,
        ledger: &Arc<Ledger>,
        answers: &Answers,
        answer_faults: AnswerFaults,
        life: u32,
    ) -> SimulatedWorld {
        let provider =
            SimulatedProvider { ledger: Arc::clone(ledger), answers: answers.clone(), answer_faults, life };
        let rng = RefCell::new(Rng::new(answers.seed ^ (u64::from(life) << 32)));
        SimulatedWorld { clock: Arc::clone(clock), ledger: Arc::clone(ledger), provider, rng }
    }
}

/// The process of this number.
pub(crate) fn holder(life: u32) -> Holder {
    Holder {
        pid: life + 1,
        host: "here".into(),
        machine_id: "machine".into(),
        boot_id: "boot".into(),
        pid_namespace: "pid".into(),
        process_started: u64::from(life),
    }
}

impl ProviderWorld for SimulatedWorld {
    fn now_ms(&self) -> Millis {
        self.clock.now_ms()
    }

    fn holder(&self) -> Holder {
        holder(self.provider.life)
    }

    /// A process is replaced only when it has ended or counts as ended, so a later one always lives. One that was
    /// replaced and does not know it yet must not take a nested run from its successor.
    fn liveness(&self, other: &Holder) -> Liveness {
        let life = u32::try_from(other.process_started).unwrap_or(u32::MAX);
        let lives = life >= self.provider.life || self.provider.ledger.is_living(life);
        if lives { Liveness::Alive } else { Liveness::Dead }
    }

    fn provider(&self, name: &str) -> Option<&dyn Provider> {
        ["command", "http", "github"].contains(&name).then_some(&self.provider)
    }

    fn inspect(&self, request: InspectRequest) -> LocalFuture<Vec<InspectedArtifact>> {
        let seen = Arc::clone(&self.provider.answers.seen);
        Box::pin(async move { seen(&request.expected) })
    }

    /// Children of a dead process run until they are ended; some finish their work before.
    fn end_orphans_of(&self, run: RunId, _grace: Duration) -> LocalFuture<usize> {
        let life = self.provider.life;
        for (other, attempted) in self.ledger.pending(&run, life) {
            if self.rng.borrow_mut().chance(40) {
                self.ledger.happens(other, &attempted);
            }
        }
        self.ledger.end_orphans(&run, life);
        Box::pin(async { 0 })
    }

    fn deliver(&self, input: Input, sink: &InputSink) {
        let mut rng = self.rng.borrow_mut();
        if rng.chance(self.provider.answer_faults.duplicated) {
            let (again, sink_again) = (input.clone(), Rc::clone(sink));
            let after = Duration::from_millis(rng.below(2_000));
            let ledger = Arc::clone(&self.ledger);
            tokio::task::spawn_local(async move {
                tokio::time::sleep(after).await;
                ledger.log("an answer is delivered again");
                sink_again(again);
            });
        }
        sink(input);
    }
}
