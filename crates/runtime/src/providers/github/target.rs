//! What an operation is about: the fields of the request, checked before they become part of a URL.

use escrow_model::{ProviderFault, Request};
use escrow_template::percent_encoded;
use serde_json::Value;

use super::{Operation, unusable};

pub(super) struct Target<'a> {
    request: &'a Request,
}

impl<'a> Target<'a> {
    pub(super) fn of(request: &'a Request) -> Target<'a> {
        Target { request }
    }

    pub(super) fn operation(&self) -> Result<Operation, ProviderFault> {
        let word = self.text("op").unwrap_or_default();
        Operation::parse(word).ok_or_else(|| unusable(format!("unknown operation `{word}`")))
    }

    /// The effect key of the request, for markers.
    pub(super) fn key(&self) -> &'a str {
        &self.request.idempotency_key
    }

    /// A field that is there and not empty.
    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.request
            .fields
            .get(name)
            .and_then(Value::as_str)
            .map(str::trim_end)
            .filter(|text| !text.is_empty())
    }

    pub(super) fn needed(&self, name: &str) -> Result<&'a str, ProviderFault> {
        self.text(name).ok_or_else(|| unusable(format!("`{name}` is missing, and the event has none")))
    }

    /// The names of labels.
    pub(super) fn values(&self) -> Vec<&'a str> {
        let values = self.request.fields.get("values").and_then(Value::as_array);
        values.into_iter().flatten().filter_map(Value::as_str).filter(|value| !value.is_empty()).collect()
    }

    /// The output of the check that `verdict` names.
    pub(super) fn verdict(&self) -> Option<&'a Value> {
        self.request.fields.get("verdict").filter(|verdict| !verdict.is_null())
    }

    /// `/repos/OWNER/NAME`
    pub(super) fn repository(&self) -> Result<String, ProviderFault> {
        let repo = self.needed("repo")?;
        let is_name = |text: &str| {
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
            !text.is_empty() && text.chars().all(is_of_name) && text != "." && text != ".."
        };
        match repo.split_once('/') {
            Some((owner, name)) if is_name(owner) && is_name(name) => Ok(format!("/repos/{owner}/{name}")),
            Some(_) | None => Err(unusable(format!("`repo` is `{repo}`, not `OWNER/NAME`"))),
        }
    }

    pub(super) fn number(&self) -> Result<u64, ProviderFault> {
        let number = self.needed("number")?;
        number.parse().map_err(|_| unusable(format!("`number` is `{number}`, not a number")))
    }

    pub(super) fn issue(&self) -> Result<String, ProviderFault> {
        Ok(format!("{}/issues/{}", self.repository()?, self.number()?))
    }

    pub(super) fn pull(&self) -> Result<String, ProviderFault> {
        Ok(format!("{}/pulls/{}", self.repository()?, self.number()?))
    }

    pub(super) fn sha(&self) -> Result<String, ProviderFault> {
        self.needed("sha").map(percent_encoded)
    }
}
