//! Upcasters: each turns an entry of one format into the next.

use escrow_model::{Event, IssueCode, RefusalCode};
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

/// Gives an event the codes that were said only in words before they existed. The words are those of that time.
pub(super) fn with_codes(mut event: Event) -> Event {
    const RENDERED: &str = "a template puts a secret together: the value does not leave the run";
    const UNDER_WAY: &str = "an effect is under way or unknown";
    match &mut event {
        Event::CheckJudged { issues, .. } => {
            for issue in issues {
                if issue.code == IssueCode::RedactedValue && issue.message == RENDERED {
                    issue.code = IssueCode::SecretRendered;
                }
            }
        }
        Event::MessageDelivered { refused: Some(why), refusal: refusal @ None, .. } if why == UNDER_WAY => {
            *refusal = Some(RefusalCode::EffectUnderWay);
        }
        _ => {}
    }
    event
}
