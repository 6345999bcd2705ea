//! `labels.add` and `labels.remove`.

use escrow_model::ProviderFault;
use escrow_template::percent_encoded;
use serde_json::{Value, json};

use super::api::{Api, Tells};
use super::target::Target;
use super::{Found, unusable};
use crate::http_client::Method;

pub(super) async fn add(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    let labels = wanted(target)?;
    let path = format!("{}/labels", target.issue()?);
    let now = api.send(Method::Post, &path, &json!({ "labels": labels }), Tells::List).await?;
    Ok(output(&names(now.as_array().map_or(&[][..], Vec::as_slice))))
}

pub(super) async fn remove(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    for label in wanted(target)? {
        api.remove(&format!("{}/labels/{}", target.issue()?, percent_encoded(label))).await?;
    }
    Ok(output(&present(api, target).await?))
}

pub(super) async fn look_added(api: &Api<'_>, target: &Target<'_>) -> Result<Found, ProviderFault> {
    let (labels, present) = (wanted(target)?, present(api, target).await?);
    match labels.iter().find(|label| !has(&present, label)) {
        None => Ok(Found::Done(output(&present))),
        Some(missing) => Ok(Found::Absent(format!("the label `{missing}` is not there"))),
    }
}

pub(super) async fn look_removed(api: &Api<'_>, target: &Target<'_>) -> Result<Found, ProviderFault> {
    let (labels, present) = (wanted(target)?, present(api, target).await?);
    match labels.iter().find(|label| has(&present, label)) {
        None => Ok(Found::Done(output(&present))),
        Some(left) => Ok(Found::Absent(format!("the label `{left}` is still there"))),
    }
}

fn wanted<'a>(target: &Target<'a>) -> Result<Vec<&'a str>, ProviderFault> {
    match target.values() {
        none if none.is_empty() => Err(unusable("`values` names no label")),
        labels => Ok(labels),
    }
}

async fn present(api: &Api<'_>, target: &Target<'_>) -> Result<Vec<String>, ProviderFault> {
    Ok(names(&api.list(&format!("{}/labels", target.issue()?), None).await?.items))
}

fn names(labels: &[Value]) -> Vec<String> {
    labels.iter().filter_map(|label| label["name"].as_str().map(str::to_owned)).collect()
}

/// GitHub's labels differ in more than case.
fn has(present: &[String], label: &str) -> bool {
    present.iter().any(|known| known.eq_ignore_ascii_case(label))
}

fn output(present: &[String]) -> Value {
    json!({ "labels": present })
}
