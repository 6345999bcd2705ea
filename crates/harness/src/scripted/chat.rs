//! Answers of the OpenAI Chat Completions API.

use serde_json::{Value, json};

use super::{Asked, INPUT_TOKENS, OUTPUT_TOKENS, Turn, data};

pub(super) fn document(asked: &Asked<'_>, turn: &Turn) -> Value {
    let mut message = json!({"role": "assistant", "content": turn.text});
    if turn.call.is_some() {
        message["tool_calls"] = calls(turn);
    }
    json!({
        "id": id(turn), "object": "chat.completion", "created": 0, "model": asked.model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(turn)}], "usage": usage(),
    })
}

pub(super) fn events(asked: &Asked<'_>, turn: &Turn) -> Vec<String> {
    let chunk = |choices: Value| {
        json!({
            "id": id(turn), "object": "chat.completion.chunk", "created": 0, "model": asked.model,
            "choices": choices,
        })
    };
    let delta = |delta: Value, finish: Option<&str>| {
        data(&chunk(json!([{"index": 0, "delta": delta, "finish_reason": finish}])))
    };
    let mut events = vec![delta(json!({"role": "assistant", "content": ""}), None)];
    if let Some(text) = &turn.text {
        events.push(delta(json!({"content": text}), None));
    }
    if turn.call.is_some() {
        events.push(delta(json!({"tool_calls": calls(turn)}), None));
    }
    events.push(delta(json!({}), Some(finish_reason(turn))));
    let mut last = chunk(json!([]));
    last["usage"] = usage();
    events.push(data(&last));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

fn id(turn: &Turn) -> String {
    format!("chatcmpl-{}", turn.id)
}

fn calls(turn: &Turn) -> Value {
    let calls = turn.call.iter().map(|call| {
        json!({
            "index": 0, "id": format!("call_{}", turn.id), "type": "function",
            "function": {"name": call.tool, "arguments": call.arguments.to_string()},
        })
    });
    calls.collect()
}

fn finish_reason(turn: &Turn) -> &'static str {
    if turn.call.is_some() { "tool_calls" } else { "stop" }
}

fn usage() -> Value {
    json!({
        "prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS,
        "total_tokens": INPUT_TOKENS + OUTPUT_TOKENS,
    })
}
