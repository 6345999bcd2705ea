//! `issue.create`.

use escrow_model::ProviderFault;
use serde_json::{Value, json};

use super::api::{Api, Tells};
use super::comment::contains;
use super::target::Target;
use super::{Found, marker};
use crate::http_client::Method;

pub(super) async fn create(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    let body = marker::signed(target.text("body").unwrap_or_default(), target.key());
    let issue = json!({ "title": target.needed("title")?, "body": body, "labels": target.values() });
    let created = api
        .send(Method::Post, &format!("{}/issues", target.repository()?), &issue, Tells::Member("number"))
        .await?;
    Ok(output(&created))
}

pub(super) async fn look(api: &Api<'_>, target: &Target<'_>) -> Result<Found, ProviderFault> {
    let path = format!("{}/issues?state=all&sort=created&direction=desc", target.repository()?);
    let listed = api.list(&path, None).await?;
    let effect = marker::of_effect(target.key());
    match listed.items.iter().find(|issue| contains(issue, &effect)) {
        Some(issue) => Ok(Found::Done(output(issue))),
        None if listed.is_cut => Ok(Found::Unclear("there are too many issues to read them all".into())),
        None => Ok(Found::Absent("no issue has the marker of the effect".into())),
    }
}

fn output(issue: &Value) -> Value {
    json!({ "number": issue["number"], "url": issue["html_url"] })
}
