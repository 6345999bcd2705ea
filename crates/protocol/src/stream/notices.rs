//! Events that the stream itself reports to its clients, as notifications: nothing answers them.

use serde_json::{Value, json};

use crate::envelope::{CallbackRequest, CapabilityDegradation, FreeMap};
use crate::vocabulary::LifecycleEventKind;

/// `capability.degraded`: a capability that a request wanted is available at a lower level. The wire has no place for the
/// details but the metadata.
pub fn degraded(
    request: &CallbackRequest,
    degradation: &CapabilityDegradation,
    at_epoch_s: u64,
) -> CallbackRequest {
    let CapabilityDegradation { capability, previous_support, current_support, evidence, retry_class } =
        degradation;
    let mut metadata = vec![
        ("capability", json!(capability)),
        ("previous_support", json!(previous_support)),
        ("current_support", json!(current_support)),
        ("observed_at_epoch_s", json!(at_epoch_s)),
    ];
    metadata.extend(evidence.as_ref().map(|evidence| ("evidence", json!(evidence))));
    metadata.extend(retry_class.as_ref().map(|class| ("retry_class", json!(class))));
    let id = format!("evt-degraded-{}-{capability}", request.event_id);
    notice(request, LifecycleEventKind::CapabilityDegraded, id, metadata)
}

/// `supervisor.tick`: the stream is alive, and since when it has been idle.
pub fn tick(request: &CallbackRequest, number: u64, idle_ms: u64, at_epoch_s: u64) -> CallbackRequest {
    let id = format!("evt-tick-{}-{number}", request.event_id);
    let metadata = vec![("idle_ms", json!(idle_ms)), ("observed_at_epoch_s", json!(at_epoch_s))];
    notice(request, LifecycleEventKind::SupervisorTick, id, metadata)
}

/// An event of the same adapter, invocation and harness as a request.
fn notice(
    request: &CallbackRequest,
    event: LifecycleEventKind,
    event_id: String,
    metadata: Vec<(&str, Value)>,
) -> CallbackRequest {
    CallbackRequest {
        event,
        event_id,
        frame_context: None,
        capability_snapshot_ref: None,
        payload_refs: Vec::new(),
        sequence: None,
        idempotency_key: None,
        metadata: FreeMap::from_iter(metadata),
        ..request.clone()
    }
}
