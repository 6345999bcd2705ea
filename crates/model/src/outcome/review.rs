//! `review_verdict`: what a reviewer decided, and what was found.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::card::length_of_time;
use super::{
    Block, Card, Detail, Digest, Finding, Kind, Tone, fields, passed, strict_schema, summary, whole,
};
use crate::ArtifactPath;

pub(super) const KIND: Kind = Kind {
    name: "review_verdict",
    about: "what a reviewer decided, with findings",
    schema,
    normalise,
    digest,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(rename = "outcome_kind")]
    _kind: Option<String>,
    summary: Option<String>,
    passed: Option<bool>,
    verdict: ReviewDecision,
    #[serde(default = "first")]
    round: u32,
    reviewer: Option<String>,
    duration_seconds: Option<f64>,
    #[serde(default)]
    findings: Vec<FindingFields>,
}

fn first() -> u32 {
    1
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
enum ReviewDecision {
    #[serde(rename = "APPROVE")]
    Approve,
    #[serde(rename = "APPROVE_WITH_SUGGESTIONS")]
    ApproveWithSuggestions,
    #[serde(rename = "REQUEST_CHANGES")]
    RequestChanges,
    #[serde(rename = "REJECT")]
    Reject,
}

impl ReviewDecision {
    fn as_str(self) -> &'static str {
        match self {
            ReviewDecision::Approve => "APPROVE",
            ReviewDecision::ApproveWithSuggestions => "APPROVE_WITH_SUGGESTIONS",
            ReviewDecision::RequestChanges => "REQUEST_CHANGES",
            ReviewDecision::Reject => "REJECT",
        }
    }

    fn passes(self) -> bool {
        match self {
            ReviewDecision::Approve | ReviewDecision::ApproveWithSuggestions => true,
            ReviewDecision::RequestChanges | ReviewDecision::Reject => false,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FindingFields {
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
enum Severity {
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

fn schema() -> Value {
    let text = |about: &str| json!({"type": ["string", "null"], "description": about});
    strict_schema(
        KIND.name,
        KIND.about,
        json!({
            "verdict": {
                "enum": ["APPROVE", "APPROVE_WITH_SUGGESTIONS", "REQUEST_CHANGES", "REJECT"],
                "description": "The decision.",
            },
            "round": {"type": "integer", "minimum": 1, "maximum": u32::MAX, "description": "Which round of review; 1 without it."},
            "reviewer": text("Who reviewed."),
            "duration_seconds": {"type": ["number", "null"], "minimum": 0, "description": "How long it took."},
            "findings": {"type": "array", "description": "What was found.", "items": {
                "type": "object",
                "properties": {
                    "severity": {"enum": Severity::ALL.map(Severity::as_str), "description": "How bad it is."},
                    "category": {"type": "string", "description": "`security`, `correctness`, `style`, …"},
                    "file": text("Where: a path inside the repository."),
                    "line": {"type": ["integer", "null"], "minimum": 1, "description": "The line, from 1."},
                    "description": {"type": "string", "description": "What is wrong."},
                    "evidence": text("How one can tell."),
                    "required_fix": text("What must be done before it can pass."),
                    "suggestion": text("What could be done."),
                },
                "required": ["severity", "category", "description"],
                "additionalProperties": false,
            }},
        }),
        &["verdict"],
    )
}

/// `REQUEST CHANGES` and `APPROVE-WITH-SUGGESTIONS` are what people and models write.
fn normalise(content: &mut Map<String, Value>) {
    if let Some(Value::String(verdict)) = content.get_mut("verdict") {
        *verdict = verdict.trim().replace(['-', ' '], "_");
    }
    whole(content.get_mut("round"));
    if let Some(Value::Array(findings)) = content.get_mut("findings") {
        findings.iter_mut().for_each(|finding| whole(finding.get_mut("line")));
    }
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let review: Fields = fields(content)?;
    let mut problems = Vec::new();
    for (place, finding) in review.findings.iter().enumerate() {
        // `./` before a path says nothing.
        let file = finding.file.as_deref().map(|file| file.strip_prefix("./").unwrap_or(file));
        if let Some(Err(why)) = file.map(ArtifactPath::check_pattern) {
            problems.push(format!("/findings/{place}/file: {why}"));
        }
    }
    let verdict = review.verdict.as_str();
    let because = format!("the verdict is {verdict}");
    let passed = passed(review.passed, Some(review.verdict.passes()), &because).unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    if !problems.is_empty() {
        return Err(problems);
    }
    let card = card(&review, passed);
    let counted = match review.findings.len() {
        0 => String::new(),
        1 => ", 1 finding".to_owned(),
        number => format!(", {number} findings"),
    };
    let summary = summary(review.summary, || format!("{verdict}{counted}"));
    Ok(Digest { summary, passed, card })
}

fn card(review: &Fields, passed: Option<bool>) -> Card {
    let took = review.duration_seconds.map(length_of_time);
    let round = (review.round > 1).then(|| format!("round {}", review.round));
    let aside: Vec<String> = review.reviewer.iter().cloned().chain(took).chain(round).collect();
    let mut blocks: Vec<Block> = Block::text(None, review.summary.as_ref()).into_iter().collect();
    if !review.findings.is_empty() {
        blocks.push(Block::Counts { heading: "Findings".into(), counts: severities(&review.findings) });
        blocks.push(Block::Counts { heading: "Categories".into(), counts: categories(&review.findings) });
    }
    for (heading, folded) in [("Blocking findings", false), ("Suggestions", true)] {
        let mut chosen: Vec<&FindingFields> =
            review.findings.iter().filter(|finding| finding.severity.blocks() != folded).collect();
        // The worst first; what is equally bad keeps the writer's order.
        chosen.sort_by_key(|finding| finding.severity);
        if !chosen.is_empty() {
            let items = chosen.into_iter().map(shown).collect();
            blocks.push(Block::Findings { heading: heading.into(), folded, items });
        }
    }
    Card {
        title: review.verdict.as_str().replace('_', " "),
        tone: Tone::of(passed),
        aside: (!aside.is_empty()).then(|| aside.join(" · ")),
        blocks,
    }
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
