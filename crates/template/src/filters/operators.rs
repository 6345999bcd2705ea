//! The filters that a rewritten template calls in place of operators that build, compare or walk data.

use std::sync::LazyLock;

use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, State};

use super::{argument, bounded, charge_all, charge_front, failed};
use crate::absent::is_absent;
use crate::budget::Budget;
use crate::text::text_of;

/// The template's own text, as a string that can be told from a value.
pub(super) fn written(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    let text = args.first().and_then(Value::as_str).unwrap_or_default();
    Ok(Value::from_safe_string(text.to_owned()))
}

/// `a ~ b`: both as text.
pub(super) fn concat(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let mut text = text_of(argument(args, 0, "~")?, &budget)?;
    let right = text_of(argument(args, 1, "~")?, &budget)?;
    bounded(text.len().checked_add(right.len()))?;
    text.push_str(&right);
    Ok(Value::from(text))
}

/// `a + b`: joins strings and lists here, where their size is known; minijinja adds numbers.
pub(super) fn add(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let (left, right) = (argument(args, 0, "+")?, argument(args, 1, "+")?);
    match (left.kind(), right.kind()) {
        _ if is_absent(left) => Ok(right.clone()),
        _ if is_absent(right) => Ok(left.clone()),
        (ValueKind::String, ValueKind::String) => concat(state, args),
        (ValueKind::Seq | ValueKind::Iterable, ValueKind::Seq | ValueKind::Iterable) => {
            budget.charge_walk(left)?;
            budget.charge_walk(right)?;
            Ok(Value::from(left.try_iter()?.chain(right.try_iter()?).collect::<Vec<_>>()))
        }
        (ValueKind::Number, ValueKind::Number) => plain_operation("a + b", left, right),
        (left, right) => Err(failed(format!("`+` cannot add a {right} to a {left}; `~` joins text"))),
    }
}

/// `a * b`: numbers, and repetition of a string or a list within the limits.
pub(super) fn multiply(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let (left, right) = (argument(args, 0, "*")?, argument(args, 1, "*")?);
    let (repeated, count) = if left.kind() == ValueKind::Number { (right, left) } else { (left, right) };
    let times = || {
        count
            .as_usize()
            .ok_or_else(|| failed(format!("a {} can be repeated a whole number of times", repeated.kind())))
    };
    match repeated.kind() {
        ValueKind::Number => plain_operation("a * b", left, right),
        ValueKind::String => {
            let (text, times) = (repeated.as_str().unwrap_or_default(), times()?);
            budget.charge_bytes(bounded(text.len().checked_mul(times))?)?;
            Ok(Value::from(text.repeat(times)))
        }
        ValueKind::Seq | ValueKind::Iterable => {
            let mut items = Vec::new();
            for _ in 0..if repeated.len() == Some(0) { 0 } else { times()? } {
                budget.charge_walk(repeated)?;
                items.extend(repeated.try_iter()?);
            }
            Ok(Value::from(items))
        }
        other => Err(failed(format!("`*` cannot multiply a {other}"))),
    }
}

/// `a < b` and the like. Nothing is less or greater than a value that is absent.
fn ordered(
    state: &mut State,
    args: &[Value],
    sign: &str,
    holds: fn(&Value, &Value) -> bool,
) -> Result<Value, Error> {
    charge_all(state, args)?;
    let (left, right) = (argument(args, 0, sign)?, argument(args, 1, sign)?);
    Ok(Value::from(!is_absent(left) && !is_absent(right) && holds(left, right)))
}

pub(super) fn less(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    ordered(state, args, "<", |left, right| left < right)
}

pub(super) fn less_or_equal(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    ordered(state, args, "<=", |left, right| left <= right)
}

pub(super) fn greater(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    ordered(state, args, ">", |left, right| left > right)
}

pub(super) fn greater_or_equal(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    ordered(state, args, ">=", |left, right| left >= right)
}

/// `a in b`. Nothing is in a value that is absent.
pub(super) fn is_in(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    charge_all(state, args)?;
    let (item, container) = (argument(args, 0, "in")?, argument(args, 1, "in")?);
    if is_absent(container) || is_absent(item) {
        return Ok(Value::from(false));
    }
    plain_operation("a in b", item, container)
}

/// Leaves arithmetic and membership to minijinja, with its coercions and overflow checks.
fn plain_operation(operation: &'static str, left: &Value, right: &Value) -> Result<Value, Error> {
    static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(Environment::empty);
    PLAIN.compile_expression(operation)?.eval(Value::from_pairs([("a", left.clone()), ("b", right.clone())]))
}

/// An operand of a comparison, or an assigned value: charges a walk over it.
pub(super) fn charged(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    charge_all(state, args)?;
    Ok(args.first().cloned().unwrap_or(Value::UNDEFINED))
}

/// The result of an expression, which must be defined. Here minijinja still knows the origin of an undefined value.
pub(super) fn defined(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    argument(args, 0, "{{ }}").cloned()
}

/// The subject of a loop. Each iteration is charged by itself, but a text is split into characters at once.
pub(super) fn looped(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    match args.first() {
        Some(value) if value.kind() == ValueKind::String => indexed(state, args),
        other => Ok(other.cloned().unwrap_or(Value::UNDEFINED)),
    }
}

/// The operand of an index or a slice.
pub(super) fn indexed(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    charge_front(state, args.first())?;
    Ok(args.first().cloned().unwrap_or(Value::UNDEFINED))
}
