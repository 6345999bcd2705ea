//! Who settled an effect, for people whose own decision about it comes too late.

use escrow_model::{Assumption, EffectState, Event, Message, RunId, WaitKind, rfc3339};
use escrow_store::{EffectRow, Queries};

use crate::error::Error;

/// Journals that are read for the decision. It may be in any run that asked about the effect.
const JOURNALS_MAX: usize = 50;

/// The error for an effect that is already settled: the first decision stands.
pub(crate) async fn not_unknown(queries: &dyn Queries, effect: &EffectRow, state: EffectState) -> Error {
    let since = effect.answered_at.map(|at| format!(" since {}", rfc3339(at))).unwrap_or_default();
    // The refusal does not depend on it, so a journal that cannot be read changes nothing.
    let said = find(queries, effect, state).await.ok().flatten().map(|said| format!(": {said}"));
    let message = format!(
        "effect `{}` is not unknown: it is {}{since}{}",
        effect.key,
        state.as_str(),
        said.unwrap_or_default()
    );
    Error::person("not_unknown", message)
}

async fn find(
    queries: &dyn Queries,
    effect: &EffectRow,
    state: EffectState,
) -> Result<Option<String>, Error> {
    let mut runs = vec![effect.run.clone()];
    for wait in queries.all_waits().await? {
        let is_answered = wait.kind == WaitKind::UnknownEffect && wait.resolved_by.is_some();
        if is_answered && !runs.contains(&wait.run) {
            runs.push(wait.run);
        }
    }
    for run in runs.iter().take(JOURNALS_MAX) {
        let entries = queries.entries(run, 0).await?;
        let words = entries.iter().rev().filter(|(_, entry)| effect.answered_at == Some(entry.at));
        if let Some(said) = words.filter_map(|(_, entry)| word(&entry.event, effect, state, run)).next() {
            return Ok(Some(said));
        }
    }
    Ok(None)
}

/// The word in an entry, if it is the one that settled the effect.
fn word(event: &Event, effect: &EffectRow, state: EffectState, run: &RunId) -> Option<String> {
    match event {
        Event::MessageDelivered {
            message: Message::Assume { assumption, by, .. },
            refused: None,
            effect: Some(asked),
            ..
        } if asked.key == effect.key && EffectState::from(*assumption) == state => {
            let by = by.as_deref().unwrap_or("a person");
            Some(format!("{by} said `{}` in run `{run}`", assumption.as_str()))
        }
        Event::EffectResolved { key, state: settled, by, .. } if *key == effect.key && *settled == state => {
            let word = if state == EffectState::Failed { Assumption::Failed } else { Assumption::Done };
            Some(format!("{by} said `{}` about run `{run}`", word.as_str()))
        }
        _ => None,
    }
}
