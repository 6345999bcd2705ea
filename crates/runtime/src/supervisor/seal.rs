//! The last check before a commit: an entry that contains a secret does not reach the journal.
//!
//! Secrets are removed where they enter. A secret that comes this far was put together by the run itself, from harmless
//! pieces. The run is then rebuilt from its journal, because it must know exactly what is written.

use std::sync::Arc;

use escrow_engine::{Effect, Run, Turn};
use escrow_model::{Facts, Millis, Plan, Reason, RunOptions};

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

/// A run that ends at once for this reason, with no secret in it.
pub fn refuse(
    plan: Arc<Plan>,
    options: RunOptions,
    facts: Facts,
    redactor: &Arc<Redactor>,
    at: Millis,
    reason: Reason,
) -> Result<(Run, Turn), Inseparable> {
    let (run, mut turn) = Run::refuse(plan, Arc::new(options), Arc::new(facts), at, reason);
    if seal(&mut turn, redactor)? {
        let rebuilt = Run::replay(&turn.entries).map_err(|_| Inseparable)?;
        return Ok((rebuilt, turn));
    }
    Ok((run, turn))
}

/// Removes secrets from a turn; tells whether there were any.
pub(super) fn seal(turn: &mut Turn, redactor: &Arc<Redactor>) -> Result<bool, Inseparable> {
    if redactor.is_empty() {
        return Ok(false);
    }
    let mut found = false;
    for entry in &mut turn.entries {
        found |= redactor.entry(entry)?;
    }
    for effect in &mut turn.effects {
        // The effect must match its committed intent.
        if let Effect::Perform { request, .. } | Effect::Reconcile { request, .. } = effect {
            found |= redactor.request(Arc::make_mut(request))?;
        }
    }
    Ok(found)
}
