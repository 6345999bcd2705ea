//! Findings: what a review or a linter found, and where.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Block, Detail, Finding, optional_text, whole};
use crate::ArtifactPath;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindingFields {
    severity: Severity,
    category: String,
    file: Option<String>,
    line: Option<u64>,
    description: String,
    evidence: Option<String>,
    required_fix: Option<String>,
    suggestion: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Severity {
    Critical,
    High,
    Medium,
    Low,
    Info,
}

impl Severity {
    const ALL: [Severity; 5] =
        [Severity::Critical, Severity::High, Severity::Medium, Severity::Low, Severity::Info];

    fn as_str(self) -> &'static str {
        match self {
            Severity::Critical => "critical",
            Severity::High => "high",
            Severity::Medium => "medium",
            Severity::Low => "low",
            Severity::Info => "info",
        }
    }

    fn blocks(self) -> bool {
        self <= Severity::High
    }
}

pub(super) fn schema() -> Value {
    json!({"type": "array", "description": "What was found.", "items": {
        "type": "object",
        "properties": {
            "severity": {"enum": Severity::ALL.map(Severity::as_str), "description": "How bad it is."},
            "category": {"type": "string", "description": "`security`, `correctness`, `style`, …"},
            "file": optional_text("Where: a path inside the repository."),
            "line": {"type": ["integer", "null"], "minimum": 1, "description": "The line, from 1."},
            "description": {"type": "string", "description": "What is wrong."},
            "evidence": optional_text("How one can tell."),
            "required_fix": optional_text("What must be done before it can pass."),
            "suggestion": optional_text("What could be done."),
        },
        "required": ["severity", "category", "description"],
        "additionalProperties": false,
    }})
}

pub(super) fn normalise(content: &mut Map<String, Value>) {
    if let Some(Value::Array(findings)) = content.get_mut("findings") {
        findings.iter_mut().for_each(|finding| whole(finding.get_mut("line")));
    }
}

/// Paths that lead out of the repository.
pub(super) fn problems(findings: &[FindingFields]) -> Vec<String> {
    let mut problems = Vec::new();
    for (place, finding) in findings.iter().enumerate() {
        // `./` before a path says nothing.
        let file = finding.file.as_deref().map(|file| file.strip_prefix("./").unwrap_or(file));
        if let Some(Err(why)) = file.map(ArtifactPath::check_pattern) {
            problems.push(format!("/findings/{place}/file: {why}"));
        }
    }
    problems
}

pub(super) fn blocks(findings: &[FindingFields]) -> Vec<Block> {
    let mut blocks = Vec::new();
    if !findings.is_empty() {
        blocks.push(Block::Counts { heading: "Findings".into(), counts: severities(findings) });
        blocks.push(Block::Counts { heading: "Categories".into(), counts: categories(findings) });
    }
    for (heading, folded) in [("Blocking findings", false), ("Suggestions", true)] {
        let mut chosen: Vec<&FindingFields> =
            findings.iter().filter(|finding| finding.severity.blocks() != folded).collect();
        // The worst first; what is equally bad keeps the writer's order.
        chosen.sort_by_key(|finding| finding.severity);
        if !chosen.is_empty() {
            let items = chosen.into_iter().map(shown).collect();
            blocks.push(Block::Findings { heading: heading.into(), folded, items });
        }
    }
    blocks
}

fn severities(findings: &[FindingFields]) -> Vec<(String, u64)> {
    Severity::ALL
        .into_iter()
        .map(|severity| {
            let number = findings.iter().filter(|finding| finding.severity == severity).count();
            (severity.as_str().to_owned(), number as u64)
        })
        .collect()
}

/// In the order in which they first come up.
fn categories(findings: &[FindingFields]) -> Vec<(String, u64)> {
    let mut counts: indexmap::IndexMap<&str, u64> = indexmap::IndexMap::new();
    for finding in findings {
        *counts.entry(&finding.category).or_default() += 1;
    }
    counts.into_iter().map(|(category, number)| (category.to_owned(), number)).collect()
}

fn shown(finding: &FindingFields) -> Finding {
    let place = finding.file.as_ref().map(|file| match finding.line {
        Some(line) => format!("{file}:{line}"),
        None => file.clone(),
    });
    let details = [
        ("Evidence", &finding.evidence),
        ("Required", &finding.required_fix),
        ("Suggestion", &finding.suggestion),
    ];
    Finding {
        label: finding.severity.as_str().to_uppercase(),
        text: finding.description.clone(),
        place,
        details: details
            .into_iter()
            .filter_map(|(label, text)| Some(Detail { label: label.into(), text: text.clone()? }))
            .collect(),
    }
}
