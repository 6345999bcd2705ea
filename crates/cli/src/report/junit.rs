//! JUnit XML for CI systems: one test case per check or item, and one for the run if its reason is not that of a
//! check.

use std::fmt::Write;

use escrow_app::timeline::{Case, CaseResult, RunCases};
use escrow_model::{Issue, ReasonCode, RunStatus, rfc3339};

/// How much of the end of each stream a report shows: people read it.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

pub(super) fn render(report: &RunCases) -> String {
    let mut cases = String::new();
    let mut tally = Tally::default();
    for case in &report.cases {
        check_case(case, report, &mut cases, &mut tally);
    }
    run_case(report, &mut cases, &mut tally);
    let Tally { tests, failures, errors, skipped } = tally;
    let counts = format!(
        r#"tests="{tests}" failures="{failures}" errors="{errors}" skipped="{skipped}" time="{}""#,
        seconds(report.elapsed_ms())
    );
    let name = attribute(&report.playbook);
    let timestamp = rfc3339(report.started_at);
    let run = attribute(&report.run);
    let title = match &report.title {
        Some(title) => format!("\n      <property name=\"title\" value=\"{}\"/>", attribute(title)),
        None => String::new(),
    };
    format!(
        r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="escrow" {counts}>
  <testsuite name="{name}" {counts} timestamp="{timestamp}">
    <properties>
      <property name="run" value="{run}"/>{title}
    </properties>
{cases}  </testsuite>
</testsuites>
"#
    )
}

#[derive(Default)]
struct Tally {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

fn check_case(case: &Case, report: &RunCases, text: &mut String, tally: &mut Tally) {
    let mut inside = String::new();
    match &case.standing {
        CaseResult::Succeeded => {
            for issue in &case.flaky {
                let attributes = [("message", issue.message.as_str()), ("type", &issue.code.text())];
                element(&mut inside, "flakyFailure", &attributes, "");
            }
        }
        CaseResult::Failed => {
            tally.failures += 1;
            let first = case.issues.first();
            let message = first.map_or("failed", |issue| issue.message.as_str());
            let rule = first.map_or("failed".into(), |issue| issue.code.text());
            element(&mut inside, "failure", &[("message", message), ("type", &rule)], &issues(&case.issues));
        }
        CaseResult::FailedSoftly => {
            tally.skipped += 1;
            let why = case.issues.first().map_or("", |issue| issue.message.as_str());
            element(
                &mut inside,
                "skipped",
                &[("message", &format!("failed, and was allowed to: {why}"))],
                "",
            );
        }
        CaseResult::Skipped { reason, detail } => {
            tally.skipped += 1;
            let reason = reason.as_str();
            let message = if detail.is_empty() { reason.to_owned() } else { format!("{reason}: {detail}") };
            element(&mut inside, "skipped", &[("message", &message)], "");
        }
        CaseResult::Open => {
            tally.skipped += 1;
            element(&mut inside, "skipped", &[("message", "not decided: the run ended or paused first")], "");
        }
    }
    if matches!(case.standing, CaseResult::Failed | CaseResult::FailedSoftly) {
        for (name, output) in [("system-out", &case.output), ("system-err", &case.stderr)] {
            if !output.is_empty() {
                element(&mut inside, name, &[], tail(output));
            }
        }
    }
    let class = format!("{}.{}", report.playbook, case.check);
    test_case(text, tally, &case.label(), &class, case.duration_ms, &inside);
}

/// Reasons that belong to no check: missing artifacts, the loop budget, a deadline, a denial.
fn run_case(report: &RunCases, text: &mut String, tally: &mut Tally) {
    let code = report.reason.as_ref().map(|reason| reason.code);
    let of_the_run = [ReasonCode::FailedLoopBudget, ReasonCode::FailedExpression].map(Some).contains(&code);
    let carried = report.status == RunStatus::Failed && tally.failures > 0 && !of_the_run;
    let lacks = report.missing.iter().any(|missing| missing.required);
    if carried && !lacks || report.status == RunStatus::Completed {
        return;
    }
    let (code, summary) = match &report.reason {
        Some(_) if carried => (ReasonCode::FailedMissingArtifact.as_str(), "missing required artifacts"),
        Some(reason) => (reason.code.as_str(), reason.summary.as_str()),
        None => (report.status.as_str(), ""),
    };
    let mut inside = String::new();
    let mut body = String::new();
    for missing in report.missing.iter().filter(|missing| missing.required) {
        let problem = missing.problem.as_str();
        // Writing to a string cannot fail.
        let _ = writeln!(body, "{} ({}): {problem}", missing.id, missing.path);
    }
    match report.status {
        RunStatus::Completed => return,
        RunStatus::Failed => {
            tally.failures += 1;
            element(&mut inside, "failure", &[("message", summary), ("type", code)], &body);
        }
        RunStatus::TimedOut | RunStatus::Aborted | RunStatus::Cancelled => {
            tally.errors += 1;
            element(&mut inside, "error", &[("message", summary), ("type", code)], &body);
        }
        RunStatus::Running | RunStatus::Waiting => {
            tally.skipped += 1;
            element(&mut inside, "skipped", &[("message", summary)], "");
        }
    }
    test_case(text, tally, "run", &report.playbook, report.elapsed_ms(), &inside);
}

fn test_case(text: &mut String, tally: &mut Tally, name: &str, class: &str, ms: u64, inside: &str) {
    tally.tests += 1;
    let (name, class, time) = (attribute(name), attribute(class), seconds(ms));
    let open = format!(r#"    <testcase name="{name}" classname="{class}" time="{time}""#);
    if inside.is_empty() {
        text.push_str(&format!("{open}/>\n"));
    } else {
        text.push_str(&format!("{open}>\n{inside}    </testcase>\n"));
    }
}

fn element(text: &mut String, name: &str, attributes: &[(&str, &str)], content: &str) {
    text.push_str(&format!("      <{name}"));
    for (key, value) in attributes {
        text.push_str(&format!(r#" {key}="{}""#, attribute(value)));
    }
    if content.is_empty() {
        text.push_str("/>\n");
    } else {
        text.push_str(&format!(">{}</{name}>\n", escape(content, XmlContext::Text)));
    }
}

fn issues(issues: &[Issue]) -> String {
    issues.iter().map(|issue| format!("{}: {}\n", issue.code, issue.message)).collect()
}

fn tail(output: &str) -> &str {
    let from = output.len().saturating_sub(OUTPUT_BYTES_MAX);
    let from = (from..=output.len()).find(|at| output.is_char_boundary(*at)).unwrap_or(0);
    &output[from..]
}

fn seconds(ms: u64) -> String {
    format!("{}.{:03}", ms / 1000, ms % 1000)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum XmlContext {
    Text,
    Attribute,
}

fn attribute(text: &str) -> String {
    escape(text, XmlContext::Attribute)
}

/// Characters that XML 1.0 has no way to write become U+FFFD.
fn escape(text: &str, place: XmlContext) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' if place == XmlContext::Attribute => escaped.push_str("&quot;"),
            '\n' if place == XmlContext::Attribute => escaped.push_str("&#10;"),
            '\t' if place == XmlContext::Attribute => escaped.push_str("&#9;"),
            // A parser would read a bare one as a line break.
            '\r' => escaped.push_str("&#13;"),
            '\n' | '\t' => escaped.push(character),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_say_is_replaced() {
        assert_eq!(
            escape("a<b>&\"'\0\u{1b}[31m\u{ffff}é\n", XmlContext::Text),
            "a&lt;b&gt;&amp;\"'\u{fffd}\u{fffd}[31m\u{fffd}é\n"
        );
        assert_eq!(attribute("a\"b\nc\td\re"), "a&quot;b&#10;c&#9;d&#13;e");
    }

    #[test]
    fn long_output_keeps_its_end() {
        let long = "é".repeat(OUTPUT_BYTES_MAX);
        assert_eq!(tail(&long).len(), OUTPUT_BYTES_MAX);
        assert_eq!(tail("short"), "short");
    }
}
