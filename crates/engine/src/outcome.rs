//! Typed results that a run gives.

use escrow_model::{Event, Outcome, OutcomeId, RecordedOutcome, ScopePath};
use sha2::{Digest, Sha256};

use crate::state::Place;
use crate::turn::Deciding;

impl Deciding<'_> {
    /// A typed result joins the run. Nothing is overwritten: each attempt stores its own.
    pub(crate) fn store_outcome(
        &mut self,
        name: String,
        outcome: Outcome,
        place: Option<&Place>,
        file_path: Option<String>,
    ) {
        let plan = self.plan();
        let (check, scope) = match place {
            Some((check, scope)) => (Some(plan.check(*check).name.clone()), scope.clone()),
            None => (None, ScopePath::root()),
        };
        // The id follows from the run and the place in its journal, so that a replay gives the same one.
        let seed = format!("{}\0outcome\0{}", self.state.options.run, self.state.entries);
        let id = OutcomeId::new(self.at, chance_of(&seed));
        let outcome = Box::new(RecordedOutcome { id, name, outcome, check, scope, file_path });
        self.record(Event::OutcomeStored { outcome });
    }
}

fn chance_of(seed: &str) -> u64 {
    let digest = Sha256::digest(seed.as_bytes());
    digest.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}
