//! `review.create`: a review, with the findings of a `review_verdict` on their lines.

use escrow_model::ProviderFault;
use serde_json::{Value, json};

use super::api::{Api, Offered, Tells};
use super::comment::contains;
use super::diff_lines::DiffLines;
use super::finding::{Finding, ReviewVerdict};
use super::target::Target;
use super::{Found, marker, read, unusable};
use crate::http_client::Method;

pub(super) async fn create(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    let verdict = match target.verdict() {
        Some(value) => Some(
            ReviewVerdict::read(value)
                .ok_or_else(|| unusable("the output that `verdict` names has no `verdict`"))?,
        ),
        None => None,
    };
    let mut on_lines: Vec<&Finding<'_>> = Vec::new();
    let mut elsewhere: Vec<&Finding<'_>> = Vec::new();
    if let Some(verdict) = &verdict {
        let has_places = verdict.findings.iter().any(|finding| finding.place.is_some());
        let files = if has_places { read::listed_files(api, target).await?.items } else { Vec::new() };
        let lines = DiffLines::of(&files);
        for finding in &verdict.findings {
            match finding.place {
                // GitHub refuses a whole review for one comment outside of the diff.
                Some((file, line)) if lines.shows(file, line) => on_lines.push(finding),
                Some(_) | None => elsewhere.push(finding),
            }
        }
    }
    let path = format!("{}/reviews", target.pull()?);
    let event = event(target, verdict.as_ref())?;
    let review = review(target, verdict.as_ref(), event, &on_lines, &elsewhere)?;
    let (made, comments) = match api.offer(Method::Post, &path, &review, Tells::Member("id")).await? {
        Offered::Made(made) => (made, on_lines.len()),
        Offered::Unprocessable(fault) if on_lines.is_empty() => return Err(fault),
        // The diff may have changed since it was read, or GitHub may show less of it than its patches have.
        Offered::Unprocessable(_) => {
            let all: Vec<&Finding<'_>> = on_lines.iter().chain(&elsewhere).copied().collect();
            let review = self::review(target, verdict.as_ref(), event, &[], &all)?;
            (api.send(Method::Post, &path, &review, Tells::Member("id")).await?, 0)
        }
    };
    let mut output = output(&made);
    output["comments"] = json!(comments);
    Ok(output)
}

fn review(
    target: &Target<'_>,
    verdict: Option<&ReviewVerdict<'_>>,
    event: &str,
    on_lines: &[&Finding<'_>],
    elsewhere: &[&Finding<'_>],
) -> Result<Value, ProviderFault> {
    let of_verdict = verdict.map(|verdict| verdict.body(elsewhere));
    let body = match (target.text("body"), of_verdict) {
        (Some(body), Some(more)) => format!("{body}\n\n{more}"),
        (Some(body), None) => body.to_owned(),
        (None, Some(body)) => body,
        (None, None) => return Err(unusable("a review needs `body` or `verdict`")),
    };
    let comments = on_lines.iter().filter_map(|finding| {
        let (file, line) = finding.place?;
        let body = marker::shortened(&marker::unmarked(&finding.text));
        Some(json!({ "path": file, "line": line, "side": "RIGHT", "body": body }))
    });
    let mut review = json!({
        "event": event,
        "body": marker::signed(&body, target.key()),
        "comments": comments.collect::<Vec<_>>(),
    });
    if let Some(sha) = target.text("sha") {
        review["commit_id"] = json!(sha);
    }
    Ok(review)
}

pub(super) async fn look(api: &Api<'_>, target: &Target<'_>) -> Result<Found, ProviderFault> {
    let listed = api.list(&format!("{}/reviews", target.pull()?), None).await?;
    let effect = marker::of_effect(target.key());
    match listed.items.iter().find(|review| contains(review, &effect)) {
        Some(review) => Ok(Found::Done(output(review))),
        None if listed.is_cut => Ok(Found::Unclear("there are too many reviews to read them all".into())),
        None => Ok(Found::Absent("no review has the marker of the effect".into())),
    }
}

/// `state`, or what the verdict means.
fn event(target: &Target<'_>, verdict: Option<&ReviewVerdict<'_>>) -> Result<&'static str, ProviderFault> {
    match (target.text("state"), verdict) {
        (Some("approve"), _) => Ok("APPROVE"),
        (Some("request_changes"), _) => Ok("REQUEST_CHANGES"),
        (Some("comment"), _) | (None, None) => Ok("COMMENT"),
        (Some(other), _) => {
            Err(unusable(format!("`state` is `{other}`, not one of approve, request_changes, comment")))
        }
        (None, Some(verdict)) if verdict.is_approval() => Ok("APPROVE"),
        (None, Some(_)) => Ok("REQUEST_CHANGES"),
    }
}

fn output(review: &Value) -> Value {
    json!({ "id": review["id"], "state": review["state"], "url": review["html_url"] })
}
