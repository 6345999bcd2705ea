//! Answers of the OpenAI Responses API.

use serde_json::{Value, json};

use super::{Asked, INPUT_TOKENS, OUTPUT_TOKENS, Turn, event};

pub(super) fn document(asked: &Asked<'_>, turn: &Turn) -> Value {
    response(asked, turn, "completed", &items(turn))
}

pub(super) fn events(asked: &Asked<'_>, turn: &Turn) -> Vec<String> {
    let mut events = Vec::new();
    let mut push = |name: &str, mut data: Value| {
        data["type"] = name.into();
        events.push(event(name, &data));
    };
    push("response.created", json!({"response": response(asked, turn, "in_progress", &[])}));
    for (index, item) in items(turn).into_iter().enumerate() {
        let mut added = item.clone();
        added["status"] = "in_progress".into();
        if item["type"] == "message" {
            added["content"] = json!([]);
        }
        push("response.output_item.added", json!({"output_index": index, "item": added}));
        if let (Some(text), Some("message")) = (&turn.text, item["type"].as_str()) {
            let delta = json!({
                "item_id": item["id"], "output_index": index, "content_index": 0, "delta": text,
            });
            push("response.output_text.delta", delta);
        }
        push("response.output_item.done", json!({"output_index": index, "item": item}));
    }
    push("response.completed", json!({"response": document(asked, turn)}));
    events
}

fn response(asked: &Asked<'_>, turn: &Turn, status: &str, output: &[Value]) -> Value {
    json!({
        "id": format!("resp_{}", turn.id), "object": "response", "created_at": 0, "model": asked.model,
        "status": status, "output": output,
        "usage": {
            "input_tokens": INPUT_TOKENS, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": OUTPUT_TOKENS, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    })
}

fn items(turn: &Turn) -> Vec<Value> {
    let message = turn.text.as_ref().map(|text| {
        json!({
            "type": "message", "id": format!("msg_{}", turn.id), "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": text, "annotations": []}],
        })
    });
    let call = turn.call.as_ref().map(|call| {
        let id = format!("call_{}", turn.id);
        if call.kind == "custom" {
            let input = call.arguments.as_str().map_or_else(|| call.arguments.to_string(), str::to_owned);
            return json!({
                "type": "custom_tool_call", "id": format!("ctc_{}", turn.id), "call_id": id,
                "name": call.tool, "input": input, "status": "completed",
            });
        }
        let mut item = json!({
            "type": "function_call", "id": format!("fc_{}", turn.id), "call_id": id, "name": call.tool,
            "arguments": call.arguments.to_string(), "status": "completed",
        });
        if let Some(space) = call.kind.strip_prefix("namespace:") {
            item["namespace"] = space.into();
        }
        item
    });
    message.into_iter().chain(call).collect()
}
