//! What a person assumes about an effect whose result is unknown.

use escrow_engine::{Input, OpenEffect, Run};
use escrow_model::{Assumption, EffectState, Message, ScopePath};
use escrow_runtime::now_ms;
use escrow_store::{Attempter, EffectFilter, NotAccepted, Queries, RunRow};

use super::{outsider, wait};
use crate::app::App;
use crate::around::redactor_around;
use crate::documents::settles;
use crate::effects::{not_unknown, settle_inside, state_now, under_way};
use crate::error::Error;
use crate::runs::{Purpose, drive_around, driver_of, not_resumable, replay};

/// How often a journal is read that grows meanwhile.
const READS_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumed {
    pub check: String,
    pub scope: ScopePath,
    pub assumption: Assumption,
}

impl Assumed {
    /// `CHECK=done`, `CHECK[2]=retry`.
    pub fn parse(text: &str) -> Result<Assumed, Error> {
        let bad = || {
            Error::author(
                "usage",
                format!("`--assume {text}` is not CHECK=done, CHECK=failed or CHECK=retry"),
            )
            .help("an item of a fan-out is `CHECK[2]=done`")
        };
        let (place, word) = text.rsplit_once('=').ok_or_else(bad)?;
        let assumption = match word {
            "done" => Assumption::Done,
            "failed" => Assumption::Failed,
            "retry" => Assumption::Retry,
            _ => return Err(bad()),
        };
        let (check, items) = place.split_once('[').unwrap_or((place, ""));
        let mut indices = Vec::new();
        for item in items.split('[').filter(|item| !item.is_empty()) {
            indices.push(item.strip_suffix(']').and_then(|index| index.parse().ok()).ok_or_else(bad)?);
        }
        Ok(Assumed { check: check.to_owned(), scope: ScopePath::new(indices), assumption })
    }
}

/// Records the assumptions, and drives the run and the runs around it.
pub async fn assume(app: &App, run: &str, all: Vec<Assumed>) -> Result<Run, Error> {
    outsider::check(app).await?;
    let row = app.queries()?.run(run).await?;
    let words = all.into_iter().map(|Assumed { check, scope, assumption }| Message::Assume {
        check,
        scope,
        assumption,
        by: app.actor(),
        why: None,
    });
    record_assumptions(app, &row, &words.collect::<Vec<_>>()).await?;
    drive_around(app, &row, Purpose::Resume).await
}

/// Puts words about effects into the inbox of a run, all or none, if each is the first about its effect. A run that is
/// being driven may move on while its journal is read: then it is read again.
pub(crate) async fn record_assumptions(app: &App, row: &RunRow, words: &[Message]) -> Result<(), Error> {
    let queries = app.queries()?;
    let redactor = redactor_around(app).await?;
    let mut words = words.to_vec();
    words.iter_mut().for_each(|word| redactor.message(word));
    let words = words.as_slice();
    for _ in 0..READS_MAX {
        let row = queries.run(row.id.as_str()).await?;
        let mut then = replay(&*queries, &row).await?;
        if row.status.is_terminal() {
            words.iter().try_for_each(|word| wait::names_what_exists(&then, word))?;
            return Err(not_resumable(&row));
        }
        let seq = then.entries();
        if driver_of(app, &row).await?.is_none() {
            // What was cut off becomes unknown when the run is resumed. This copy is dropped, and nothing is committed.
            let _foreseen = then.handle(now_ms(), Input::Resume { by: Vec::new(), ledger: Vec::new() });
        }
        for word in words {
            if let Message::Assume { check, scope, .. } = word {
                admitted_by_ledger(&*queries, &then, check, scope).await?;
            }
            wait::refused(&then, word)?;
        }
        match app.records()?.assume(&row.id, words, app.sender(), seq).await? {
            Ok(()) => return settle_inside(app, &row, words).await,
            Err(NotAccepted::Moved) => {}
            Err(_) => {
                let message =
                    format!("a word about this effect is recorded; run `{}` will act on that one", row.id);
                let help = format!("`escrow resume {}` resumes it", row.id);
                return Err(Error::person("resolved", message).help(help));
            }
        }
    }
    let message = format!("run `{}` is at work and moves on faster than it can be read", row.id);
    Err(Error::person("busy", message).help(format!("`escrow wait {}`, then try again", row.id)))
}

/// Refuses a word about an effect that another check or run is at work on, or that the ledger has a word about.
async fn admitted_by_ledger(
    queries: &dyn Queries,
    run: &Run,
    check: &str,
    scope: &ScopePath,
) -> Result<(), Error> {
    let asked = run.effect_in_doubt(check, scope).filter(|asked| asked.attempts_elsewhere.is_some());
    let Some(asked) = asked else { return own_is_open(queries, run, check, scope).await };
    let filter = EffectFilter { key: Some(asked.key.clone()), ..EffectFilter::default() };
    let Some(effect) = queries.effects(&filter).await?.pop() else { return Ok(()) };
    let asks_again = asks_again(run);
    match state_now(queries, &effect).await? {
        EffectState::Intended => Err(under_way(&effect)),
        EffectState::Unknown if asked.attempts_elsewhere != Some(effect.attempts) => {
            let message = format!("effect `{}` was attempted again in run `{}`", effect.key, effect.run);
            Err(Error::person("attempted_again", message).help(asks_again))
        }
        EffectState::Confirmed if asked.confirmed => Ok(()),
        EffectState::Unknown => Ok(()),
        state @ (EffectState::Confirmed | EffectState::Failed) => {
            Err(not_unknown(queries, &effect, state).await.help(asks_again))
        }
    }
}

/// Refuses a word about an effect of this run that was settled or attempted again in another one.
async fn own_is_open(queries: &dyn Queries, run: &Run, check: &str, scope: &ScopePath) -> Result<(), Error> {
    let plan = run.plan_of();
    let is_here = |open: &OpenEffect| plan.check(open.check).name == check && open.scope == *scope;
    let Some(open) = run.open_effects().into_iter().find(is_here) else { return Ok(()) };
    let filter = EffectFilter { key: Some(open.key.clone()), ..EffectFilter::default() };
    let Some(effect) = queries.effects(&filter).await?.pop() else { return Ok(()) };
    let is_own = effect.is_of(Attempter { run: run.options().run.as_str(), check, scope });
    match state_now(queries, &effect).await? {
        state if run.is_settled(&open, &(&effect).into()) => {
            Err(not_unknown(queries, &effect, state).await.help(asks_again(run)))
        }
        EffectState::Intended if !is_own => Err(under_way(&effect)),
        EffectState::Unknown if !is_own => {
            let message = format!("effect `{}` was attempted again in run `{}`", effect.key, effect.run);
            let help = format!("`{}` settles it", settles(&effect.key));
            Err(Error::person("attempted_again", message).help(help))
        }
        EffectState::Intended | EffectState::Unknown | EffectState::Confirmed | EffectState::Failed => Ok(()),
    }
}

fn asks_again(run: &Run) -> String {
    format!("`escrow resume {}` asks the ledger again", run.options().run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn assumptions_name_a_check_or_an_item() {
        let read = |text: &str| match Assumed::parse(text) {
            Ok(Assumed { check, scope, assumption }) => format!("{check}{scope} {assumption:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(read("post=done"), "post Done");
        assert_eq!(read("post[2]=retry"), "post[2] Retry");
        assert_eq!(read("post[2][0]=failed"), "post[2][0] Failed");
        assert!(read("post=perhaps").contains("is not CHECK=done"));
        assert!(read("post[x]=done").contains("is not CHECK=done"));
    }
}
