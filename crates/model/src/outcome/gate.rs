//! `gate_verdict`: whether work may continue, by which criteria, and what is next.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Block, Card, Digest, Kind, Mark, Tone, as_written, fields, optional_text, passed, strict_schema, summary,
};

pub(super) const KIND: Kind = Kind {
    name: "gate_verdict",
    about: "whether work may continue, by which criteria",
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
    gate_passed: bool,
    #[serde(default)]
    criteria: Vec<Criterion>,
    blocking_reason: Option<String>,
    next_action: Option<String>,
    feedback: Option<String>,
    notes: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Criterion {
    name: String,
    passed: bool,
}

fn schema() -> Value {
    let text = optional_text;
    strict_schema(
        KIND.name,
        KIND.about,
        json!({
            "gate_passed": {"type": "boolean", "description": "Whether the gate is open."},
            "criteria": {"type": "array", "description": "What it was judged by.", "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "What must hold."},
                    "passed": {"type": "boolean", "description": "Whether it does."},
                },
                "required": ["name", "passed"],
                "additionalProperties": false,
            }},
            "blocking_reason": text("Why it is shut."),
            "next_action": text("What to do next."),
            "feedback": text("For the author of the work."),
            "notes": text("For everybody else."),
        }),
        &["gate_passed"],
    )
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let gate: Fields = fields(content)?;
    let mut problems = Vec::new();
    let because = format!("`gate_passed` is {}", gate.gate_passed);
    let passed = passed(gate.passed, Some(gate.gate_passed), &because).unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    if let (true, Some(broken)) = (gate.gate_passed, gate.criteria.iter().find(|one| !one.passed)) {
        problems.push(format!("`gate_passed` is true, but the criterion {:?} is not met", broken.name));
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let word = if gate.gate_passed { "ACCEPT" } else { "REJECT" };
    let mut blocks: Vec<Block> = Block::text(None, gate.summary.as_ref()).into_iter().collect();
    if !gate.criteria.is_empty() {
        let items = gate
            .criteria
            .iter()
            .map(|one| Mark { label: one.name.clone(), passed: one.passed, detail: None })
            .collect();
        blocks.push(Block::Checklist { heading: "Acceptance criteria".into(), items });
    }
    for (heading, text) in [
        ("Blocking reason", &gate.blocking_reason),
        ("Next action", &gate.next_action),
        ("Feedback", &gate.feedback),
        ("Notes", &gate.notes),
    ] {
        blocks.extend(Block::text(Some(heading), text.as_ref()));
    }
    let card = Card { title: format!("GATE VERDICT: {word}"), tone: Tone::of(passed), aside: None, blocks };
    let summary = summary(gate.summary, || match (&gate.blocking_reason, gate.gate_passed) {
        (Some(reason), false) => format!("gate rejected: {reason}"),
        (None, false) => "gate rejected".to_owned(),
        (_, true) => "gate accepted".to_owned(),
    });
    Ok(Digest { summary, passed, card })
}
