//! Decides fires and begins their runs.
//!
//! ```text
//!   recorded ──decide──▶ accepted ──begin_fire──▶ begun ──drive──▶ run at rest
//!                    └─▶ skipped, with the reason
//! ```
//!
//! **Invariant:** each arrow is one transaction, and each can be repeated: a process that dies between two of them leaves
//! a fire that the next process continues.

use std::time::Duration;

use escrow_engine::Run;
use escrow_model::{
    CatchUp, ChainConcurrency, ChainRules, ChainStatus, EffectState, Event, EventTrigger, Message, RunId,
    RunStatus,
};
use escrow_playbook::{Diagnostic, Severity};
use escrow_runtime::now_ms;
use escrow_store::{ChainRow, FireDecision, FireFilter, FireRow, FireRules, LookupError, NewFire};
use serde_json::{Value, json};

use crate::app::App;
use crate::chains::{self, FireEvent, FireOutcome, FiredRun};
use crate::effects::{self, EffectQuery};
use crate::error::{Class, Error};
use crate::runs;

/// How long a run that the world keeps from beginning is tried again.
const BEGIN_MS_MAX: u64 = 15 * 60 * 1000;

/// How often a fire by hand looks whether its turn has come.
const TURN_INTERVAL: Duration = Duration::from_millis(200);

/// The fires that pass the filter, newest first. Creates no state.
pub async fn list(app: &App, filter: &FireFilter) -> Result<Vec<FireRow>, Error> {
    Ok(app.fires_to_read()?.fires(filter).await?)
}

/// Documents of the fires that have no run, or not yet, newest first.
pub async fn without_run(app: &App, chain: Option<&str>, limit: usize) -> Result<Vec<Value>, Error> {
    let filter = FireFilter { chain: chain.map(str::to_owned), without_run: true, limit: Some(limit) };
    Ok(list(app, &filter).await?.iter().map(document).collect())
}

/// A fire as documents show it.
pub fn document(fire: &FireRow) -> Value {
    let reason = match (fire.code, &fire.reason) {
        (Some(code), Some(summary)) => json!({ "code": code, "summary": summary }),
        (_, _) => Value::Null,
    };
    let mut event = fire.payload.clone();
    event.insert(EventTrigger::NAME_FIELD.to_owned(), json!(fire.event));
    json!({
        "chain": fire.chain,
        "key": fire.key,
        "at": escrow_model::rfc3339(fire.at),
        "event": event,
        "depth": fire.depth,
        "status": fire.status,
        "reason": reason,
        "run_id": fire.run,
    })
}

/// Decides a fire by the active definition of its chain.
pub(crate) async fn decide(app: &App, fire: &FireRow) -> Result<FireDecision, Error> {
    let chain = app.queries()?.chain(&fire.chain).await?;
    let rules = rules(chain.as_ref(), &fire.key, &fire.event);
    Ok(app.fires()?.decide_fire(fire.id, rules).await?)
}

/// The rules for a fire of this chain.
pub(crate) fn rules(chain: Option<&ChainRow>, key: &str, event: &str) -> FireRules {
    let is_by_hand = key.starts_with(BY_HAND);
    let inactive = match chain.map(|chain| chain.status) {
        None => Some("the chain is not defined any more"),
        Some(ChainStatus::Disabled) => Some("the chain is disabled"),
        Some(ChainStatus::Paused) if !is_by_hand => Some("the chain is paused"),
        Some(ChainStatus::Active | ChainStatus::Paused) => None,
    };
    let defined = |key: &str| chain.and_then(|chain| chain.definition.get(key));
    let concurrency = defined("concurrency").and_then(Value::as_str).and_then(ChainConcurrency::parse);
    let max_depth = defined("max_depth").and_then(Value::as_u64).and_then(|depth| u32::try_from(depth).ok());
    FireRules {
        concurrency: concurrency.unwrap_or_default(),
        catches_up: event == EventTrigger::SCHEDULE && defined("trigger").is_some_and(catches_up),
        max_depth: max_depth.unwrap_or(ChainRules::MAX_DEPTH),
        inactive,
        at: now_ms(),
    }
}

/// Whether a schedule of the trigger says `catch_up: all`.
fn catches_up(trigger: &Value) -> bool {
    let sources = ["any", "all"].iter().filter_map(|key| trigger.get(key)?.as_array()).flatten();
    sources
        .chain([trigger])
        .any(|source| source["catch_up"].as_str().and_then(CatchUp::parse) == Some(CatchUp::All))
}

/// Begins the run of an accepted fire. `None` when it has its run already, or when it could not begin and will be tried
/// again.
pub(crate) async fn begin(app: &App, fire: &FireRow) -> Result<Option<FiredRun>, Error> {
    let fires = app.fires()?;
    let Some(chain) = app.queries()?.chain(&fire.chain).await? else {
        fires.fire_failed(fire.id, "the chain is not defined any more", now_ms()).await?;
        return Err(Error::not_found("unknown_chain", format!("no chain is called `{}`", fire.chain)));
    };
    let event = FireEvent { name: fire.event.clone(), payload: fire.payload.clone(), depth: fire.depth };
    match chains::begin_fire(app, &chain, &fire.key, event).await {
        Ok(outcome) => {
            fires.fire_begun(fire.id, now_ms()).await?;
            Ok(match outcome {
                FireOutcome::Begun(run) => Some(run),
                FireOutcome::Known(_) => None,
            })
        }
        Err(error) => {
            let tried_ms = now_ms().saturating_sub(fire.decided_at.unwrap_or(fire.at));
            let is_final = match error.class() {
                Class::Stopped => false,
                Class::World => tried_ms > BEGIN_MS_MAX,
                Class::Author | Class::Person | Class::Bug => true,
            };
            if is_final {
                fires.fire_failed(fire.id, &why_not(&error), now_ms()).await?;
            }
            Err(error)
        }
    }
}

/// The error in one line, with the first problem of the file where it is about one.
fn why_not(error: &Error) -> String {
    let is_error = |one: &&Diagnostic| one.severity == Severity::Error;
    let problem = error.diagnoses().and_then(|found| found.diagnostics().iter().find(is_error));
    if let Some(Diagnostic { code, message, file, line, label, .. }) = problem {
        return format!("{error}: {message}: {label} ({code}, {file}:{line})");
    }
    error.hint().map_or_else(|| error.to_string(), |hint| format!("{error}; {hint}"))
}

const BY_HAND: &str = "manual-";

/// Fires a chain by hand and drives its run until it ends or waits. A fire that must wait for its turn waits here.
pub async fn fire_by_hand(app: &App, chain: &ChainRow, mut event: FireEvent) -> Result<Run, Error> {
    let fires = app.fires()?;
    event.depth = depth_here(app, chain).await?.saturating_add(1);
    let new = NewFire {
        chain_id: chain.id.clone(),
        chain: chain.name.clone(),
        key: chains::fire_key()?,
        at: now_ms(),
        event: event.name,
        payload: event.payload,
        depth: event.depth,
        refused: None,
    };
    let mut fire = fires.record_fire(&new).await?;
    loop {
        match decide(app, &fire).await? {
            FireDecision::Accepted(accepted) => {
                return match begin(app, &accepted).await? {
                    Some(run) => chains::drive(app, run).await,
                    None => runs::replay_of(&*app.queries()?, &accepted.run).await,
                };
            }
            FireDecision::Waits(waiting) => fire = waiting,
            FireDecision::Replaces { fire: waiting, runs } => {
                fire = waiting;
                for run in &runs {
                    if replace(app, run, &fire.run).await? == Replaced::Asks {
                        return Err(waits_for_a_person(&fire, run));
                    }
                }
            }
            FireDecision::Settled(settled) => return refused(app, &settled).await,
        }
        app.unless_stopped(tokio::time::sleep(TURN_INTERVAL)).await?;
    }
}

/// How far a run is with making way for a newer fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Replaced {
    /// It has ended, or was asked to.
    Ends,
    /// An effect of it is under way, after which it ends.
    Stays,
    /// A person must first say what became of its effect.
    Asks,
}

/// Asks a run to end that a newer fire replaces. An effect is never cut off to make room.
pub(crate) async fn replace(app: &App, run: &RunId, successor: &RunId) -> Result<Replaced, Error> {
    let row = match app.queries()?.run(run.as_str()).await {
        Ok(row) if !row.status.is_terminal() => row,
        // It has ended, or has not begun.
        Ok(_) | Err(LookupError::None(_) | LookupError::Ambiguous { .. }) => return Ok(Replaced::Ends),
        Err(error @ LookupError::Store(_)) => return Err(error.into()),
    };
    let asked = asked(app, run, successor).await?;
    let effects =
        effects::list(app, &EffectQuery { run: Some(run.to_string()), ..Default::default() }).await?;
    if effects.iter().any(|effect| matches!(effect.state, EffectState::Intended | EffectState::Unknown)) {
        if asked == Asked::Not {
            // The process that drives the run reads the request. Without one the request stays until the run is resumed.
            runs::request_way(app, &row, successor).await?;
        }
        return Ok(if row.status == RunStatus::Waiting { Replaced::Asks } else { Replaced::Stays });
    }
    match asked {
        Asked::Delivered => return Ok(Replaced::Stays),
        Asked::Sent if app.journal()?.lease_of(run).await?.is_some() => return Ok(Replaced::Stays),
        Asked::Not | Asked::Sent => {}
    }
    match runs::make_way(app, &row, successor).await {
        Ok(_) => Ok(Replaced::Ends),
        // Another process is about to end it.
        Err(error) if matches!(error.class(), Class::Person | Class::Author) => Ok(Replaced::Ends),
        Err(error) => Err(error),
    }
}

/// Whether a run knows that it is to make way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    Not,
    /// It has not read the request yet.
    Sent,
    /// It ends, or does so after the effect that is under way.
    Delivered,
}

async fn asked(app: &App, run: &RunId, successor: &RunId) -> Result<Asked, Error> {
    let is_ours = |message: &Message| matches!(message, Message::Cancel { successor: Some(other), patient: true, .. } if other == successor);
    if app.queries()?.undelivered(run).await?.iter().any(|sent| is_ours(&sent.message)) {
        return Ok(Asked::Sent);
    }
    let entries = app.journal()?.entries(run, 0).await?;
    let is_delivered = entries.iter().any(|(_, entry)| match &entry.event {
        Event::MessageDelivered { message, .. } => is_ours(message),
        _ => false,
    });
    Ok(if is_delivered { Asked::Delivered } else { Asked::Not })
}

fn waits_for_a_person(fire: &FireRow, open: &RunId) -> Error {
    let message = format!(
        "chain `{}` was fired but has not begun: an effect of run `{open}` may or may not have happened",
        fire.chain
    );
    Error::person("fire_waits", message)
        .help("settle it (`escrow approvals` says how); then `escrow chain check` begins this fire")
}

async fn refused(app: &App, fire: &FireRow) -> Result<Run, Error> {
    let Some(code) = fire.code else {
        return runs::replay_of(&*app.queries()?, &fire.run).await;
    };
    let why = fire.reason.as_deref().unwrap_or_default();
    Err(Error::person("fire_skipped", format!("chain `{}` was not fired: {why}", fire.chain))
        .help(format!("`escrow explain {}` says what to do", code.as_str())))
}

/// The depth of the chain run that the caller is a part of; 0 outside of chains.
async fn depth_here(app: &App, chain: &ChainRow) -> Result<u32, Error> {
    let fires = app.fires()?;
    let mut depth = 0;
    for run in app.runs_around() {
        let Some(around) = fires.fire_of_run(&RunId::from_stored(run)).await? else { continue };
        if around.chain_id == chain.id {
            let message = format!("a step of chain `{}` cannot fire the chain", chain.name);
            return Err(Error::person("own_step", message).help("let the chain have one more step instead"));
        }
        depth = depth.max(around.depth);
    }
    Ok(depth)
}
