//! The findings of a `review_verdict`, as GitHub shows them.

use serde_json::Value;

pub(super) struct ReviewVerdict<'v> {
    pub(super) decision: String,
    pub(super) summary: Option<&'v str>,
    pub(super) findings: Vec<Finding<'v>>,
}

pub(super) struct Finding<'v> {
    pub(super) severity: &'v str,
    /// Where it is, if the reviewer said so.
    pub(super) place: Option<(&'v str, u64)>,
    pub(super) text: String,
}

impl<'v> ReviewVerdict<'v> {
    /// What the output of a check says, whether it was stored as an outcome or not.
    pub(super) fn read(value: &'v Value) -> Option<ReviewVerdict<'v>> {
        let decision = value["verdict"].as_str()?.to_ascii_uppercase().replace(['-', ' '], "_");
        let findings = value["findings"].as_array().map_or(&[][..], Vec::as_slice);
        Some(ReviewVerdict {
            decision,
            summary: value["summary"].as_str(),
            findings: findings.iter().map(Finding::read).collect(),
        })
    }

    pub(super) fn is_approval(&self) -> bool {
        matches!(self.decision.as_str(), "APPROVE" | "APPROVE_WITH_SUGGESTIONS")
    }

    /// The summary, and the findings that have no line of their own.
    pub(super) fn body(&self, without_line: &[&Finding<'_>]) -> String {
        let mut body = format!("**{}**", self.decision.replace('_', " "));
        if let Some(summary) = self.summary {
            body.push_str(&format!("\n\n{summary}"));
        }
        for (index, finding) in without_line.iter().enumerate() {
            body.push_str(if index == 0 { "\n\n" } else { "\n" });
            let place = finding.place.map(|(file, line)| format!("`{file}:{line}`: ")).unwrap_or_default();
            body.push_str(&format!("- {place}{}", finding.text.replace('\n', "\n  ")));
        }
        body
    }
}

impl<'v> Finding<'v> {
    fn read(value: &'v Value) -> Finding<'v> {
        let text = |name: &str| value[name].as_str().filter(|text| !text.is_empty());
        let severity = text("severity").unwrap_or("info");
        let mut words =
            format!("**{severity}**: {}", text("description").unwrap_or("(without a description)"));
        for (name, title) in
            [("evidence", "Evidence"), ("required_fix", "Required"), ("suggestion", "Suggestion")]
        {
            if let Some(more) = text(name) {
                words.push_str(&format!("\n\n{title}: {more}"));
            }
        }
        let place = text("file").zip(value["line"].as_u64().filter(|line| *line > 0));
        Finding { severity, place, text: words }
    }

    /// The level of an annotation.
    pub(super) fn level(&self) -> &'static str {
        match self.severity.to_ascii_lowercase().as_str() {
            "critical" | "high" => "failure",
            "medium" => "warning",
            _ => "notice",
        }
    }
}
