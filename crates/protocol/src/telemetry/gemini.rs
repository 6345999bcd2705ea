//! Gemini's telemetry file: records of responses and compressions, each on one line or spread over several.

use serde_json::Value;

use super::records::{anywhere, model_named_in, records, says};
use super::{Seen, TelemetryLog};

pub(super) fn read(log: &TelemetryLog) -> Option<Seen> {
    let mut seen = Seen::default();
    for record in records(&log.text) {
        if says(&record, "gemini_cli.chat_compression") {
            seen.is_compacted = true;
        }
        if !says(&record, "gemini_cli.api_response") {
            continue;
        }
        seen.model_name = model_named_in(&record).or(seen.model_name);
        let tokens = |key: &str| anywhere(&record, key, &Value::as_u64).unwrap_or(0);
        let (input, output) = (tokens("input_token_count"), tokens("output_token_count"));
        let cached = tokens("cached_content_token_count");
        if [input, output, cached] == [0; 3] {
            continue;
        }
        let sums = &mut seen.usage;
        sums.input_tokens = sums.input_tokens.saturating_add(input);
        sums.output_tokens = sums.output_tokens.saturating_add(output);
        sums.cache_read_input_tokens = sums.cache_read_input_tokens.saturating_add(cached);
        seen.total_tokens = Some(input.saturating_add(cached));
    }
    (seen.total_tokens.is_some() || seen.is_compacted).then_some(seen)
}
