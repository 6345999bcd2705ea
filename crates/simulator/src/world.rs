//! A world in which providers answer by chance, answers come late, twice or never, and processes outlive those
//! who started them.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use escrow_engine::Input;
use escrow_model::{
    Answer, ExpectedArtifact, FaultCode, InspectedArtifact, Millis, ProviderFault, ProviderSpec, Request,
    RunId,
};
use escrow_runtime::provider_world::{InputSink, InspectRequest, LocalFuture, ProviderWorld};
use escrow_runtime::providers::{Attempt, Performance, Provider};
use escrow_store::{Holder, Liveness};
use escrow_testkit::{Ask, Dice, Reply, Weather, World as _, sightings};

use crate::case::Habits;
use crate::clock::Clock;
use crate::ledger::{Attempted, Ledger};

/// The world as one life of Escrow sees it.
pub(crate) struct Simulated {
    clock: Arc<Clock>,
    ledger: Arc<Ledger>,
    hands: Hands,
    /// Decides what is delivered twice, and which orphans finish what they do.
    dice: RefCell<Dice>,
}

impl Simulated {
    pub(crate) fn new(
        clock: &Arc<Clock>,
        ledger: &Arc<Ledger>,
        answers: &Answers,
        habits: Habits,
        life: u32,
    ) -> Simulated {
        let hands = Hands { ledger: Arc::clone(ledger), answers: answers.clone(), habits, life };
        let dice = RefCell::new(Dice::new(answers.seed ^ (u64::from(life) << 32)));
        Simulated { clock: Arc::clone(clock), ledger: Arc::clone(ledger), hands, dice }
    }
}

type Seeing = dyn Fn(&[ExpectedArtifact]) -> Vec<InspectedArtifact> + Send + Sync;

/// What the world answers, and what lies in the artifact directory.
#[derive(Clone)]
pub(crate) struct Answers {
    pub(crate) seed: u64,
    pub(crate) reply: Arc<dyn Fn(&Ask<'_>) -> Reply + Send + Sync>,
    pub(crate) seen: Arc<Seeing>,
}

impl Answers {
    pub(crate) fn of(weather: &Weather) -> Answers {
        let files = weather.files();
        let (seed, weather) = (weather.seed, weather.clone());
        Answers {
            seed,
            reply: Arc::new(move |ask| weather.clone().reply(ask)),
            seen: Arc::new(move |expected| sightings(&files, expected)),
        }
    }
}

/// A process that is told apart by its life.
pub(crate) fn holder(life: u32) -> Holder {
    Holder { pid: life + 1, host: "here".into(), boot_id: "boot".into(), process_started: u64::from(life) }
}

impl ProviderWorld for Simulated {
    fn now_ms(&self) -> Millis {
        self.clock.now_ms()
    }

    fn holder(&self) -> Holder {
        holder(self.hands.life)
    }

    fn liveness(&self, other: &Holder) -> Liveness {
        if *other == self.holder() { Liveness::Alive } else { Liveness::Dead }
    }

    fn provider(&self, name: &str) -> Option<&dyn Provider> {
        (name == SPEC.name || name == "http").then_some(&self.hands)
    }

    fn inspect(&self, request: InspectRequest) -> LocalFuture<Vec<InspectedArtifact>> {
        let seen = Arc::clone(&self.hands.answers.seen);
        Box::pin(async move { seen(&request.expected) })
    }

    /// Children of a dead Escrow go on until somebody ends them.
    fn end_orphans_of(&self, _run: RunId, _grace: Duration) -> LocalFuture<usize> {
        let life = self.hands.life;
        for (other, attempted) in self.ledger.pending(|other| other < life) {
            if self.dice.borrow_mut().chance(40) {
                self.ledger.happens(other, &attempted);
            }
        }
        self.ledger.end_others(life);
        Box::pin(async { 0 })
    }

    fn deliver(&self, input: Input, sink: &InputSink) {
        let mut dice = self.dice.borrow_mut();
        if dice.chance(self.hands.habits.twice) {
            let (again, sink_again) = (input.clone(), Rc::clone(sink));
            let after = Duration::from_millis(dice.below(2_000));
            let ledger = Arc::clone(&self.ledger);
            tokio::task::spawn_local(async move {
                tokio::time::sleep(after).await;
                ledger.tell("an answer comes once more");
                sink_again(again);
            });
        }
        sink(input);
    }
}

const SPEC: ProviderSpec = ProviderSpec {
    name: "command",
    summary: "does what the weather says",
    keys: &[],
    mutates: escrow_model::Mutates::Never,
    home: escrow_model::Home::Runtime,
    timeout_ms: 600_000,
};

/// Does the work of every check, by chance.
struct Hands {
    ledger: Arc<Ledger>,
    answers: Answers,
    habits: Habits,
    life: u32,
}

impl Provider for Hands {
    fn spec(&self) -> &'static ProviderSpec {
        &SPEC
    }

    fn perform<'a>(&'a self, request: &'a Request, attempt: &'a Attempt) -> Performance<'a> {
        Box::pin(async move {
            if attempt.label.ends_with("-reconcile") {
                return self.look_for(request, attempt);
            }
            let attempted = (attempt.check.clone(), attempt.scope.clone(), attempt.number);
            self.ledger.begins(self.life, &attempted);
            let answer = self.work(request, attempt, &attempted).await;
            if self.ledger.is_ended(self.life) {
                // Its process was ended by those who took the run over; all it saw was a signal.
                return Answer::fault(
                    ProviderFault::transient(FaultCode::Signal, "ended").with_unknown_effect(),
                );
            }
            self.ledger.is_over(self.life, &attempted);
            answer
        })
    }
}

impl Hands {
    /// `reconcile` only looks, and changes nothing.
    fn look_for(&self, request: &Request, attempt: &Attempt) -> Answer {
        let (check, scope) = (attempt.check.as_str(), &attempt.scope);
        let ask = Ask { check, scope, attempt: attempt.number, request, reconcile: true };
        let unheard = || Answer::fault(ProviderFault::transient(FaultCode::Signal, "silent"));
        (self.answers.reply)(&ask).answer.unwrap_or_else(unheard)
    }

    async fn work(&self, request: &Request, attempt: &Attempt, attempted: &Attempted) -> Answer {
        let (check, scope) = (attempt.check.as_str(), &attempt.scope);
        let ask = Ask { check, scope, attempt: attempt.number, request, reconcile: false };
        let reply = (self.answers.reply)(&ask);
        let mut dice = Dice::new(self.answers.seed ^ fingerprint(attempted));
        let deaf = dice.chance(self.habits.deaf);
        let lost = dice.chance(self.habits.lost);
        let before_ms = dice.below(reply.after_ms + 1);
        let stopped = async {
            if deaf {
                std::future::pending::<()>().await;
            }
            attempt.cancellation.cancelled().await;
        };
        let effect = async {
            pass(before_ms).await;
            self.ledger.happens(self.life, attempted);
            pass(reply.after_ms - before_ms).await;
            if lost {
                pass(LOST_MS).await;
                let fault = ProviderFault::transient(FaultCode::Timeout, "the answer was lost");
                return Answer::fault(fault.with_unknown_effect());
            }
            reply
                .answer
                .unwrap_or_else(|| Answer::fault(ProviderFault::transient(FaultCode::Signal, "silent")))
        };
        tokio::select! {
            biased;
            () = stopped => {
                Answer::fault(ProviderFault::transient(FaultCode::Cancelled, "it was stopped").with_unknown_effect())
            }
            answer = effect => answer,
        }
    }
}

/// How long the answer to a lost request is waited for.
const LOST_MS: u64 = 5_000;

/// Nobody who takes no time gives way to others.
async fn pass(ms: u64) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

fn fingerprint((check, scope, attempt): &Attempted) -> u64 {
    let messages = check.bytes().map(u64::from);
    let parts = messages.chain(scope.indices().iter().map(|index| u64::from(*index) + 1_000));
    parts
        .chain([u64::from(*attempt) + 5_000])
        .fold(0xcbf2_9ce4, |sum, part| (sum ^ part).wrapping_mul(0x0100_0000_01b3))
}
