//! Providers without effects: the engine computes their answers from the state.

use escrow_expr::{Budget, MemoryWrite};
use escrow_model::{
    Answer, CheckIndex, ConditionalKeys, Event, FaultCode, Field, Home, KeyKind, KeySpec, Mutates,
    ProviderFault, ProviderName, ProviderSpec, ScopePath,
};
use serde_json::{Value, json};

use crate::run::Run;
use crate::view::View;

/// Every provider that lives here, in the order `--help` lists them.
pub const PROVIDERS: &[ProviderSpec] = &[NOOP, LOG, SCRIPT, MEMORY, HUMAN_INPUT];

const NOOP: ProviderSpec =
    ProviderSpec { name: "noop", summary: "does nothing, and succeeds", ..ProviderSpec::PURE };

const LOG: ProviderSpec = ProviderSpec {
    name: "log",
    summary: "writes a message to the journal",
    keys: &[
        KeySpec { name: "message", kind: KeyKind::Text, required: true },
        KeySpec {
            name: "level",
            kind: KeyKind::Word(&["debug", "info", "warning", "error"]),
            required: false,
        },
    ],
    ..ProviderSpec::PURE
};

const SCRIPT: ProviderSpec = ProviderSpec {
    name: "script",
    summary: "evaluates a statement block; what it returns is the output",
    keys: &[KeySpec { name: "content", kind: KeyKind::Block, required: true }],
    ..ProviderSpec::PURE
};

const MEMORY: ProviderSpec = ProviderSpec {
    name: "memory",
    summary: "reads or changes the run's memory",
    keys: &[
        KeySpec {
            name: "operation",
            kind: KeyKind::Word(&["get", "set", "append", "increment", "delete", "list"]),
            required: true,
        },
        KeySpec { name: "key", kind: KeyKind::Text, required: false },
        KeySpec { name: "value", kind: KeyKind::Tree, required: false },
        KeySpec { name: "namespace", kind: KeyKind::Text, required: false },
    ],
    conditional_keys: &[
        ConditionalKeys { key: "operation", word: "get", needs: &["key"] },
        ConditionalKeys { key: "operation", word: "increment", needs: &["key"] },
        ConditionalKeys { key: "operation", word: "delete", needs: &["key"] },
        ConditionalKeys { key: "operation", word: "set", needs: &["key", "value"] },
        ConditionalKeys { key: "operation", word: "append", needs: &["key", "value"] },
    ],
    ..ProviderSpec::PURE
};

pub(crate) const HUMAN_INPUT: ProviderSpec = ProviderSpec {
    name: "human-input",
    summary: "asks a person; the answer is the output",
    keys: &[
        KeySpec { name: "prompt", kind: KeyKind::Text, required: true },
        KeySpec { name: "choices", kind: KeyKind::Texts, required: false },
        KeySpec { name: "default", kind: KeyKind::Text, required: false },
    ],
    mutates: Mutates::Never,
    home: Home::Person,
    timeout_ms: 24 * 60 * 60 * 1000,
    ..ProviderSpec::PURE
};

/// Larger than the budget of a gate: scripts may do more work.
const SCRIPT_BUDGET: Budget = Budget { steps: 20_000_000, memory_bytes: 256 << 20, depth: Budget::DEPTH_MAX };

/// Whether a check of this provider counts against `max_parallelism`.
pub(crate) fn needs_slot(provider: &ProviderName) -> bool {
    !PROVIDERS.iter().any(|spec| spec.is(provider))
}

/// The answer of a pure provider and the changes of memory that come with it; `None` for the others.
pub(crate) fn answer(run: &Run, check: CheckIndex, scope: &ScopePath) -> Option<(Answer, Vec<Event>)> {
    let spec = run.state.plan.check(check);
    let request = run.cell(check, scope)?.phase.request().cloned()?;
    let provider = &spec.provider;
    if NOOP.is(provider) {
        Some((Answer::done(Value::Null), Vec::new()))
    } else if LOG.is(provider) {
        let message = request.fields.get("message").cloned().unwrap_or(Value::Null);
        let level = request.fields.get("level").cloned().unwrap_or_else(|| json!("info"));
        Some((Answer::done(json!({ "message": message, "level": level })), Vec::new()))
    } else if SCRIPT.is(provider) {
        Some(script(run, check, scope))
    } else if MEMORY.is(provider) {
        Some(match memory(run, &request.fields) {
            Ok((output, change)) => (Answer::done(output), change.into_iter().collect()),
            Err(message) => {
                (Answer::fault(ProviderFault::logical(FaultCode::Exception, message)), Vec::new())
            }
        })
    } else {
        None
    }
}

fn script(run: &Run, check: CheckIndex, scope: &ScopePath) -> (Answer, Vec<Event>) {
    let Some(Field::Block(block)) = run.state.plan.check(check).fields.get("content") else {
        return (
            Answer::fault(ProviderFault::logical(FaultCode::Exception, "the script has no `content`")),
            Vec::new(),
        );
    };
    match block.run(&View::during(run, check, scope, None), SCRIPT_BUDGET) {
        Ok((answer, writes)) => (Answer::done(answer.into_json().unwrap_or(Value::Null)), changes(writes)),
        Err(fault) => {
            let message = run.surroundings.in_words(&fault);
            (Answer::fault(ProviderFault::logical(FaultCode::Exception, message)), Vec::new())
        }
    }
}

/// What a block wrote to memory, as entries.
pub(crate) fn changes(writes: Vec<MemoryWrite>) -> Vec<Event> {
    writes
        .into_iter()
        .map(|MemoryWrite { namespace, key, value }| Event::MemoryChanged {
            namespace,
            key,
            value: Some(value),
        })
        .collect()
}

fn memory(run: &Run, fields: &serde_json::Map<String, Value>) -> Result<(Value, Option<Event>), String> {
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    let namespace = text("namespace").unwrap_or("default").to_owned();
    let operation = text("operation").unwrap_or_default();
    let space = run.state.memory.get(&namespace);
    if operation == "list" {
        let keys = space.and_then(Value::as_object).map(|space| space.keys().cloned().collect::<Vec<_>>());
        return Ok((json!(keys.unwrap_or_default()), None));
    }
    let key = text("key").filter(|key| !key.is_empty()).ok_or("`key` is missing")?.to_owned();
    let old = space.and_then(|space| space.get(&key)).cloned();
    let given = fields.get("value").cloned();
    let change =
        |value: Option<Value>| Event::MemoryChanged { namespace: namespace.clone(), key: key.clone(), value };
    match operation {
        "get" => Ok((old.unwrap_or(Value::Null), None)),
        "set" => {
            let value = given.ok_or("`value` is missing")?;
            Ok((value.clone(), Some(change(Some(value)))))
        }
        "append" => {
            let mut list = match old {
                None => Vec::new(),
                Some(Value::Array(list)) => list,
                Some(_) => return Err(format!("`{key}` is not a list")),
            };
            list.push(given.ok_or("`value` is missing")?);
            let list = Value::Array(list);
            Ok((list.clone(), Some(change(Some(list)))))
        }
        "increment" => {
            let base = match old {
                None => 0.0,
                Some(value) => value.as_f64().ok_or(format!("`{key}` is not a number"))?,
            };
            let step = match given {
                None => 1.0,
                Some(value) => value.as_f64().ok_or("`value` is not a number")?,
            };
            let sum = number(base + step);
            Ok((sum.clone(), Some(change(Some(sum)))))
        }
        "delete" => Ok((json!(old.is_some()), Some(change(None)))),
        other => Err(format!("unknown operation `{other}`")),
    }
}

/// A whole number stays one, so that `3` does not become `3.0`.
#[allow(clippy::cast_possible_truncation, reason = "the bounds are checked on the line before")]
fn number(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0 {
        json!(value as i64)
    } else {
        json!(value)
    }
}
