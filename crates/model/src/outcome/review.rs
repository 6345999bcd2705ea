//! `review_verdict`: what a reviewer decided, and what was found.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::card::length_of_time;
use super::finding::{self, FindingFields};
use super::{Block, Card, Digest, Kind, Tone, fields, optional_text, passed, strict_schema, summary, whole};

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

fn schema() -> Value {
    let text = optional_text;
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
            "findings": finding::schema(),
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
    finding::normalise(content);
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let review: Fields = fields(content)?;
    let mut problems = finding::problems(&review.findings);
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
    blocks.extend(finding::blocks(&review.findings));
    Card {
        title: review.verdict.as_str().replace('_', " "),
        tone: Tone::of(passed),
        aside: (!aside.is_empty()).then(|| aside.join(" · ")),
        blocks,
    }
}
