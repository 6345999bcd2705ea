//! The entries of a run, as they are stored.

use escrow_store::StoredEntry;
use serde_json::{Value, json};

/// Each entry with its number and its hash.
pub fn journal(entries: &[StoredEntry]) -> Value {
    let documents: Vec<Value> = entries
        .iter()
        .map(|stored| {
            let entry: Value = serde_json::from_slice(&stored.bytes).unwrap_or_default();
            json!({ "seq": stored.seq, "hash": stored.hash.to_string(), "entry": entry })
        })
        .collect();
    json!({ "entries": documents })
}
