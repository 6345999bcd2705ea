//! The last look before anything is written: an entry with a secret in it does not reach the journal.
//!
//! Secrets are taken out where they enter. What comes this far was put together by the run itself, from pieces
//! that were none. Then the run is rebuilt from its journal, because what it knows must be what is written.

use std::sync::Arc;

use escrow_engine::{Effect, Run, Turn};
use escrow_model::{Facts, Millis, Plan, RunOptions};

use crate::redaction::{Inseparable, Redactor};

/// Begins a run whose first turn has no secret in it.
pub fn begin(
    plan: Arc<Plan>,
    options: RunOptions,
    facts: Facts,
    redactor: &Arc<Redactor>,
    at: Millis,
) -> Result<(Run, Turn), Inseparable> {
    let (run, mut turn) = Run::start(plan, Arc::new(options), Arc::new(facts), at);
    if seal(&mut turn, redactor)? {
        let rebuilt = Run::replay(&turn.entries).map_err(|_| Inseparable)?;
        return Ok((rebuilt, turn));
    }
    Ok((run, turn))
}

/// Takes secrets out of a turn; tells whether there were any.
pub(super) fn seal(turn: &mut Turn, redactor: &Arc<Redactor>) -> Result<bool, Inseparable> {
    if redactor.is_empty() {
        return Ok(false);
    }
    let mut found = false;
    for entry in &mut turn.entries {
        found |= redactor.entry(entry)?;
    }
    for effect in &mut turn.effects {
        // What is done is what is written.
        if let Effect::Perform { request, .. } | Effect::Reconcile { request, .. } = effect {
            found |= redactor.request(Arc::make_mut(request))?;
        }
    }
    Ok(found)
}
