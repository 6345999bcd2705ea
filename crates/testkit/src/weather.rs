//! Chance that can be repeated: dice from a seed, and a world that answers by them.

use escrow_model::{Answer, FaultCode, ProviderFault};
use serde_json::json;

use crate::{Ask, Reply, World};

/// A small generator (SplitMix64): good enough for weather, and the same everywhere.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Dice {
        Dice(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Below `limit`.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit.max(1)
    }

    /// True in `percent` of a hundred rolls.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[usize::try_from(self.below(choices.len() as u64)).expect("an index fits")]
    }
}

/// A world by chance. What it answers depends on the ask alone, so a repeated ask gets the same reply.
#[derive(Clone, Debug)]
pub struct Weather {
    pub seed: u64,
    /// How many of a hundred answers go wrong.
    pub trouble: u64,
    /// Whether answers take different times, so that they overtake each other.
    pub uneven: bool,
    /// Whether some faults leave their effect unknown.
    pub unknown: bool,
}

impl World for Weather {
    fn reply(&mut self, ask: &Ask<'_>) -> Reply {
        let mut seed = self.seed ^ u64::from(ask.attempt).wrapping_mul(0x2545_f491_4f6c_dd1d);
        for byte in ask.check.bytes() {
            seed = seed.wrapping_mul(31).wrapping_add(u64::from(byte));
        }
        for index in ask.scope.indices() {
            seed = seed.wrapping_mul(131).wrapping_add(u64::from(*index) + 1);
        }
        let mut dice = Dice::new(seed);
        let after_ms = if self.uneven { dice.below(50) } else { 0 };
        if ask.reconcile {
            // Not the rolls of the attempt that it asks about.
            let words = ["done", "failed", "retry", "who knows"];
            let word = *Dice::new(seed ^ 0x5eed).pick(&words);
            return Reply { answer: Some(Answer::done(json!(word))), after_ms };
        }
        let answer = if dice.chance(self.trouble) {
            let fault = match dice.below(4) {
                0 if self.unknown => {
                    ProviderFault::transient(FaultCode::Timeout, "too late, by chance").with_unknown_effect()
                }
                1 => ProviderFault::logical(FaultCode::Exception, "broken, by chance"),
                _ => ProviderFault::transient(FaultCode::ExitNonzero, "exit 1, by chance"),
            };
            Answer::fault(fault)
        } else {
            let size = dice.below(4);
            // A check called `list…` gives a list, but for the odd one.
            let output = match dice.below(8) {
                0 => json!({ "ok": false, "n": size }),
                1 => json!("some text"),
                _ if ask.check.starts_with("list") => json!((0..size).collect::<Vec<u64>>()),
                _ => json!({ "ok": true, "n": size }),
            };
            Answer::done(output)
        };
        Reply { answer: Some(answer), after_ms }
    }

    /// Two artifacts, `must` and `file`, each there or not.
    fn files(&self) -> Vec<(String, u64)> {
        let mut dice = Dice::new(self.seed ^ 0x00f1_1e5e);
        let mut there = |id: &str| dice.chance(70).then(|| (id.to_owned(), 5));
        [there("must"), there("file")].into_iter().flatten().collect()
    }
}
