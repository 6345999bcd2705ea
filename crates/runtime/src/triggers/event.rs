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
pub fn offer<'a>(
    event: &TriggerEvent,
    origin: &Origin,
    listeners: impl IntoIterator<Item = &'a ArmedTrigger>,
) -> Vec<Occurrence> {
    listeners.into_iter().filter_map(|armed| occurrence(event, origin, armed)).collect()
}

fn occurrence(event: &TriggerEvent, origin: &Origin, armed: &ArmedTrigger) -> Option<Occurrence> {
    let TriggerSource::Event(trigger) = &armed.source else { return None };
    // A chain is never fired by its own steps.
    if origin.chain.as_ref() == Some(&armed.chain_id) {
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

#[cfg(test)]
mod tests {
    use escrow_model::{EventTrigger, TriggerRule};
    use indexmap::IndexMap;
    use serde_json::Map;

    use super::*;

    #[test]
    fn an_event_counts_though_the_clock_was_set_back_since_the_definition() {
        let event =
            TriggerEvent { name: "pr.opened".into(), fields: Map::new(), key: "d-1".into(), at: 1_000 };
        let source = TriggerSource::Event(EventTrigger {
            event: "pr.opened".into(),
            filter: IndexMap::new(),
            paths: Vec::new(),
            debounce_ms: 0,
            forks: false,
        });
        let armed = ArmedTrigger {
            chain_id: ChainId::of("reviews"),
            chain: "reviews".into(),
            position: 0,
            sources: 1,
            rule: TriggerRule::Any,
            source,
            anchor: 5_000,
            after: 5_000,
            feed: 0,
        };
        let occurrences = offer(&event, &Origin::default(), [&armed]);
        assert_eq!(occurrences.len(), 1);
    }
}
