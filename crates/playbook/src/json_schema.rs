//! JSON Schemas of playbooks, rules files, agent profiles and test files for editors, generated from the key tables.
//!
//! **Invariant:** no `oneOf`. An editor gives up where no branch of it matches yet, which is while somebody types. Keys that
//! depend on a provider are selected by `if` and `then`, and alternatives are an `anyOf` whose branches say what they are.

use escrow_model::{KeyKind, ProviderSpec};
use serde_json::{Map, Value, json};

use crate::keys::{self, KeyTable, Shape};

/// The JSON Schema of playbooks that use these providers.
pub fn json_schema(catalog: &[ProviderSpec]) -> Value {
    let mut schema = table_schema(&keys::FILE, catalog);
    if let Some(object) = schema.as_object_mut() {
        object.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        object.insert("title".to_owned(), json!("Escrow playbook"));
        object.insert(
            "anyOf".to_owned(),
            json!([
                {"required": ["checks"], "description": "a playbook of checks"},
                {"required": ["prompt"], "description": "a single task for an agent"},
            ]),
        );
    }
    schema
}

/// The JSON Schema of shows.
pub fn show_schema() -> Value {
    let mut schema = table_schema(&keys::SHOW, &[]);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Escrow show");
    schema
}

/// The JSON Schema of chains.
pub fn chain_schema() -> Value {
    let mut schema = table_schema(&keys::CHAIN, &[]);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Escrow chain");
    if let Some(step) = schema["properties"]["steps"]["items"].as_object_mut() {
        step.insert(
            "anyOf".to_owned(),
            json!([
                {"required": ["skill"], "description": "a run of a playbook"},
                {"required": ["action"], "description": "a call of a provider"},
            ]),
        );
    }
    schema
}

/// The JSON Schema of a rules file.
pub fn rules_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Escrow rules",
        "anyOf": [
            described(rule_list_schema(), "A list of rules."),
            described(table_schema(&keys::RULES, &[]), "A map with `rules`."),
        ],
    })
}

/// The JSON Schema of an agent profile's front matter.
pub fn profile_schema() -> Value {
    let mut schema = table_schema(&keys::PROFILE, &[]);
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("Escrow agent profile");
    schema
}

/// The JSON Schema of a test file.
pub fn test_schema() -> Value {
    let answer = |more: bool| {
        let mut properties = json!({
            "output": {"description": "The value of `output` in expressions. Default: null."},
            "exit": {"type": "integer", "minimum": 0, "maximum": 255, "description": "The exit code. Default: 0."},
            "stderr": {"type": "string", "description": "Its standard error."},
            "signal": {"type": "string", "description": "The signal that ends it, such as `SIGKILL`."},
            "timeout": {"type": "boolean", "description": "Whether it exceeds its time limit."},
            "takes": described(shape_schema(&Shape::Duration, &[]), "Its duration in virtual time."),
        });
        if more {
            properties["env"] =
                described(shape_schema(&Shape::Environment, &[]), "What it writes to `$ESCROW_ENV`.");
            properties["reconcile"] =
                json!({"description": "The answer of `reconcile`: a word, or an answer."});
        }
        json!({"type": "object", "properties": properties, "additionalProperties": false})
    };
    let answers = either([
        ("the answer to every attempt", answer(true)),
        (
            "the answers to the attempts, in order",
            json!({"type": "array", "items": answer(true), "minItems": 1}),
        ),
    ]);
    let texts = || shape_schema(&Shape::Texts, &[]);
    let check = |name: &str| json!({"type": "string", "description": name});
    let message = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "approve": check("Approves this check."),
            "deny": check("Denies this check."),
            "answer": check("Answers the question of this check with `text`."),
            "text": {"type": ["string", "number", "boolean"], "description": "The answer."},
            "assume": check("Says what became of the effect of this check."),
            "as": {"enum": ["done", "failed", "retry"], "description": "What became of it."},
            "cancel": {"type": "boolean", "description": "Cancels the run."},
            "wait": described(shape_schema(&Shape::Duration, &[]), "Lets virtual time pass."),
            "after": described(shape_schema(&Shape::Duration, &[]), "When it is sent, from the start of the run."),
        },
    });
    let artifact = either([
        ("a file of this size", json!({"type": "integer", "minimum": 0})),
        (
            "a file with this content",
            json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "size": {"type": "integer", "minimum": 0, "description": "Its size in bytes."},
                    "content": {"description": "Text, or a value that is written as JSON."},
                },
            }),
        ),
    ]);
    let statuses = ["succeeded", "failed", "skipped", "waiting", "unknown", "pending", "running"];
    let expected_check = either([
        ("its status", json!({"enum": statuses})),
        (
            "its status and more",
            json!({
                "type": "object",
                "additionalProperties": false,
                "properties": {
                    "status": {"enum": statuses, "description": "Its status."},
                    "skipped": {"type": ["string", "boolean"], "description": "Why it was skipped, such as `if_condition`."},
                    "runs": {"type": "integer", "minimum": 0, "description": "How many attempts reached the provider."},
                    "output": {"description": "Its output."},
                },
            }),
        ),
    ]);
    let expect = json!({
        "type": "object",
        "minProperties": 1,
        "additionalProperties": false,
        "description": "What the run must come to. Absent parts are not compared.",
        "properties": {
            "run": {"type": "string", "description": "The status of the run, or its reason, such as `run.failed.exit_nonzero`."},
            "checks": {"type": "object", "additionalProperties": expected_check, "description": "The checks that run, by name."},
            "routes": described(texts(), "The routes that were taken, such as `a -> b`."),
            "issues": {"type": "object", "additionalProperties": texts(), "description": "The issues of checks, by name."},
            "missing": described(texts(), "The ids of artifacts that are missing."),
            "warnings": described(texts(), "The warnings of the run."),
        },
    });
    let case = json!({
        "type": "object",
        "additionalProperties": false,
        "properties": {
            "event": {"type": "string", "description": "The event that triggers the run."},
            "payload": {"type": "object", "description": "Its payload."},
            "inputs": {"type": "object", "description": "The inputs of the run."},
            "env": described(shape_schema(&Shape::Environment, &[]), "The environment that expressions can read."),
            "only": described(texts(), "As `--only`."),
            "tags": described(texts(), "As `--tags`."),
            "exclude_tags": described(texts(), "As `--exclude-tags`."),
            "safe_mode": {"type": "boolean", "description": "As `--safe-mode`."},
            "strict": {"type": "boolean", "description": "Whether checks that `expect.checks` does not name must not run. Default: true."},
            "answers": {"type": "object", "additionalProperties": answers, "description": "The answers of checks, by name."},
            "messages": {"type": "array", "items": message, "description": "What people say, in order."},
            "artifacts": {"type": "object", "additionalProperties": artifact, "description": "The delivered files, by artifact id."},
            "expect": expect,
        },
    });
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Escrow test file",
        "type": "object",
        "required": ["playbook", "tests"],
        "additionalProperties": false,
        "properties": {
            "playbook": {"type": "string", "minLength": 1, "description": "The playbook, relative to this file."},
            "tests": {"type": "object", "minProperties": 1, "additionalProperties": case, "description": "The tests, by name."},
        },
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

/// A check. The keys of all providers are known at once, so that an editor can suggest them; `type` selects those that
/// apply.
fn check_schema(catalog: &[ProviderSpec]) -> Value {
    let mut schema = table_schema(&keys::CHECK, catalog);
    let common: Vec<&str> = keys::CHECK.keys.iter().map(|key| key.name).collect();
    let types: Vec<&str> = catalog.iter().map(|provider| provider.name).collect();
    let summaries: Vec<String> =
        catalog.iter().map(|provider| format!("`{}`: {}", provider.name, provider.summary)).collect();
    schema["properties"]["type"] = json!({"enum": types, "description": summaries.join("\n")});
    let mut rules = Vec::new();
    for provider in catalog {
        let mut own = Map::new();
        for key in provider.keys.iter().filter(|key| !common.contains(&key.name)) {
            let owners: Vec<&str> = catalog
                .iter()
                .filter(|other| other.keys.iter().any(|other| other.name == key.name))
                .map(|other| other.name)
                .collect();
            let hint = json!({"description": format!("A key of `type: {}`.", owners.join("`, `"))});
            schema["properties"][key.name] = hint;
            own.insert(key.name.to_owned(), provider_key_schema(key.kind));
        }
        let allowed: Vec<&str> =
            common.iter().copied().chain(provider.keys.iter().map(|key| key.name)).collect();
        let needed: Vec<&str> = provider.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
        rules.push(json!({
            "if": {"properties": {"type": {"const": provider.name}}, "required": ["type"]},
            "then": {
                "description": provider.summary,
                "properties": own,
                "required": needed,
                "propertyNames": {"enum": allowed},
            },
        }));
    }
    schema["allOf"] = json!(rules);
    schema
}

/// Alternatives, each with what it is.
fn either<const N: usize>(branches: [(&str, Value); N]) -> Value {
    let branches = branches.into_iter().map(|(what, schema)| described(schema, what));
    json!({"anyOf": branches.collect::<Vec<_>>()})
}

fn shape_schema(shape: &Shape, catalog: &[ProviderSpec]) -> Value {
    let text = || json!({"type": ["string", "number", "boolean"]});
    let one_or_many = |item: Value| {
        either([
            ("one", item.clone()),
            ("several", json!({"type": "array", "items": item, "uniqueItems": true})),
        ])
    };
    let string = || json!({"type": "string", "minLength": 1});
    let expression = || json!({"type": ["string", "boolean"]});
    match shape {
        Shape::Text | Shape::Template => text(),
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Amount => json!({"type": "number", "exclusiveMinimum": 0}),
        Shape::Count { min, max } => json!({"type": "integer", "minimum": min, "maximum": max}),
        Shape::Duration => either([
            (
                "a duration such as `30s` or `10m`",
                json!({"type": "string", "pattern": "^([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?([0-9]+ms)?$", "minLength": 2}),
            ),
            ("milliseconds", json!({"type": "integer", "minimum": 1})),
        ]),
        Shape::Size => either([
            ("a size such as `512M`", json!({"type": "string", "pattern": "^[0-9]+[KMGT]?$"})),
            ("bytes", json!({"type": "integer", "minimum": 1})),
        ]),
        Shape::Version => json!({"enum": ["1.0", "1", 1]}),
        Shape::Word(words) => json!({"enum": words}),
        Shape::Words(words) => one_or_many(json!({"enum": words})),
        Shape::Expression => expression(),
        Shape::Expressions => either([
            ("an expression", expression()),
            ("expressions that must all be true", json!({"type": "array", "items": expression()})),
        ]),
        Shape::Block | Shape::Event | Shape::Target | Shape::Provider => string(),
        Shape::Texts | Shape::Paths | Shape::Events | Shape::Needs | Shape::Targets | Shape::ArtifactIds => {
            one_or_many(string())
        }
        Shape::SecretNames => {
            let granted = either([
                ("the name of a secret", string()),
                ("a secret and how it is handed over", table_schema(&keys::GRANTED_SECRET, catalog)),
            ]);
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
            either([
                ("an environment variable", string()),
                ("environment variables", json!({"type": "array", "items": string(), "uniqueItems": true})),
                ("secrets and their sources", by_name),
            ])
        }
        Shape::Argv => json!({"type": "array", "items": text(), "minItems": 1}),
        Shape::Reconcile => either([
            ("a command", provider_key_schema(KeyKind::Exec)),
            ("a command, and how its answer is read", table_schema(&keys::RECONCILE, catalog)),
        ]),
        Shape::Approval => {
            let mut rule = table_schema(&keys::APPROVAL, catalog);
            rule["minProperties"] = json!(1);
            either([
                ("whether a person must approve", json!({"type": "boolean"})),
                ("who approves, and how", rule),
            ])
        }
        Shape::TargetOrNull => json!({"type": ["string", "null"]}),
        Shape::Environment => json!({
            "type": "object",
            "propertyNames": {"pattern": VARIABLE},
            "additionalProperties": text(),
        }),
        Shape::Rules => either([("the name of a rules file", string()), ("rules", rule_list_schema())]),
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
        KeyKind::Text
        | KeyKind::TextOr(_)
        | KeyKind::OutputOf
        | KeyKind::Plain
        | KeyKind::PlainOrEmpty
        | KeyKind::Url => text,
        KeyKind::Tree | KeyKind::Message => json!({}),
        KeyKind::Inputs | KeyKind::MessageMap => json!({"type": ["object", "string", "null"]}),
        KeyKind::Exec | KeyKind::Texts => either([
            ("a shell script", text.clone()),
            ("a program and its arguments", json!({"type": "array", "items": text, "minItems": 1})),
        ]),
        KeyKind::Block => json!({"type": "string"}),
        KeyKind::Word(words) => json!({"enum": words}),
        KeyKind::Bool => json!({"type": "boolean"}),
        KeyKind::Number => json!({"type": "number"}),
        KeyKind::Sandbox => table_schema(&keys::SANDBOX, &[]),
        KeyKind::Shell => either([
            ("a shell", json!({"enum": ["sh", "bash"]})),
            (
                "another shell, as a program and its arguments",
                json!({"type": "array", "items": text, "minItems": 1}),
            ),
        ]),
        KeyKind::Count => json!({"type": "integer", "minimum": 0}),
        KeyKind::Budget => table_schema(&keys::BUDGET, &[]),
        KeyKind::Check => json!({"type": "string"}),
        KeyKind::CheckOrTrue => json!({"type": ["boolean", "string"]}),
        KeyKind::ExitCodes => json!({
            "type": "array",
            "items": {"type": "integer", "minimum": 0, "maximum": 255},
            "minItems": 1,
        }),
        KeyKind::Statuses => json!({
            "type": "array",
            "items": {"type": "integer", "minimum": 200, "maximum": 599},
            "minItems": 1,
        }),
        KeyKind::Redirects => either([
            ("whether redirects are followed", json!({"type": "boolean"})),
            ("how many", json!({"type": "integer", "minimum": 0, "maximum": 10})),
        ]),
        KeyKind::Duration | KeyKind::Size => json!({"type": ["string", "integer"]}),
    }
}

fn described(mut schema: Value, doc: &str) -> Value {
    if let Some(object) = schema.as_object_mut() {
        object.insert("description".to_owned(), json!(doc));
    }
    schema
}
