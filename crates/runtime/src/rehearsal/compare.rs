//! Compares the result of a rehearsal with what its test expects.

use std::collections::BTreeMap;

use escrow_engine::Run;
use escrow_model::{CheckStatus, Event, RunStatus, SkipReason};
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

/// Everything that differs; empty when the test passes. Problems of the play itself are reported before.
pub fn differences(case: &TestCase, played: &Played) -> Vec<Difference> {
    let run = &played.run;
    let places = places(run);
    let mut found = Vec::new();
    let mut differ = |subject: &str, expected: String, actual: String| {
        found.push(Difference { subject: subject.to_owned(), expected, actual });
    };
    let reason = run.reason();
    if let Some(expected) = &case.expect.run {
        let status = run.status();
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
        let actual = issues(played, place);
        let (mut wanted, mut seen) = (expected.clone(), actual.clone());
        wanted.sort();
        seen.sort();
        if wanted != seen {
            differ(&format!("{} issues", label(place)), list(expected), list(&actual));
        }
    }
    if let Some(expected) = &case.expect.missing {
        let actual = missing(run);
        if *expected != actual {
            differ("missing", list(expected), list(&actual));
        }
    }
    if let Some(expected) = &case.expect.warnings {
        let actual: Vec<String> = run.warnings().iter().map(|warning| warning.code.clone()).collect();
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
#[derive(Clone, Debug, PartialEq)]
struct Standing {
    status: CheckStatus,
    skip_reason: Option<SkipReason>,
    runs: u32,
    output: Value,
    message: String,
    /// The check has items, which are listed themselves.
    has_items: bool,
}

impl Standing {
    fn words(&self) -> String {
        match &self.skip_reason {
            Some(reason) => format!("{} ({})", self.status.as_str(), reason.as_str()),
            None if !self.message.is_empty() => format!("{} ({})", self.status.as_str(), self.message),
            None => self.status.as_str().to_owned(),
        }
    }
}

/// Every check and every item, as `each` and `each[1]`.
fn places(run: &Run) -> BTreeMap<String, Standing> {
    let mut places = BTreeMap::new();
    for check in run.check_reports() {
        let mut has_items = false;
        for item in run.item_reports(check.index).filter(|_| check.has_items) {
            has_items = true;
            let standing = Standing {
                status: item.status,
                skip_reason: item.skip_reason,
                runs: item.runs,
                output: item.output.cloned().unwrap_or_default(),
                message: String::new(),
                has_items: false,
            };
            places.insert(format!("{}{}", check.name, item.scope), standing);
        }
        let standing = Standing {
            status: check.status,
            skip_reason: check.skip_reason,
            runs: check.runs,
            output: run.output_of(check.index).cloned().unwrap_or_default(),
            message: check.issues.first().map(|issue| issue.message.clone()).unwrap_or_default(),
            has_items,
        };
        places.insert(check.name.to_owned(), standing);
    }
    places
}

fn label(place: &CheckRef) -> String {
    format!("{}{}", place.check, place.scope)
}

fn against(expected: &ExpectedCheck, actual: &Standing) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let wrong_status = expected.status.is_some_and(|status| status != actual.status);
    let wanted_reason = expected.skip_reason.as_deref();
    let wrong_reason = wanted_reason.is_some() && wanted_reason != actual.skip_reason.map(SkipReason::as_str);
    if wrong_status || wrong_reason {
        let words = match &expected.skip_reason {
            Some(reason) => format!("skipped ({reason})"),
            None => expected.status.map_or("", CheckStatus::as_str).to_owned(),
        };
        found.push((words, actual.words()));
    }
    let runs = u64::from(actual.runs);
    if let Some(wanted) = expected.runs.filter(|wanted| *wanted != runs) {
        found.push((times(wanted), times(runs)));
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
fn issues(played: &Played, place: &CheckRef) -> Vec<String> {
    if place.scope.is_root() {
        let check = played.run.plan_of().find(&place.check).map(|index| played.run.check_report(index));
        let issues = check.into_iter().flat_map(|check| check.issues);
        return issues.map(|issue| issue.code.text().into_owned()).collect();
    }
    let judged = played.journal.iter().rev().find_map(|entry| match &entry.event {
        Event::CheckJudged { check, scope, issues, .. } if *check == place.check && *scope == place.scope => {
            Some(issues.iter().map(|issue| issue.code.to_string()).collect())
        }
        _ => None,
    });
    judged.unwrap_or_default()
}

fn missing(run: &Run) -> Vec<String> {
    let delivery = run.delivery().into_iter();
    let rows =
        delivery.flat_map(|delivery| delivery.missing_required.iter().chain(&delivery.missing_optional));
    rows.map(|row| row.id.clone()).collect()
}

/// What reached its provider unexpectedly. Expecting a check covers its items.
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
