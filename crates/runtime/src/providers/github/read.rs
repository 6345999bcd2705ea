//! `pr.get`, `pr.files` and `pr.diff`.

use escrow_model::ProviderFault;
use serde_json::Value;

use super::api::Api;
use super::target::Target;

pub(super) async fn pull(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    api.get(&target.pull()?).await
}

/// Every changed file with its patch. GitHub lists 3,000 at most.
pub(super) async fn files(api: &Api<'_>, target: &Target<'_>) -> Result<Vec<Value>, ProviderFault> {
    Ok(api.list(&format!("{}/files", target.pull()?), None).await?.items)
}

pub(super) async fn diff(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    api.get_text(&target.pull()?, "application/vnd.github.diff").await.map(Value::String)
}
