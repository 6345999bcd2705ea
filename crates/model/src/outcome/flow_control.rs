//! `flow_control`: whether a flow of work should continue, and with what.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{
    Block, Card, Digest, Kind, Row, Tone, as_written, fields, optional_text, strict_schema, summary,
};

pub(super) const KIND: Kind = Kind {
    name: "flow_control",
    about: "whether a flow of work should continue, and with what",
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
    should_continue: bool,
    reason: Option<String>,
    #[serde(default)]
    next_steps: Vec<String>,
}

fn schema() -> Value {
    strict_schema(
        KIND.name,
        KIND.about,
        json!({
            "should_continue": {"type": "boolean", "description": "Whether there is more to do."},
            "reason": optional_text("Why."),
            "next_steps": {"type": "array", "description": "What to do next.", "items": {"type": "string"}},
        }),
        &["should_continue"],
    )
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let flow: Fields = fields(content)?;
    let word = if flow.should_continue { "CONTINUE" } else { "STOP" };
    let mut blocks: Vec<Block> = Block::text(None, flow.summary.as_ref()).into_iter().collect();
    blocks.extend(Block::text(Some("Reason"), flow.reason.as_ref()));
    if !flow.next_steps.is_empty() {
        let steps = flow.next_steps.iter().enumerate();
        let rows = steps.map(|(place, step)| Row {
            label: (place + 1).to_string(),
            value: step.clone(),
            tone: Tone::Neutral,
        });
        blocks.push(Block::Rows { heading: Some("Next steps".into()), rows: rows.collect() });
    }
    let card = Card { title: format!("FLOW: {word}"), tone: Tone::of(flow.passed), aside: None, blocks };
    let summary = summary(flow.summary, || match &flow.reason {
        Some(reason) => format!("{}: {reason}", word.to_lowercase()),
        None => word.to_lowercase(),
    });
    // Stopping is as good an answer as continuing, so `passed` is what the writer says.
    Ok(Digest { summary, passed: flow.passed, card })
}
