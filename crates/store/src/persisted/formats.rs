//! Upcasters: each turns an entry of one format into the next.

use serde_json::Value;

use super::RecordError;

/// Format 3 calls faults by their names in the documentation.
pub(super) fn from_2(mut entry: Value) -> Result<Value, RecordError> {
    const NAMES: [(&str, &str); 5] = [
        ("fault_detected", "fault.detected"),
        ("fault_isolated", "fault.isolated"),
        ("recovery_started", "fault.recovery.started"),
        ("recovery_succeeded", "fault.recovery.succeeded"),
        ("recovery_exhausted", "fault.recovery.exhausted"),
    ];
    if let Some(event) = entry.get_mut("event").and_then(Value::as_object_mut) {
        for (old, new) in NAMES {
            if let Some(fields) = event.remove(old) {
                event.insert(new.to_owned(), fields);
            }
        }
    }
    Ok(entry)
}
