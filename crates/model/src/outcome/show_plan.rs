//! `show_plan`: the plays of a show, and which must end before which.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Block, Card, Digest, Kind, Row, Tone, as_written, fields, repeated, strict_schema, summary};

pub(super) const KIND: Kind = Kind {
    name: "show_plan",
    about: "the plays of a show, and which must end before which",
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
    plays: Vec<Play>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Play {
    name: String,
    playbook: String,
    #[serde(default)]
    depends_on: Vec<String>,
}

fn schema() -> Value {
    strict_schema(
        KIND.name,
        KIND.about,
        json!({
            "plays": {"type": "array", "description": "The plays.", "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "What the play is called."},
                    "playbook": {"type": "string", "description": "What it runs."},
                    "depends_on": {
                        "type": "array",
                        "description": "The plays that must end well before it.",
                        "items": {"type": "string"},
                    },
                },
                "required": ["name", "playbook"],
                "additionalProperties": false,
            }},
        }),
        &["plays"],
    )
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let plan: Fields = fields(content)?;
    let problems = contradictions(&plan.plays);
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut blocks: Vec<Block> = Block::text(None, plan.summary.as_ref()).into_iter().collect();
    let rows = plan.plays.iter().map(|play| Row {
        label: play.name.clone(),
        value: match play.depends_on.as_slice() {
            [] => play.playbook.clone(),
            before => format!("{} after {}", play.playbook, before.join(", ")),
        },
        tone: Tone::Neutral,
    });
    blocks.push(Block::Rows { heading: None, rows: rows.collect() });
    let card = Card { title: "SHOW PLAN".into(), tone: Tone::of(plan.passed), aside: None, blocks };
    let summary = summary(plan.summary, || format!("{} plays", plan.plays.len()));
    Ok(Digest { summary, passed: plan.passed, card })
}

/// Names that occur twice or not at all, and plays that wait for each other.
fn contradictions(plays: &[Play]) -> Vec<String> {
    let mut problems = repeated("plays", plays.iter().map(|play| play.name.as_str()));
    let names: BTreeSet<&str> = plays.iter().map(|play| play.name.as_str()).collect();
    for play in plays {
        let unknown = play.depends_on.iter().filter(|name| !names.contains(name.as_str()));
        problems.extend(unknown.map(|name| format!("`{}` depends on `{name}`, which is no play", play.name)));
    }
    if !problems.is_empty() {
        return problems;
    }
    // Plays whose dependencies are done are done next. What is never reached is in a ring, or behind one.
    let mut done: BTreeSet<&str> = BTreeSet::new();
    let mut left: Vec<&Play> = plays.iter().collect();
    loop {
        let (ready, waiting): (Vec<&Play>, Vec<&Play>) =
            left.iter().partition(|play| play.depends_on.iter().all(|name| done.contains(name.as_str())));
        if ready.is_empty() {
            let stuck: Vec<&str> = waiting.iter().map(|play| play.name.as_str()).collect();
            return match stuck.as_slice() {
                [] => Vec::new(),
                stuck => vec![format!("these plays wait for each other: {}", stuck.join(", "))],
            };
        }
        done.extend(ready.iter().map(|play| play.name.as_str()));
        left = waiting;
    }
}
