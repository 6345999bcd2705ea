//! SARIF 2.1.0: one result per issue, at the line of its check.

use std::collections::BTreeMap;
use std::path::Path;

use escrow_app::timeline::{CaseResult, RunCases};
use escrow_model::{IssueCode, Problem, RunStatus, Severity, rfc3339};
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
                "ruleIndex": rules.index(Rule::Issue(&issue.code)),
                "level": level,
                "message": { "text": format!("{}: {}", case.label(), issue.message) },
                "locations": location(line, &case.label()),
            }));
        }
    }
    for missing in &report.missing {
        let rule = Rule::Missing(missing.problem);
        let message = format!("artifact `{}` ({}) was promised and not delivered", missing.id, missing.path);
        results.push(json!({
            "ruleId": rule.id(),
            "ruleIndex": rules.index(rule),
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
    fn index(&mut self, rule: Rule<'_>) -> usize {
        let id = rule.id();
        if let Some(place) = self.places.get(&id) {
            return *place;
        }
        let place = self.list.len();
        let text = rule.description();
        self.list.push(json!({
            "id": id,
            "shortDescription": { "text": text },
            "fullDescription": { "text": text },
            "defaultConfiguration": { "level": "error" },
        }));
        self.places.insert(id, place);
        place
    }
}

/// What a result is an instance of.
#[derive(Clone, Copy)]
enum Rule<'a> {
    Issue(&'a IssueCode),
    /// An artifact that the run promised and did not deliver.
    Missing(Problem),
}

impl Rule<'_> {
    fn id(self) -> String {
        match self {
            Rule::Issue(code) => code.text().into_owned(),
            Rule::Missing(problem) => format!("artifact/{}", problem.as_str()),
        }
    }

    fn description(self) -> String {
        let text = match self {
            Rule::Missing(_) => "A promised artifact was not delivered",
            Rule::Issue(code) => match code {
                IssueCode::SchemaValidationFailed => "The output does not match `schema`",
                IssueCode::RuleFailed => "The output violates a rule of the check",
                IssueCode::GuaranteeFailed => "A `guarantee` does not hold for the output",
                IssueCode::AssumeFailed => "An `assume` does not hold, and `assume_mode` is `fail`",
                IssueCode::ArtifactMissing => "An artifact that the check promised was not delivered",
                IssueCode::OutcomeInvalid => "The output is not a valid outcome of the declared kind",
                IssueCode::ExpressionError => "An expression could not be evaluated",
                IssueCode::TemplateError => "A template could not be rendered",
                IssueCode::RedactedValue => "A value that was to reach the world holds a redacted secret",
                IssueCode::SecretRendered => "A template puts a secret together that was to reach the world",
                IssueCode::OutputTruncated => "A contract reads output that was too long to be kept whole",
                IssueCode::NoAnswer => "The provider gave no answer",
                IssueCode::NotAnArray => "The output of a `forEach` check is not an array",
                IssueCode::TooManyItems => "The output of a `forEach` check has too many items",
                IssueCode::ApprovalDenied => "A person denied the approval of the check",
                IssueCode::EffectAssumedFailed => "A person said that the effect did not happen",
                IssueCode::EffectReconciledFailed => "`reconcile` found that the effect did not happen",
                IssueCode::EffectKeyConflict => "The `effect_key` belongs to an effect with another request",
                IssueCode::EffectOutputLost => {
                    "The effect happened, and the output that a contract reads is lost"
                }
                IssueCode::UnknownTarget => "Routing names a target that does not exist",
                IssueCode::LoopBudgetExceeded => "Routing exceeded its loop budget",
                IssueCode::FailIf { check } => {
                    return format!("The result of `{check}` counts as failure by its `fail_if`");
                }
                IssueCode::Fault { provider, fault } => {
                    let fault = fault.as_str().replace('_', " ");
                    return format!("The provider `{provider}` failed: {fault}");
                }
            },
        };
        text.to_owned()
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
    fn only_faults_are_described_as_failures_of_a_provider() {
        for code in IssueCode::fixed() {
            let text = Rule::Issue(&code).description();
            assert!(!text.contains("failed: "), "{code}: {text}");
        }
        let fault = IssueCode::parse("command/exit_code").expect("a fault");
        assert_eq!(Rule::Issue(&fault).description(), "The provider `command` failed: exit code");
    }

    #[test]
    fn paths_become_references() {
        assert_eq!(uri(Path::new("./a b/ü.yaml")), "a%20b/%C3%BC.yaml");
        assert_eq!(uri(Path::new("/x/y:z.yaml")), "file:///x/y%3Az.yaml");
    }
}
