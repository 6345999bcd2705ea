//! Codex's session log: events, some with running token counts.

use super::records::{model_named_in, records};
use super::{Seen, TelemetryLog};

pub(super) fn read(log: &TelemetryLog) -> Option<Seen> {
    let mut seen = Seen::default();
    let mut model = None;
    for record in records(&log.text) {
        model = model_named_in(&record).or(model);
        if record["type"] != "event_msg" || record["payload"]["type"] != "token_count" {
            continue;
        }
        let info = &record["payload"]["info"];
        let Some(sum) = info["total_token_usage"]["total_tokens"].as_u64() else {
            continue;
        };
        seen.total_tokens = info["last_token_usage"]["total_tokens"].as_u64().or(Some(sum));
        seen.usage.blended_total_tokens = Some(sum).filter(|&tokens| tokens > 0);
        seen.context_window_tokens = info["model_context_window"].as_u64().filter(|&tokens| tokens > 0);
        seen.model_name.clone_from(&model);
    }
    seen.total_tokens.is_some().then_some(seen)
}
