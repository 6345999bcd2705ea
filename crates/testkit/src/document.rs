//! The typed reports of a run as one JSON value, for tests that compare or quote parts of it.
//!
//! Not the product's document: `app::documents` owns that, and the tests of the binary guard its shape.

use escrow_engine::{CheckReport, Overridden, Run};
use escrow_model::rfc3339;
use serde_json::{Map, Value, json};

/// Where a run and its checks stand.
pub fn document(run: &Run) -> Value {
    let checks: Map<String, Value> =
        run.check_reports().map(|check| (check.name.to_owned(), check_of(run, &check))).collect();
    let outcomes = run.outcomes().map(|(at, recorded)| {
        let mut value = json!(recorded);
        value["created_at"] = rfc3339(at).into();
        value["run_id"] = run.options().run.as_str().into();
        value
    });
    json!({
        "run": run_of(run),
        "checks": checks,
        "artifacts": run.delivery().map_or(json!({ "status": "skipped" }), |delivery| json!(delivery)),
        "outcomes": outcomes.collect::<Vec<_>>(),
    })
}

fn run_of(run: &Run) -> Value {
    let mut value = json!({
        "id": run.options().run,
        "status": run.status(),
        "reason": run.reason(),
        "started_at": rfc3339(run.started_at()),
        "ended_at": run.ended_at().map(rfc3339),
        "warnings": run.warnings(),
    });
    if let Some(Overridden { from, by, why, at }) = run.overridden() {
        value["override"] = json!({ "from": from, "by": by, "why": why, "at": rfc3339(*at) });
    }
    value
}

fn check_of(run: &Run, check: &CheckReport<'_>) -> Value {
    let mut value = json!({
        "status": check.status,
        "criticality": check.criticality,
        "runs": check.runs,
        "skip_reason": check.skip_reason,
        "issues": check.issues,
        "output": run.output_of(check.index),
        "result": check.record(),
    });
    if check.has_items {
        let fan = &run.plan_of().check(check.index).fan;
        let step = |(parent, index)| json!({ "check": run.plan_of().check(parent).name, "index": index });
        let items = run.item_reports(check.index).map(|item| {
            let steps = fan.iter().copied().zip(item.scope.indices().iter().copied()).map(step);
            json!({
                "index": item.scope.last(),
                "scope": steps.collect::<Vec<_>>(),
                "status": item.status,
                "skip_reason": item.skip_reason,
                "runs": item.runs,
                "output": item.output,
            })
        });
        value["items"] = items.collect();
    }
    value
}
