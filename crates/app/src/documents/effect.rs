//! Effects of external checks: `effects`.

use escrow_model::rfc3339;
use escrow_store::EffectRow;
use serde_json::{Value, json};

pub fn effects(rows: &[EffectRow]) -> Value {
    let documents: Vec<Value> = rows.iter().map(effect).collect();
    json!({ "effects": documents })
}

pub fn effect(row: &EffectRow) -> Value {
    json!({
        "key": row.key,
        "state": row.state,
        "run_id": row.run,
        "check": row.check,
        "scope": row.steps,
        "generation": row.generation,
        "attempts": row.attempts,
        "intended_at": rfc3339(row.intended_at),
        "answered_at": row.answered_at.map(rfc3339),
        "request_digest": row.request_digest,
        "output": row.output(),
    })
}
