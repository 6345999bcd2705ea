//! Answers of the Anthropic Messages API.

use serde_json::{Value, json};

use super::{Asked, INPUT_TOKENS, OUTPUT_TOKENS, Turn, event};

pub(super) fn document(asked: &Asked<'_>, turn: &Turn) -> Value {
    json!({
        "id": format!("msg_{}", turn.id), "type": "message", "role": "assistant", "model": asked.model,
        "content": blocks(turn), "stop_reason": stop_reason(turn), "stop_sequence": null,
        "usage": usage(OUTPUT_TOKENS),
    })
}

pub(super) fn events(asked: &Asked<'_>, turn: &Turn) -> Vec<String> {
    let start = json!({
        "id": format!("msg_{}", turn.id), "type": "message", "role": "assistant", "model": asked.model,
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage(1),
    });
    let mut events = vec![event("message_start", &json!({"type": "message_start", "message": start}))];
    for (index, block) in blocks(turn).into_iter().enumerate() {
        let (empty, delta) = match block["type"].as_str() {
            Some("text") => {
                (json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": block["text"]}))
            }
            _ => {
                let mut empty = block.clone();
                empty["input"] = json!({});
                (empty, json!({"type": "input_json_delta", "partial_json": block["input"].to_string()}))
            }
        };
        for (name, member, value) in [
            ("content_block_start", Some("content_block"), empty),
            ("content_block_delta", Some("delta"), delta),
            ("content_block_stop", None, Value::Null),
        ] {
            let mut data = json!({"type": name, "index": index});
            if let Some(member) = member {
                data[member] = value;
            }
            events.push(event(name, &data));
        }
    }
    let delta = json!({"stop_reason": stop_reason(turn), "stop_sequence": null});
    let last = json!({"type": "message_delta", "delta": delta, "usage": usage(OUTPUT_TOKENS)});
    events.push(event("message_delta", &last));
    events.push(event("message_stop", &json!({"type": "message_stop"})));
    events
}

fn blocks(turn: &Turn) -> Vec<Value> {
    let text = turn.text.as_ref().map(|text| json!({"type": "text", "text": text}));
    let call = turn.call.as_ref().map(|call| {
        json!({"type": "tool_use", "id": format!("toolu_{}", turn.id), "name": call.tool, "input": call.arguments})
    });
    text.into_iter().chain(call).collect()
}

fn stop_reason(turn: &Turn) -> &'static str {
    if turn.call.is_some() { "tool_use" } else { "end_turn" }
}

fn usage(output_tokens: u64) -> Value {
    json!({
        "input_tokens": INPUT_TOKENS, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
        "output_tokens": output_tokens, "service_tier": "standard",
    })
}
