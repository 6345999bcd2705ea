//! `run.completed`: every playbook run that has ended, read from the feed behind a cursor.

use escrow_model::{EventTrigger, TriggerEvent};
use escrow_store::{CursorMove, EndedRun, OutcomeFilter, Recording, StoreError};
use serde_json::{Map, Value, json};

use super::event::{Origin, offer};
use super::{PollContext, PollFuture, TriggerKind};

pub struct RunCompleted;

/// The name of the cursor.
const FEED: &str = "feed";

impl TriggerKind for RunCompleted {
    fn name(&self) -> &'static str {
        "run.completed"
    }

    fn poll<'a>(&'a self, context: &'a PollContext<'a>) -> PollFuture<'a> {
        Box::pin(async move {
            let listeners = context.fires.listeners(EventTrigger::RUN).await?;
            // A cursor that stays behind costs one longer poll later; ends before a definition never count.
            if listeners.is_empty() {
                return Ok(Vec::new());
            }
            let from = context.fires.cursor(FEED).await?;
            let after = from.as_deref().and_then(|text| text.parse().ok()).unwrap_or(0);
            let (ended, end) = context.fires.ended_runs(after).await?;
            if end == after {
                return Ok(Vec::new());
            }
            let mut recording = Recording {
                cursors: vec![CursorMove { name: FEED.into(), from, to: end.to_string() }],
                ..Recording::default()
            };
            for one in &ended {
                let Some(event) = told(one, context).await? else { continue };
                let origin = Origin { chain: one.chain.clone(), depth: one.depth };
                let heard = listeners.iter().filter(|armed| armed.feed < one.position);
                recording.occurrences.extend(offer(&event, &origin, heard));
            }
            Ok(vec![recording])
        })
    }

    fn is_outside(&self) -> bool {
        false
    }
}

/// The event of a run's end; `None` when the run was removed meanwhile.
async fn told(ended: &EndedRun, context: &PollContext<'_>) -> Result<Option<TriggerEvent>, StoreError> {
    let Ok(row) = context.queries.run(ended.run.as_str()).await else { return Ok(None) };
    let newest = OutcomeFilter { run: Some(ended.run.clone()), limit: Some(1), ..OutcomeFilter::default() };
    let outcome = context.queries.outcomes(&newest).await?.pop();
    let mut fields = Map::new();
    fields.insert("run_id".into(), json!(row.id));
    fields.insert("playbook".into(), json!(row.playbook));
    fields.insert("title".into(), json!(row.title));
    fields.insert("status".into(), json!(row.status));
    fields.insert("reason".into(), json!(row.reason.as_ref().map(|reason| reason.code)));
    fields.insert("summary".into(), json!(row.reason.as_ref().map(|reason| &reason.summary)));
    fields.insert("invocation_id".into(), json!(row.invocation_id));
    fields.insert("nested".into(), json!(row.depth > 0));
    fields.insert("outcome".into(), outcome.map_or(Value::Null, |row| row.outcome.outcome.content));
    fields.insert("chain_run_id".into(), json!(ended.chain_run));
    Ok(Some(TriggerEvent {
        name: EventTrigger::RUN.to_owned(),
        fields,
        // A run that is reopened ends again.
        key: format!("run:{}:{}", ended.run, ended.seq),
        at: ended.ended_at,
    }))
}
