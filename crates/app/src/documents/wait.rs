//! What waits for a person: `approvals`.

use escrow_model::rfc3339;
use escrow_store::WaitRow;
use serde_json::{Value, json};

pub fn approvals(waits: &[WaitRow]) -> Value {
    let documents: Vec<Value> = waits.iter().map(approval).collect();
    json!({ "approvals": documents })
}

/// Something that waits for a person.
pub fn approval(wait: &WaitRow) -> Value {
    json!({
        "id": wait.id,
        "kind": wait.kind,
        "run_id": wait.run,
        "check": wait.check,
        "scope": wait.scope,
        "prompt": wait.prompt,
        "choices": wait.choices,
        "digest": wait.digest,
        "expires_at": wait.expires_at.map(rfc3339),
    })
}
