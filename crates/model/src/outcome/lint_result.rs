//! `lint_result`: what a linter found.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::finding::{self, FindingFields};
use super::{
    Block, Card, Digest, Kind, Row, Tone, fields, optional_count, optional_text, passed, strict_schema,
    summary, whole,
};

pub(super) const KIND: Kind =
    Kind { name: "lint_result", about: "what a linter found", schema, normalise, digest };

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(rename = "outcome_kind")]
    _kind: Option<String>,
    summary: Option<String>,
    passed: Option<bool>,
    tool: Option<String>,
    errors: u64,
    warnings: Option<u64>,
    #[serde(default)]
    findings: Vec<FindingFields>,
}

fn schema() -> Value {
    strict_schema(
        KIND.name,
        KIND.about,
        json!({
            "tool": optional_text("The linter."),
            "errors": {"type": "integer", "minimum": 0, "maximum": u64::MAX, "description": "How many errors it found."},
            "warnings": optional_count("How many warnings it found."),
            "findings": finding::schema(),
        }),
        &["errors"],
    )
}

fn normalise(content: &mut Map<String, Value>) {
    for field in ["errors", "warnings"] {
        whole(content.get_mut(field));
    }
    finding::normalise(content);
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let lint: Fields = fields(content)?;
    let mut problems = finding::problems(&lint.findings);
    let because = format!("`errors` is {}", lint.errors);
    let passed = passed(lint.passed, Some(lint.errors == 0), &because).unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    if !problems.is_empty() {
        return Err(problems);
    }
    let mut blocks: Vec<Block> = Block::text(None, lint.summary.as_ref()).into_iter().collect();
    let tone = if lint.errors > 0 { Tone::Bad } else { Tone::Neutral };
    let mut rows = vec![Row { label: "Errors".into(), value: lint.errors.to_string(), tone }];
    rows.extend(lint.warnings.map(|warnings| Row {
        label: "Warnings".into(),
        value: warnings.to_string(),
        tone: Tone::Neutral,
    }));
    blocks.push(Block::Rows { heading: None, rows });
    blocks.extend(finding::blocks(&lint.findings));
    let word = if lint.errors == 0 { "CLEAN" } else { "ERRORS" };
    let card =
        Card { title: format!("LINT RESULT: {word}"), tone: Tone::of(passed), aside: lint.tool, blocks };
    let warned = lint.warnings.filter(|warnings| *warnings > 0);
    let warned = warned.map(|warnings| format!(", {warnings} warnings")).unwrap_or_default();
    let summary = summary(lint.summary, || match lint.errors {
        0 => format!("no errors{warned}"),
        1 => format!("1 error{warned}"),
        errors => format!("{errors} errors{warned}"),
    });
    Ok(Digest { summary, passed, card })
}
