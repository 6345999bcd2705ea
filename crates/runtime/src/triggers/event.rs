//! Offers an event to the triggers that wait for it.

use escrow_model::{ChainId, EventTrigger, FireCode, TriggerEvent, TriggerSource};
use escrow_store::{ArmedTrigger, NewFire, Occurrence};
use serde_json::Value;

/// Where an event comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The chain whose step caused it.
    pub chain: Option<ChainId>,
    /// The depth of the fire behind it; 0 outside of chains.
    pub depth: u32,
}

/// The occurrences of an event: one for each trigger that it passes.
pub fn offer(event: &TriggerEvent, origin: &Origin, listeners: &[ArmedTrigger]) -> Vec<Occurrence> {
    listeners.iter().filter_map(|armed| occurrence(event, origin, armed)).collect()
}

fn occurrence(event: &TriggerEvent, origin: &Origin, armed: &ArmedTrigger) -> Option<Occurrence> {
    let TriggerSource::Event(trigger) = &armed.source else { return None };
    // A chain is never fired by its own steps, nor by what happened before it was defined.
    if origin.chain.as_ref() == Some(&armed.chain_id) || event.at < armed.after {
        return None;
    }
    if !trigger.matches(&event.name, &event.fields) {
        return None;
    }
    let is_fork = event.fields.get(EventTrigger::FORK_FIELD) == Some(&Value::Bool(true));
    let refused = (is_fork && !trigger.forks).then(|| {
        (
            FireCode::SkippedFork,
            "the pull request comes from a fork, and the trigger has no `forks: true`".to_owned(),
        )
    });
    let fire = NewFire {
        chain_id: armed.chain_id.clone(),
        chain: armed.chain.clone(),
        key: event.key.clone(),
        at: event.at,
        event: event.name.clone(),
        payload: event.fields.clone(),
        depth: origin.depth.saturating_add(1),
        refused,
    };
    Some(Occurrence { fire, together: armed.together() })
}
