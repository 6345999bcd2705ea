//! Typed results: `outcomes` and `outcomes add`.

use escrow_model::RunId;
use escrow_store::{AddedOutcome, OutcomeRow};
use serde_json::Value;

pub fn outcome(row: &OutcomeRow) -> Value {
    let run = row.run_id.as_ref().map(RunId::as_str);
    row.outcome.document(row.created_at, run, row.invocation_id.as_deref())
}

/// An outcome that a person has just added.
pub fn added_outcome(added: &AddedOutcome) -> Value {
    let run = added.run_id.as_ref().map(RunId::as_str);
    added.outcome.document(added.created_at, run, added.invocation_id.as_deref())
}
