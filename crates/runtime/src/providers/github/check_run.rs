//! `check.create`: a check run with annotations, 50 at a time.

use escrow_model::{FaultCode, ProviderFault};
use serde_json::{Value, json};

use super::api::{Api, Tells};
use super::finding::ReviewVerdict;
use super::target::Target;
use super::{Found, marker, unusable};
use crate::http_client::Method;

/// GitHub takes no more in one request.
const ANNOTATIONS_PER_REQUEST: usize = 50;
const CONCLUSIONS: [&str; 6] = ["success", "failure", "neutral", "cancelled", "skipped", "action_required"];

pub(super) async fn create(api: &Api<'_>, target: &Target<'_>) -> Result<Value, ProviderFault> {
    let wanted = Wanted::of(target)?;
    let runs = format!("{}/check-runs", target.repository()?);
    // An earlier attempt, of this run or another one, may have left the check run with some of its annotations.
    let (mut run, present) = match find(api, target, &wanted).await?.0 {
        Some(run) => {
            let present = annotations_of(&run);
            (run, present)
        }
        None => {
            let first = wanted.annotations.len().min(ANNOTATIONS_PER_REQUEST);
            let body = json!({
                "name": wanted.name,
                "head_sha": target.needed("sha")?,
                "external_id": target.key(),
                "status": "completed",
                "conclusion": wanted.conclusion,
                "output": wanted.output(&wanted.annotations[..first]),
            });
            (api.send(Method::Post, &runs, &body, Tells::Member("id")).await?, first)
        }
    };
    let Some(id) = run["id"].as_u64() else {
        return Err(ProviderFault::logical(FaultCode::own("transport"), "GitHub's answer has no id"));
    };
    for batch in wanted.annotations.get(present..).unwrap_or_default().chunks(ANNOTATIONS_PER_REQUEST) {
        run = api
            .send(
                Method::Patch,
                &format!("{runs}/{id}"),
                &json!({ "output": wanted.output(batch) }),
                Tells::Member("id"),
            )
            .await?;
    }
    Ok(output(&run, wanted.annotations.len()))
}

pub(super) async fn look(api: &Api<'_>, target: &Target<'_>) -> Result<Found, ProviderFault> {
    let wanted = Wanted::of(target)?;
    match find(api, target, &wanted).await? {
        (Some(run), _) if annotations_of(&run) >= wanted.annotations.len() => {
            Ok(Found::Done(output(&run, wanted.annotations.len())))
        }
        (Some(_), _) => Ok(Found::Absent("the check run lacks annotations".into())),
        (None, true) => Ok(Found::Unclear("there are too many check runs to read them all".into())),
        (None, false) => Ok(Found::Absent("no check run has the effect key".into())),
    }
}

/// The check run with the effect key, and whether there are more than were read.
async fn find(
    api: &Api<'_>,
    target: &Target<'_>,
    wanted: &Wanted<'_>,
) -> Result<(Option<Value>, bool), ProviderFault> {
    let name = escrow_template::percent_encoded(wanted.name);
    let path =
        format!("{}/commits/{}/check-runs?filter=all&check_name={name}", target.repository()?, target.sha()?);
    let listed = api.list(&path, Some("check_runs")).await?;
    let found = listed.items.into_iter().find(|run| run["external_id"].as_str() == Some(target.key()));
    Ok((found, listed.is_cut))
}

fn annotations_of(run: &Value) -> usize {
    run["output"]["annotations_count"].as_u64().and_then(|count| count.try_into().ok()).unwrap_or(0)
}

/// The check run as it is asked for.
struct Wanted<'a> {
    name: &'a str,
    conclusion: String,
    title: String,
    summary: String,
    annotations: Vec<Value>,
}

impl<'a> Wanted<'a> {
    fn of(target: &Target<'a>) -> Result<Wanted<'a>, ProviderFault> {
        let verdict = target.verdict().map(|value| {
            ReviewVerdict::read(value)
                .ok_or_else(|| unusable("the output that `verdict` names has no `verdict`"))
        });
        let verdict = verdict.transpose()?;
        let conclusion = match (target.text("state"), &verdict) {
            (Some(state), _) => state,
            (None, Some(verdict)) if verdict.is_approval() => "success",
            (None, Some(_)) => "failure",
            (None, None) => return Err(unusable("a check run needs `state` or `verdict`")),
        };
        if !CONCLUSIONS.contains(&conclusion) {
            return Err(unusable(format!(
                "`state` is `{conclusion}`, not one of {}",
                CONCLUSIONS.join(", ")
            )));
        }
        let findings = verdict.iter().flat_map(|verdict| &verdict.findings);
        let (placed, elsewhere): (Vec<_>, Vec<_>) = findings.partition(|finding| finding.place.is_some());
        let annotations = placed.iter().filter_map(|finding| {
            let (file, line) = finding.place?;
            Some(json!({
                "path": file, "start_line": line, "end_line": line,
                "annotation_level": finding.level(), "message": marker::shortened(&finding.text),
            }))
        });
        let summary = match (target.text("body"), &verdict) {
            (Some(body), _) => body.to_owned(),
            (None, Some(verdict)) => verdict.body(&elsewhere),
            (None, None) => conclusion.to_owned(),
        };
        let name = target.text("context").unwrap_or("escrow");
        let title = target.text("title").or(target.text("description")).unwrap_or(name).to_owned();
        Ok(Wanted {
            name,
            conclusion: conclusion.to_owned(),
            title,
            summary: marker::shortened(&summary),
            annotations: annotations.collect(),
        })
    }

    fn output(&self, annotations: &[Value]) -> Value {
        json!({ "title": self.title, "summary": self.summary, "annotations": annotations })
    }
}

fn output(run: &Value, annotations: usize) -> Value {
    json!({ "id": run["id"], "conclusion": run["conclusion"], "url": run["html_url"], "annotations": annotations })
}
