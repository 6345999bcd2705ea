//! One simulated run: a plan, the weather it runs in, and everything that goes wrong. All of it follows from a
//! seed and a number.

use std::sync::Arc;

use escrow_model::{Assumption, Plan};
use escrow_testkit::{Dice, Flavour, Weather, random_plan, try_plan};

/// How many cases share a plan: reading one costs as much as running it.
const CASES_PER_PLAN: u64 = 8;

#[derive(Clone, Debug)]
pub struct Case {
    pub number: u64,
    pub(crate) seed: u64,
    /// The plan in shorthand.
    pub(crate) text: String,
    pub(crate) plan: Planned,
    pub(crate) flavour: Flavour,
    pub(crate) weather: Weather,
    pub(crate) habits: Habits,
    /// How many operations of the disk may go wrong.
    pub(crate) troubles: u32,
    /// What happens at which millisecond, in order.
    pub(crate) moments: Vec<(u64, Moment)>,
    pub(crate) timeout_ms: Option<u64>,
    /// What failed is run again, once.
    pub(crate) reopens: bool,
    /// Whoever waits for a person waits in vain, for a day.
    pub(crate) deserted: bool,
    /// After each commit the run is compared with its journal.
    pub(crate) compares: bool,
}

/// A plan that is not worth printing.
#[derive(Clone)]
pub(crate) struct Planned(pub(crate) Arc<Plan>);

impl std::fmt::Debug for Planned {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("…")
    }
}

/// How providers behave, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Habits {
    /// Answers that are delivered twice.
    pub(crate) twice: u64,
    /// Attempts that do not listen when they are told to stop, and answer late.
    pub(crate) deaf: u64,
    /// Answers that are lost.
    pub(crate) lost: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Moment {
    Message(Wish),
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

/// What a person who was not asked writes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wish {
    Cancel,
    Approve,
    Deny,
    Answer,
    Assume(Assumption),
}

/// A plan, in shorthand and as the engine runs it, and what it may contain.
type Sketch = (String, Planned, Flavour);

/// Makes cases, and remembers the plan that several of them share.
pub struct Cases {
    seed: u64,
    /// With the number of those that share it; `None` inside when it does not load.
    plan: Option<(u64, Option<Sketch>)>,
}

impl Cases {
    pub fn new(seed: u64) -> Cases {
        Cases { seed, plan: None }
    }

    /// The case of this number; `None` when its plan does not load, as with those that join two fan-outs.
    pub fn case(&mut self, number: u64) -> Option<Case> {
        let group = number / CASES_PER_PLAN;
        if self.plan.as_ref().is_none_or(|(known, _)| *known != group) {
            self.plan = Some((group, plan(self.seed, group)));
        }
        let (text, plan, flavour) = self.plan.as_ref()?.1.clone()?;
        Some(case(mixed(self.seed, number), number, text, plan, flavour))
    }
}

impl Case {
    /// The same case with another plan, if that loads.
    pub(crate) fn with_plan(&self, text: &str) -> Option<Case> {
        let plan = Planned(try_plan(text).ok()?);
        Some(Case { text: text.to_owned(), plan, ..self.clone() })
    }

    /// Whether the end follows from the plan and the weather alone, whatever else happens: no routes and no
    /// alternatives, whose order of answers decides; nobody who ends the run or changes its answers.
    pub(crate) fn has_oracle(&self) -> bool {
        let harmless = |moment: &Moment| match moment {
            // Approvals expire after a day.
            Moment::Jump(by_ms) => *by_ms < 60 * 60 * 1_000,
            Moment::Message(Wish::Approve) | Moment::Crash | Moment::TakeOver { .. } => true,
            Moment::Message(_) | Moment::Interrupt => false,
        };
        !self.flavour.routes
            && !self.text.contains('|')
            && self.timeout_ms.is_none()
            && !self.deserted
            && !self.reopens
            && self.habits.lost == 0
            && self.moments.iter().all(|(_, moment)| harmless(moment))
    }
}

fn mixed(seed: u64, number: u64) -> u64 {
    Dice::new(Dice::new(seed).roll() ^ number.wrapping_mul(0x2545_f491_4f6c_dd1d)).roll()
}

fn plan(seed: u64, group: u64) -> Option<Sketch> {
    let mut dice = Dice::new(mixed(!seed, group));
    let unknown = dice.chance(50);
    let flavour = Flavour { routes: dice.chance(50), unknown, people: dice.chance(40) };
    let text = random_plan(&mut dice, flavour);
    let plan = Planned(try_plan(&text).ok()?);
    Some((text, plan, flavour))
}

fn case(seed: u64, number: u64, text: String, plan: Planned, flavour: Flavour) -> Case {
    let mut dice = Dice::new(seed);
    let weather = Weather {
        seed: dice.roll(),
        trouble: 10 * dice.below(5),
        uneven: dice.chance(75),
        unknown: flavour.unknown && dice.chance(50),
    };
    let mut habits = Habits::default();
    for habit in [&mut habits.twice, &mut habits.deaf, &mut habits.lost] {
        if dice.chance(30) {
            *habit = 5 * dice.below(5);
        }
    }
    let mut moments = Vec::new();
    for _ in 0..dice.below(4) {
        let at = if dice.chance(80) { dice.below(200) } else { dice.below(6_000) };
        moments.push((at, moment(&mut dice)));
    }
    moments.sort_by_key(|(at, _)| *at);
    Case {
        number,
        seed,
        text,
        plan,
        flavour,
        weather,
        habits,
        troubles: u32::try_from(dice.below(5)).unwrap_or(0),
        moments,
        timeout_ms: dice.chance(8).then(|| 1 + dice.below(3_000)),
        reopens: dice.chance(10),
        deserted: dice.chance(4),
        compares: dice.chance(15),
    }
}

fn moment(dice: &mut Dice) -> Moment {
    match dice.below(20) {
        0..=5 => Moment::Crash,
        6..=8 => Moment::TakeOver { frozen: dice.chance(50) },
        9 => Moment::Interrupt,
        10 => Moment::Message(Wish::Cancel),
        11 | 12 => Moment::Message(Wish::Approve),
        13 => Moment::Message(Wish::Deny),
        14 => Moment::Message(Wish::Answer),
        15 | 16 => Moment::Message(Wish::Assume(*dice.pick(&[
            Assumption::Done,
            Assumption::Failed,
            Assumption::Retry,
        ]))),
        17 => Moment::Jump(i64::try_from(dice.below(100_000_000)).unwrap_or(0)),
        _ => Moment::Jump(5_000 - i64::try_from(dice.below(15_000)).unwrap_or(0)),
    }
}
