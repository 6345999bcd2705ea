//! The last check before a commit: an entry that contains a secret does not reach the journal.
//!
//! Secrets are removed where they enter. A secret that comes this far was put together by the run itself, from harmless
//! pieces. Where that is only shown, stars take its place, and the run is rebuilt from its journal, because it must know
//! exactly what is written. Where it would reach the world or be compared (a request, a key, the name of a group), the
//! turn is not committed at all: the run makes it again, and the check fails before its provider.

use std::collections::BTreeSet;
use std::sync::Arc;

use escrow_engine::{Disclosure, Effect, Run, Turn};
use escrow_model::{Event, Facts, Millis, Plan, Reason, RunOptions};

use crate::redaction::{Inseparable, Redactor};

/// What was found in a turn.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TurnRedaction {
    Clean,
    /// Secrets were replaced. The run must be rebuilt.
    Redacted,
    /// The turn must not be committed.
    Discloses(BTreeSet<Disclosure>),
}

/// Begins a run whose first turn has no secret in it.
pub fn begin(
    plan: &Arc<Plan>,
    options: RunOptions,
    facts: Facts,
    redactor: &Arc<Redactor>,
    at: Millis,
) -> Result<(Run, Turn), Inseparable> {
    let (options, facts) = (Arc::new(options), Arc::new(facts));
    let mut withheld = BTreeSet::new();
    loop {
        let (plan, options, facts) = (Arc::clone(plan), Arc::clone(&options), Arc::clone(&facts));
        let (mut run, mut turn) = Run::start_withholding(plan, options, facts, at, withheld.clone());
        match redact(&run, &mut turn, redactor, &withheld)? {
            TurnRedaction::Clean => {
                run.withhold(BTreeSet::new());
                return Ok((run, turn));
            }
            TurnRedaction::Redacted => return rebuilt(turn),
            TurnRedaction::Discloses(places) => withheld.extend(places),
        }
    }
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
    match redact(&run, &mut turn, redactor, &BTreeSet::new())? {
        TurnRedaction::Clean => Ok((run, turn)),
        TurnRedaction::Redacted => rebuilt(turn),
        // It attempts nothing and holds no group.
        TurnRedaction::Discloses(_) => Err(Inseparable),
    }
}

fn rebuilt(turn: Turn) -> Result<(Run, Turn), Inseparable> {
    let run = Run::replay(&turn.entries).map_err(|_| Inseparable)?;
    Ok((run, turn))
}

/// Removes secrets from a turn that the run has made with these places withheld.
pub(super) fn redact(
    run: &Run,
    turn: &mut Turn,
    redactor: &Arc<Redactor>,
    withheld: &BTreeSet<Disclosure>,
) -> Result<TurnRedaction, Inseparable> {
    if redactor.is_empty() {
        return Ok(TurnRedaction::Clean);
    }
    let mut found = false;
    let mut disclosed = BTreeSet::new();
    for entry in &mut turn.entries {
        if discloses_group(&entry.event, redactor) {
            disclosed.insert(Disclosure::Group);
        }
        if redactor.entry(entry)? {
            found = true;
            disclosed.extend(run.disclosure(&entry.event));
        }
    }
    if !disclosed.is_empty() {
        // Withholding it did not remove the secret; another attempt would loop.
        let is_news = disclosed.is_disjoint(withheld);
        return if is_news { Ok(TurnRedaction::Discloses(disclosed)) } else { Err(Inseparable) };
    }
    for effect in &mut turn.effects {
        // The effect must match its committed intent.
        if let Effect::Perform { request, .. } | Effect::Reconcile { request, .. } = effect {
            found |= redactor.request(Arc::make_mut(request))?;
        }
    }
    Ok(if found { TurnRedaction::Redacted } else { TurnRedaction::Clean })
}

fn discloses_group(event: &Event, redactor: &Redactor) -> bool {
    match event {
        Event::RunStarted { group: Some(group), .. } | Event::RunReopened { group: Some(group), .. } => {
            redactor.finds(group.as_bytes())
        }
        _ => false,
    }
}
