//! The entries of a run, as they are stored.

use escrow_store::StoredEntry;
use serde_json::{Value, json};

pub fn journal(entries: &[StoredEntry]) -> Value {
    json!({ "entries": entries.iter().map(journal_entry).collect::<Vec<_>>() })
}

/// An entry with its number and its hash.
pub fn journal_entry(stored: &StoredEntry) -> Value {
    let entry: Value = serde_json::from_slice(&stored.bytes).unwrap_or_default();
    json!({ "seq": stored.seq, "hash": stored.hash.to_string(), "entry": entry })
}
