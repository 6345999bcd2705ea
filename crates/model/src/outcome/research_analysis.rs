//! `research_analysis`: the answer to a question, claim by claim, with sources.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Block, Card, Detail, Digest, Finding, Kind, Tone, as_written, fields, optional_text, strict_schema,
    summary,
};

pub(super) const KIND: Kind = Kind {
    name: "research_analysis",
    about: "the answer to a question, claim by claim, with sources",
    schema,
    normalise: as_written,
    digest,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(rename = "outcome_kind")]
    _kind: Option<String>,
    summary: Option<String>,
    passed: Option<bool>,
    question: String,
    #[serde(default)]
    findings: Vec<Claim>,
    recommendation: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    claim: String,
    /// A word, or a number from 0 to 1.
    confidence: Option<Value>,
    #[serde(default)]
    sources: Vec<String>,
}

fn schema() -> Value {
    strict_schema(
        KIND.name,
        KIND.about,
        json!({
            "question": {"type": "string", "description": "What was asked."},
            "findings": {"type": "array", "description": "What was found.", "items": {
                "type": "object",
                "properties": {
                    "claim": {"type": "string", "description": "One finding, as a sentence."},
                    "confidence": {
                        "description": "How certain it is: a word, or a number from 0 to 1.",
                        "anyOf": [
                            {"enum": ["low", "medium", "high", null]},
                            {"type": "number", "minimum": 0, "maximum": 1},
                        ],
                    },
                    "sources": {
                        "type": "array",
                        "description": "Where it comes from.",
                        "items": {"type": "string"},
                    },
                },
                "required": ["claim"],
                "additionalProperties": false,
            }},
            "recommendation": optional_text("What follows."),
        }),
        &["question"],
    )
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let research: Fields = fields(content)?;
    let mut blocks: Vec<Block> = Block::text(None, research.summary.as_ref()).into_iter().collect();
    blocks.extend(Block::text(Some("Question"), Some(&research.question)));
    if !research.findings.is_empty() {
        let items = research.findings.iter().map(shown).collect();
        blocks.push(Block::Findings { heading: "Findings".into(), folded: false, items });
    }
    blocks.extend(Block::text(Some("Recommendation"), research.recommendation.as_ref()));
    let card =
        Card { title: "RESEARCH ANALYSIS".into(), tone: Tone::of(research.passed), aside: None, blocks };
    let found = research.findings.len();
    let summary = summary(research.summary, || {
        research.recommendation.unwrap_or_else(|| format!("{}: {found} findings", research.question))
    });
    Ok(Digest { summary, passed: research.passed, card })
}

fn shown(claim: &Claim) -> Finding {
    let label = match &claim.confidence {
        Some(Value::String(word)) => word.to_uppercase(),
        Some(Value::Number(number)) => number.to_string(),
        Some(_) | None => "–".to_owned(),
    };
    let source = |text: &String| Detail { label: "Source".into(), text: text.clone() };
    Finding {
        label,
        text: claim.claim.clone(),
        place: None,
        details: claim.sources.iter().map(source).collect(),
    }
}
