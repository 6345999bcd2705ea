//! Typed results: what a kind may contain, how it is summarised, and how it is shown.
//!
//! **Invariant:** a kind is data and pure functions over JSON. Whether a text is an outcome is judged by
//! `contract`; where it is kept is the store's business.

mod card;
mod ci;
mod finding;
mod flow_control;
mod flow_plan;
mod gate;
mod impact_report;
mod lint_result;
mod own;
mod research_analysis;
mod review;
mod show_plan;
mod test_result;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{OutcomeId, ScopePath};

pub use card::{Block, Card, Detail, Finding, Mark, Row, Tone};
pub use own::{is_kind_name, own_digest};

/// One registered kind: a file, and a line in [`KINDS`].
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// `outcome_kind`, and the column `kind`.
    pub name: &'static str,
    /// What it is, for people.
    pub about: &'static str,
    /// The JSON Schema of what may be written: strict, nothing unknown.
    pub schema: fn() -> Value,
    /// Puts spellings right that are forgiven, before the schema is asked.
    pub normalise: fn(&mut Map<String, Value>),
    /// The summary of an outcome, or every contradiction in it. Called only for what the schema admits.
    pub digest: fn(&Value) -> Result<Digest, Vec<String>>,
}

/// Every kind that Escrow knows by itself, in the order that `--help` lists them.
pub const KINDS: &[Kind] = &[
    review::KIND,
    gate::KIND,
    ci::KIND,
    test_result::KIND,
    lint_result::KIND,
    flow_control::KIND,
    research_analysis::KIND,
    impact_report::KIND,
    show_plan::KIND,
    flow_plan::KIND,
];

impl Kind {
    pub fn find(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == name)
    }
}

/// The summary of an outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Digest {
    /// One line.
    pub summary: String,
    /// `None` when the outcome does not say.
    pub passed: Option<bool>,
    pub card: Card,
}

/// A result that its kind admits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub kind: String,
    pub summary: String,
    pub passed: Option<bool>,
    /// As it was written, with spellings put right and `outcome_kind` and `passed` filled in.
    pub content: Value,
}

/// An outcome with its place in the world: what the journal and the store keep.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedOutcome {
    pub id: OutcomeId,
    /// What it is called among others: the check that gave it, `Round 1 verdict`.
    pub name: String,
    #[serde(flatten)]
    pub outcome: Outcome,
    /// The check whose output it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    #[serde(default, skip_serializing_if = "ScopePath::is_root")]
    pub scope: ScopePath,
    /// The file that it was read from, relative to the artifact directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_path: Option<String>,
}

/// Summarises an outcome: of a registered kind by its own rules, of any other by the common ones.
pub fn digest(kind: &str, content: &Value) -> Result<Digest, Vec<String>> {
    match Kind::find(kind) {
        Some(kind) => (kind.digest)(content),
        None => own_digest(kind, content),
    }
}

/// The summary that the writer gave, or the one that follows from the rest.
fn summary(given: Option<String>, otherwise: impl FnOnce() -> String) -> String {
    match given {
        Some(given) if !given.trim().is_empty() => given,
        _ => otherwise(),
    }
}

/// `passed` as written beside what the rest of the outcome says; they may not differ.
fn passed(given: Option<bool>, derived: Option<bool>, because: &str) -> Result<Option<bool>, String> {
    match (given, derived) {
        (Some(given), Some(derived)) if given != derived => {
            Err(format!("`passed` is {given}, but {because}"))
        }
        (given, derived) => Ok(derived.or(given)),
    }
}

/// A whole number is one however it is written: `2.0` is 2.
fn whole(value: Option<&mut Value>) {
    /// Beyond this a float is not exact.
    const EXACT_MAX: f64 = 9_007_199_254_740_992.0;
    if let Some(value) = value
        && let Some(number) = value.as_f64().filter(|_| value.is_f64())
        && number.fract() == 0.0
        && number.abs() <= EXACT_MAX
        && let Ok(whole) = format!("{number:.0}").parse::<i64>()
    {
        *value = Value::from(whole);
    }
}

/// Nothing is forgiven.
fn as_written(_: &mut Map<String, Value>) {}

fn optional_text(about: &str) -> Value {
    serde_json::json!({"type": ["string", "null"], "description": about})
}

fn optional_count(about: &str) -> Value {
    serde_json::json!({"type": ["integer", "null"], "minimum": 0, "maximum": u64::MAX, "description": about})
}

/// The names of a list that occur twice.
fn repeated<'a>(what: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    names.filter(|name| !seen.insert(*name)).map(|name| format!("two {what} are called `{name}`")).collect()
}

/// Reads what the schema admitted into the fields of its kind.
fn fields<T: serde::de::DeserializeOwned>(content: &Value) -> Result<T, Vec<String>> {
    T::deserialize(content).map_err(|error| vec![error.to_string()])
}

/// What every kind has, as its schema says it.
fn common_schema(kind: &str) -> Map<String, Value> {
    let Value::Object(common) = serde_json::json!({
        "outcome_kind": {"const": kind, "description": "The kind."},
        "summary": {"type": ["string", "null"], "description": "The result in one line."},
        "passed": {
            "type": ["boolean", "null"],
            "description": "Whether it is good; derived when absent, and never contradicting the rest.",
        },
    }) else {
        return Map::new();
    };
    common
}

/// The schema of a kind: the common fields and its own, and nothing else.
fn strict_schema(kind: &str, about: &str, own: Value, required: &[&str]) -> Value {
    let mut properties = common_schema(kind);
    if let Value::Object(own) = own {
        properties.extend(own);
    }
    serde_json::json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": kind,
        "description": about,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_every_kind_says_what_it_is() {
        let mut names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), KINDS.len());
        for kind in KINDS {
            assert!(is_kind_name(kind.name) && !kind.about.is_empty(), "{}", kind.name);
            let schema = (kind.schema)();
            assert_eq!(schema["additionalProperties"], false, "{}", kind.name);
            assert_eq!(schema["properties"]["outcome_kind"]["const"], kind.name);
        }
    }

    /// The schema and the type behind it must not drift apart: each knows exactly the fields of the other.
    #[test]
    fn the_schema_of_a_kind_and_its_fields_agree() {
        for kind in KINDS {
            let unknown = serde_json::json!({"no such field": 1});
            let problems = (kind.digest)(&unknown).expect_err("unknown fields are refused");
            let schema = (kind.schema)();
            let properties = schema["properties"].as_object().expect("properties");
            let listed = problems[0].split("expected one of ").nth(1).unwrap_or_default();
            let fields: Vec<&str> =
                listed.split('`').filter(|part| !part.trim_matches([',', ' ']).is_empty()).collect();
            let mut named: Vec<&str> = properties.keys().map(String::as_str).collect();
            let mut fields = fields;
            named.sort_unstable();
            fields.sort_unstable();
            assert_eq!(named, fields, "{}", kind.name);
        }
    }

    #[test]
    fn an_outcome_keeps_its_place_through_the_journal() {
        let recorded = RecordedOutcome {
            id: OutcomeId::new(1_700_000_000_000, 7),
            name: "review".into(),
            outcome: Outcome {
                kind: "gate_verdict".into(),
                summary: "accepted".into(),
                passed: Some(true),
                content: serde_json::json!({"gate_passed": true}),
            },
            check: Some("review".into()),
            scope: ScopePath::new(vec![2]),
            file_path: None,
        };
        let text = serde_json::to_string(&recorded).expect("it serialises");
        assert_eq!(serde_json::from_str::<RecordedOutcome>(&text).expect("it reads back"), recorded);
    }
}
