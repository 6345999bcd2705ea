//! The message lines that Claude Code and Qwen Code share: `assistant` and `user` with content blocks.

use serde_json::Value;

use crate::Progress;
use crate::observed::Observed;
use crate::stream::text;

/// The content blocks of a message line.
pub(crate) fn blocks(line: &Value) -> &[Value] {
    line.pointer("/message/content").and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// Whether a line belongs to a sub-agent.
pub(crate) fn is_from_sub_agent(line: &Value) -> bool {
    line.get("parent_tool_use_id").is_some_and(Value::is_string)
}

/// Reads texts and tool calls of an `assistant` line. `internal_tool` is how the program returns structured output.
pub(crate) fn assistant(
    observed: &mut Observed,
    line: &Value,
    internal_tool: Option<&str>,
    progress: &mut Vec<Progress>,
) {
    for block in blocks(line) {
        match text(block, "type") {
            Some("text") if !is_from_sub_agent(line) && !observed.has_ended() => {
                if let Some(written) = text(block, "text") {
                    observed.final_text.set(written);
                    progress.push(Progress::Text(written.to_owned()));
                }
            }
            Some("tool_use") => {
                if let (Some(id), Some(name)) = (text(block, "id"), text(block, "name"))
                    && Some(name) != internal_tool
                {
                    let input = block.get("input").unwrap_or(&Value::Null);
                    observed.tool_started(id, name, input, progress);
                }
            }
            Some(_) | None => {}
        }
    }
}

/// Reads the tool results of a `user` line.
pub(crate) fn user(observed: &mut Observed, line: &Value, progress: &mut Vec<Progress>) {
    for block in blocks(line) {
        if text(block, "type") == Some("tool_result")
            && let Some(id) = text(block, "tool_use_id")
        {
            let failed = block.get("is_error").and_then(Value::as_bool).unwrap_or(false);
            observed.tool_ended(id, failed, progress);
        }
    }
}

/// Reads `permission_denials` of a `result` line, and tells whether the line has them.
pub(crate) fn denials(observed: &mut Observed, result: &Value, progress: &mut Vec<Progress>) -> bool {
    let Some(denials) = result.get("permission_denials").and_then(Value::as_array) else { return false };
    observed.denials.clear();
    for denial in denials {
        observed.denied(text(denial, "tool_name").unwrap_or("unknown"), None, progress);
    }
    true
}
