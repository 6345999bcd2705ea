//! `/api/chains` and `/api/chain-runs`: what `escrow chain` prints.

use axum::response::Response;
use escrow_app::chains::{self, ChainRunFilter};
use escrow_app::{documents, fires};

use crate::answer::{self, ApiError};
use crate::view::View;

/// As many as `escrow chain runs` lists.
const LIMIT: usize = 20;

/// Runs in the document of one chain, as `escrow chain show` has them.
const OF_ONE: usize = 10;

pub(crate) async fn list(view: View) -> Result<Response, ApiError> {
    Ok(answer::json(&documents::chains(&chains::list(&view.studio.app).await?)))
}

pub(crate) async fn show(view: View) -> Result<Response, ApiError> {
    let shown = chains::show(&view.studio.app, &view.parameter("name")).await?;
    let rows = &shown.runs[..shown.runs.len().min(OF_ONE)];
    let runs = chains::runs::read(&*view.queries()?, rows).await?;
    let without = fires::without_run(&view.studio.app, Some(&view.parameter("name")), OF_ONE).await?;
    Ok(answer::json(&documents::chain_with_runs(&shown, &runs, &without)))
}

pub(crate) async fn runs(view: View) -> Result<Response, ApiError> {
    let filter =
        ChainRunFilter { chain: view.get("chain").map(str::to_owned), limit: Some(view.limit(LIMIT)?) };
    let rows = chains::runs::rows(&view.studio.app, &filter).await?;
    let runs = chains::runs::read(&*view.queries()?, &rows).await?;
    let without = fires::without_run(&view.studio.app, view.get("chain"), view.limit(LIMIT)?).await?;
    Ok(answer::json(&documents::chain_runs(&runs, &without)))
}
