//! Looks up effects in the ledger, for the engine to judge.

use std::sync::Arc;

use escrow_engine::{LedgerNews, Run};
use escrow_model::{EffectState, LedgerEffect, RunId, ScopePath};
use escrow_store::{Attempter, EffectRow, Journal, StoreError};

use super::Surroundings;
use crate::provider_world::ProviderWorld;

/// The effect with this key, unless it is an open one of this very check: what became of that, the run knows itself.
pub(super) async fn consult(
    journal: &dyn Journal,
    world: &dyn ProviderWorld,
    key: &str,
    (run, check, scope): (&RunId, &str, &ScopePath),
    surroundings: &Surroundings,
) -> Result<Option<LedgerEffect>, StoreError> {
    let Some(row) = journal.effect(key).await? else { return Ok(None) };
    let is_own = row.is_of(Attempter { run: run.as_str(), check, scope });
    if is_own && row.state != EffectState::Confirmed {
        return Ok(None);
    }
    known(journal, world, &row, surroundings).await.map(Some)
}

/// A row of the ledger as the engine sees it: an effect that was intended by a process which is gone is unknown.
pub(super) async fn known(
    journal: &dyn Journal,
    world: &dyn ProviderWorld,
    row: &EffectRow,
    surroundings: &Surroundings,
) -> Result<LedgerEffect, StoreError> {
    let state = match row.state {
        EffectState::Intended => {
            let lease = journal.lease_of(&row.run).await?;
            let is_held =
                lease.is_some_and(|lease| lease.standing(|holder| world.liveness(holder)).is_some());
            // A command that outlived its Escrow may have the effect yet. The question is asked when it has ended.
            let is_at_work = is_held || world.end_orphans_of(row.run.clone(), surroundings.grace).await > 0;
            if is_at_work { EffectState::Intended } else { EffectState::Unknown }
        }
        EffectState::Confirmed | EffectState::Failed | EffectState::Unknown => row.state,
    };
    Ok(LedgerEffect { state, ..redacted(row, surroundings) })
}

/// What other runs have learned about effects that this run attempted and does not know the result of.
pub(super) async fn news(
    journal: &dyn Journal,
    run: &Run,
    surroundings: &Surroundings,
) -> Result<Vec<LedgerNews>, StoreError> {
    let mut news = Vec::new();
    for about in run.open_effects() {
        if let Some(row) = journal.effect(&about.key).await? {
            news.push(LedgerNews { about, effect: redacted(&row, surroundings) });
        }
    }
    Ok(news)
}

/// The run that recorded the effect may have had other secrets than this one.
fn redacted(row: &EffectRow, surroundings: &Surroundings) -> LedgerEffect {
    let mut effect = LedgerEffect::from(row);
    if let Some(answer) = &mut effect.answer {
        surroundings.secrets.redactor().answer(Arc::make_mut(answer));
    }
    effect
}
