//! Chains and their runs: `chain list`, `chain show`, `chain plan`, `chain runs` and `chain fire`.

use escrow_engine::{Evaluation, Run};
use escrow_model::{CheckIndex, RunStatus, rfc3339};
use escrow_store::{ChainRunRow, FireRow};
use serde_json::{Value, json};

use crate::chains::{ChainPlan, ChainRun, ListedChain, PlannedStep, StepLinks};

pub fn chains(listed: &[ListedChain]) -> Value {
    json!({ "chains": listed.iter().map(chain).collect::<Vec<_>>() })
}

/// A defined chain: what it is, what became of its file, and how its runs ended.
pub fn chain(listed: &ListedChain) -> Value {
    let row = &listed.row;
    let last = listed.runs.first();
    let waiting = listed.runs.iter().filter(|run| run.status == RunStatus::Waiting).count();
    let mut counts = serde_json::Map::new();
    for run in &listed.runs {
        let status = status(run.status);
        let count = counts.get(status).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(status.to_owned(), json!(count + 1));
    }
    json!({
        "id": row.id,
        "name": row.name,
        "status": row.status,
        "description": row.description(),
        "trigger": row.trigger(),
        "concurrency": row.concurrency(),
        "max_depth": row.max_depth(),
        "steps": steps_of_definition(&row.definition),
        "file": row.file,
        "file_state": listed.file.as_str(),
        "directory": row.directory,
        "version": row.version,
        "sha256": row.sha256,
        "defined_by": row.defined_by,
        "created_at": rfc3339(row.created_at),
        "updated_at": rfc3339(row.updated_at),
        "last_run": last.map(row_summary),
        "not_begun": listed.not_begun.as_ref().map(crate::fires::document),
        "waiting": waiting,
        "recent": counts,
    })
}

/// The steps of a definition as the file has them, each with its index.
fn steps_of_definition(definition: &Value) -> Vec<Value> {
    let steps = definition.get("steps").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let indexed = steps.iter().enumerate().map(|(index, step)| {
        let mut step = step.clone();
        if let Some(members) = step.as_object_mut() {
            members.insert("index".to_owned(), json!(index));
        }
        step
    });
    indexed.collect()
}

fn row_summary(run: &ChainRunRow) -> Value {
    json!({
        "id": run.id,
        "status": status(run.status),
        "trigger_event": run.trigger_event,
        "created_at": rfc3339(run.created_at),
    })
}

/// A chain with its text, its last runs and its last fires without a run.
pub fn chain_with_runs(listed: &ListedChain, runs: &[ChainRun], fires: &[FireRow]) -> Value {
    let mut document = chain(listed);
    document["definition"] = listed.row.definition.clone();
    document["text"] = json!(listed.row.text);
    let mut whole = chain_runs(runs, fires);
    whole["chain"] = document;
    whole
}

/// Runs of chains, and fires without a run.
pub fn chain_runs(runs: &[ChainRun], fires: &[FireRow]) -> Value {
    let runs: Vec<Value> = runs.iter().map(chain_run).collect();
    let fires: Vec<Value> = fires.iter().map(crate::fires::document).collect();
    json!({ "chain_runs": runs, "fires": fires })
}

/// A run of a chain with its steps.
pub fn chain_run(chain_run: &ChainRun) -> Value {
    let ChainRun { row, run, .. } = chain_run;
    let steps: Vec<Value> = chain_run.steps().map(|(index, links)| step(run, index, links)).collect();
    json!({
        "id": row.id,
        "chain": row.chain,
        "title": run.title(),
        "status": status(run.status()),
        "reason": run.reason(),
        "trigger_event": row.trigger_event,
        "fire_key": row.fire_key,
        "invocation_id": row.invocation_id,
        "current_step": row.current_step,
        "started_at": rfc3339(row.created_at),
        "ended_at": run.ended_at().map(rfc3339),
        "steps": steps,
    })
}

/// The words of the seed: a run that waits for a person, for whatever it is, waits for an approval.
pub fn status(status: RunStatus) -> &'static str {
    match status {
        RunStatus::Waiting => "waiting_approval",
        RunStatus::Running
        | RunStatus::Completed
        | RunStatus::Failed
        | RunStatus::TimedOut
        | RunStatus::Aborted
        | RunStatus::Cancelled => status.as_str(),
    }
}

fn step(run: &Run, index: CheckIndex, links: &StepLinks) -> Value {
    let check = run.plan_of().check(index);
    let report = run.check_report(index);
    let work = check.step.as_ref().map(|step| &step.work);
    let is_decided = report.status != escrow_model::CheckStatus::Pending;
    let condition = is_decided.then(|| run.step_condition(index)).flatten();
    let source = check.step.as_ref().and_then(|step| step.condition.as_ref()).map(|one| one.source());
    json!({
        "index": index.place(),
        "name": check.step.as_ref().and_then(|step| step.name.as_deref()),
        "check": check.name,
        "skill": work.and_then(|work| work.skill()),
        "action": work.and_then(|work| work.action()),
        "status": report.status,
        "skip_reason": report.skip_reason,
        "condition": source.map(|source| condition_document(source, condition.as_ref())),
        "criticality": report.criticality,
        "requires_approval": check.requires_approval.is_some(),
        "invocation_id": links.invocation,
        "run_id": links.run,
        "run_status": links.run_status,
        "outcome": run.step_outcome(index),
        "output": if links.run.is_some() { None } else { run.output_of(index) },
        "approval_id": links.approval,
        "issues": report.issues,
        "attempts": report.runs,
    })
}

fn condition_document(source: &str, seen: Option<&Evaluation>) -> Value {
    let values: Vec<Value> = seen
        .map(|seen| {
            let parts = seen.explanation.walk().into_iter();
            parts.map(|part| json!({ "source": part.source, "value": part.value })).collect()
        })
        .unwrap_or_default();
    json!({ "source": source, "held": seen.and_then(|seen| seen.held), "values": values })
}

/// `chain plan`: every step, what its condition comes to where that is known, what it could do, and what would stop it.
pub fn chain_plan(plan: &ChainPlan) -> Value {
    json!({
        "chain": plan.chain,
        "trigger_event": plan.event,
        "steps": plan.steps.iter().map(planned_step).collect::<Vec<_>>(),
        "people": plan.people,
    })
}

fn planned_step(step: &PlannedStep) -> Value {
    let condition = step.condition.as_ref().map(|condition| {
        let reads = condition.reads.iter();
        let values: Vec<Value> =
            reads.map(|(source, value)| json!({ "source": source, "value": value })).collect();
        json!({ "source": condition.source, "value": condition.held, "values": values })
    });
    json!({
        "index": step.index,
        "name": step.name,
        "skill": step.skill,
        "action": step.action,
        "playbook": step.playbook,
        "condition": condition,
        "requires_approval": step.requires_approval,
        "timeout_ms": step.timeout_ms,
        "effects": step.effects,
        "stopped_by": step.stopped_by,
    })
}
