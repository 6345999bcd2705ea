//! Lists, as the verbs of the same names print them.

use axum::response::Response;
use escrow_app::attempted::attempts_of;
use escrow_app::attention::{self, AttentionQuery, ListedItems};
use escrow_app::directories::directories_of;
use escrow_app::effects::{self, EffectQuery};
use escrow_app::harnesses;
use escrow_app::invocations::InvocationFilter;
use escrow_app::messages::{all_waits, open_waits};
use escrow_app::outcomes::{self as kept_outcomes, OutcomeFilter};
use escrow_app::runs::parse_status;
use escrow_app::{Error, documents, now_ms};
use escrow_model::WaitKind;
use serde_json::{Value, json};

use crate::answer::{self, ApiError};
use crate::view::View;

/// As many as the verbs list.
const LIMIT: usize = 20;
const RECEIPTS: usize = 100;

pub(crate) async fn outcomes(view: View) -> Result<Response, ApiError> {
    let filter = outcome_filter(&view, LIMIT).await?;
    let rows = view.queries()?.outcomes(&filter).await?;
    let documents: Vec<Value> = rows.iter().map(documents::outcome).collect();
    Ok(answer::json(&json!({ "outcomes": documents })))
}

/// What the query asks for.
pub(crate) async fn outcome_filter(view: &View, limit: usize) -> Result<OutcomeFilter, Error> {
    let run = match view.get("run") {
        Some(name) => Some(view.queries()?.run(name).await?.id),
        None => None,
    };
    let kind = match view.get("kind") {
        Some(kind) => Some(known_kind(view, kind).await?),
        None => None,
    };
    Ok(OutcomeFilter {
        kind,
        passed: view.truth("passed")?,
        since: view.since()?,
        run,
        invocation: view.get("invocation").map(str::to_owned),
        limit: Some(view.limit(limit)?),
        ..OutcomeFilter::default()
    })
}

/// A kind that Escrow or the project knows, or that an outcome was stored of.
async fn known_kind(view: &View, kind: &str) -> Result<String, Error> {
    let known = kept_outcomes::known_kinds(view.studio.app.state());
    let stored = OutcomeFilter { kind: Some(kind.to_owned()), limit: Some(1), ..OutcomeFilter::default() };
    if known.iter().any(|one| one == kind) || !view.queries()?.outcomes(&stored).await?.is_empty() {
        return Ok(kind.to_owned());
    }
    Err(Error::author("usage", format!("no kind of outcome is called `{kind}`"))
        .help(format!("one of {}", known.join(", "))))
}

pub(crate) async fn approvals(view: View) -> Result<Response, ApiError> {
    let queries = view.queries()?;
    let mut waits = if view.has("all") { all_waits(&*queries).await? } else { open_waits(&*queries).await? };
    // What a nested run waits for is listed as its own.
    waits.retain(|wait| wait.kind != WaitKind::Nested);
    let directories = directories_of(&*queries, &waits).await?;
    let attempts = attempts_of(view.studio.app.state(), &*queries, &waits).await?;
    Ok(answer::json(&documents::approvals(&waits, &directories, &attempts)))
}

pub(crate) async fn attention(view: View) -> Result<Response, ApiError> {
    let query = AttentionQuery {
        since: view.since()?,
        with_dismissed: view.has("all"),
        limit: Some(view.limit(LIMIT)?),
    };
    let ListedItems { items, dismissed, left_out } = attention::list(&*view.queries()?, &query).await?;
    Ok(answer::json(&documents::attention(&items, dismissed, left_out, now_ms())))
}

pub(crate) async fn invocations(view: View) -> Result<Response, ApiError> {
    let filter = InvocationFilter {
        status: view.get("status").map(parse_status).transpose()?,
        since: view.since()?,
        limit: Some(view.limit(LIMIT)?),
    };
    let rows = view.queries()?.invocations(&filter).await?;
    let documents: Vec<Value> = rows.iter().map(documents::invocation).collect();
    Ok(answer::json(&json!({ "invocations": documents })))
}

pub(crate) async fn effects(view: View) -> Result<Response, ApiError> {
    let query = EffectQuery {
        run: view.get("run").map(str::to_owned),
        key: view.get("key").map(str::to_owned),
        ..EffectQuery::default()
    };
    let rows = effects::list(&view.studio.app, &query).await?;
    Ok(answer::json(&documents::effects(&rows)))
}

pub(crate) async fn receipts(view: View) -> Result<Response, ApiError> {
    let receipts = harnesses::receipts(view.studio.app.state(), view.get("adapter"), view.limit(RECEIPTS)?)?;
    Ok(answer::json(&json!({ "receipts": receipts })))
}
