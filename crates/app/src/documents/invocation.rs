//! Invocations: `invocation list` and `invocation show`. `docs/invocations.md` describes every field.

use escrow_engine::HarnessTotals;
use escrow_model::rfc3339;
use escrow_store::{InvocationRow, OutcomeRow};
use serde_json::{Value, json};

use super::outcome;

pub fn invocation(row: &InvocationRow) -> Value {
    json!({
        "id": row.id,
        "name": row.name,
        "skill": row.skill,
        "chain_run_id": row.chain_run_id,
        "step_index": row.step_index,
        "prompt": row.prompt,
        "started_by": row.started_by,
        "status": row.status,
        "health": row.health,
        "reason": row.reason,
        "decisive_run_id": row.decisive_run,
        "ended_by_hand": row.ended_by_hand,
        "runs_count": row.runs(),
        "started_at": rfc3339(row.started_at),
        "ended_at": row.ended_at.map(rfc3339),
    })
}

/// An invocation with its runs, as [`crate::runs::listed`] gives them, and outcomes.
pub fn invocation_with(
    row: &InvocationRow,
    runs: &[Value],
    outcomes: &[OutcomeRow],
    primary: Option<&OutcomeRow>,
    totals: Option<&HarnessTotals>,
) -> Value {
    let outcomes: Vec<Value> = outcomes.iter().map(outcome).collect();
    let mut document = json!({
        "invocation": invocation(row),
        "runs": runs,
        "outcomes": outcomes,
        "primary_outcome": primary.map(outcome),
    });
    if let Some(totals) = totals {
        document["totals"] = json!(totals);
    }
    document
}
