//! `comment.create`: a comment on an issue or a pull request, or the update of an earlier one with the same `marker`.

use escrow_model::ProviderFault;
use serde_json::{Value, json};

use super::api::{Api, Tells};
use super::target::Target;
use super::{Found, marker};
use crate::http_client::Method;

pub(super) async fn create(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    let mut body = marker::signed(target.needed("body")?, target.key());
    let comments = format!("{}/comments", target.issue()?);
    if let Some(name) = target.text("marker") {
        let named = marker::of_comment(name);
        body = format!("{body}\n{named}");
        let listed = api.list(&comments, None).await?;
        let ours = listed.items.iter().find(|comment| contains(comment, &named));
        if let Some(id) = ours.and_then(|comment| comment["id"].as_u64()) {
            let path = format!("{}/issues/comments/{id}", target.repository()?);
            let updated =
                api.send(Method::Patch, &path, &json!({ "body": body }), Tells::Member("id")).await?;
            return Ok(output(&updated, true));
        }
    }
    let created = api.send(Method::Post, &comments, &json!({ "body": body }), Tells::Member("id")).await?;
    Ok(output(&created, false))
}

pub(super) async fn look(api: &Api<'_>, target: &Target<'_>) -> Result<Found, ProviderFault> {
    let listed = api.list(&format!("{}/comments", target.issue()?), None).await?;
    let effect = marker::of_effect(target.key());
    match listed.items.iter().find(|comment| contains(comment, &effect)) {
        Some(comment) => Ok(Found::Done(output(comment, false))),
        None if listed.is_cut => Ok(Found::Unclear("there are too many comments to read them all".into())),
        None => Ok(Found::Absent("no comment has the marker of the effect".into())),
    }
}

pub(super) fn contains(item: &Value, marker: &str) -> bool {
    item["body"].as_str().is_some_and(|body| body.contains(marker))
}

fn output(comment: &Value, updated: bool) -> Value {
    json!({ "id": comment["id"], "url": comment["html_url"], "updated": updated })
}
