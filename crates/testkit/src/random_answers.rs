//! Provider answers that follow from a seed.

use escrow_engine::play::{AnswerSource, ProviderCall, Reply};
use escrow_model::{Answer, ExpectedArtifact, FaultCode, InspectedArtifact, ProviderFault};
use serde_json::json;

use crate::{GivenFile, Rng, sightings};

/// Answers by chance. An answer depends on the call alone, so a repeated call gets the same reply.
#[derive(Clone, Debug)]
pub struct RandomAnswers {
    pub seed: u64,
    /// How many of a hundred answers are faults.
    pub fault_percent: u64,
    /// Whether answers take different times, so that they overtake each other.
    pub uneven: bool,
    /// Whether some faults leave their effect unknown.
    pub unknown: bool,
}

impl AnswerSource for RandomAnswers {
    fn reply(&mut self, call: &ProviderCall<'_>) -> Reply {
        let mut seed = self.seed ^ u64::from(call.attempt).wrapping_mul(0x2545_f491_4f6c_dd1d);
        for byte in call.check.bytes() {
            seed = seed.wrapping_mul(31).wrapping_add(u64::from(byte));
        }
        for index in call.scope.indices() {
            seed = seed.wrapping_mul(131).wrapping_add(u64::from(*index) + 1);
        }
        let mut rng = Rng::new(seed);
        let after_ms = if self.uneven { rng.below(50) } else { 0 };
        if call.reconcile {
            // Independent of the answer to the attempt that it asks about.
            let words = ["done", "failed", "retry", "who knows"];
            let word = *Rng::new(seed ^ 0x5eed).pick(&words);
            return Reply { answer: Some(Answer::done(json!(word))), after_ms };
        }
        let answer = if rng.chance(self.fault_percent) {
            let fault = match rng.below(4) {
                0 if self.unknown => {
                    ProviderFault::transient(FaultCode::Timeout, "too late, by chance").with_unknown_effect()
                }
                1 => ProviderFault::logical(FaultCode::Exception, "broken, by chance"),
                _ => ProviderFault::transient(FaultCode::ExitNonzero, "exit 1, by chance"),
            };
            Answer::fault(fault)
        } else {
            let size = rng.below(4);
            // A check called `list…` answers with a list, most of the time.
            let output = match rng.below(8) {
                0 => json!({ "ok": false, "n": size }),
                1 => json!("some text"),
                _ if call.check.starts_with("list") => json!((0..size).collect::<Vec<u64>>()),
                _ => json!({ "ok": true, "n": size }),
            };
            Answer::done(output)
        };
        Reply { answer: Some(answer), after_ms }
    }

    fn inspect(&mut self, expected: &[ExpectedArtifact]) -> Vec<InspectedArtifact> {
        sightings(&self.files(), expected)
    }
}

impl RandomAnswers {
    /// Two artifacts, `must` and `file`, each present or missing.
    pub fn files(&self) -> Vec<(String, GivenFile)> {
        let mut rng = Rng::new(self.seed ^ 0x00f1_1e5e);
        let mut there = |id: &str| rng.chance(70).then(|| (id.to_owned(), GivenFile::Size(5)));
        [there("must"), there("file")].into_iter().flatten().collect()
    }
}
