//! `status.set`: the status of a commit.

use escrow_model::ProviderFault;
use serde_json::{Value, json};

use super::api::{Api, Tells};
use super::target::Target;
use super::{Found, unusable};
use crate::http_client::Method;

const STATES: [&str; 4] = ["error", "failure", "pending", "success"];
/// GitHub refuses longer ones.
const DESCRIPTION_LENGTH_MAX: usize = 140;

pub(super) async fn set(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    let wanted = wanted(target)?;
    let path = format!("{}/statuses/{}", target.repository()?, target.sha()?);
    let created = api.send(Method::Post, &path, &wanted, Tells::Member("id")).await?;
    Ok(output(&created))
}

/// The newest status of the context is the one that counts.
pub(super) async fn look(api: &Api<'_>, target: &Target<'_>) -> Result<Found, ProviderFault> {
    let wanted = wanted(target)?;
    let path = format!("{}/commits/{}/statuses", target.repository()?, target.sha()?);
    let listed = api.list(&path, None).await?;
    let newest = listed.items.iter().find(|status| status["context"] == wanted["context"]);
    match newest {
        Some(status)
            if status["state"] == wanted["state"] && status["description"] == wanted["description"] =>
        {
            Ok(Found::Done(output(status)))
        }
        Some(_) => Ok(Found::Absent("the newest status of the context is another".into())),
        None if listed.is_cut => Ok(Found::Unclear("there are too many statuses to read them all".into())),
        None => Ok(Found::Absent("no status has the context".into())),
    }
}

fn wanted(target: &Target<'_>) -> Result<Value, ProviderFault> {
    let state = target.needed("state")?;
    if !STATES.contains(&state) {
        return Err(unusable(format!("`state` is `{state}`, not one of {}", STATES.join(", "))));
    }
    let description: Option<String> =
        target.text("description").map(|text| text.chars().take(DESCRIPTION_LENGTH_MAX).collect());
    Ok(
        json!({ "state": state, "context": target.text("context").unwrap_or("escrow"), "description": description }),
    )
}

fn output(status: &Value) -> Value {
    json!({ "id": status["id"], "state": status["state"], "context": status["context"], "url": status["url"] })
}
