//! The simulated provider: answers by chance, late, twice or never, and keeps account of its effects.

use std::sync::Arc;
use std::time::Duration;

use escrow_engine::play::{AnswerSource as _, ProviderCall, Reply};
use escrow_model::{
    Answer, ExpectedArtifact, FaultCode, InspectedArtifact, ProviderFault, ProviderSpec, Request, RunId,
};
use escrow_runtime::providers::{Attempt, Performance, Provider};
use escrow_testkit::{RandomAnswers, Rng, sightings};

use crate::case::AnswerFaults;
use crate::ledger::{Attempted, Ledger};

type Replying = dyn Fn(&RunId, &ProviderCall<'_>) -> Reply + Send + Sync;
type Seeing = dyn Fn(&[ExpectedArtifact]) -> Vec<InspectedArtifact> + Send + Sync;

/// What providers answer, and which files are in the artifact directory.
#[derive(Clone)]
pub(crate) struct Answers {
    pub(crate) seed: u64,
    pub(crate) reply: Arc<Replying>,
    pub(crate) seen: Arc<Seeing>,
}

impl Answers {
    /// The top run, `top`, is answered as the oracle is. Each nested run has answers of its own, so that a retry of
    /// the check that nests it does not repeat them.
    pub(crate) fn random(answers: &RandomAnswers, top: &RunId) -> Answers {
        let files = answers.files();
        let (seed, answers, top) = (answers.seed, answers.clone(), top.clone());
        Answers {
            seed,
            reply: Arc::new(move |run, call| {
                let salt = if *run == top { 0 } else { hashed(run.as_str().bytes().map(u64::from)) };
                RandomAnswers { seed: seed ^ salt, ..answers.clone() }.reply(call)
            }),
            seen: Arc::new(move |expected| sightings(&files, expected)),
        }
    }
}

const SPEC: ProviderSpec = ProviderSpec {
    name: "command",
    summary: "answers by chance",
    keys: &[],
    mutates: escrow_model::Mutates::Never,
    home: escrow_model::Home::Runtime,
    timeout_ms: 600_000,
    ..ProviderSpec::PURE
};

/// Performs every check, by chance.
pub(crate) struct SimulatedProvider {
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) answers: Answers,
    pub(crate) answer_faults: AnswerFaults,
    pub(crate) life: u32,
}

impl Provider for SimulatedProvider {
    fn spec(&self) -> &'static ProviderSpec {
        &SPEC
    }

    fn perform<'a>(&'a self, request: &'a Request, attempt: &'a Attempt) -> Performance<'a> {
        Box::pin(async move {
            if attempt.label.ends_with("-reconcile") {
                return self.look_for(request, attempt);
            }
            let attempted = Attempted {
                run: attempt.run.clone(),
                check: attempt.check.clone(),
                scope: attempt.scope.clone(),
                number: attempt.number,
            };
            self.ledger.begins(self.life, &attempted);
            let answer = self.work(request, attempt, &attempted).await;
            if self.ledger.is_ended(self.life, &attempt.run) {
                // The process that took the run over has ended this one with a signal.
                return Answer::fault(
                    ProviderFault::transient(FaultCode::Signal, "ended").with_unknown_effect(),
                );
            }
            self.ledger.is_over(self.life, &attempted);
            answer
        })
    }
}

impl SimulatedProvider {
    /// `reconcile` only finds out, and changes nothing.
    fn look_for(&self, request: &Request, attempt: &Attempt) -> Answer {
        let (check, scope) = (attempt.check.as_str(), &attempt.scope);
        let call =
            ProviderCall { check, scope, attempt: attempt.number, request, reconcile: true, journal: &[] };
        let unheard = || Answer::fault(ProviderFault::transient(FaultCode::Signal, "silent"));
        (self.answers.reply)(&attempt.run, &call).answer.unwrap_or_else(unheard)
    }

    async fn work(&self, request: &Request, attempt: &Attempt, attempted: &Attempted) -> Answer {
        let (check, scope) = (attempt.check.as_str(), &attempt.scope);
        let call =
            ProviderCall { check, scope, attempt: attempt.number, request, reconcile: false, journal: &[] };
        let reply = (self.answers.reply)(&attempt.run, &call);
        let mut rng = Rng::new(self.answers.seed ^ fingerprint(attempted));
        let ignores_stop = rng.chance(self.answer_faults.ignores_stop);
        let lost = rng.chance(self.answer_faults.lost);
        let before_ms = rng.below(reply.after_ms + 1);
        let stopped = async {
            if ignores_stop {
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

/// How long a lost answer is awaited.
const LOST_MS: u64 = 5_000;

/// An answer that takes no time does not yield to other tasks.
async fn pass(ms: u64) {
    if ms > 0 {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
}

fn fingerprint(Attempted { check, scope, number, .. }: &Attempted) -> u64 {
    let name = check.bytes().map(u64::from);
    let items = scope.indices().iter().map(|index| u64::from(*index) + 1_000);
    hashed(name.chain(items).chain([u64::from(*number) + 5_000]))
}

fn hashed(parts: impl Iterator<Item = u64>) -> u64 {
    parts.fold(0xcbf2_9ce4, |sum, part| (sum ^ part).wrapping_mul(0x0100_0000_01b3))
}
