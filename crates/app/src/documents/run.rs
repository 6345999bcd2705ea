//! A run: `run --output json`, `runs show`, `runs` and `resume --all`.

use escrow_engine::{CheckReport, ItemReport, Overridden, Run};
use escrow_model::{Delivery, DeliveryStatus, Request, RunId, event_object, rfc3339};
use escrow_store::{OutcomeRow, RunRow};
use serde_json::{Map, Value, json};

use super::wait::{decision, nested};
use super::{outcome, run_outcomes};

/// A run in full. Derived from the journal alone, so it is the same at any later time.
pub fn run(run: &Run) -> Value {
    let checks: Map<String, Value> =
        run.check_reports().map(|check| (check.name.to_owned(), check_document(run, &check))).collect();
    let mut document = json!({
        "run": run_summary(run),
        "checks": checks,
        "artifacts": artifacts(run.delivery()),
        "outcomes": run_outcomes(run),
        "decisions": run.decisions().iter().map(decision).collect::<Vec<_>>(),
    });
    if let Some(totals) = run.harness_totals() {
        document["totals"] = json!(totals);
    }
    document
}

/// The same with the outcomes of the store: its journal does not contain those that people added.
pub fn run_with_outcomes(run: &Run, outcomes: &[OutcomeRow]) -> Value {
    let mut document = self::run(run);
    document["outcomes"] = outcomes.iter().map(outcome).collect();
    document
}

/// The `run` object of a document.
pub fn run_summary(run: &Run) -> Value {
    let options = run.options();
    let mut document = json!({
        "id": options.run,
        "playbook": run.plan_of().name,
        "kind": run.plan_of().kind.as_str(),
        "title": run.title(),
        "inputs": run.inputs(),
        "event": options.event_object(),
        "status": run.status(),
        "reason": run.reason(),
        "invocation_id": options.invocation,
        "started_at": rfc3339(run.started_at()),
        "ended_at": run.ended_at().map(rfc3339),
        "warnings": run.warnings(),
    });
    if let Some(Overridden { from, by, why, at }) = run.overridden() {
        document["override"] = json!({ "from": from, "by": by, "why": why, "at": rfc3339(*at) });
    }
    document
}

/// The run object of a listing: the same as in the run's own document. `payload` is that of its event.
pub fn run_row(row: &RunRow, payload: Map<String, Value>) -> Value {
    let mut document = json!({
        "id": row.id,
        "playbook": row.playbook,
        "kind": row.kind,
        "title": row.title,
        "inputs": row.inputs,
        "event": row.event.as_deref().map(|name| event_object(name, payload)),
        "status": row.status,
        "reason": row.reason,
        "invocation_id": row.invocation_id,
        "started_at": rfc3339(row.started_at),
        "ended_at": row.ended_at.map(rfc3339),
        "warnings": row.warnings,
    });
    if let Some(overridden) = &row.overridden {
        document["override"] = overridden.clone();
    }
    document
}

/// A run that `resume --all` could not continue.
pub fn resume_failure(id: &RunId, playbook: &str, error: &str) -> Value {
    json!({ "id": id, "playbook": playbook, "error": error })
}

fn check_document(run: &Run, check: &CheckReport<'_>) -> Value {
    let mut document = json!({
        "status": check.status,
        "criticality": check.criticality,
        "runs": check.runs,
        "skip_reason": check.skip_reason,
        "issues": check.issues,
        "output": run.output_of(check.index),
        "result": check.record(),
    });
    if let Some(request) = check.prevented {
        document["would_have_done"] = prevented(run, check, request);
    }
    if check.has_items {
        let items = run.item_reports(check.index).map(|item| item_document(run, check, &item));
        document["items"] = items.collect();
    }
    document
}

fn item_document(run: &Run, check: &CheckReport<'_>, item: &ItemReport<'_>) -> Value {
    let plan = run.plan_of();
    let fan = &plan.check(check.index).fan;
    let steps: Vec<Value> = fan
        .iter()
        .zip(item.scope.indices())
        .map(|(parent, index)| json!({ "check": plan.check(*parent).name, "index": index }))
        .collect();
    let mut document = json!({
        "index": item.scope.last(),
        "scope": steps,
        "status": item.status,
        "skip_reason": item.skip_reason,
        "runs": item.runs,
        "output": item.output,
    });
    if let Some(request) = item.prevented {
        document["would_have_done"] = prevented(run, check, request);
    }
    document
}

/// What safe mode kept a check from doing: the rendered request, and what a nested playbook can do outside.
fn prevented(run: &Run, check: &CheckReport<'_>, request: &Request) -> Value {
    let mut document = json!({ "type": request.provider, "request": request.fields });
    if let Some(playbook) = run.nested_effects(check.index) {
        document["nested"] = nested(&playbook);
    }
    document
}

fn artifacts(delivery: Option<&Delivery>) -> Value {
    match delivery {
        Some(delivery) => json!({
            "status": delivery.status,
            "checked_at": rfc3339(delivery.checked_at_ms),
            "missing_required": delivery.missing_required,
            "missing_optional": delivery.missing_optional,
            "produced": delivery.produced,
            "not_expected": delivery.not_expected,
        }),
        None => json!({
            "status": DeliveryStatus::Skipped,
            "checked_at": null,
            "missing_required": [],
            "missing_optional": [],
            "produced": [],
            "not_expected": [],
        }),
    }
}
