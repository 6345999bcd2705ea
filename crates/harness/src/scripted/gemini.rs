//! Answers of the Gemini API.

use serde_json::{Value, json};

use super::{Asked, INPUT_TOKENS, OUTPUT_TOKENS, Turn, data};

pub(super) fn document(asked: &Asked<'_>, turn: &Turn) -> Value {
    let text = turn.text.as_ref().map(|text| json!({"text": text}));
    let call = turn.call.as_ref().map(|call| {
        let id = format!("call_{}", turn.id);
        json!({"functionCall": {"id": id, "name": call.tool, "args": call.arguments}})
    });
    let parts: Vec<Value> = text.into_iter().chain(call).collect();
    json!({
        "candidates": [{
            "content": {"role": "model", "parts": parts}, "index": 0, "finishReason": "STOP",
        }],
        "modelVersion": asked.model, "responseId": format!("scripted-{}", turn.id),
        "usageMetadata": {
            "promptTokenCount": INPUT_TOKENS, "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": INPUT_TOKENS + OUTPUT_TOKENS,
        },
    })
}

/// One event: the service sends whole responses as well.
pub(super) fn events(asked: &Asked<'_>, turn: &Turn) -> Vec<String> {
    vec![data(&document(asked, turn))]
}
