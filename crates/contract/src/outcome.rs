//! Whether something is an outcome of its kind. Everything that speaks against it is said, not the first only.
//!
//!   bytes or JSON ──▶ spellings put right ──▶ schema ──▶ contradictions ──▶ Outcome
//!
//! **Invariant:** what is refused is refused with every reason; nothing is guessed but what its kind derives.

use std::sync::{Arc, LazyLock};

use escrow_model::Outcome;
use escrow_model::outcome::{self, KINDS, is_kind_name, own_digest};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::json::{given_twice, read_json};
use crate::{Schema, SchemaError};

/// The most that one outcome may hold.
pub const BYTES_MAX: usize = 16 << 20;

/// How many reasons one refusal lists.
const PROBLEMS_MAX: usize = 20;

/// A kind that can judge.
#[derive(Clone, Debug)]
pub struct Kind {
    name: Arc<str>,
    schema: Arc<Schema>,
    /// Of an own kind, the common fields that its schema does not speak of.
    silent_on: Vec<&'static str>,
}

/// Why something is not an outcome of its kind.
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

/// Compiled once: their schemas are part of the program.
static REGISTERED: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    KINDS
        .iter()
        .map(|kind| {
            let schema = Schema::compile(&(kind.schema)()).expect("a test compiles the schema of every kind");
            Kind { name: kind.name.into(), schema: Arc::new(schema), silent_on: Vec::new() }
        })
        .collect()
});

impl Kind {
    /// One of the kinds that Escrow knows by itself.
    pub fn registered(name: &str) -> Option<Kind> {
        REGISTERED.iter().find(|kind| &*kind.name == name).cloned()
    }

    /// A kind that a project declares by a JSON Schema.
    pub fn own(name: &str, schema: &Value) -> Result<Kind, SchemaError> {
        let declared = schema.get("properties").and_then(Value::as_object);
        let silent_on = ["outcome_kind", "summary", "passed"]
            .into_iter()
            .filter(|field| declared.is_none_or(|declared| !declared.contains_key(*field)))
            .collect();
        Ok(Kind { name: name.into(), schema: Arc::new(Schema::compile(schema)?), silent_on })
    }

    /// A registered kind, or the own kind of this name among those that a plan carries.
    pub fn find<'a>(name: &str, own: impl Fn(&str) -> Option<&'a Value>) -> Option<Kind> {
        Kind::registered(name).or_else(|| Kind::own(name, own(name)?).ok())
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// What its schema says of a value; how outputs are judged that only claim to be of this kind.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        match self.judge(value) {
            Ok(_) => Vec::new(),
            Err(refused) => refused.problems,
        }
    }

    /// Reads an outcome of this kind.
    pub fn read(&self, bytes: &[u8]) -> Result<Outcome, NotAnOutcome> {
        self.judge(&parse(bytes)?)
    }

    /// As `judge`, of a value that was read with one of its members given twice.
    pub fn judge_read(&self, value: &Value, repeated: Option<&str>) -> Result<Outcome, NotAnOutcome> {
        match repeated {
            Some(way) => Err(NotAnOutcome::because(given_twice(way))),
            None => self.judge(value),
        }
    }

    /// Takes a value as an outcome of this kind, or says everything that speaks against it.
    pub fn judge(&self, value: &Value) -> Result<Outcome, NotAnOutcome> {
        let Some(given) = value.as_object() else {
            let hint = if value.is_string() { " (it is text, not JSON)" } else { "" };
            return Err(NotAnOutcome::because(format!("an outcome is an object{hint}")));
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
        let mut problems = self.schema.violations(&self.judged_by_schema(&content));
        let mut content = Value::Object(content);
        // Contradictions are looked for only in what has its shape.
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

    /// An own schema need not repeat the common fields, not even when it forbids all others.
    fn judged_by_schema(&self, content: &Map<String, Value>) -> Value {
        let mut judged = content.clone();
        judged.retain(|field, _| !self.silent_on.contains(&field.as_str()));
        Value::Object(judged)
    }
}

/// Reads an outcome that says itself which kind it is; `find` knows the kinds of the project, and why one of them
/// cannot be used.
pub fn read_any(
    bytes: &[u8],
    find: impl Fn(&str) -> Option<Result<Kind, String>>,
) -> Result<Outcome, NotAnOutcome> {
    let value = parse(bytes)?;
    let Some(fields) = value.as_object() else {
        return Err(NotAnOutcome::because("an outcome is an object with `outcome_kind`"));
    };
    let known = || KINDS.iter().map(|kind| format!("`{}`", kind.name)).collect::<Vec<_>>().join(", ");
    let name = match fields.get("outcome_kind") {
        Some(Value::String(name)) => name,
        Some(other) => {
            return Err(NotAnOutcome::because(format!("`outcome_kind` is {}, not a name", quoted(other))));
        }
        None => {
            return Err(NotAnOutcome::because(format!("`outcome_kind` is missing; there are {}", known())));
        }
    };
    if !is_kind_name(name) {
        let name = quoted(&Value::String(name.clone()));
        return Err(NotAnOutcome::because(format!("unknown outcome kind {name}; known kinds: {}", known())));
    }
    match find(name) {
        Some(Ok(kind)) => kind.judge(&value),
        Some(Err(why)) => Err(NotAnOutcome::because(format!("the kind `{name}` cannot be used: {why}"))),
        None => {
            let own = format!("an own kind is a JSON Schema in `.escrow/outcomes/{name}.json`");
            Err(NotAnOutcome::because(format!(
                "unknown outcome kind `{name}`; known kinds: {}, and {own}",
                known()
            )))
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Value, NotAnOutcome> {
    if bytes.len() > BYTES_MAX {
        let message = format!("{} bytes are more than the {BYTES_MAX} that an outcome may have", bytes.len());
        return Err(NotAnOutcome::because(message));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(NotAnOutcome::because("there is nothing"));
    }
    let read = read_json(bytes).map_err(|error| NotAnOutcome::because(format!("it is not JSON: {error}")))?;
    match read.repeated {
        Some(way) => Err(NotAnOutcome::because(given_twice(&way))),
        None => Ok(read.value),
    }
}

/// A value as a message shows it: short.
fn quoted(value: &Value) -> String {
    const LENGTH_MAX: usize = 80;
    let text = value.to_string();
    match text.char_indices().nth(LENGTH_MAX) {
        Some((cut, _)) => format!("{}…", &text[..cut]),
        None => text,
    }
}

/// A summary is one line, and not a long one.
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
