//! Judges whether a value is an outcome of its kind.
//!
//!   bytes or JSON ──▶ normalise ──▶ schema ──▶ contradictions ──▶ Outcome
//!
//! **Invariant:** a rejection lists every reason. Nothing is guessed except the fields that the kind derives.

use std::sync::{Arc, LazyLock};

use escrow_model::Outcome;
use escrow_model::outcome::{self, KINDS, is_kind_name, own_digest};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::json::{duplicate_message, read_json};
use crate::{Schema, SchemaError};

/// The size limit of an outcome.
pub const BYTES_MAX: usize = 16 << 20;

/// How many reasons a rejection lists.
const PROBLEMS_MAX: usize = 20;

/// An outcome kind with its compiled schema.
#[derive(Clone, Debug)]
pub struct Kind {
    name: Arc<str>,
    schema: Arc<Schema>,
    /// The common fields that the schema of a custom kind does not declare.
    undeclared_fields: Vec<&'static str>,
}

/// Why a value is not an outcome of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{}", .problems.join("; "))]
pub struct NotAnOutcome {
    pub problems: Vec<String>,
}

impl NotAnOutcome {
    fn because(problem: impl Into<String>) -> NotAnOutcome {
        NotAnOutcome { problems: vec![problem.into()] }
    }
}

/// The built-in kinds, compiled once.
static REGISTERED: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    KINDS
        .iter()
        .map(|kind| {
            let schema = Schema::compile(&(kind.schema)()).expect("a test compiles the schema of every kind");
            Kind { name: kind.name.into(), schema: Arc::new(schema), undeclared_fields: Vec::new() }
        })
        .collect()
});

impl Kind {
    /// A built-in kind.
    pub fn registered(name: &str) -> Option<Kind> {
        REGISTERED.iter().find(|kind| &*kind.name == name).cloned()
    }

    /// A kind that a project declares with a JSON Schema.
    pub fn custom(name: &str, schema: &Value) -> Result<Kind, SchemaError> {
        let declared = schema.get("properties").and_then(Value::as_object);
        let undeclared_fields = ["outcome_kind", "summary", "passed"]
            .into_iter()
            .filter(|field| declared.is_none_or(|declared| !declared.contains_key(*field)))
            .collect();
        Ok(Kind { name: name.into(), schema: Arc::new(Schema::compile(schema)?), undeclared_fields })
    }

    /// A built-in kind, or a custom kind whose schema `custom` returns.
    pub fn find<'a>(name: &str, custom: impl Fn(&str) -> Option<&'a Value>) -> Option<Kind> {
        Kind::registered(name).or_else(|| Kind::custom(name, custom(name)?).ok())
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Everything that is wrong with a value as an outcome of this kind. Empty when it is valid.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        match self.judge(value) {
            Ok(_) => Vec::new(),
            Err(refused) => refused.problems,
        }
    }

    /// Parses an outcome of this kind.
    pub fn read(&self, bytes: &[u8]) -> Result<Outcome, NotAnOutcome> {
        self.judge(&parse(bytes)?)
    }

    /// Like `judge`, for a parsed document. Rejects one with a duplicate key.
    pub fn judge_parsed(&self, value: &Value, repeated_key: Option<&str>) -> Result<Outcome, NotAnOutcome> {
        match repeated_key {
            Some(path) => Err(NotAnOutcome::because(duplicate_message(path))),
            None => self.judge(value),
        }
    }

    /// Accepts a value as an outcome of this kind, or lists every reason against it.
    pub fn judge(&self, value: &Value) -> Result<Outcome, NotAnOutcome> {
        let Some(given) = value.as_object() else {
            let hint = if value.is_string() { " (this is text, not JSON)" } else { "" };
            return Err(NotAnOutcome::because(format!("an outcome must be an object{hint}")));
        };
        let mut content = given.clone();
        let registered = outcome::Kind::find(&self.name);
        if let Some(kind) = registered {
            (kind.normalise)(&mut content);
        }
        if let Some(other) = content.get("outcome_kind").filter(|kind| kind.as_str() != Some(&self.name)) {
            return Err(NotAnOutcome::because(format!(
                "`outcome_kind` is {}, not `{}`",
                quoted(other),
                self.name
            )));
        }
        let mut problems = self.schema.violations(&self.without_undeclared_fields(&content));
        let mut content = Value::Object(content);
        // Contradictions are only meaningful in a value that matches the schema.
        let digest = if problems.is_empty() { self.digest(&content) } else { Err(Vec::new()) };
        match digest {
            Ok(digest) => {
                if let Value::Object(content) = &mut content {
                    content.insert("outcome_kind".into(), Value::String(self.name.to_string()));
                    content.insert("passed".into(), digest.passed.map_or(Value::Null, Value::Bool));
                }
                let (summary, passed) = (one_line(&digest.summary), digest.passed);
                Ok(Outcome { kind: self.name.to_string(), summary, passed, content })
            }
            Err(contradictions) => {
                problems.extend(contradictions);
                problems.truncate(PROBLEMS_MAX);
                Err(NotAnOutcome { problems })
            }
        }
    }

    fn digest(&self, content: &Value) -> Result<outcome::Digest, Vec<String>> {
        match outcome::Kind::find(&self.name) {
            Some(kind) => (kind.digest)(content),
            None => own_digest(&self.name, content),
        }
    }

    /// The content without the common fields that a custom schema does not declare, so that it can forbid all others.
    fn without_undeclared_fields(&self, content: &Map<String, Value>) -> Value {
        let mut judged = content.clone();
        judged.retain(|field, _| !self.undeclared_fields.contains(&field.as_str()));
        Value::Object(judged)
    }
}

/// Parses an outcome whose `outcome_kind` names its kind. `find` looks up the kinds of the project, or why one is
/// invalid.
pub fn read_any(
    bytes: &[u8],
    find: impl Fn(&str) -> Option<Result<Kind, String>>,
) -> Result<Outcome, NotAnOutcome> {
    let value = parse(bytes)?;
    let Some(fields) = value.as_object() else {
        return Err(NotAnOutcome::because("an outcome must be an object with `outcome_kind`"));
    };
    let known = || KINDS.iter().map(|kind| format!("`{}`", kind.name)).collect::<Vec<_>>().join(", ");
    let name = match fields.get("outcome_kind") {
        Some(Value::String(name)) => name,
        Some(other) => {
            return Err(NotAnOutcome::because(format!("`outcome_kind` is {}, not a name", quoted(other))));
        }
        None => {
            return Err(NotAnOutcome::because(format!(
                "`outcome_kind` is missing; the kinds are {}",
                known()
            )));
        }
    };
    if !is_kind_name(name) {
        let name = quoted(&Value::String(name.clone()));
        return Err(NotAnOutcome::because(format!("unknown outcome kind {name}; the kinds are {}", known())));
    }
    match find(name) {
        Some(Ok(kind)) => kind.judge(&value),
        Some(Err(why)) => Err(NotAnOutcome::because(format!("outcome kind `{name}` is invalid: {why}"))),
        None => {
            let custom = format!("a custom kind is a JSON Schema in `.escrow/outcomes/{name}.json`");
            Err(NotAnOutcome::because(format!(
                "unknown outcome kind `{name}`; the kinds are {}; {custom}",
                known()
            )))
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Value, NotAnOutcome> {
    if bytes.len() > BYTES_MAX {
        let message = format!("{} bytes exceed the limit of {BYTES_MAX} bytes", bytes.len());
        return Err(NotAnOutcome::because(message));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(NotAnOutcome::because("the outcome is empty"));
    }
    let read = read_json(bytes).map_err(|error| NotAnOutcome::because(format!("not valid JSON: {error}")))?;
    match read.repeated_key {
        Some(path) => Err(NotAnOutcome::because(duplicate_message(&path))),
        None => Ok(read.value),
    }
}

/// A value for messages, shortened.
fn quoted(value: &Value) -> String {
    const LENGTH_MAX: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(LENGTH_MAX) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// A summary as a single, limited line.
fn one_line(text: &str) -> String {
    const LENGTH_MAX: usize = 500;
    let mut line: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = line.char_indices().nth(LENGTH_MAX) {
        line.truncate(cut);
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests;
