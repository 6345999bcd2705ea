//! Effects of external checks: what the ledger has, and how a person settles an unknown one.

mod inside;
mod settled_by;

use std::collections::BTreeSet;

use escrow_engine::{EffectResolution, Run};
use escrow_model::{EffectState, Entry, Event, Message, ProviderName, RunId, WaitKind};
use escrow_runtime::{Inseparable, now_ms};
use escrow_store::{EffectFilter, Queries, RunRow};

pub use escrow_engine::SettledAs;
pub use escrow_store::EffectRow;

pub(crate) use inside::settle_inside;
pub(crate) use settled_by::not_unknown;

use crate::app::App;
use crate::error::{Error, Kind};
use crate::messages::{outsider, record_assumptions};
use crate::person_text::{NAME_LENGTH_MAX, WHY_LENGTH_MAX, one_line, text};
use crate::runs::{
    Purpose, commit_after_end, drive_around, driver_of, inseparable, is_driven, replay, take_over,
};

/// Which effects are asked for; all when empty.
#[derive(Debug, Default)]
pub struct EffectQuery {
    /// A run, with the runs nested in it.
    pub run: Option<String>,
    pub key: Option<String>,
    /// At most so many, the newest.
    pub limit: Option<usize>,
}

/// The effects, newest first. One that is intended by a process which is gone is unknown.
pub async fn list(app: &App, query: &EffectQuery) -> Result<Vec<EffectRow>, Error> {
    let queries = app.queries()?;
    let runs = match &query.run {
        None => Vec::new(),
        Some(name) => with_nested(&*queries, queries.run(name).await?.id).await?,
    };
    found(&*queries, &EffectFilter { runs, key: query.key.clone(), limit: query.limit }).await
}

/// The effects of a run whose journal was read, and of the runs that were nested in it.
pub async fn of_run(queries: &dyn Queries, run: &RunId, entries: &[Entry]) -> Result<Vec<EffectRow>, Error> {
    let runs = with_nested_of(queries, run.clone(), entries).await?;
    found(queries, &EffectFilter { runs, key: None, limit: None }).await
}

async fn found(queries: &dyn Queries, filter: &EffectFilter) -> Result<Vec<EffectRow>, Error> {
    let mut rows = queries.effects(filter).await?;
    for row in &mut rows {
        row.state = state_now(queries, row).await?;
    }
    Ok(rows)
}

/// A request to settle an effect.
#[derive(Debug)]
pub struct Resolve {
    pub key: String,
    pub settled_as: SettledAs,
    pub by: String,
    pub why: String,
}

/// The effect as it is now, and the run of it if that was driven here.
#[derive(Debug)]
pub struct Resolved {
    pub effect: EffectRow,
    pub run: Option<Box<Run>>,
}

/// Settles an effect that is unknown, or that its run asks a person about. A run that waits for the answer continues
/// here, unless another process drives it.
pub async fn resolve(app: &App, request: &Resolve) -> Result<Resolved, Error> {
    outsider::check(app).await?;
    one_line("--by", &request.by, NAME_LENGTH_MAX)?;
    text("--why", &request.why, WHY_LENGTH_MAX)?;
    let queries = app.queries()?;
    let filter = EffectFilter { key: Some(request.key.clone()), ..EffectFilter::default() };
    let Some(effect) = queries.effects(&filter).await?.pop() else {
        let message = format!("no effect has the key `{}`", request.key);
        return Err(Error::not_found("unknown_effect", message).help("`escrow effects` lists all"));
    };
    let row = queries.run(effect.run.as_str()).await?;
    match state_now(&*queries, &effect).await? {
        EffectState::Unknown if is_left_inside(&*queries, &row, &effect).await? => {
            return Err(left_inside(&effect));
        }
        EffectState::Unknown => {}
        EffectState::Intended => return Err(under_way(&effect)),
        // A run can wait for a decision about an effect that failed or broke its contract, when `reconcile` has no answer.
        EffectState::Confirmed | EffectState::Failed if is_asked_about(&*queries, &row, &effect).await? => {}
        state @ (EffectState::Confirmed | EffectState::Failed) => {
            return Err(not_unknown(&*queries, &effect, state).await);
        }
    }
    let run = if row.status.is_terminal() {
        Box::pin(after_end(app, &row, &effect, request)).await?;
        let word = (request.settled_as, request.by.clone(), request.why.clone());
        Box::pin(inside::settle(app, &row, (&effect.check, &effect.scope), word)).await?;
        None
    } else {
        tell(app, &row, &effect, request).await?
    };
    let effect = queries.effects(&filter).await?.pop().unwrap_or(effect);
    Ok(Resolved { effect, run })
}

/// Whether the effect is that of a nested run which has not ended: it is not for a person to say, but for that run.
async fn is_left_inside(queries: &dyn Queries, row: &RunRow, effect: &EffectRow) -> Result<bool, Error> {
    if row.status.is_terminal() {
        return Ok(false);
    }
    let run = replay(queries, row).await?;
    let plan = run.plan_of();
    let is_nested =
        plan.find(&effect.check).is_some_and(|check| plan.check(check).provider == ProviderName::NESTED);
    Ok(is_nested && !run.waits_for_effect(&effect.check, &effect.scope, &effect.key))
}

fn left_inside(effect: &EffectRow) -> Error {
    let EffectRow { key, check, run, .. } = effect;
    let message =
        format!("effect `{key}` is that of a nested run, which `{check}` of run `{run}` left unfinished");
    Error::person("nested_run", message).help(format!("`escrow resume {run}` continues it"))
}

async fn is_asked_about(queries: &dyn Queries, row: &RunRow, effect: &EffectRow) -> Result<bool, Error> {
    if row.status.is_terminal() {
        return Ok(false);
    }
    let run = replay(queries, row).await?;
    let plan = run.plan_of();
    // Its run asks because it has not heard yet what the ledger has.
    let is_settled = run.open_effects().iter().any(|open| {
        let is_this = plan.check(open.check).name == effect.check && open.scope == effect.scope;
        is_this && run.is_settled(open, &effect.into())
    });
    Ok(!is_settled && run.waits_for_effect(&effect.check, &effect.scope, &effect.key))
}

/// One more entry in the journal of a run that has ended.
async fn after_end(app: &App, row: &RunRow, effect: &EffectRow, request: &Resolve) -> Result<(), Error> {
    let taken = take_over(app, row).await?;
    // Another person may have settled it before this process took the run over.
    let filter = EffectFilter { key: Some(effect.key.clone()), ..EffectFilter::default() };
    let queries = app.queries()?;
    let now = queries.effects(&filter).await.map(|mut rows| rows.pop());
    match now {
        Ok(Some(EffectRow { state: EffectState::Unknown | EffectState::Intended, .. })) => {}
        other => {
            app.journal()?.release(&taken.lease).await?;
            let settled = other?.unwrap_or_else(|| effect.clone());
            return Err(not_unknown(&*queries, &settled, settled.state).await);
        }
    }
    let committed = commit_after_end(app, taken, |run, redactor| {
        // A key is compared: with stars in it, the entry would be about another effect.
        if redactor.finds(effect.key.as_bytes()) {
            return Err(inseparable(&Inseparable));
        }
        let (mut by, mut why) = (request.by.trim().to_owned(), request.why.trim().to_owned());
        redactor.text(&mut by);
        redactor.text(&mut why);
        let (check, scope, key) = (effect.check.clone(), effect.scope.clone(), effect.key.clone());
        let resolution = EffectResolution { check, scope, key, settled_as: request.settled_as, by, why };
        let fenced = || Error::person("fenced", format!("another process has taken over run `{}`", row.id));
        run.resolve_effect(now_ms(), resolution).ok_or_else(fenced)
    });
    committed.await.map(drop)
}

/// A message to a run that has not ended.
async fn tell(
    app: &App,
    row: &RunRow,
    effect: &EffectRow,
    request: &Resolve,
) -> Result<Option<Box<Run>>, Error> {
    let message = Message::Assume {
        check: effect.check.clone(),
        scope: effect.scope.clone(),
        assumption: request.settled_as.into(),
        by: Some(request.by.trim().to_owned()),
        why: Some(request.why.trim().to_owned()),
    };
    record_assumptions(app, row, &[message]).await?;
    if driver_of(app, row).await?.is_some() {
        return Ok(None);
    }
    match drive_around(app, row, Purpose::Resume).await {
        Ok(run) => Ok(Some(Box::new(run))),
        // A process that took the run over meanwhile reads the message.
        Err(error) if error.kind() == Kind::Held => Ok(None),
        Err(error) => Err(error),
    }
}

/// A live process is at work on it, so it is not for a person to say.
pub(crate) fn under_way(effect: &EffectRow) -> Error {
    let message = format!("effect `{}` is under way in run `{}`", effect.key, effect.run);
    Error::person("under_way", message).help(format!("`escrow wait {}`", effect.run))
}

/// One that is intended by a process which is gone is unknown.
pub(crate) async fn state_now(queries: &dyn Queries, effect: &EffectRow) -> Result<EffectState, Error> {
    if effect.state != EffectState::Intended {
        return Ok(effect.state);
    }
    let row = queries.run(effect.run.as_str()).await?;
    Ok(if is_driven(queries, &row).await? { EffectState::Intended } else { EffectState::Unknown })
}

/// A run, and the runs that were nested in it, at any depth.
async fn with_nested(queries: &dyn Queries, run: RunId) -> Result<Vec<RunId>, Error> {
    let entries = queries.entries(&run, 0).await?;
    with_nested_of(queries, run, entries.iter().map(|(_, entry)| entry)).await
}

/// The same for a run whose journal was read.
async fn with_nested_of<'e>(
    queries: &dyn Queries,
    run: RunId,
    entries: impl IntoIterator<Item = &'e Entry>,
) -> Result<Vec<RunId>, Error> {
    let mut found = vec![run.clone()];
    let mut known = BTreeSet::from([run]);
    let mut add = |found: &mut Vec<RunId>, entry: &Entry| {
        found.extend(nested_in(entry).into_iter().filter(|run| known.insert(run.clone())));
    };
    for entry in entries {
        add(&mut found, entry);
    }
    let mut next = 1;
    while let Some(run) = found.get(next).cloned() {
        next += 1;
        for (_, entry) in queries.entries(&run, 0).await? {
            add(&mut found, &entry);
        }
    }
    Ok(found)
}

/// The nested run that an entry names.
fn nested_in(entry: &Entry) -> Option<RunId> {
    let nested = match &entry.event {
        Event::WaitStarted { kind: WaitKind::Nested, id, .. } => Some(id.as_str()),
        Event::AttemptAnswered { answer, .. } => answer.nested_run(),
        _ => None,
    };
    nested.map(RunId::from_stored)
}
