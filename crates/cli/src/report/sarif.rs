//! SARIF 2.1.0: one result per issue, at the line of its check.

use std::collections::BTreeMap;
use std::path::Path;

use escrow_app::timeline::{CaseResult, RunCases};
use escrow_model::{RunStatus, Severity, rfc3339};
use escrow_playbook::check_lines;
use serde_json::{Value, json};

use super::Playbook;

pub(super) fn render(report: &RunCases, playbook: &Playbook<'_>) -> String {
    let mut rules = Rules::default();
    let lines = check_lines(playbook.text);
    let uri = uri(playbook.path);
    let location = |line: usize, name: &str| {
        json!([{
            "physicalLocation": { "artifactLocation": { "uri": uri }, "region": { "startLine": line } },
            "logicalLocations": [{ "name": name, "kind": "member" }],
        }])
    };
    let mut results = Vec::new();
    for case in &report.cases {
        let line = lines.get(&case.check).copied().unwrap_or(1);
        for issue in &case.issues {
            let level = match (&case.standing, issue.severity) {
                (CaseResult::FailedSoftly, Severity::Error) => "warning",
                (_, severity) => level(severity),
            };
            results.push(json!({
                "ruleId": issue.code,
                "ruleIndex": rules.index(&issue.code.text(), &case.check),
                "level": level,
                "message": { "text": format!("{}: {}", case.label(), issue.message) },
                "locations": location(line, &case.label()),
            }));
        }
    }
    for missing in &report.missing {
        let rule = format!("artifact/{}", missing.problem.as_str());
        let message = format!("artifact `{}` ({}) was promised and not delivered", missing.id, missing.path);
        results.push(json!({
            "ruleId": rule,
            "ruleIndex": rules.index(&rule, ""),
            "level": if missing.required { "error" } else { "warning" },
            "message": { "text": message },
            "locations": location(1, &missing.id),
        }));
    }
    let mut details = json!({ "id": format!("{}/{}", report.playbook, report.run) });
    if let Some(title) = &report.title {
        details["description"] = json!({ "text": title });
    }
    let log = json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "Escrow",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": rules.list,
            } },
            "automationDetails": details,
            "columnKind": "unicodeCodePoints",
            "invocations": [invocation(report)],
            "results": results,
        }],
    });
    let mut text = serde_json::to_string_pretty(&log).unwrap_or_default();
    text.push('\n');
    text
}

fn invocation(report: &RunCases) -> Value {
    let successful = report.status == RunStatus::Completed;
    let mut notifications = Vec::new();
    if let Some(reason) = report.reason.as_ref().filter(|_| !successful) {
        let waiting = matches!(report.status, RunStatus::Waiting | RunStatus::Running);
        notifications.push(json!({
            "descriptor": { "id": reason.code.as_str() },
            "level": if waiting { "note" } else { "error" },
            "message": { "text": reason.summary },
        }));
    }
    json!({
        "executionSuccessful": successful,
        "startTimeUtc": rfc3339(report.started_at),
        "endTimeUtc": rfc3339(report.ended_at),
        "toolExecutionNotifications": notifications,
    })
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Info => "note",
    }
}

/// Each rule once, in the order of its first result.
#[derive(Default)]
struct Rules {
    list: Vec<Value>,
    places: BTreeMap<String, usize>,
}

impl Rules {
    fn index(&mut self, id: &str, check: &str) -> usize {
        if let Some(place) = self.places.get(id) {
            return *place;
        }
        let place = self.list.len();
        self.places.insert(id.to_owned(), place);
        let text = describe(id, check);
        self.list.push(json!({
            "id": id,
            "shortDescription": { "text": text },
            "fullDescription": { "text": text },
            "defaultConfiguration": { "level": "error" },
        }));
        place
    }
}

fn describe(id: &str, check: &str) -> String {
    match id {
        "contract/schema_validation_failed" => "The output does not match `schema`".into(),
        "contract/guarantee_failed" => "A `guarantee` does not hold for the output".into(),
        "contract/assume_failed" => "An `assume` does not hold, and `assume_mode` is `fail`".into(),
        "contract/rule_failed" => "The output violates a rule of the check".into(),
        "contract/outcome_invalid" => "The output is not a valid outcome of the declared kind".into(),
        "contract/output_truncated" => "A contract reads output that was too long to be kept whole".into(),
        "system/expression_error" => "An expression could not be evaluated".into(),
        "system/template_error" => "A template could not be rendered".into(),
        "system/redacted_value" => "A value that was to reach the world holds a redacted secret".into(),
        "routing/loop_budget_exceeded" => "Routing exceeded its loop budget".into(),
        "forEach/not_an_array" => "The output of a `forEach` check is not an array".into(),
        id if !check.is_empty() && id == format!("{check}_fail_if") => {
            format!("The result of `{check}` counts as failure by its `fail_if`")
        }
        id if id.starts_with("artifact/") => "A promised artifact was not delivered".into(),
        id => match id.split_once('/') {
            Some((provider, fault)) => {
                format!("The provider `{provider}` failed: {}", fault.replace('_', " "))
            }
            None => format!("An issue of the kind `{id}`"),
        },
    }
}

/// A path as a relative URI reference, percent-encoded.
fn uri(path: &Path) -> String {
    let current = std::env::current_dir().unwrap_or_default();
    let path = path.strip_prefix(&current).unwrap_or(path);
    let text = path.to_string_lossy();
    let absolute = text.starts_with('/');
    let mut uri = String::from(if absolute { "file://" } else { "" });
    for byte in text.trim_start_matches("./").bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            uri.push_str(&format!("%{byte:02X}"));
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri(Path::new("./a b/ü.yaml")), "a%20b/%C3%BC.yaml");
        assert_eq!(uri(Path::new("/x/y:z.yaml")), "file:///x/y%3Az.yaml");
    }
}
