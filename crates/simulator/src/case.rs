//! One simulated run: its plans, the answers of its providers, and everything that goes wrong. All of it follows
//! from a seed and a number.

use escrow_model::Assumption;
use escrow_testkit::{PlanFeatures, RandomAnswers, Rng};

use crate::disk::DiskFault;
use crate::plans::Plans;

/// How many cases share a plan: reading one costs as much as running it.
const CASES_PER_PLAN: u64 = 8;

#[derive(Clone, Debug)]
pub struct Case {
    pub number: u64,
    pub(crate) seed: u64,
    pub(crate) plans: Plans,
    pub(crate) features: PlanFeatures,
    pub(crate) answers: RandomAnswers,
    pub(crate) answer_faults: AnswerFaults,
    /// How many operations of the disk may go wrong.
    pub(crate) disk_faults: u32,
    /// A fault at the commit of this number; random cases have none.
    pub(crate) fault_at: Option<(u64, DiskFault)>,
    /// What happens at which millisecond, in order.
    pub(crate) incidents: Vec<(u64, Incident)>,
    pub(crate) timeout_ms: Option<u64>,
    /// What failed is retried once.
    pub(crate) retries_failed: bool,
    /// Waits are not answered for a day.
    pub(crate) unanswered: bool,
    /// After each commit the run is compared with its journal.
    pub(crate) compares_replay: bool,
    /// A second run of the same plan, with the same keys of effects, is driven by another process beside the first.
    pub(crate) has_rival: bool,
}

/// How providers behave, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AnswerFaults {
    /// Answers that are delivered duplicated.
    pub(crate) duplicated: u64,
    /// Attempts that ignore the request to stop, and answer late.
    pub(crate) ignores_stop: u64,
    /// Answers that are lost.
    pub(crate) lost: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Incident {
    Message(MessageKind),
    /// The clock is set, forwards or backwards.
    Jump(i64),
    /// The process is killed.
    Crash,
    /// Ctrl-C.
    Interrupt,
    /// Another process takes the run, though the first one lives: it is frozen, or goes on and is fenced.
    TakeOver {
        frozen: bool,
    },
}

/// A message that no wait asked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MessageKind {
    Cancel,
    Approve,
    Deny,
    Answer,
    Assume(Assumption),
}

/// Makes cases, and remembers the plans that several of them share.
pub struct Cases {
    seed: u64,
    /// With the number of the group that shares them; `None` inside when a plan does not load.
    plans: Option<(u64, Option<(Plans, PlanFeatures)>)>,
}

impl Cases {
    pub fn new(seed: u64) -> Cases {
        Cases { seed, plans: None }
    }

    /// The case of this number; `None` when one of its plans does not load.
    pub fn case(&mut self, number: u64) -> Option<Case> {
        let group = number / CASES_PER_PLAN;
        if self.plans.as_ref().is_none_or(|(known, _)| *known != group) {
            self.plans = Some((group, plans(self.seed, group)));
        }
        let (plans, features) = self.plans.as_ref()?.1.clone()?;
        Some(case(mixed(self.seed, number), number, plans, features))
    }
}

impl Case {
    /// Whether the end follows from the plan and the answers alone. Routes and alternatives depend on the order of
    /// answers, nested runs have answers of their own, and a person may end the run or change its answers.
    pub(crate) fn has_oracle(&self) -> bool {
        let harmless = |incident: &Incident| match incident {
            // Approvals expire after a day.
            Incident::Jump(by_ms) => *by_ms < 60 * 60 * 1_000,
            Incident::Message(MessageKind::Approve) | Incident::Crash | Incident::TakeOver { .. } => true,
            Incident::Message(_) | Incident::Interrupt => false,
        };
        !self.features.routes
            && !self.features.keys
            && self.plans.nested.is_empty()
            && !self.plans.text.contains('|')
            && !self.plans.text.contains("outputs.")
            && self.timeout_ms.is_none()
            && !self.unanswered
            && !self.retries_failed
            && self.answer_faults.lost == 0
            && self.incidents.iter().all(|(_, incident)| harmless(incident))
    }
}

fn mixed(seed: u64, number: u64) -> u64 {
    Rng::new(Rng::new(seed).next_u64() ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d)).next_u64()
}

fn plans(seed: u64, group: u64) -> Option<(Plans, PlanFeatures)> {
    let mut rng = Rng::new(mixed(!seed, group));
    let unknown = rng.chance(50);
    let (routes, people, keys) = (rng.chance(50), rng.chance(40), rng.chance(30));
    let features = PlanFeatures { routes, unknown, people, keys };
    Some((Plans::random(&mut rng, features)?, features))
}

fn case(seed: u64, number: u64, plans: Plans, features: PlanFeatures) -> Case {
    let mut rng = Rng::new(seed);
    let answers = RandomAnswers {
        seed: rng.next_u64(),
        fault_percent: 10 * rng.below(5),
        uneven: rng.chance(75),
        unknown: features.unknown && rng.chance(50),
    };
    let mut answer_faults = AnswerFaults::default();
    for percent in [&mut answer_faults.duplicated, &mut answer_faults.ignores_stop, &mut answer_faults.lost] {
        if rng.chance(30) {
            *percent = 5 * rng.below(5);
        }
    }
    let mut incidents = Vec::new();
    for _ in 0..rng.below(4) {
        let at = if rng.chance(80) { rng.below(200) } else { rng.below(6_000) };
        incidents.push((at, incident(&mut rng)));
    }
    incidents.sort_by_key(|(at, _)| *at);
    Case {
        number,
        seed,
        plans,
        features,
        answers,
        answer_faults,
        disk_faults: u32::try_from(rng.below(5)).unwrap_or(0),
        fault_at: None,
        incidents,
        timeout_ms: rng.chance(8).then(|| 1 + rng.below(3_000)),
        retries_failed: rng.chance(10),
        unanswered: rng.chance(4),
        compares_replay: rng.chance(15),
        has_rival: features.keys && rng.chance(60),
    }
}

fn incident(rng: &mut Rng) -> Incident {
    match rng.below(20) {
        0..=5 => Incident::Crash,
        6..=8 => Incident::TakeOver { frozen: rng.chance(50) },
        9 => Incident::Interrupt,
        10 => Incident::Message(MessageKind::Cancel),
        11 | 12 => Incident::Message(MessageKind::Approve),
        13 => Incident::Message(MessageKind::Deny),
        14 => Incident::Message(MessageKind::Answer),
        15 | 16 => Incident::Message(MessageKind::Assume(*rng.pick(&[
            Assumption::Done,
            Assumption::Failed,
            Assumption::Retry,
        ]))),
        17 => Incident::Jump(i64::try_from(rng.below(100_000_000)).unwrap_or(0)),
        _ => Incident::Jump(5_000 - i64::try_from(rng.below(15_000)).unwrap_or(0)),
    }
}
