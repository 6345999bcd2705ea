//! JSON Schema 2020-12 with linear-time patterns and without external references.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, Retrieve, Uri, ValidationError, Validator};
use serde_json::Value;
use thiserror::Error;

/// How many violations are listed.
const VIOLATIONS_MAX: usize = 20;

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Schema(Validator);

/// A schema that does not compile.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct SchemaError(String);

/// Rejects external references, so that no schema can make Escrow read a file or a URL.
struct NoRetrieval;

impl Retrieve for NoRetrieval {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`$ref` must not leave the schema: `{uri}`").into())
    }
}

impl Schema {
    pub fn compile(schema: &Value) -> Result<Schema, SchemaError> {
        if !(schema.is_object() || schema.is_boolean()) {
            return Err(SchemaError("a schema must be an object".into()));
        }
        jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_retriever(NoRetrieval)
            .with_pattern_options(PatternOptions::regex())
            .build(schema)
            .map(Schema)
            .map_err(|error| SchemaError(error.to_string()))
    }

    /// All errors of a schema as pairs of JSON pointer and message, sorted. The pointer is empty when the position is
    /// unknown. Empty when the schema compiles.
    pub fn errors(schema: &Value) -> Vec<(String, String)> {
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

    /// The violations of a value, sorted by position. Empty when the value is valid.
    pub fn violations(&self, value: &Value) -> Vec<String> {
        let mut found: Vec<(String, String)> = self
            .0
            .iter_errors(value)
            .map(|error| (error.instance_path().to_string(), shorten(&message(&error))))
            .collect();
        found.sort();
        found.dedup();
        let rest = found.len().saturating_sub(VIOLATIONS_MAX);
        let mut lines: Vec<String> = found
            .into_iter()
            .take(VIOLATIONS_MAX)
            .map(|(pointer, what)| if pointer.is_empty() { what } else { format!("{pointer}: {what}") })
            .collect();
        if rest > 0 {
            lines.push(format!("and {rest} more"));
        }
        lines
    }
}

/// The message of a violation, with all options of an enum.
fn message(error: &ValidationError<'_>) -> String {
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
            format!("{} is not allowed: the schema allows no value here", error.instance())
        }
        _ => error.to_string(),
    }
}

/// Limits the length of a message that quotes a large value.
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
        Schema::compile(schema).expect("a valid schema")
    }

    #[test]
    fn every_violation_is_listed_by_position() {
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
    fn an_enum_violation_lists_all_options() {
        let schema = compile(&json!({"enum": ["a", "b", "c", "d", 5]}));
        assert_eq!(schema.violations(&json!("e")), [r#""e" is not one of "a", "b", "c", "d", 5"#]);
    }

    #[test]
    fn a_false_schema_has_its_own_message() {
        let schema = compile(&json!({"type": "object", "additionalProperties": false}));
        assert_eq!(
            schema.violations(&json!({"a": 1})),
            ["1 is not allowed: the schema allows no value here"]
        );
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
    fn an_invalid_schema_is_rejected() {
        assert!(Schema::compile(&json!("code-review")).is_err());
        assert!(Schema::compile(&json!({"type": "nonsense"})).is_err());
    }

    #[test]
    fn the_error_of_an_external_reference_names_it() {
        let error = Schema::compile(&json!({"$ref": "http://127.0.0.1:9/x.json"})).expect_err("no retrieval");
        assert!(error.to_string().contains("`$ref` must not leave the schema"), "{error}");
    }

    #[test]
    fn a_long_list_of_violations_ends_with_a_count_of_the_rest() {
        let schema = Schema::compile(&json!({"items": {"type": "string"}})).expect("a valid schema");
        let lines = schema.violations(&json!((0..1_000).collect::<Vec<_>>()));
        let last = lines.last().expect("there are violations");
        assert_eq!(*last, format!("and {} more", 1_000 - (lines.len() - 1)));
        let few = schema.violations(&json!([1, 2]));
        assert_eq!(few.len(), 2, "{few:?}");
    }
}
