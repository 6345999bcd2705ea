//! Holds adapters to the events they declare.

use crate::envelope::{CallbackRequest, Warning};
use crate::manifest::AdapterManifest;
use crate::negotiation::CapabilityKind;
use crate::vocabulary::SupportState;

/// A warning if the adapter does not claim to produce this event in this mode.
pub(super) fn undeclared_event(manifest: &AdapterManifest, request: &CallbackRequest) -> Option<Warning> {
    let (event, mode, adapter) = (request.event, request.integration_mode, &manifest.adapter_id);
    let claim = manifest.lifecycle_events.get(&event);
    let message = match claim {
        Some(claim) if claim.support == SupportState::Unavailable => {
            format!("adapter `{adapter}` declares event `{event}` unavailable")
        }
        None => format!("adapter `{adapter}` does not declare event `{event}`"),
        Some(claim) if !claim.modes.is_empty() && !claim.modes.contains(&mode) => {
            format!("adapter `{adapter}` does not declare event `{event}` in mode `{mode}`")
        }
        Some(_) => return None,
    };
    Some(Warning {
        code: "event_not_declared".to_owned(),
        message,
        capability: Some(CapabilityKind::LifecycleEvent(event).to_string()),
    })
}
