//! Questions about effects that the ledger has answered meanwhile. The run acts on the answer when it is resumed.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use escrow_engine::Run;
use escrow_model::{EffectState, RunId, RunStatus, WaitKind};
use escrow_runtime::now_ms;
use escrow_store::{AttentionItem, EffectFilter, EffectRow, Queries, WaitRow};

use crate::error::Error;
use crate::runs::replay;

/// The questions of a run that need no person any more.
pub(crate) async fn questions(queries: &dyn Queries, run: &Run) -> Result<BTreeSet<String>, Error> {
    let mut settled = BTreeSet::new();
    for awaited in run.awaited_effects() {
        let effect = find(queries, &awaited.key).await?;
        let is_settled = |effect: EffectRow| match effect.state {
            EffectState::Confirmed | EffectState::Failed => true,
            EffectState::Intended | EffectState::Unknown => false,
        };
        if effect.is_none_or(is_settled) {
            settled.insert(awaited.wait);
        }
    }
    for open in run.open_effects() {
        if let Some(effect) = find(queries, &open.key).await?
            && run.is_settled(&open, &(&effect).into())
        {
            settled.extend(open.wait);
        }
    }
    Ok(settled)
}

async fn find(queries: &dyn Queries, key: &str) -> Result<Option<EffectRow>, Error> {
    let filter = EffectFilter { key: Some(key.to_owned()), ..EffectFilter::default() };
    Ok(queries.effects(&filter).await?.pop())
}

/// What people are asked for at this moment, over all runs, oldest first.
pub async fn open_waits(queries: &dyn Queries) -> Result<Vec<WaitRow>, Error> {
    let mut waits = queries.open_waits().await?;
    note_waits(queries, &mut waits).await;
    Ok(waits)
}

/// Everything that people were ever asked for, newest first: what was decided by the time of its decision, the rest by
/// the time at which it was asked.
pub async fn all_waits(queries: &dyn Queries) -> Result<Vec<WaitRow>, Error> {
    let mut waits = queries.all_waits().await?;
    waits.sort_by_key(|wait| Reverse(wait.resolved_at.unwrap_or(wait.started_at)));
    note_waits(queries, &mut waits).await;
    Ok(waits)
}

/// Every wait of a run, oldest first.
pub async fn waits_of(queries: &dyn Queries, run: &RunId) -> Result<Vec<WaitRow>, Error> {
    let mut waits = queries.waits(run).await?;
    note_waits(queries, &mut waits).await;
    Ok(waits)
}

/// The waits of a run that need no person any more: one has decided, the ledger has, or the time is up. The run acts on
/// that when it is resumed.
pub async fn ready_waits(queries: &dyn Queries, run: &Run) -> Vec<String> {
    if run.status() != RunStatus::Waiting {
        return Vec::new();
    }
    // A list that cannot be read must not hide how the run stands.
    let mut ready = waits_of(queries, &run.options().run).await.unwrap_or_default();
    let now = now_ms();
    ready.retain(|wait| wait.resolved_at.is_none() && (wait.has_recorded_decision || wait.is_past(now)));
    ready.into_iter().map(|wait| wait.id).collect()
}

/// The ledger's answer is a decision that the run has not taken in yet.
pub(crate) async fn note_waits(queries: &dyn Queries, waits: &mut [WaitRow]) {
    let mut known = Known::default();
    for wait in waits.iter_mut() {
        if wait.kind == WaitKind::UnknownEffect && wait.resolved_at.is_none() {
            wait.has_recorded_decision |= known.is_settled(queries, &wait.run, &wait.id).await;
        }
    }
}

/// The same for what needs a person.
pub(crate) async fn note_items(queries: &dyn Queries, items: &mut [AttentionItem]) {
    let mut known = Known::default();
    for item in items.iter_mut() {
        if let (Some(wait), Some(run)) = (&mut item.wait, item.runs.first())
            && wait.kind == WaitKind::UnknownEffect
        {
            wait.has_recorded_decision |= known.is_settled(queries, run, &wait.id).await;
        }
    }
}

/// The settled questions of the runs that were looked at.
#[derive(Default)]
struct Known(BTreeMap<RunId, BTreeSet<String>>);

impl Known {
    async fn is_settled(&mut self, queries: &dyn Queries, run: &RunId, wait: &str) -> bool {
        if !self.0.contains_key(run) {
            self.0.insert(run.clone(), look(queries, run).await.unwrap_or_default());
        }
        self.0.get(run).is_some_and(|settled| settled.contains(wait))
    }
}

/// A journal that cannot be read must not hide the questions of other runs, so a list does without its answer.
async fn look(queries: &dyn Queries, run: &RunId) -> Result<BTreeSet<String>, Error> {
    let row = queries.run(run.as_str()).await?;
    questions(queries, &replay(queries, &row).await?).await
}
