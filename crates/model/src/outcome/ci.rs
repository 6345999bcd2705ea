//! `ci_result`: the results of lint, tests, build and other checks.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::card::length_of_time;
use super::{
    Block, Card, Digest, Kind, Row, Tone, fields, optional_count, optional_text, passed, strict_schema,
    summary, whole,
};

pub(super) const KIND: Kind = Kind {
    name: "ci_result",
    about: "the results of lint, tests, build and other checks of CI",
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
    lint_passed: Option<bool>,
    tests_passed: Option<bool>,
    build_passed: Option<bool>,
    typecheck_passed: Option<bool>,
    test_count: Option<u64>,
    test_failures: Option<u64>,
    failure_summary: Option<String>,
    #[serde(default)]
    checks: Vec<Check>,
    #[serde(default)]
    commands: Vec<Command>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    name: String,
    passed: bool,
    detail: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    command: String,
    duration_seconds: Option<f64>,
    passed: Option<bool>,
}

impl Fields {
    /// The checks that have a field of their own, as far as they were given.
    fn named(&self) -> impl Iterator<Item = (&'static str, bool)> {
        [
            ("Tests", self.tests_passed),
            ("Lint", self.lint_passed),
            ("Typecheck", self.typecheck_passed),
            ("Build", self.build_passed),
        ]
        .into_iter()
        .filter_map(|(name, passed)| Some((name, passed?)))
    }

    /// Whether all given checks passed. Without any, `None`: a CI that checked nothing has not passed.
    fn verdict(&self) -> Option<bool> {
        let failures = self.test_failures.filter(|failures| *failures > 0).map(|_| false);
        let given =
            self.named().map(|(_, passed)| passed).chain(self.checks.iter().map(|check| check.passed));
        given.chain(failures).reduce(|all, one| all && one)
    }

    fn contradictions(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let failures = self.test_failures.unwrap_or(0);
        if let Some(count) = self.test_count.filter(|count| failures > *count) {
            problems.push(format!("{failures} tests failed of {count}"));
        }
        if failures > 0 && self.tests_passed == Some(true) {
            problems.push(format!("`tests_passed` is true, but `test_failures` is {failures}"));
        }
        problems
    }

    fn first_failed(&self) -> Option<&str> {
        let named = self.named().find(|(_, passed)| !passed).map(|(name, _)| name);
        named.or_else(|| self.checks.iter().find(|check| !check.passed).map(|check| check.name.as_str()))
    }
}

fn schema() -> Value {
    let text = optional_text;
    let flag = |about: &str| json!({"type": ["boolean", "null"], "description": about});
    let count = optional_count;
    strict_schema(
        KIND.name,
        KIND.about,
        json!({
            "lint_passed": flag("Whether the linter is content."),
            "tests_passed": flag("Whether the tests passed."),
            "build_passed": flag("Whether it builds."),
            "typecheck_passed": flag("Whether the types fit."),
            "test_count": count("How many tests ran."),
            "test_failures": count("How many of them failed."),
            "failure_summary": text("What failed, in short."),
            "checks": {"type": "array", "description": "Every other check.", "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string", "description": "What was checked."},
                    "passed": {"type": "boolean", "description": "Whether it passed."},
                    "detail": text("What it said."),
                },
                "required": ["name", "passed"],
                "additionalProperties": false,
            }},
            "commands": {"type": "array", "description": "What was run.", "items": {
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command line."},
                    "duration_seconds": {"type": ["number", "null"], "minimum": 0, "description": "How long it took."},
                    "passed": flag("Whether it succeeded."),
                },
                "required": ["command"],
                "additionalProperties": false,
            }},
        }),
        &[],
    )
}

fn normalise(content: &mut Map<String, Value>) {
    for field in ["test_count", "test_failures"] {
        whole(content.get_mut(field));
    }
}

fn digest(content: &Value) -> Result<Digest, Vec<String>> {
    let ci: Fields = fields(content)?;
    let mut problems = ci.contradictions();
    let verdict = ci.verdict();
    let because = match (verdict, ci.first_failed()) {
        (Some(true), _) => "every check passed".to_owned(),
        (_, Some(name)) => format!("`{name}` did not pass"),
        (_, None) => format!("{} tests failed", ci.test_failures.unwrap_or(0)),
    };
    let passed = passed(ci.passed, verdict, &because).unwrap_or_else(|problem| {
        problems.push(problem);
        None
    });
    if ci.passed == Some(true) && verdict.is_none() {
        problems.push("`passed` is true, but no check is given".to_owned());
    }
    if !problems.is_empty() {
        return Err(problems);
    }
    let word = match passed {
        Some(true) => "PASSED",
        Some(false) => "FAILED",
        None => "NOTHING CHECKED",
    };
    let card = Card {
        title: format!("CI RESULT: {word}"),
        tone: Tone::of(passed),
        aside: None,
        blocks: blocks(&ci),
    };
    let summary = summary(ci.summary.clone(), || match (passed, ci.first_failed()) {
        (Some(true), _) => "CI passed".to_owned(),
        (Some(false), Some(name)) => format!("CI failed: {name}"),
        (Some(false), None) => "CI failed".to_owned(),
        (None, _) => "CI checked nothing".to_owned(),
    });
    Ok(Digest { summary, passed, card })
}

fn blocks(ci: &Fields) -> Vec<Block> {
    let mut blocks: Vec<Block> = Block::text(None, ci.summary.as_ref()).into_iter().collect();
    let rows: Vec<Row> = rows(ci);
    if !rows.is_empty() {
        blocks.push(Block::Rows { heading: None, rows });
    }
    blocks.extend(Block::text(Some("Failure"), ci.failure_summary.as_ref()));
    if !ci.commands.is_empty() {
        let rows = ci
            .commands
            .iter()
            .map(|command| {
                let took = command.duration_seconds.map(length_of_time);
                let failed = (command.passed == Some(false)).then(|| "failed".to_owned());
                Row {
                    label: command.command.clone(),
                    value: took.into_iter().chain(failed).collect::<Vec<_>>().join(" "),
                    tone: Tone::of(command.passed),
                }
            })
            .collect();
        blocks.push(Block::Rows { heading: Some("Commands".into()), rows });
    }
    blocks
}

fn rows(ci: &Fields) -> Vec<Row> {
    let word = |passed: bool| if passed { "passed" } else { "failed" }.to_owned();
    let counted = ci.test_count.map(|count| {
        let failures = ci.test_failures.unwrap_or(0);
        format!("{} / {count}", count.saturating_sub(failures))
    });
    let mut rows: Vec<Row> = ci
        .named()
        .map(|(name, passed)| {
            let value = counted.clone().filter(|_| name == "Tests").unwrap_or_else(|| word(passed));
            Row { label: name.to_owned(), value, tone: Tone::of(Some(passed)) }
        })
        .collect();
    // Counted, although the outcome does not say whether that is good.
    if ci.tests_passed.is_none()
        && let Some(counted) = counted
    {
        let tone = if ci.test_failures.unwrap_or(0) > 0 { Tone::Bad } else { Tone::Neutral };
        rows.insert(0, Row { label: "Tests".into(), value: counted, tone });
    }
    rows.extend(ci.checks.iter().map(|check| {
        let detail = check.detail.as_ref().filter(|detail| !detail.trim().is_empty());
        let value =
            detail.map_or_else(|| word(check.passed), |detail| format!("{}: {detail}", word(check.passed)));
        Row { label: check.name.clone(), value, tone: Tone::of(Some(check.passed)) }
    }));
    rows
}
