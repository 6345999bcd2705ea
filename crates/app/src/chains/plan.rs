//! `chain plan`: what a fire could do, before it does anything. Calls nothing.

use escrow_engine::{KnownCondition, known_condition};
use escrow_model::{CheckIndex, Plan, RunId, RunOptions, event_object};
use escrow_playbook::{EffectPreview, Guard, GuardKind, Question, preview};
use escrow_store::ChainRow;
use serde_json::Value;

use super::fire::FireEvent;
use super::list::plan_of;
use crate::error::Error;

/// What a fire with an event could do.
#[derive(Debug)]
pub struct ChainPlan {
    pub chain: String,
    pub event: Value,
    pub steps: Vec<PlannedStep>,
    /// Who will be asked.
    pub people: Vec<Question>,
}

#[derive(Debug)]
pub struct PlannedStep {
    pub index: usize,
    pub name: Option<String>,
    pub skill: Option<String>,
    pub action: Option<String>,
    /// The file of the playbook that a fire would run now.
    pub playbook: Option<String>,
    pub condition: Option<KnownCondition>,
    pub requires_approval: bool,
    pub timeout_ms: u64,
    /// Those of the step itself, or of the run that it nests.
    pub effects: Vec<EffectPreview>,
    /// What would keep the step from starting, in words.
    pub stopped_by: Vec<String>,
}

/// Looks at what a fire would do, with the playbooks as they are now.
pub fn plan(chain: &ChainRow, event: FireEvent) -> Result<ChainPlan, Error> {
    let plan = plan_of(chain)?;
    let preview = preview(&plan);
    let mut options = RunOptions::new(RunId::new(0, 0), chain.directory.clone(), "");
    options.event = Some(event.name.clone());
    options.payload = event.payload.clone();
    let steps = plan.indices().map(|index| step(&plan, index, &options, &preview.effects)).collect();
    Ok(ChainPlan {
        chain: chain.name.clone(),
        event: event_object(&event.name, event.payload),
        steps,
        people: preview.people,
    })
}

fn step(plan: &Plan, index: CheckIndex, options: &RunOptions, all: &[EffectPreview]) -> PlannedStep {
    let check = plan.check(index);
    let within = format!("{}/", check.name);
    let effects: Vec<EffectPreview> = all
        .iter()
        .filter(|effect| effect.check == check.name || effect.check.starts_with(&within))
        .cloned()
        .collect();
    let condition = known_condition(plan, index, options);
    let work = check.step.as_ref().map(|step| &step.work);
    let nested = check.nested_name().and_then(|name| plan.nested.names.get(name)).cloned();
    PlannedStep {
        index: index.place(),
        name: check.step.as_ref().and_then(|step| step.name.clone()),
        skill: work.and_then(|work| work.skill()).map(str::to_owned),
        action: work.and_then(|work| work.action()).map(str::to_owned),
        playbook: nested,
        stopped_by: stopped_by(plan, index, condition.as_ref(), &effects),
        condition,
        requires_approval: check.requires_approval.is_some(),
        timeout_ms: check.timeout_ms,
        effects,
    }
}

fn stopped_by(
    plan: &Plan,
    index: CheckIndex,
    condition: Option<&KnownCondition>,
    effects: &[EffectPreview],
) -> Vec<String> {
    let check = plan.check(index);
    let mut words = Vec::new();
    match condition {
        Some(KnownCondition { held: Some(true), .. }) => {}
        Some(KnownCondition { held: Some(false), source, .. }) => {
            words.push(format!("its condition `{source}` is false for this event"));
        }
        Some(KnownCondition { held: None, source, .. }) => {
            words.push(format!("its condition `{source}`, when it is false"));
        }
        None if index.place() > 0 => words.push("a step before it that fails".to_owned()),
        None => {}
    }
    if check.requires_approval.is_some() {
        words.push("a person who denies it, or does not answer in time".to_owned());
    }
    let has_contract = |effect: &EffectPreview| effect.guards.iter().any(is_contract);
    if effects.iter().any(has_contract) {
        words.push("a broken contract before the effect".to_owned());
    }
    let inside = effects.iter().flat_map(|effect| &effect.guards);
    for guard in inside.filter(|guard| guard.kind == GuardKind::Approval && guard.check != check.name) {
        let denial = format!("a person who denies `{}`, or does not answer in time", guard.check);
        if !words.contains(&denial) {
            words.push(denial);
        }
    }
    words
}

/// Whether a guard is a contract, and not one of the ways to stop the step that are told by themselves.
fn is_contract(guard: &Guard) -> bool {
    match guard.kind {
        GuardKind::Condition | GuardKind::Failure | GuardKind::Approval => false,
        GuardKind::If
        | GuardKind::Assume
        | GuardKind::Guarantee
        | GuardKind::Schema
        | GuardKind::Rules
        | GuardKind::FailIf
        | GuardKind::Outcome
        | GuardKind::Artifacts
        | GuardKind::Answer => true,
    }
}
