//! What must be true of every run in the end, whatever happened to it.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};

use escrow_engine::Run;
use escrow_model::{
    Criticality, EffectState, Ending, Entry, Event, Message, Plan, ProviderName, RunStatus, ScopedCheck,
    SkipReason, Verdict, WaitKind,
};
use escrow_store::{MessageId, Verification, wait_of};
use escrow_testkit::{Invariants, Options, RandomAnswers, Stage, document};
use serde_json::{Value, json};

use crate::case::Case;
use crate::people::Posted;
use crate::shrink::text_of;

/// Audits a run, nested or not, from its journal alone. `live` is the run as the last process knew it.
pub(crate) fn audit(case: &Case, journal: &[Entry], live: Option<&Run>) -> Result<Run, String> {
    let run = Run::replay(journal).map_err(|error| format!("the journal does not replay: {error}"))?;
    if let Some(live) = live
        && *live != run
    {
        return Err("the run is not what its journal says".into());
    }
    if !run.status().is_terminal() {
        return Err(format!("{} is {:?} for ever", run.options().run, run.status()));
    }
    effects(run.plan_of(), journal)?;
    // A run that was opened again attempts what failed again.
    let is_reopened = journal.iter().any(|entry| matches!(entry.event, Event::RunReopened { .. }));
    if !case.retries_failed && !is_reopened {
        // A broken invariant panics; caught here, its report has the journal.
        let check = || Invariants::check(run.plan_of(), run.options().parallelism, journal, &run);
        catch_unwind(AssertUnwindSafe(check)).map_err(|panic| text_of(panic.as_ref()))?;
    }
    Ok(run)
}

/// The run ends as it does without faults, as far as that is determined.
pub(crate) fn ends_as_without_faults(
    case: &Case,
    options: &Options,
    journal: &[Entry],
    run: &Run,
) -> Result<(), String> {
    let asked = journal.iter().any(|entry| {
        matches!(
            entry.event,
            Event::WaitStarted { kind: WaitKind::UnknownEffect, .. } | Event::ReconcileStarted { .. }
        )
    });
    if case.has_oracle() && !asked { oracle(case, options, run) } else { Ok(()) }
}

pub(crate) fn chain_holds(verification: &Verification, entries: usize) -> Result<(), String> {
    match verification {
        Verification::Intact { entries: found, .. } if *found == entries as u64 => Ok(()),
        other => Err(format!("the chain does not hold: {other:?}")),
    }
}

/// An external effect that may have happened is unknown until a person or `reconcile` says otherwise.
pub(crate) fn effects(plan: &Plan, journal: &[Entry]) -> Result<(), String> {
    let careful = |check: &str| {
        plan.find(check).is_some_and(|index| {
            let spec = plan.check(index);
            spec.criticality == Criticality::External && !spec.idempotent
        })
    };
    // A nested run that is cut off is resumed: its own journal says what it has done.
    let nests = |check: &str| {
        plan.find(check).is_some_and(|index| plan.check(index).provider == ProviderName::NESTED)
    };
    let mut open: BTreeSet<ScopedCheck> = BTreeSet::new();
    let mut cut_off: BTreeSet<ScopedCheck> = BTreeSet::new();
    let mut unknown: BTreeMap<ScopedCheck, bool> = BTreeMap::new();
    // By an answer of its own, and not because another check or run is at work on the same effect.
    let mut answered_unknown: BTreeSet<ScopedCheck> = BTreeSet::new();
    let mut confirmed: BTreeSet<ScopedCheck> = BTreeSet::new();
    let mut kept: BTreeSet<ScopedCheck> = BTreeSet::new();
    for entry in journal {
        let location = match &entry.event {
            Event::AttemptStarted { check, scope, .. }
            | Event::AttemptAnswered { check, scope, .. }
            | Event::CheckJudged { check, scope, .. }
            | Event::WaitStarted { check, scope, .. } => ScopedCheck::new(check, scope),
            // A route repeats effects on purpose.
            Event::Routed { .. } => {
                confirmed.clear();
                kept.clear();
                continue;
            }
            Event::RunReopened { .. } => {
                kept.clone_from(&confirmed);
                continue;
            }
            Event::EffectResolved { check, scope, .. }
            | Event::MessageDelivered {
                message: Message::Assume { check, scope, .. }, refused: None, ..
            } => {
                let location = ScopedCheck::new(check, scope);
                unknown.remove(&location);
                answered_unknown.remove(&location);
                kept.remove(&location);
                continue;
            }
            // `reconcile` finds out, or a person is asked.
            Event::ReconcileStarted { check, scope, .. } => {
                unknown.insert(ScopedCheck::new(check, scope), true);
                continue;
            }
            Event::Reconciled { check, scope, finding: Some(_), .. } => {
                let location = ScopedCheck::new(check, scope);
                unknown.remove(&location);
                answered_unknown.remove(&location);
                kept.remove(&location);
                continue;
            }
            // The other one has settled the effect. An own one is settled only by a word that the ledger has.
            Event::LedgerAnswered { check, scope, effect, .. } => {
                let location = ScopedCheck::new(check, scope);
                let is_settled = effect.as_ref().is_some_and(|effect| {
                    matches!(effect.state, EffectState::Confirmed | EffectState::Failed)
                });
                if is_settled {
                    answered_unknown.remove(&location);
                }
                if !answered_unknown.contains(&location) {
                    unknown.remove(&location);
                }
                continue;
            }
            Event::RunResumed { .. } => {
                cut_off.extend(open.iter().cloned());
                continue;
            }
            _ => continue,
        };
        if !careful(&location.check) {
            continue;
        }
        match &entry.event {
            Event::AttemptStarted { .. } => {
                if unknown.contains_key(&location) || cut_off.contains(&location) {
                    return Err(format!("{location} is attempted again although its effect is unknown"));
                }
                if kept.contains(&location) {
                    return Err(format!("{location} was confirmed, and is done again with what failed"));
                }
                if !nests(&location.check) {
                    open.insert(location);
                }
            }
            Event::AttemptAnswered { answer, .. } => {
                open.remove(&location);
                let says_unknown = matches!(&answer.ending, Ending::Fault(fault) if fault.effect_unknown);
                if cut_off.remove(&location) && !says_unknown {
                    return Err(format!("{location} was cut off and is not unknown"));
                }
                if says_unknown {
                    answered_unknown.insert(location.clone());
                    unknown.insert(location, false);
                }
            }
            Event::CheckJudged { verdict: Verdict::Succeeded, .. } => drop(confirmed.insert(location)),
            Event::CheckJudged { verdict: Verdict::Failed, .. } => drop(confirmed.remove(&location)),
            Event::WaitStarted { kind: WaitKind::UnknownEffect, .. } => {
                unknown.insert(location, true);
            }
            _ => {}
        }
    }
    // A run that is stopping asks no more: the ledger keeps what it left unknown.
    let is_stopped = journal.iter().rev().find_map(|entry| match &entry.event {
        Event::RunEnded { reason } => Some(match reason.code.status() {
            RunStatus::Cancelled | RunStatus::TimedOut | RunStatus::Aborted => true,
            RunStatus::Running | RunStatus::Waiting | RunStatus::Completed | RunStatus::Failed => false,
        }),
        _ => None,
    });
    let unasked = unknown.iter().find(|(_, asked)| !**asked && is_stopped != Some(true));
    if let Some((location, _)) = unasked {
        return Err(format!("the effect of {location} is unknown and no person was asked"));
    }
    match cut_off.first() {
        Some(location) => Err(format!("{location} was cut off, and no entry says so")),
        None => Ok(()),
    }
}

/// A message is delivered once, with an entry that says so, unless the run had ended. One that lay there when the
/// run was taken over was delivered then.
pub(crate) fn messages(
    journal: &[Entry],
    posted: &[&Posted],
    delivered: &BTreeMap<MessageId, bool>,
) -> Result<(), String> {
    let mut told: BTreeMap<&str, u32> = BTreeMap::new();
    let mut last_resumed = 0;
    let mut withdrawn: BTreeSet<&str> = BTreeSet::new();
    let mut is_stopping = false;
    for (entry, seq) in journal.iter().zip(1_u64..) {
        match &entry.event {
            Event::MessageDelivered { message, refused, .. } => {
                if let Some(by) = message.by() {
                    *told.entry(by).or_default() += 1;
                    let is_first_word = posted.iter().any(|posted| posted.by == by && posted.is_first_word);
                    let is_gone =
                        is_stopping || wait_of(message).is_some_and(|wait| withdrawn.contains(wait));
                    if let Some(refused) = refused.as_ref().filter(|_| is_first_word && !is_gone) {
                        return Err(format!("the decision of {by} was accepted, then refused: {refused}"));
                    }
                }
                // A denial ends the run, and with it all other waits.
                is_stopping |= match message {
                    Message::Cancel { .. } => true,
                    Message::Deny { .. } => refused.is_none(),
                    Message::Approve { .. } | Message::Answer { .. } | Message::Assume { .. } => false,
                };
            }
            Event::WaitWithdrawn { id, .. } => drop(withdrawn.insert(id)),
            Event::DeadlinePassed {} | Event::WaitExpired { .. } => is_stopping = true,
            Event::CheckSkipped { reason: SkipReason::RunEnded, .. } => is_stopping = true,
            Event::RunResumed { .. } => last_resumed = seq,
            _ => {}
        }
    }
    for Posted { id, by, after_entry, .. } in posted {
        let times = told.remove(by.as_str()).unwrap_or(0);
        match (times, delivered.get(id)) {
            (0, None) if *after_entry < last_resumed => return Err(format!("the message of {by} is lost")),
            (0, None) | (1, Some(_)) | (0, Some(true)) => {}
            (_, delivered) => {
                return Err(format!(
                    "the message of {by} is told {times} times, and delivered: {delivered:?}"
                ));
            }
        }
    }
    match told.keys().next() {
        Some(name) => Err(format!("a message of {name} is delivered that was never sent")),
        None => Ok(()),
    }
}

/// Plays the same plan with the same answers and no faults.
fn oracle(case: &Case, options: &Options, run: &Run) -> Result<(), String> {
    let mut stage = Stage::start(&case.plans.top, options, case.answers.clone());
    for _ in 0..ANSWERS_MAX {
        stage.play(&[]);
        let Some(wait) = stage.drive.run.waits().into_iter().next() else { break };
        stage.message(match wait.kind {
            WaitKind::UnknownEffect => return Ok(()),
            WaitKind::Input => Message::Answer { id: wait.id, text: "yes".into(), by: None },
            WaitKind::Approval | WaitKind::Nested => {
                Message::Approve { id: wait.id, by: None, claim: None, note: None }
            }
        });
    }
    let (expected, found) = (outcome(&stage), outcome_of(run));
    if expected != found {
        return Err(format!("without faults it ends as\n{expected:#}\nand with them as\n{found:#}"));
    }
    Ok(())
}

const ANSWERS_MAX: u32 = 100;

fn outcome(stage: &Stage<RandomAnswers>) -> Value {
    outcome_of(&stage.drive.run)
}

/// Where everything stands, without times and without the order in which things failed.
fn outcome_of(run: &Run) -> Value {
    let document = document(run);
    let mut checks = document["checks"].clone();
    for check in checks.as_object_mut().into_iter().flatten().map(|(_, check)| check) {
        if let Some(items) = check["items"].as_array_mut() {
            items.sort_by_key(|item| item["scope"].to_string());
        }
    }
    json!({ "status": document["run"]["status"], "checks": checks })
}
