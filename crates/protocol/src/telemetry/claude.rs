//! Claude's session log: a line per message, with the usage of each.

use super::records::{model_named_in, records};
use super::{Seen, TelemetryLog};

/// The command that a user's request to compact leaves in the log.
const COMPACT_COMMAND: &str = "<command-name>/compact</command-name>";

pub(super) fn read(log: &TelemetryLog) -> Option<Seen> {
    let mut seen = Seen { is_compacted: log.text.contains(COMPACT_COMMAND), ..Seen::default() };
    for record in records(&log.text).filter(|record| record["sessionId"].is_string()) {
        let tokens = |key: &str| record["message"]["usage"][key].as_u64().unwrap_or(0);
        let (input, output) = (tokens("input_tokens"), tokens("output_tokens"));
        let (created, cached) = (tokens("cache_creation_input_tokens"), tokens("cache_read_input_tokens"));
        if [input, output, created, cached] == [0; 4] {
            continue;
        }
        let sums = &mut seen.usage;
        sums.input_tokens = sums.input_tokens.saturating_add(input);
        sums.output_tokens = sums.output_tokens.saturating_add(output);
        sums.cache_creation_input_tokens = sums.cache_creation_input_tokens.saturating_add(created);
        sums.cache_read_input_tokens = sums.cache_read_input_tokens.saturating_add(cached);
        // Every request carries the whole context, so the last one gives its size.
        seen.total_tokens = Some(input.saturating_add(created).saturating_add(cached));
        seen.model_name = model_named_in(&record).or(seen.model_name);
    }
    seen.total_tokens.is_some().then_some(seen)
}
