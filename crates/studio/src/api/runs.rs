//! `/api/runs`: what `escrow runs` prints.

use std::sync::Arc;

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use escrow_app::runs::{RunFilter, RunKinds, document, entries_in_parts, listed, parse_status, rebuilt};
use escrow_app::{documents, invocations};
use escrow_model::RunStatus;
use serde_json::{Value, json};

use crate::answer::{self, ApiError};
use crate::view::View;

/// As many as `escrow runs` lists.
const LIMIT: usize = 50;

pub(crate) async fn list(view: View) -> Result<Response, ApiError> {
    let queries = view.queries()?;
    let status: Option<RunStatus> = view.get("status").map(parse_status).transpose()?;
    let invocation = match view.get("invocation") {
        Some(name) => Some(invocations::find(&*queries, name).await?.id),
        None => None,
    };
    let filter = RunFilter {
        status,
        playbook: view.get("playbook").map(str::to_owned),
        invocation,
        kinds: if view.has("all") { RunKinds::All } else { RunKinds::Playbooks },
        since: view.since()?,
        limit: Some(view.limit(LIMIT)?),
    };
    let rows = queries.runs(&filter).await?;
    let runs = listed(&*queries, &rows).await?;
    let missing: Vec<Value> = queries.losses().await?.iter().map(documents::loss).collect();
    let mut answer = json!({ "runs": runs });
    if !missing.is_empty() {
        answer["missing"] = Value::Array(missing);
    }
    Ok(answer::json(&answer))
}

pub(crate) async fn show(view: View) -> Result<Response, ApiError> {
    let queries = view.queries()?;
    let row = queries.run(&view.parameter("id")).await?;
    let studio = Arc::clone(&view.studio);
    let held = row.clone();
    let shown = studio.long_runs.holding(&row, move || async move {
        let run = rebuilt(&held, &entries_in_parts(&*queries, &held).await?)?;
        Ok(answer::json(&document(&*queries, &run).await))
    });
    Ok(shown.await?)
}

/// The entries from `from` on. `?format=jsonl` gives a line each.
pub(crate) async fn journal(view: View) -> Result<Response, ApiError> {
    let queries = view.queries()?;
    let row = queries.run(&view.parameter("id")).await?;
    let from: u64 = view.number("from")?.unwrap_or(0);
    let mut entries = queries.journal(&row.id).await?;
    entries.retain(|entry| entry.seq >= from);
    if view.get("format") != Some("jsonl") {
        return Ok(answer::json(&documents::journal(&entries)));
    }
    let lines: String =
        entries.iter().map(|entry| format!("{}\n", documents::journal_entry(entry))).collect();
    Ok(([(CONTENT_TYPE, "application/x-ndjson")], lines).into_response())
}
