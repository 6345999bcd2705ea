//! `pr.merge`: merges a pull request, if its head is the one that was looked at.

use escrow_model::ProviderFault;
use serde_json::{Map, Value, json};

use super::Found;
use super::api::{Api, Tells};
use super::target::Target;
use crate::http_client::Method;

pub(super) async fn merge(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    let mut body = Map::from_iter([
        ("sha".to_owned(), json!(target.needed("expected_head")?)),
        ("merge_method".to_owned(), json!(target.text("method").unwrap_or("merge"))),
    ]);
    for (name, field) in [("commit_title", "title"), ("commit_message", "body")] {
        body.extend(target.text(field).map(|text| (name.to_owned(), json!(text))));
    }
    let merged = api
        .send(
            Method::Put,
            &format!("{}/merge", target.pull()?),
            &Value::Object(body),
            Tells::Member("merged"),
        )
        .await?;
    Ok(json!({ "merged": merged["merged"], "sha": merged["sha"] }))
}

pub(super) async fn look(api: &Api<'_>, target: &Target<'_>) -> Result<Found, ProviderFault> {
    let head = target.needed("expected_head")?;
    let pull = api.get(&target.pull()?).await?;
    match (pull["merged"].as_bool(), pull["head"]["sha"].as_str()) {
        (Some(true), Some(sha)) if sha == head => {
            Ok(Found::Done(json!({ "merged": true, "sha": pull["merge_commit_sha"] })))
        }
        (Some(true), _) => Ok(Found::Unclear("it was merged with another head".into())),
        (Some(false), _) => Ok(Found::Absent("it is not merged".into())),
        (None, _) => Ok(Found::Unclear("GitHub does not say whether it is merged".into())),
    }
}
