//! `flow_plan`: the steps of a flow of work, and what each is for.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Block, Card, Digest, Kind, Row, Tone, as_written, fields, repeated, strict_schema, summary};

pub(super) const KIND: Kind = Kind {
    name: "flow_plan",
    about: "the steps of a flow of work, and what each is for",
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
    steps: Vec<Step>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    name: String,
    intent: String,
}

fn schema() -> Value {
    strict_schema(
        KIND.name,
        KIND.about,
        json!({
            "steps": {"type": "array", "description": "The steps, in their order.", "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "What the step is called."},
                    "intent": {"type": "string", "description": "What it is for."},
                },
                "required": ["name", "intent"],
                "additionalProperties": false,
            }},
        }),
        &["steps"],
    )
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let plan: Fields = fields(content)?;
    let problems = repeated("steps", plan.steps.iter().map(|step| step.name.as_str()));
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut blocks: Vec<Block> = Block::text(None, plan.summary.as_ref()).into_iter().collect();
    let rows = plan.steps.iter().map(|step| Row {
        label: step.name.clone(),
        value: step.intent.clone(),
        tone: Tone::Neutral,
    });
    blocks.push(Block::Rows { heading: None, rows: rows.collect() });
    let card = Card { title: "FLOW PLAN".into(), tone: Tone::of(plan.passed), aside: None, blocks };
    let summary = summary(plan.summary, || format!("{} steps", plan.steps.len()));
    Ok(Digest { summary, passed: plan.passed, card })
}
