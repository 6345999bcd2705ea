//! JSON Schema 2020-12 with linear-time patterns, without external references, and within a budget.
//!
//! ```text
//!   schema ──▶ graph: no endless `$ref` ──▶ compiled
//!   value  ──▶ work: steps, at most ──▶ is it valid? ──▶ if not, a list of violations
//! ```
//!
//! **Invariant:** a value that would take more than the budget is a violation, never a success.

mod graph;
mod work;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, Retrieve, Uri, ValidationError, Validator};
use serde_json::Value;
use thiserror::Error;

use self::graph::Graph;
use self::work::TooMuch;

/// With more steps than this a list of violations could fill the memory: each step may add one.
const LISTED_STEPS_MAX: u64 = 300_000;

/// How many violations are listed.
const VIOLATIONS_MAX: usize = 20;

/// A compiled schema.
#[derive(Clone, Debug)]
pub struct Schema {
    graph: Graph,
    validator: Validator,
}

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
        // Before the compiler, which would follow every way through the schema.
        let graph = Graph::of(schema).map_err(SchemaError)?;
        let validator = jsonschema::options()
            .with_draft(Draft::Draft202012)
            .with_retriever(NoRetrieval)
            .with_pattern_options(PatternOptions::regex())
            .build(schema)
            .map_err(|error| SchemaError(error.to_string()))?;
        Ok(Schema { graph, validator })
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
        let steps = match work::steps(&self.graph, value) {
            Ok(steps) => steps,
            Err(too_much) => return vec![refusal(too_much)],
        };
        if self.validator.is_valid(value) {
            return Vec::new();
        }
        if steps > LISTED_STEPS_MAX {
            return vec![NOT_LISTED.into()];
        }
        let mut found: Vec<(String, String)> = self
            .validator
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

const NOT_LISTED: &str = "the value is not valid; it is too much for a list of what is wrong";

fn refusal(too_much: TooMuch) -> String {
    match too_much {
        TooMuch::Steps => {
            let most = work::STEPS_MAX;
            format!(
                "judging the value by this schema could take more than {most} steps, so it counts as not valid"
            )
        }
        TooMuch::Levels => {
            let most = work::LEVELS_MAX;
            format!("the schema leads more than {most} levels deep into the value, so it counts as not valid")
        }
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

    fn nested(depth: usize) -> Value {
        (0..depth).fold(json!({}), |inside, _| json!({"child": inside}))
    }

    #[test]
    fn alternatives_that_double_the_work_with_each_level_end_within_the_budget() {
        let alternative = json!({"properties": {"child": {"$ref": "#/$defs/node"}}, "required": ["no"]});
        let schema = compile(&json!({
            "$ref": "#/$defs/node",
            "$defs": {"node": {"anyOf": [alternative, alternative]}}
        }));
        assert!(!schema.violations(&nested(3)).is_empty());
        for depth in [18, 24, 100] {
            let refused = schema.violations(&nested(depth));
            assert_eq!(refused.len(), 1, "{refused:?}");
        }
        assert!(schema.violations(&nested(100))[0].contains("more than 20000000 steps"));
    }

    #[test]
    fn definitions_that_multiply_end_within_the_budget() {
        let mut definitions = serde_json::Map::new();
        for number in 0..18 {
            let next = json!({"$ref": format!("#/$defs/d{}", number + 1)});
            definitions.insert(format!("d{number}"), json!({"allOf": [next, next, next, next]}));
        }
        definitions.insert("d18".into(), json!({"type": "string"}));
        let schema = compile(&json!({"$defs": definitions, "$ref": "#/$defs/d0"}));
        for value in [json!("x"), json!(1), json!({"a": ["b"]})] {
            let refused = schema.violations(&value);
            assert!(refused[0].contains("more than 20000000 steps"), "{refused:?}");
        }
    }

    #[test]
    fn names_of_members_are_judged_within_the_budget_too() {
        let double =
            |name: &str| json!({"allOf": [{"$ref": name}, {"$ref": name}, {"$ref": name}, {"$ref": name}]});
        let mut definitions = serde_json::Map::new();
        for number in 0..18 {
            definitions.insert(format!("d{number}"), double(&format!("#/$defs/d{}", number + 1)));
        }
        definitions.insert("d18".into(), json!(true));
        let schema = compile(&json!({"$defs": definitions, "propertyNames": {"$ref": "#/$defs/d0"}}));
        assert_eq!(schema.violations(&json!({"a": 1})).len(), 1);
        assert!(schema.violations(&json!({})).is_empty());
    }

    #[test]
    fn what_is_evaluated_again_is_counted_again() {
        let schema = compile(&json!({
            "$ref": "#/$defs/node",
            "$defs": {"node": {
                "anyOf": [{"properties": {"child": {"$ref": "#/$defs/node"}}}],
                "unevaluatedProperties": false
            }}
        }));
        assert!(schema.violations(&nested(4)).is_empty());
        assert!(schema.violations(&nested(60))[0].contains("steps"));
    }

    #[test]
    fn a_schema_that_refers_to_itself_without_going_into_the_value_is_rejected() {
        for endless in [
            json!({"$ref": "#"}),
            json!({"allOf": [{"$ref": "#"}]}),
            json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
            json!({"$defs": {"a": {"$anchor": "x", "not": {"$ref": "#x"}}}, "items": {"$ref": "#/$defs/a"}}),
            json!({"$dynamicAnchor": "n", "if": {"$dynamicRef": "#n"}}),
            json!({"$id": "https://example.com/a", "anyOf": [{"$ref": "https://example.com/a"}]}),
            json!({"own": {"oneOf": [{"$ref": "#/own"}]}, "$ref": "#/own"}),
        ] {
            let error = Schema::compile(&endless).expect_err("it never ends");
            assert!(error.to_string().contains("never ends"), "{endless}: {error}");
        }
    }

    #[test]
    fn a_schema_that_refers_to_itself_for_a_member_is_accepted() {
        let tree = compile(&json!({
            "type": "object",
            "properties": {"children": {"items": {"$ref": "#"}}, "name": {"type": "string"}},
            "additionalProperties": false
        }));
        assert!(
            tree.violations(&json!({"name": "a", "children": [{"children": [{"name": "b"}]}]})).is_empty()
        );
        assert_eq!(tree.violations(&json!({"children": [{"name": 1}]})).len(), 1);
        let beside = compile(&json!({"own": {"n": {"type": "number"}}, "items": {"$ref": "#/own/n"}}));
        assert_eq!(beside.violations(&json!([1, "x"])).len(), 1);
    }

    #[test]
    fn a_schema_of_schemas_judges_schemas() {
        let dialect = compile(&json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}));
        assert!(dialect.violations(&json!({"properties": {"a": {"type": "string"}}})).is_empty());
        assert!(!dialect.violations(&json!({"type": "nonsense"})).is_empty());
    }

    #[test]
    fn a_long_way_of_references_is_rejected_and_does_not_fill_the_stack() {
        let way = |length: usize| {
            let next = |number: usize| json!({"$ref": format!("#/$defs/d{}", number + 1)});
            let mut definitions: serde_json::Map<String, Value> =
                (0..length).map(|number| (format!("d{number}"), next(number))).collect();
            definitions.insert(format!("d{length}"), json!({"type": "string"}));
            json!({"$defs": definitions, "$ref": "#/$defs/d0"})
        };
        assert_eq!(compile(&way(150)).violations(&json!("x")), [""; 0]);
        assert!(Schema::compile(&way(300)).is_err());
        assert!(Schema::compile(&way(15_000)).is_err());
    }

    #[test]
    fn deep_values_do_not_fill_the_stack() {
        let schema = compile(&json!({
            "$defs": {"node": {"allOf": [{"allOf": [{"allOf": [
                {"properties": {"child": {"$ref": "#/$defs/node"}}}
            ]}]}]}},
            "$ref": "#/$defs/node"
        }));
        assert!(schema.violations(&nested(100)).is_empty());
        assert!(
            schema.violations(&nested(250))[0].contains("levels deep"),
            "{:?}",
            schema.violations(&nested(250))
        );
    }

    #[test]
    fn large_output_is_still_judged() {
        let schema = compile(&json!({"items": {"type": "object", "properties": {"a": {"type": "number"}}}}));
        let large = Value::Array(vec![json!({"a": 1, "b": "text"}); 300_000]);
        assert!(schema.violations(&large).is_empty());
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
