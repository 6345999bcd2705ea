//! Typed results that a run gives.

use escrow_model::{Event, Outcome, OutcomeId, RecordedOutcome, ScopePath};
use sha2::{Digest, Sha256};

use crate::location::Location;
use crate::turn::Deciding;

impl Deciding<'_> {
    /// A typed result joins the run. Nothing is overwritten: each attempt stores its own.
    pub(crate) fn store_outcome(
        &mut self,
        name: String,
        outcome: Outcome,
        location: Option<&Location>,
        file_path: Option<String>,
    ) {
        let plan = self.plan();
        let (check, scope) = match location {
            Some(Location { check, scope }) => (Some(plan.check(*check).name.clone()), scope.clone()),
            None => (None, ScopePath::root()),
        };
        let id = OutcomeId::new(self.at, chance_of(self.state.options.run.as_str(), self.state.entries));
        let outcome = Box::new(RecordedOutcome { id, name, outcome, check, scope, file_path });
        self.record(Event::OutcomeStored { outcome });
    }
}

/// Derived from the run and the entry, so that a replay gives the same id. The entry comes first: of two outcomes in
/// the same millisecond, the later one sorts last.
fn chance_of(run: &str, entry: u64) -> u64 {
    let digest = Sha256::digest(format!("{run}\0outcome\0{entry}").as_bytes());
    let chance = u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]);
    (entry & 0xf_ffff) << 32 | u64::from(chance)
}
