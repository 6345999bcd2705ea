//! Decides fires and begins their runs.
//!
//! ```text
//!   recorded ──decide──▶ accepted ──begin_fire──▶ begun ──drive──▶ run at rest
//!                    └─▶ skipped, with the reason
//! ```
//!
//! **Invariant:** each arrow is one transaction, and each can be repeated: a process that dies between two of them leaves
//! a fire that the next process continues.

mod by_hand;
mod replace;
mod turn;

use escrow_model::{CatchUp, ChainRules, ChainStatus, EventTrigger, FireCode, TriggerSource};
use escrow_playbook::{Diagnostic, Severity};
use escrow_runtime::now_ms;
use escrow_store::{ChainRow, FireDecision, FireFilter, FireRow, FireRules};
use serde_json::{Value, json};

pub(crate) use by_hand::fire_by_hand;
pub(crate) use replace::replace;

use crate::app::App;
use crate::chains::{self, FireEvent, FireOutcome, FiredRun};
use crate::error::{Class, Error};
use crate::schedule::trigger_of;

/// How long a run that the world keeps from beginning is tried again.
const BEGIN_MS_MAX: u64 = 15 * 60 * 1000;

/// The beginning of the keys of fires by hand.
const BY_HAND: &str = "manual-";

/// The fires that pass the filter, newest first. Creates no state.
pub async fn list(app: &App, filter: &FireFilter) -> Result<Vec<FireRow>, Error> {
    Ok(app.fires_to_read()?.fires(filter).await?)
}

/// The fires that have no run, or not yet, newest first.
pub async fn without_run(app: &App, chain: Option<&str>, limit: usize) -> Result<Vec<FireRow>, Error> {
    let filter = FireFilter { chain: chain.map(str::to_owned), without_run: true, limit: Some(limit) };
    list(app, &filter).await
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
    FireRules {
        concurrency: chain.map(ChainRow::concurrency).unwrap_or_default(),
        catches_up: event == EventTrigger::SCHEDULE && chain.is_some_and(catches_up),
        max_depth: chain.map_or(ChainRules::MAX_DEPTH, ChainRow::max_depth),
        inactive,
        at: now_ms(),
    }
}

/// Whether a schedule of the chain says `catch_up: all`.
fn catches_up(chain: &ChainRow) -> bool {
    let sources = trigger_of(chain).map(|trigger| trigger.sources).unwrap_or_default();
    sources.iter().any(|source| match source {
        TriggerSource::Schedule(schedule) => schedule.catch_up == CatchUp::All,
        TriggerSource::Event(_) => false,
    })
}

/// Begins the run of an accepted fire. `None` when it has its run already, or when it could not begin and will be tried
/// again.
pub(crate) async fn begin(app: &App, fire: &FireRow) -> Result<Option<FiredRun>, Error> {
    let fires = app.fires()?;
    let Some(chain) = app.queries()?.chain(&fire.chain).await? else {
        let why = "the chain is not defined any more";
        fires.fire_failed(fire.id, FireCode::FailedBegin, why, now_ms()).await?;
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
                let code = match error.diagnoses() {
                    Some(_) => FireCode::FailedDefinition,
                    None => FireCode::FailedBegin,
                };
                fires.fire_failed(fire.id, code, &why_not(&error), now_ms()).await?;
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
