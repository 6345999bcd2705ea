//! `test_result`: how many tests ran, and which failed.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{
    Block, Card, Detail, Digest, Finding, Kind, Row, Tone, fields, optional_count, optional_text, passed,
    strict_schema, summary, whole,
};

pub(super) const KIND: Kind =
    Kind { name: "test_result", about: "how many tests ran, and which failed", schema, normalise, digest };

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    #[serde(rename = "outcome_kind")]
    _kind: Option<String>,
    summary: Option<String>,
    passed: Option<bool>,
    framework: Option<String>,
    total: u64,
    failed: u64,
    skipped: Option<u64>,
    #[serde(default)]
    failures: Vec<FailedTest>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailedTest {
    name: String,
    message: Option<String>,
    file: Option<String>,
}

impl Fields {
    fn skipped(&self) -> u64 {
        self.skipped.unwrap_or(0)
    }

    /// How many tests ran to their end.
    fn ran(&self) -> u64 {
        self.total.saturating_sub(self.skipped())
    }

    /// `None` when no test ran: that is no success.
    fn verdict(&self) -> Option<bool> {
        match (self.failed, self.ran()) {
            (0, 0) => None,
            (failed, _) => Some(failed == 0),
        }
    }

    fn contradictions(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.failed > self.ran() {
            let (failed, ran) = (self.failed, self.ran());
            problems.push(format!("{failed} tests failed, but only {ran} ran"));
        }
        if self.failures.len() as u64 > self.failed {
            problems.push(format!(
                "{} failures are listed, but `failed` is {}",
                self.failures.len(),
                self.failed
            ));
        }
        if self.passed == Some(true) && self.verdict().is_none() {
            problems.push("`passed` is true, but no test ran".to_owned());
        }
        problems
    }
}

fn schema() -> Value {
    let count =
        |about: &str| json!({"type": "integer", "minimum": 0, "maximum": u64::MAX, "description": about});
    strict_schema(
        KIND.name,
        KIND.about,
        json!({
            "framework": optional_text("What ran them: `pytest`, `cargo test`, …"),
            "total": count("How many tests there are, with those that were skipped."),
            "failed": count("How many failed."),
            "skipped": optional_count("How many were skipped."),
            "failures": {"type": "array", "description": "Those that failed.", "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "The name of the test."},
                    "message": optional_text("What it said."),
                    "file": optional_text("Where it is."),
                },
                "required": ["name"],
                "additionalProperties": false,
            }},
        }),
        &["total", "failed"],
    )
}

fn normalise(content: &mut Map<String, Value>) {
    for field in ["total", "failed", "skipped"] {
        whole(content.get_mut(field));
    }
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let tests: Fields = fields(content)?;
    let mut problems = tests.contradictions();
    let because = match tests.failed {
        0 => "no test failed".to_owned(),
        failed => format!("`failed` is {failed}"),
    };
    let passed = passed(tests.passed, tests.verdict(), &because).unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    if !problems.is_empty() {
        return Err(problems);
    }
    let word = match passed {
        Some(true) => "PASSED",
        Some(false) => "FAILED",
        None => "NOTHING RAN",
    };
    let card = Card {
        title: format!("TEST RESULT: {word}"),
        tone: Tone::of(passed),
        aside: tests.framework.clone(),
        blocks: blocks(&tests),
    };
    let (failed, ran) = (tests.failed, tests.ran());
    let summary = summary(tests.summary, || match passed {
        Some(true) => format!("{ran} tests passed"),
        Some(false) => format!("{failed} of {ran} tests failed"),
        None => "no test ran".to_owned(),
    });
    Ok(Digest { summary, passed, card })
}

fn blocks(tests: &Fields) -> Vec<Block> {
    let mut blocks: Vec<Block> = Block::text(None, tests.summary.as_ref()).into_iter().collect();
    let row =
        |label: &str, number: u64, tone: Tone| Row { label: label.into(), value: number.to_string(), tone };
    let bad = if tests.failed > 0 { Tone::Bad } else { Tone::Neutral };
    let mut rows = vec![
        row("Passed", tests.ran().saturating_sub(tests.failed), Tone::Neutral),
        row("Failed", tests.failed, bad),
    ];
    rows.extend(tests.skipped.map(|skipped| row("Skipped", skipped, Tone::Neutral)));
    blocks.push(Block::Rows { heading: None, rows });
    if !tests.failures.is_empty() {
        let items = tests.failures.iter().map(|failure| Finding {
            label: "FAILED".into(),
            text: failure.name.clone(),
            place: failure.file.clone(),
            details: failure
                .message
                .iter()
                .map(|text| Detail { label: "Message".into(), text: text.clone() })
                .collect(),
        });
        blocks.push(Block::Findings { heading: "Failures".into(), folded: false, items: items.collect() });
    }
    blocks
}
