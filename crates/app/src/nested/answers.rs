//! What a nested run tells the check that nests it: a result, a fault with the reason unchanged, or that it waits.

use escrow_engine::{INPUTS_KEPT, LASTING_EFFECTS, NESTED_TOTALS, NestedLease, OPEN_EFFECTS, Run};
use escrow_model::{
    Answer, Ending, FaultClass, FaultCode, InputKind, Plan, ProviderFault, Reason, ReasonCode, RunStatus,
};
use escrow_runtime::NestOutcome;
use serde_json::{Map, Value, json};

use super::{Inputs, Rested};
use crate::documents;

/// `with`, checked against the types that the nested playbook declares.
pub(super) fn inputs(plan: &Plan, with: Option<&Value>) -> Result<Map<String, Value>, ProviderFault> {
    let bad = |message: String| ProviderFault::logical(FaultCode::own("bad_input"), message);
    let given = match with {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(given)) => given.clone(),
        Some(_) => return Err(bad("`with` must be a map of inputs".into())),
    };
    for (name, value) in &given {
        let input =
            plan.inputs.get(name).ok_or_else(|| bad(format!("`{}` has no input `{name}`", plan.name)))?;
        if !input.kind.admits(value) && input.kind != InputKind::Any {
            return Err(bad(format!("input `{name}` must be {}, not {value}", input.kind.with_article())));
        }
    }
    for (name, input) in &plan.inputs {
        if input.required && input.default.is_none() && !given.contains_key(name) {
            return Err(bad(format!("input `{name}` of `{}` is required", plan.name)));
        }
    }
    Ok(given)
}

pub(super) fn outcome_of(run: &Run, inputs: Inputs) -> NestOutcome {
    let reason = run.reason().cloned().unwrap_or_else(driven_by_another_process);
    let status = run.status();
    if !status.is_terminal() {
        return NestOutcome::Waits { child: run.options().run.clone(), reason, lease: NestedLease::Free };
    }
    let outputs: Map<String, Value> = run
        .check_reports()
        .map(|check| {
            // The end of an output is not the whole: its members are not to be read as absent.
            let whole = run.output_of(check.index).filter(|_| !run.has_cut_output(check.index));
            (check.name.to_owned(), whole.cloned().unwrap_or_default())
        })
        .collect();
    let outcomes = documents::run_outcomes(run);
    let output = json!({ "status": status, "reason": reason, "outputs": outputs, "outcomes": outcomes });
    let mut answer = Answer::done(output);
    describe(run, &mut answer);
    if inputs == Inputs::OfTheFirstAttempt {
        let id = &run.options().run;
        let note =
            format!("run `{id}` keeps the inputs that it was started with, because it has had effects");
        answer.record.insert(INPUTS_KEPT.into(), json!(note));
    }
    if status != RunStatus::Completed || reason.code == ReasonCode::CompletedNothingRan {
        let class = match reason.code {
            ReasonCode::FailedExit
            | ReasonCode::FailedCheck
            | ReasonCode::FailedException
            | ReasonCode::FailedConflict
            | ReasonCode::TimedOutDeadline => FaultClass::Transient,
            _ => FaultClass::Logical,
        };
        // The parent gets the reason unchanged, and the fact that an effect is unknown.
        answer.ending = Ending::Fault(ProviderFault {
            code: FaultCode::Nested(reason.code),
            message: reason.summary,
            class,
            effect_unknown: run.has_unknown_effects(),
            retry_after_ms: None,
        });
    }
    NestOutcome::Answered(Box::new(answer))
}

/// The attempt that would have opened this run again.
pub(super) fn conflicting(run: &Run, reason: Reason) -> NestOutcome {
    let fault = ProviderFault {
        code: FaultCode::Nested(reason.code),
        message: reason.summary,
        class: FaultClass::Transient,
        effect_unknown: run.has_unknown_effects(),
        retry_after_ms: None,
    };
    let mut answer = Answer::fault(fault);
    describe(run, &mut answer);
    NestOutcome::Answered(Box::new(answer))
}

/// Which run it was, and what a further attempt or a route must know of its effects.
fn describe(run: &Run, answer: &mut Answer) {
    answer.flaw = run.flaw();
    answer.record.insert("run_id".into(), json!(run.options().run));
    if let Some(totals) = run.harness_totals() {
        answer.record.insert(NESTED_TOTALS.into(), json!(totals));
    }
    if run.has_open_effects() {
        answer.record.insert(OPEN_EFFECTS.into(), json!(true));
    }
    if run.has_lasting_effects() {
        answer.record.insert(LASTING_EFFECTS.into(), json!(true));
    }
}

/// An ended run can be held, too: another process is about to reopen it. Why it ended is no reason to wait.
pub(super) fn elsewhere(run: &Run) -> Rested {
    let waits = run.reason().filter(|reason| reason.code.status() == RunStatus::Waiting).cloned();
    let reason = waits.unwrap_or_else(driven_by_another_process);
    Rested::Elsewhere { child: run.options().run.clone(), reason }
}

pub(super) fn driven_by_another_process() -> Reason {
    Reason {
        code: ReasonCode::WaitingInput,
        summary: "another process drives the nested run".into(),
        evidence: Vec::new(),
    }
}

/// A run that was started before nested playbooks were part of its plan. What the file holds now is not what the run
/// was started with.
pub(super) fn not_in_the_snapshot(name: &str) -> ProviderFault {
    let message = format!("the plan of this run does not contain the playbook `{name}`; start a new run");
    ProviderFault::logical(FaultCode::own("bad_playbook"), message)
}

pub(super) fn not_begun() -> ProviderFault {
    ProviderFault::transient(FaultCode::Cancelled, "the run ended before the nested one began")
}

pub(super) fn failed(error: &impl ToString) -> ProviderFault {
    ProviderFault::transient(FaultCode::Exception, error.to_string())
}
