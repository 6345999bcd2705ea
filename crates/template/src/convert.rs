//! Conversion of values to minijinja's and back.
//!
//! minijinja's values are reference-counted, and a scope is borrowed. The values that a template reads are therefore
//! copied, and no others: `TemplateRead::path` selects the part of a value.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, ErrorKind};
use serde_json::Value as Json;

use crate::absent::{absent, is_absent};
use crate::budget::{Budget, too_deep};
use crate::limits::{NODE_UNITS, VALUE_DEPTH_MAX};
use crate::reads::{PathStep, TemplateRead};
use escrow_expr::{Scope, ScopeValue};

/// The value of a read, or `None` when its last member does not exist. A missing member further up becomes an error
/// value, which minijinja raises when the template uses it.
pub(crate) fn resolve(scope: &dyn Scope, read: &TemplateRead) -> Option<Value> {
    let mut given = match scope.name(&read.name) {
        Some(given) => given,
        None if read.path.is_empty() => return None,
        None => return Some(missing(read, 0)),
    };
    for (index, step) in read.path.iter().enumerate() {
        if matches!(given, ScopeValue::Absent) {
            return Some(absent());
        }
        let last = index + 1 == read.path.len();
        given = match (step_into(given, step), last) {
            (Some(ScopeValue::Undefined) | None, true) => return character(given, step),
            (Some(ScopeValue::Undefined) | None, false) => return Some(missing(read, index + 1)),
            (Some(next), _) => next,
        };
    }
    copy(given, 0)
}

fn missing(read: &TemplateRead, steps: usize) -> Value {
    Value::from(Error::new(ErrorKind::UndefinedError, format!("`{}` is undefined", read.written(steps))))
}

fn step_into<'a>(given: ScopeValue<'a>, step: &PathStep) -> Option<ScopeValue<'a>> {
    match (given, step) {
        (ScopeValue::Undefined | ScopeValue::Unreadable(_), _) => None,
        (ScopeValue::Absent, _) => Some(ScopeValue::Absent),
        (ScopeValue::Json(Json::Object(members)), PathStep::Member(name)) => {
            members.get(name).map(ScopeValue::Json)
        }
        (ScopeValue::Json(Json::Array(items)), PathStep::Item(index)) => {
            items.get(*index).map(ScopeValue::Json)
        }
        (ScopeValue::Json(_), _) => None,
        (ScopeValue::Record { value, extra }, step) => {
            step_into(ScopeValue::Json(value), step).or_else(|| match step {
                PathStep::Member(name) => extra.member(name),
                PathStep::Item(_) => None,
            })
        }
        (ScopeValue::Object(object), PathStep::Member(name)) => object.member(name),
        (ScopeValue::Object(object), PathStep::Item(index)) => object.item(*index),
        (ScopeValue::List(list), PathStep::Item(index)) => list.item(*index),
        (ScopeValue::List(_), PathStep::Member(_)) => None,
    }
}

/// `text[0]`, the only member of a scalar.
fn character(given: ScopeValue<'_>, step: &PathStep) -> Option<Value> {
    match (given, step) {
        (
            ScopeValue::Json(Json::String(text)) | ScopeValue::Record { value: Json::String(text), .. },
            PathStep::Item(n),
        ) => text.chars().nth(*n).map(Value::from),
        _ => None,
    }
}

fn copy(given: ScopeValue<'_>, depth: usize) -> Option<Value> {
    if depth > VALUE_DEPTH_MAX {
        return Some(Value::from(too_deep()));
    }
    match given {
        ScopeValue::Undefined => None,
        ScopeValue::Absent => Some(absent()),
        ScopeValue::Unreadable(why) => {
            Some(Value::from(Error::new(ErrorKind::InvalidOperation, format!("it cannot be read: {why}"))))
        }
        ScopeValue::Json(json) | ScopeValue::Record { value: json, .. } => Some(from_json(json, depth)),
        ScopeValue::Object(object) => Some(Value::from_pairs(
            object
                .names()
                .into_iter()
                .filter_map(|name| Some((Value::from(name), copy(object.member(name)?, depth + 1)?))),
        )),
        ScopeValue::List(list) => Some(Value::from(
            (0..list.len())
                .map(|index| {
                    list.item(index).and_then(|item| copy(item, depth + 1)).unwrap_or_else(|| Value::from(()))
                })
                .collect::<Vec<_>>(),
        )),
    }
}

/// JSON as a minijinja value. Values nested deeper than `VALUE_DEPTH_MAX` become error values.
pub(crate) fn from_json(json: &Json, depth: usize) -> Value {
    if depth > VALUE_DEPTH_MAX {
        return Value::from(too_deep());
    }
    match json {
        Json::Null => Value::from(()),
        Json::Bool(flag) => Value::from(*flag),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(integer), _, _) => Value::from(integer),
            (None, Some(integer), _) => Value::from(integer),
            (None, None, float) => Value::from(float.unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => {
            Value::from(items.iter().map(|item| from_json(item, depth + 1)).collect::<Vec<_>>())
        }
        Json::Object(members) => Value::from_pairs(
            members.iter().map(|(name, member)| (Value::from(name.as_str()), from_json(member, depth + 1))),
        ),
    }
}

/// A minijinja value as JSON. Charges the budget.
pub(crate) fn to_json(value: &Value, budget: &Budget, depth: usize) -> Result<Json, Error> {
    if depth > VALUE_DEPTH_MAX {
        return Err(too_deep());
    }
    budget.charge(NODE_UNITS)?;
    match value.kind() {
        _ if is_absent(value) => Ok(Json::String(String::new())),
        ValueKind::Undefined => Err(crate::text::undefined(value)),
        ValueKind::None => Ok(Json::Null),
        ValueKind::Bool => Ok(Json::Bool(value.is_true())),
        ValueKind::Number => Ok(number(value)),
        ValueKind::String => {
            let text = value.as_str().unwrap_or_default();
            budget.charge_bytes(text.len())?;
            Ok(Json::from(text))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let mut items = Vec::new();
            for item in value.try_iter()? {
                items.push(to_json(&item, budget, depth + 1)?);
            }
            Ok(Json::Array(items))
        }
        ValueKind::Map => {
            let mut members = serde_json::Map::new();
            for key in value.try_iter()? {
                let name = crate::text::text_of(&key, budget)?;
                members.insert(name, to_json(&value.get_item(&key)?, budget, depth + 1)?);
            }
            Ok(Json::Object(members))
        }
        other => {
            Err(Error::new(ErrorKind::InvalidOperation, format!("a value of kind {other} is not plain data")))
        }
    }
}

fn number(value: &Value) -> Json {
    if value.is_integer() {
        if let Ok(integer) = i64::try_from(value.clone()) {
            return Json::from(integer);
        }
        if let Ok(integer) = u64::try_from(value.clone()) {
            return Json::from(integer);
        }
    }
    f64::try_from(value.clone()).map_or(Json::Null, Json::from)
}
