//! JSON Schemas of playbooks and rules files for editors, generated from the key tables.

use escrow_model::{KeyKind, ProviderSpec};
use serde_json::{Map, Value, json};

use crate::keys::{self, KeyTable, Shape};

/// The JSON Schema of playbooks that use these providers.
pub fn json_schema(catalog: &[ProviderSpec]) -> Value {
    let mut schema = table_schema(&keys::FILE, catalog);
    if let Some(object) = schema.as_object_mut() {
        object.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        object.insert("title".to_owned(), json!("Escrow playbook"));
        object.insert("anyOf".to_owned(), json!([{"required": ["checks"]}, {"required": ["prompt"]}]));
    }
    schema
}

/// The JSON Schema of a rules file.
pub fn rules_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Escrow rules",
        "oneOf": [rule_list_schema(), table_schema(&keys::RULES, &[])],
    })
}

fn rule_list_schema() -> Value {
    json!({"type": "array", "items": table_schema(&keys::RULE, &[])})
}

fn table_schema(table: &KeyTable, catalog: &[ProviderSpec]) -> Value {
    let mut properties = Map::new();
    for key in table.keys {
        properties.insert(key.name.to_owned(), described(shape_schema(&key.shape, catalog), key.doc));
    }
    let required: Vec<&str> = table.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut schema = json!({"type": "object", "properties": properties, "additionalProperties": false});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A check: one alternative per provider, because the keys depend on `type`.
fn check_schema(catalog: &[ProviderSpec]) -> Value {
    let common = table_schema(&keys::CHECK, catalog);
    let alternatives: Vec<Value> = catalog
        .iter()
        .map(|provider| {
            let mut schema = common.clone();
            schema["description"] = json!(provider.summary);
            schema["properties"]["type"] = json!({"const": provider.name, "description": provider.summary});
            for key in provider.keys {
                schema["properties"][key.name] = provider_key_schema(key.kind);
            }
            let needed = provider.keys.iter().filter(|key| key.required).map(|key| key.name);
            schema["required"] = json!(std::iter::once("type").chain(needed).collect::<Vec<_>>());
            schema
        })
        .collect();
    let types: Vec<&str> = catalog.iter().map(|provider| provider.name).collect();
    json!({
        "type": "object",
        "required": ["type"],
        "properties": {"type": {"enum": types}},
        "oneOf": alternatives,
    })
}

fn shape_schema(shape: &Shape, catalog: &[ProviderSpec]) -> Value {
    let text = || json!({"type": ["string", "number", "boolean"]});
    let one_or_many =
        |item: Value| json!({"oneOf": [item.clone(), {"type": "array", "items": item, "uniqueItems": true}]});
    let string = || json!({"type": "string", "minLength": 1});
    let expression = || json!({"type": ["string", "boolean"]});
    match shape {
        Shape::Text | Shape::Template => text(),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Count { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Duration => json!({
            "oneOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$", "minLength": 2},
            ]
        }),
        Shape::Size => json!({
            "oneOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": "^[0-9]+[KMGT]?$"}]
        }),
        Shape::Version => json!({"enum": ["1.0", "1", 1]}),
        Shape::Word(words) => json!({"enum": words}),
        Shape::Words(words) => one_or_many(json!({"enum": words})),
        Shape::Expression => expression(),
        Shape::Expressions => json!({"oneOf": [expression(), {"type": "array", "items": expression()}]}),
        Shape::Block | Shape::Event | Shape::Target | Shape::Provider => string(),
        Shape::Texts | Shape::Paths | Shape::Events | Shape::Needs | Shape::Targets | Shape::ArtifactIds => {
            one_or_many(string())
        }
        Shape::SecretNames => {
            let granted = json!({"oneOf": [string(), table_schema(&keys::GRANTED_SECRET, catalog)]});
            one_or_many(granted)
        }
        Shape::Exec => provider_key_schema(KeyKind::Exec),
        Shape::Secrets => {
            let mut source = table_schema(&keys::SECRET, catalog);
            source["minProperties"] = json!(1);
            source["maxProperties"] = json!(1);
            let by_name = json!({
                "type": "object",
                "propertyNames": {"pattern": VARIABLE},
                "additionalProperties": source,
            });
            json!({"oneOf": [string(), {"type": "array", "items": string(), "uniqueItems": true}, by_name]})
        }
        Shape::Argv => json!({"type": "array", "items": text(), "minItems": 1}),
        Shape::Reconcile => {
            json!({"oneOf": [provider_key_schema(KeyKind::Exec), table_schema(&keys::RECONCILE, catalog)]})
        }
        Shape::Approval => {
            let mut rule = table_schema(&keys::APPROVAL, catalog);
            rule["minProperties"] = json!(1);
            json!({"oneOf": [{"type": "boolean"}, rule]})
        }
        Shape::TargetOrNull => json!({"type": ["string", "null"]}),
        Shape::Environment => json!({
            "type": "object",
            "propertyNames": {"pattern": VARIABLE},
            "additionalProperties": text(),
        }),
        Shape::Rules => json!({"oneOf": [string(), rule_list_schema()]}),
        Shape::Kind => string(),
        Shape::Params => json!({"type": "object"}),
        Shape::SchemaOrCard => json!({"type": ["object", "string"]}),
        Shape::Schema => json!({"type": "object"}),
        // Excludes characters instead of naming classes: not every editor supports Unicode classes.
        Shape::Identifier => json!({"type": "string", "pattern": "^[^\\s!-,./:-@\\[-\\^`{-~]+$"}),
        Shape::Any => json!({}),
        Shape::Map(table) => table_schema(table, catalog),
        Shape::Named(table) if std::ptr::eq(*table, &keys::CHECK) => json!({
            "type": "object",
            "minProperties": 1,
            "additionalProperties": check_schema(catalog),
        }),
        Shape::Named(table) => {
            json!({"type": "object", "additionalProperties": table_schema(table, catalog)})
        }
        Shape::List(table) => json!({"type": "array", "items": table_schema(table, catalog)}),
    }
}

/// The pattern of environment variable names.
const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]*$";

fn provider_key_schema(kind: KeyKind) -> Value {
    let text = json!({"type": ["string", "number", "boolean"]});
    match kind {
        KeyKind::Text | KeyKind::Plain => text,
        KeyKind::Tree => json!({}),
        KeyKind::Inputs => json!({"type": ["object", "string", "null"]}),
        KeyKind::Exec | KeyKind::Texts => {
            json!({"oneOf": [text.clone(), {"type": "array", "items": text, "minItems": 1}]})
        }
        KeyKind::Block => json!({"type": "string"}),
        KeyKind::Word(words) => json!({"enum": words}),
        KeyKind::Bool => json!({"type": "boolean"}),
        KeyKind::Number => json!({"type": "number"}),
        KeyKind::Sandbox => table_schema(&keys::SANDBOX, &[]),
        KeyKind::Shell => {
            json!({"oneOf": [{"enum": ["sh", "bash"]}, {"type": "array", "items": text, "minItems": 1}]})
        }
        KeyKind::ExitCodes => json!({
            "type": "array",
            "items": {"type": "integer", "minimum": 0, "maximum": 255},
            "minItems": 1,
        }),
    }
}

fn described(mut schema: Value, doc: &str) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.insert("description".to_owned(), json!(doc));
    }
    schema
}
