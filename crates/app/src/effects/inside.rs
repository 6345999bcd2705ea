//! A word about a check that nests a run is a word about the effects of that run: what did not happen as a whole did not
//! happen in its parts, and nobody is asked about them again.

use escrow_engine::SettledAs;
use escrow_model::{Assumption, EffectState, Event, Message, RunId, ScopePath, WaitKind};
use escrow_store::{EffectFilter, Queries, RunRow};
use serde_json::Value;

use super::{Resolve, after_end, state_now, with_nested};
use crate::app::App;
use crate::error::Error;

/// Settles what the nested runs of these checks have left unknown.
pub(crate) async fn settle_inside(app: &App, row: &RunRow, words: &[Message]) -> Result<(), Error> {
    for word in words {
        let Message::Assume { check, scope, assumption, by, why } = word else { continue };
        let settled_as = match assumption {
            Assumption::Done => SettledAs::Done,
            Assumption::Failed | Assumption::Retry => SettledAs::Failed,
        };
        let by = by.clone().unwrap_or_else(|| "a person".to_owned());
        let why = why.clone().unwrap_or_else(|| format!("said so of `{check}{scope}` of run {}", row.id));
        Box::pin(settle(app, row, (check, scope), (settled_as, by, why))).await?;
    }
    Ok(())
}

pub(super) async fn settle(
    app: &App,
    row: &RunRow,
    (check, scope): (&str, &ScopePath),
    (settled_as, by, why): (SettledAs, String, String),
) -> Result<(), Error> {
    let queries = app.queries()?;
    let mut runs = Vec::new();
    for nested in nested_runs(&*queries, &row.id, check, scope).await? {
        runs.extend(with_nested(&*queries, nested).await?);
    }
    if runs.is_empty() {
        return Ok(());
    }
    for effect in queries.effects(&EffectFilter { runs, ..EffectFilter::default() }).await? {
        let inner = queries.run(effect.run.as_str()).await?;
        // A run that has not ended asks by itself.
        if inner.status.is_terminal() && state_now(&*queries, &effect).await? == EffectState::Unknown {
            let request = Resolve { key: effect.key.clone(), settled_as, by: by.clone(), why: why.clone() };
            Box::pin(after_end(app, &inner, &effect, &request)).await?;
        }
    }
    Ok(())
}

/// The runs that a check of this run nested, one per attempt.
async fn nested_runs(
    queries: &dyn Queries,
    run: &RunId,
    check: &str,
    scope: &ScopePath,
) -> Result<Vec<RunId>, Error> {
    let mut found: Vec<RunId> = Vec::new();
    for (_, entry) in queries.entries(run, 0).await? {
        let nested = match &entry.event {
            Event::WaitStarted { kind: WaitKind::Nested, check: of, scope: at, id, .. }
                if of == check && at == scope =>
            {
                Some(id.as_str())
            }
            Event::AttemptAnswered { check: of, scope: at, answer, .. } if of == check && at == scope => {
                answer.record.get("run_id").and_then(Value::as_str)
            }
            _ => None,
        };
        found.extend(nested.map(RunId::from_stored).filter(|run| !found.contains(run)));
    }
    Ok(found)
}
