//! The configuration of minijinja, and the context of a rendering.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use minijinja::value::{Object, Value};
use minijinja::{AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior};

use crate::budget::{BUDGET_NAME, Budget, OVER_BUDGET, TOO_DEEP, TOO_LONG};
use crate::convert::resolve;
use crate::error::RenderError;
use crate::filters;
use crate::limits::{INSTRUCTIONS_MAX, OUTPUT_BYTES_MAX, RECURSION_MAX};
use crate::parts;
use crate::reads::TemplateRead;
use crate::rewrite::Rewritten;
use crate::text::{text_of, undefined};
use escrow_expr::Scope;

/// Shared by all expressions. A template with text has a copy, to which it adds itself.
pub(crate) static ENGINE: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut env = Environment::empty();
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    env.set_fuel(Some(INSTRUCTIONS_MAX));
    env.set_recursion_limit(RECURSION_MAX);
    env.set_auto_escape_callback(|_| AutoEscape::None);
    // Without debug mode an error does not name the undefined value.
    env.set_debug(true);
    env.set_formatter(|out, state, value| {
        if value.is_undefined() {
            return Err(undefined(value));
        }
        let budget = Budget::of(state)?;
        if budget.marks_values() && !value.is_safe() {
            let text = text_of(value, &budget)?;
            return Ok(out.write_str(&parts::marked(&text))?);
        }
        match value.as_str() {
            Some(text) => {
                budget.charge_bytes(text.len())?;
                Ok(out.write_str(text)?)
            }
            None => Ok(out.write_str(&text_of(value, &budget)?)?),
        }
    });
    filters::install(&mut env);
    env
});

/// The variables of a rendering: the values its source reads, and its budget.
#[derive(Debug)]
struct Context {
    values: BTreeMap<String, Value>,
    budget: Value,
}

impl Object for Context {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        self.get_value_by_str(key.as_str()?)
    }

    fn get_value_by_str(self: &Arc<Self>, key: &str) -> Option<Value> {
        if key == BUDGET_NAME { Some(self.budget.clone()) } else { self.values.get(key).cloned() }
    }
}

/// The values a rewritten source reads, under the names it reads them by.
pub(crate) fn context(rewritten: &Compiled, scope: &dyn Scope, budget: &Arc<Budget>) -> Value {
    let mut values = BTreeMap::new();
    for (name, read) in rewritten.names.iter().zip(&rewritten.reads) {
        let value = if name.starts_with(filters::PRIVATE_PREFIX) {
            resolve(scope, read)
        } else {
            resolve(scope, &TemplateRead { path: Vec::new(), ..read.clone() })
        };
        if let Some(value) = value {
            values.insert(name.clone(), value);
        }
    }
    Value::from_object(Context { values, budget: Value::from_dyn_object(budget.clone()) })
}

/// The reads of a compiled source, with the names under which it looks them up.
#[derive(Debug, Default)]
pub(crate) struct Compiled {
    pub(crate) reads: Vec<TemplateRead>,
    pub(crate) names: Vec<String>,
}

impl Compiled {
    pub(crate) fn of(rewritten: Rewritten) -> (String, Compiled) {
        (rewritten.source, Compiled { reads: rewritten.reads, names: rewritten.names })
    }

    /// A minijinja error in terms of the original source.
    pub(crate) fn render_error(&self, error: &Error) -> RenderError {
        // The message names rewritten reads; they are replaced by what the author wrote.
        let mut message = error.detail().map_or_else(|| error.kind().to_string(), str::to_owned);
        for (name, read) in self.names.iter().zip(&self.reads).rev() {
            if name.starts_with(filters::PRIVATE_PREFIX) {
                message = replace_name(&message, name, &read.to_string());
            }
        }
        if message.contains(OVER_BUDGET) || message.contains(TOO_DEEP) {
            return RenderError::Limit { message };
        }
        if message.contains(TOO_LONG) {
            return RenderError::Limit {
                message: format!("the template's text is longer than {OUTPUT_BYTES_MAX} bytes"),
            };
        }
        match error.kind() {
            ErrorKind::OutOfFuel => RenderError::Limit {
                message: format!("the template takes more than {INSTRUCTIONS_MAX} steps"),
            },
            ErrorKind::UndefinedError => RenderError::Undefined { what: undefined_name(&message) },
            _ => match message.split_once("(`") {
                Some((_, rest)) if rest.contains("` is undefined") => {
                    RenderError::Undefined { what: undefined_name(rest) }
                }
                _ => RenderError::Failed { message },
            },
        }
    }
}

/// Replaces `escrow_read_1`, but not the prefix of `escrow_read_12`.
fn replace_name(message: &str, name: &str, written: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(at) = rest.find(name) {
        let (before, after) = rest.split_at(at);
        let after = &after[name.len()..];
        out.push_str(before);
        out.push_str(if after.starts_with(|c: char| c.is_ascii_digit()) { name } else { written });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn undefined_name(message: &str) -> String {
    let name = message.split("` is undefined").next().unwrap_or(message).trim_start_matches('`');
    if name == message { "a value".to_owned() } else { name.to_owned() }
}
