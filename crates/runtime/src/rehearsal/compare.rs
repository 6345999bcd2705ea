//! What a rehearsal came to, beside what its test expects.

use std::collections::BTreeMap;

use escrow_model::{CheckStatus, Event, RunStatus};
use escrow_playbook::{CheckRef, ExpectedCheck, TestCase};
use serde::Serialize;
use serde_json::Value;

use super::Played;

/// One thing that is not as expected.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// `run`, `routes`, or a check.
    pub subject: String,
    pub expected: String,
    pub actual: String,
}

/// Everything that differs. Empty when the test passes. Problems of the play itself are told before.
pub fn differences(case: &TestCase, played: &Played) -> Vec<Difference> {
    let document = played.run.document();
    let places = places(&document);
    let mut found = Vec::new();
    let mut differ = |subject: &str, expected: String, actual: String| {
        found.push(Difference { subject: subject.to_owned(), expected, actual });
    };
    let reason = played.run.reason();
    if let Some(expected) = &case.expect.run {
        let status = played.run.status();
        let code = reason.map_or(status.as_str(), |reason| reason.code.as_str());
        let same =
            if RunStatus::parse(expected).is_some() { expected == status.as_str() } else { expected == code };
        if !same {
            let why = reason.map_or(String::new(), |reason| format!(" ({})", reason.summary));
            differ("run", expected.clone(), format!("{code}{why}"));
        }
    }
    for (place, expected) in &case.expect.checks {
        let name = label(place);
        match places.get(&name) {
            Some(actual) => {
                for (expected, actual) in against(expected, actual) {
                    differ(&name, expected, actual);
                }
            }
            None => differ(&name, "an item".to_owned(), "no such item".to_owned()),
        }
    }
    if let Some(expected) = &case.expect.routes {
        let taken = routes(played);
        if *expected != taken {
            differ("routes", list(expected), list(&taken));
        }
    }
    for (place, expected) in &case.expect.issues {
        let actual = issues(played, &document, place);
        let (mut wanted, mut seen) = (expected.clone(), actual.clone());
        wanted.sort();
        seen.sort();
        if wanted != seen {
            differ(&format!("{} issues", label(place)), list(expected), list(&actual));
        }
    }
    if let Some(expected) = &case.expect.missing {
        let actual = missing(&document);
        if *expected != actual {
            differ("missing", list(expected), list(&actual));
        }
    }
    if let Some(expected) = &case.expect.warnings {
        let warnings = document["run"]["warnings"].as_array().into_iter().flatten();
        let actual: Vec<String> =
            warnings.map(|warning| warning["code"].as_str().unwrap_or_default().to_owned()).collect();
        if *expected != actual {
            differ("warnings", list(expected), list(&actual));
        }
    }
    if case.strict {
        for name in unexpected(case, &places) {
            let actual = places.get(&name).map_or(String::new(), Standing::words);
            differ(&name, "not to run, as `expect.checks` does not name it".to_owned(), actual);
        }
    }
    found
}

/// Where a check or an item ended.
#[derive(Clone, Debug, Default, PartialEq)]
struct Standing {
    status: String,
    skip_reason: Option<String>,
    runs: u64,
    output: Value,
    message: String,
    /// The check has items, which are listed themselves.
    has_items: bool,
}

impl Standing {
    fn of(document: &Value) -> Standing {
        let text = |key: &str| document[key].as_str().map(str::to_owned);
        Standing {
            status: text("status").unwrap_or_default(),
            skip_reason: text("skip_reason"),
            runs: document["runs"].as_u64().unwrap_or(0),
            output: document["output"].clone(),
            message: document["issues"][0]["message"].as_str().unwrap_or_default().to_owned(),
            has_items: document["items"].as_array().is_some_and(|items| !items.is_empty()),
        }
    }

    fn words(&self) -> String {
        match &self.skip_reason {
            Some(reason) => format!("{} ({reason})", self.status),
            None if !self.message.is_empty() => format!("{} ({})", self.status, self.message),
            None => self.status.clone(),
        }
    }
}

/// Every check and every item, as `each` and `each[1]`.
fn places(document: &Value) -> BTreeMap<String, Standing> {
    let mut places = BTreeMap::new();
    for (name, check) in document["checks"].as_object().into_iter().flatten() {
        places.insert(name.clone(), Standing::of(check));
        for item in check["items"].as_array().into_iter().flatten() {
            let indices: String = item["scope"]
                .as_array()
                .into_iter()
                .flatten()
                .map(|step| format!("[{}]", step["index"]))
                .collect();
            places.insert(format!("{name}{indices}"), Standing::of(item));
        }
    }
    places
}

fn label(place: &CheckRef) -> String {
    format!("{}{}", place.check, place.scope)
}

fn against(expected: &ExpectedCheck, actual: &Standing) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let wanted = expected.status.map(CheckStatus::as_str);
    let wrong_status = wanted.is_some_and(|status| status != actual.status);
    let wrong_reason = expected.skip_reason.is_some() && expected.skip_reason != actual.skip_reason;
    if wrong_status || wrong_reason {
        let words = match &expected.skip_reason {
            Some(reason) => format!("skipped ({reason})"),
            None => wanted.unwrap_or_default().to_owned(),
        };
        found.push((words, actual.words()));
    }
    if let Some(runs) = expected.runs.filter(|runs| *runs != actual.runs) {
        found.push((times(runs), times(actual.runs)));
    }
    if let Some(output) = expected.output.as_ref().filter(|output| **output != actual.output) {
        found.push((format!("output {output}"), format!("output {}", actual.output)));
    }
    found
}

fn times(runs: u64) -> String {
    if runs == 1 { "1 run".to_owned() } else { format!("{runs} runs") }
}

fn list(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}

fn routes(played: &Played) -> Vec<String> {
    let routed = played.journal.iter().filter_map(|entry| match &entry.event {
        Event::Routed { check, scope, to, to_scope, .. } => Some(format!("{check}{scope} -> {to}{to_scope}")),
        _ => None,
    });
    routed.collect()
}

/// Of a check, all of them; of an item, those of its last verdict.
fn issues(played: &Played, document: &Value, place: &CheckRef) -> Vec<String> {
    if place.scope.is_root() {
        let issues = document["checks"][&place.check]["issues"].as_array().into_iter().flatten();
        return issues.map(|issue| issue["rule_id"].as_str().unwrap_or_default().to_owned()).collect();
    }
    let judged = played.journal.iter().rev().find_map(|entry| match &entry.event {
        Event::CheckJudged { check, scope, issues, .. } if *check == place.check && *scope == place.scope => {
            Some(issues.iter().map(|issue| issue.code.to_string()).collect())
        }
        _ => None,
    });
    judged.unwrap_or_default()
}

fn missing(document: &Value) -> Vec<String> {
    let both = ["missing_required", "missing_optional"];
    let rows = both.iter().flat_map(|key| document["artifacts"][*key].as_array().into_iter().flatten());
    rows.map(|row| row["id"].as_str().unwrap_or_default().to_owned()).collect()
}

/// What reached its provider although nobody expected it. An expected check speaks for its items.
fn unexpected(case: &TestCase, places: &BTreeMap<String, Standing>) -> Vec<String> {
    let expected = |name: &str| case.expect.checks.iter().any(|(place, _)| label(place) == name);
    let check_of = |name: &str| name.split('[').next().unwrap_or(name).to_owned();
    places
        .iter()
        .filter(|(name, standing)| standing.runs > 0 && !standing.has_items && !expected(name))
        .map(|(name, _)| name.clone())
        .filter(|name| !expected(&check_of(name)))
        .collect()
}
