//! `pr.get`, `pr.files` and `pr.diff`.

use escrow_model::{FaultCode, ProviderFault};
use serde_json::Value;

use super::api::{Api, Listed};
use super::target::Target;

pub(super) async fn pull(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    api.get(&target.pull()?).await
}

/// The changed files with their patches, as far as GitHub lists them: 3,000 at most.
pub(super) async fn listed_files(api: &Api<'_>, target: &Target<'_>) -> Result<Listed, ProviderFault> {
    api.list(&format!("{}/files", target.pull()?), None).await
}

/// Every changed file with its patch. A guard over a part of them would not see the rest.
pub(super) async fn files(api: &Api<'_>, target: &Target<'_>) -> Result<Vec<Value>, ProviderFault> {
    let listed = listed_files(api, target).await?;
    if listed.is_cut {
        let pull = pull(api, target).await?;
        let changed = pull["changed_files"].as_u64().and_then(|count| usize::try_from(count).ok());
        if changed.is_none_or(|changed| changed > listed.items.len()) {
            let changed = changed.map_or("more".to_owned(), |changed| changed.to_string());
            let message = format!(
                "the pull request changes {changed} files, and GitHub lists {} of them; `filesChanged` reads them from git",
                listed.items.len()
            );
            return Err(ProviderFault::logical(FaultCode::own("too_large"), message));
        }
    }
    Ok(listed.items)
}

pub(super) async fn diff(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    api.get_text(&target.pull()?, "application/vnd.github.diff").await.map(Value::String)
}
