//! Typed results: `outcomes` and `outcomes add`, in documents of runs, and for the expressions around a nested run.

use escrow_engine::Run;
use escrow_model::{Millis, RecordedOutcome, RunId, rfc3339};
use escrow_store::{AddedOutcome, OutcomeRow};
use serde_json::{Value, json};

pub fn outcome(row: &OutcomeRow) -> Value {
    document(&row.outcome, row.created_at, row.run_id.as_ref(), row.invocation_id.as_deref())
}

/// An outcome that a person has just added.
pub fn added_outcome(added: &AddedOutcome) -> Value {
    document(&added.outcome, added.created_at, added.run_id.as_ref(), added.invocation_id.as_deref())
}

/// What a run stored itself, newest first.
pub fn run_outcomes(run: &Run) -> Vec<Value> {
    let options = run.options();
    let invocation = options.invocation.as_deref();
    run.outcomes().map(|(at, outcome)| document(outcome, at, Some(&options.run), invocation)).collect()
}

fn document(
    recorded: &RecordedOutcome,
    created_at: Millis,
    run: Option<&RunId>,
    invocation: Option<&str>,
) -> Value {
    json!({
        "id": recorded.id,
        "kind": recorded.outcome.kind,
        "name": recorded.name,
        "created_at": rfc3339(created_at),
        "passed": recorded.outcome.passed,
        "summary": recorded.outcome.summary,
        "content": recorded.outcome.content,
        "run_id": run,
        "invocation_id": invocation,
        "file_path": recorded.file_path,
    })
}
