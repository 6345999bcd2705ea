//! Reads what a run is given: the payload of its event, and its inputs by the types that the playbook declares.

use std::path::Path;

use escrow_contract::{Parsed, read_json};
use escrow_model::{InputKind, Plan};
use escrow_runtime::playbook_file::read_text;
use serde_json::{Map, Value};

use crate::error::Error;

/// More than any webhook sends.
const EVENT_BYTES_MAX: u64 = 32 << 20;

/// The payload of an event, from a JSON file.
pub fn read_event(file: &Path) -> Result<Map<String, Value>, Error> {
    let shown = file.display();
    let bad = |message: String| Error::author("bad_event", message);
    let text = read_text(file, EVENT_BYTES_MAX)
        .map_err(|why| bad(format!("cannot read the event `{shown}`: {why}")))?;
    match read_json(text.as_bytes()) {
        Ok(Parsed { repeated_key: Some(key), .. }) => {
            Err(bad(format!("the event in `{shown}` names `{key}` twice")))
        }
        Ok(Parsed { value: Value::Object(payload), .. }) => Ok(payload),
        Ok(_) => Err(bad(format!("the event in `{shown}` is not a JSON object"))),
        Err(error) => Err(bad(format!("`{shown}` is not JSON: {error}"))),
    }
}

/// Inputs as they are typed, `KEY=VALUE`.
pub fn read(plan: &Plan, pairs: &[String]) -> Result<Map<String, Value>, Error> {
    let mut inputs = Map::new();
    for pair in pairs {
        let Some((name, text)) = pair.split_once('=') else {
            return Err(Error::author("bad_input", format!("`--input {pair}` is not KEY=VALUE")));
        };
        let value = match kind_of(plan, name)? {
            InputKind::String => Value::String(text.to_owned()),
            InputKind::Any => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
            kind => serde_json::from_str(text)
                .ok()
                .filter(|value| kind.admits(value))
                .ok_or_else(|| wrong_kind(name, kind, text))?,
        };
        inputs.insert(name.to_owned(), value);
    }
    required(plan, &inputs)?;
    Ok(inputs)
}

/// Inputs as values, from a form or another program.
pub fn check(plan: &Plan, inputs: Map<String, Value>) -> Result<Map<String, Value>, Error> {
    for (name, value) in &inputs {
        let kind = kind_of(plan, name)?;
        if kind != InputKind::Any && !kind.admits(value) {
            return Err(wrong_kind(name, kind, &value.to_string()));
        }
    }
    required(plan, &inputs)?;
    Ok(inputs)
}

fn kind_of(plan: &Plan, name: &str) -> Result<InputKind, Error> {
    plan.inputs.get(name).map(|input| input.kind).ok_or_else(|| {
        let known: Vec<&str> = plan.inputs.keys().map(String::as_str).collect();
        let help = if known.is_empty() {
            "the playbook declares no inputs".to_owned()
        } else {
            format!("it declares: {}", known.join(", "))
        };
        Error::author("bad_input", format!("the playbook has no input `{name}`")).help(help)
    })
}

fn wrong_kind(name: &str, kind: InputKind, given: &str) -> Error {
    Error::author("bad_input", format!("input `{name}` must be {}, not `{given}`", kind.with_article()))
}

fn required(plan: &Plan, inputs: &Map<String, Value>) -> Result<(), Error> {
    for (name, input) in &plan.inputs {
        if input.required && input.default.is_none() && !inputs.contains_key(name) {
            let help = format!("give it with `--input {name}=…`");
            return Err(Error::author("bad_input", format!("input `{name}` is required")).help(help));
        }
    }
    Ok(())
}
