//! Entries that are known to be missing.

use escrow_model::rfc3339;
use escrow_store::Loss;
use serde_json::{Value, json};

pub fn loss(loss: &Loss) -> Value {
    json!({
        "entries": loss.entries(),
        "run_id": loss.last.run,
        "last_entry": loss.last.seq,
        "noticed_at": loss.noticed_at.map(rfc3339),
    })
}
