//! JSON Schema 2020-12, with patterns on a linear-time engine and no reference that leaves the document.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, Retrieve, Uri, ValidationError, Validator};
use serde_json::Value;
use thiserror::Error;

/// How many violations one judgement lists.
const VIOLATIONS_MAX: usize = 20;

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Schema(Validator);

/// A schema that cannot be compiled: its author must act.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// Refuses every reference that leaves the document, so that no schema can make Escrow read a file or a URL.
struct NoRetrieval;

impl Retrieve for NoRetrieval {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`$ref` may not leave the schema: `{uri}`").into())
    }
}

impl Schema {
    pub fn compile(schema: &Value) -> Result<Schema, SchemaError> {
        if !(schema.is_object() || schema.is_boolean()) {
            return Err(SchemaError("a schema is an object".into()));
        }
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_retriever(NoRetrieval)
            .with_pattern_options(PatternOptions::regex())
            .build(schema)
            .map(Schema)
            .map_err(|error| SchemaError(error.to_string()))
    }

    /// Everything that is wrong with a schema, in its own order: where (a JSON pointer, empty when that cannot be
    /// said) and what. Empty when it compiles.
    pub fn mistakes(schema: &Value) -> Vec<(String, String)> {
        let Err(first) = Schema::compile(schema) else { return Vec::new() };
        let mut all: Vec<(String, String)> = jsonschema::draft202012::meta::validator()
            .iter_errors(schema)
            .map(|error| (error.instance_path().to_string(), error.to_string()))
            .take(VIOLATIONS_MAX)
            .collect();
        all.sort();
        all.dedup();
        if all.is_empty() { vec![(String::new(), first.to_string())] } else { all }
    }

    /// What is wrong with a value, sorted by where it is wrong. Empty when nothing is.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        let mut found: Vec<(String, String)> = self
            .0
            .iter_errors(value)
            .map(|error| (error.instance_path().to_string(), shorten(&in_words(&error))))
            .collect();
        found.sort();
        found.dedup();
        let rest = found.len().saturating_sub(VIOLATIONS_MAX);
        let mut lines: Vec<String> = found
            .into_iter()
            .take(VIOLATIONS_MAX)
            .map(|(place, what)| if place.is_empty() { what } else { format!("{place}: {what}") })
            .collect();
        if rest > 0 {
            lines.push(format!("and {rest} more"));
        }
        lines
    }
}

/// Who wrote a wrong word wants to see all the right ones.
fn in_words(error: &ValidationError<'_>) -> String {
    const OPTIONS_MAX: usize = 12;
    match error.kind() {
        ValidationErrorKind::Enum { options } => match options.as_array().map(Vec::as_slice) {
            Some(options @ [_, _, ..]) if options.len() <= OPTIONS_MAX => {
                let options: Vec<String> = options.iter().map(Value::to_string).collect();
                format!("{} is not one of {}", error.instance(), options.join(", "))
            }
            _ => error.to_string(),
        },
        ValidationErrorKind::FalseSchema => {
            format!("{} is not allowed: the schema admits nothing here", error.instance())
        }
        _ => error.to_string(),
    }
}

/// Keeps a message readable when it quotes a large value.
fn shorten(message: &str) -> String {
    const LENGTH_MAX: usize = 300;
    match message.char_indices().nth(LENGTH_MAX) {
        Some((cut, _)) => format!("{}…", &message[..cut]),
        None => message.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn compile(schema: &Value) -> Schema {
        Schema::compile(schema).expect("a good schema")
    }

    #[test]
    fn every_violation_is_listed_in_order_of_place() {
        let schema = compile(&json!({
            "type": "object",
            "required": ["b"],
            "properties": {"a": {"type": "number"}, "c": {"minimum": 3}}
        }));
        assert_eq!(
            schema.violations(&json!({"c": 1, "a": "x"})),
            [
                "\"b\" is a required property",
                "/a: \"x\" is not of type \"number\"",
                "/c: 1 is less than the minimum of 3"
            ]
        );
        assert!(schema.violations(&json!({"b": 1})).is_empty());
    }

    #[test]
    fn all_the_words_that_are_allowed_are_told() {
        let schema = compile(&json!({"enum": ["a", "b", "c", "d", 5]}));
        assert_eq!(schema.violations(&json!("e")), [r#""e" is not one of "a", "b", "c", "d", 5"#]);
    }

    #[test]
    fn where_nothing_is_allowed_that_is_told() {
        let schema = compile(&json!({"type": "object", "additionalProperties": false}));
        assert_eq!(schema.violations(&json!({"a": 1})), ["1 is not allowed: the schema admits nothing here"]);
    }

    #[test]
    fn references_stay_inside_the_schema() {
        for outside in ["http://127.0.0.1:9/x.json", "file:///etc/passwd", "other.json"] {
            let error = Schema::compile(&json!({"$ref": outside})).expect_err("no retrieval");
            assert!(!error.to_string().is_empty());
        }
        let inside = compile(&json!({"$defs": {"n": {"type": "number"}}, "$ref": "#/$defs/n"}));
        assert_eq!(inside.violations(&json!("x")).len(), 1);
    }

    #[test]
    fn patterns_run_in_linear_time() {
        let schema = compile(&json!({"type": "string", "pattern": "^(a+)+$"}));
        assert_eq!(schema.violations(&json!(format!("{}!", "a".repeat(50_000)))).len(), 1);
        assert!(Schema::compile(&json!({"pattern": "(?=a)b"})).is_err(), "look-ahead needs backtracking");
    }

    #[test]
    fn a_schema_that_is_no_schema_is_refused() {
        assert!(Schema::compile(&json!("code-review")).is_err());
        assert!(Schema::compile(&json!({"type": "nonsense"})).is_err());
    }
}
