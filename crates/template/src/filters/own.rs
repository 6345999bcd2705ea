//! Filters that are not minijinja's: their result can be far larger than their arguments, they write values as text,
//! or minijinja lacks them.

use minijinja::value::{Value, ValueKind};
use minijinja::{Error, State, filters};

use super::{argument, bounded, charge_all, failed};
use crate::budget::Budget;
use crate::convert::from_json;
use crate::text::{json_of, text_of};

pub(super) fn string(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = argument(args, 0, "string")?;
    if value.kind() == ValueKind::String {
        return Ok(value.clone());
    }
    Ok(Value::from(text_of(value, &*Budget::of(state)?)?))
}

pub(super) fn join(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let between = match args.get(1) {
        Some(_) => text_of(argument(args, 1, "join")?, &budget)?,
        None => String::new(),
    };
    let mut text = String::new();
    for (index, item) in argument(args, 0, "join")?.try_iter()?.enumerate() {
        let item = text_of(&item, &budget)?;
        budget.charge_bytes(between.len() + 1)?;
        bounded(Some(text.len() + between.len() + item.len()))?;
        if index > 0 {
            text.push_str(&between);
        }
        text.push_str(&item);
    }
    Ok(Value::from(text))
}

pub(super) fn replace(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let text = text_of(argument(args, 0, "replace")?, &budget)?;
    let from = text_of(argument(args, 1, "replace")?, &budget)?;
    let to = text_of(argument(args, 2, "replace")?, &budget)?;
    let length =
        text.matches(from.as_str()).count().checked_mul(to.len()).and_then(|n| n.checked_add(text.len()));
    budget.charge_bytes(bounded(length)?)?;
    Ok(Value::from(text.replace(from.as_str(), &to)))
}

pub(super) fn indent(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let text = text_of(argument(args, 0, "indent")?, &budget)?;
    let width = match args.get(1) {
        Some(width) => width.as_usize().ok_or_else(|| failed("`indent` wants a width in spaces"))?,
        None => 4,
    };
    let flag = |index: usize| args.get(index).is_some_and(Value::is_true);
    let (first, blank) = (flag(2), flag(3));
    let lines = text.matches('\n').count() + 1;
    budget.charge_bytes(bounded(width.checked_mul(lines).and_then(|n| n.checked_add(text.len())))?)?;
    let margin = " ".repeat(width);
    let mut out = String::with_capacity(text.len() + width * lines);
    for (index, line) in text.split('\n').enumerate() {
        if index > 0 {
            out.push('\n');
        }
        if (index > 0 || first) && (blank || !line.is_empty()) {
            out.push_str(&margin);
        }
        out.push_str(line);
    }
    Ok(Value::from(out))
}

/// Only widths and precisions let `format` produce more text than it is given, so they are limited.
pub(super) fn format(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    const WIDTH_MAX: usize = 1000;
    charge_all(state, args)?;
    let pattern = argument(args, 0, "format")?.as_str().ok_or_else(|| failed("`format` wants a text"))?;
    let numbers = pattern.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    for digits in numbers {
        if digits.parse::<usize>().map_or(true, |width| width > WIDTH_MAX) {
            return Err(failed(format!("`format` allows widths up to {WIDTH_MAX}")));
        }
    }
    if pattern.contains('*') && pattern.contains('%') {
        return Err(failed("`format` wants its widths written out, not `*`"));
    }
    Budget::of(state)?.charge_bytes(pattern.matches('%').count().saturating_mul(WIDTH_MAX))?;
    Value::from_function(filters::format).call(state, args)
}

pub(super) fn batch(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    grouped(state, args, Value::from_function(filters::batch))
}

pub(super) fn slice(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    grouped(state, args, Value::from_function(filters::slice))
}

/// Groups are padded to the requested size, so the size is charged as well.
#[expect(clippy::needless_pass_by_value, reason = "the filter is made for this one call")]
fn grouped(state: &mut State, args: &[Value], filter: Value) -> Result<Value, Error> {
    charge_all(state, args)?;
    let size = argument(args, 1, "batch")?.as_usize().ok_or_else(|| failed("a group wants a size"))?;
    Budget::of(state)?.charge_bytes(size.saturating_mul(16))?;
    filter.call(state, args)
}

pub(super) fn tojson(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let indent = match args.get(1) {
        Some(flag) if flag.kind() == ValueKind::Bool => flag.is_true().then_some(2),
        Some(width) if width.kind() == ValueKind::Number => Some(
            width
                .as_usize()
                .filter(|width| *width <= 16)
                .ok_or_else(|| failed("`tojson` indents up to 16 spaces"))?,
        ),
        Some(options) if options.is_kwargs() => {
            options.get_attr("indent")?.as_usize().map(|width| width.min(16))
        }
        _ => None,
    };
    Ok(Value::from(json_of(argument(args, 0, "tojson")?, &*Budget::of(state)?, indent)?))
}

pub(super) fn fromjson(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let value = argument(args, 0, "fromjson")?;
    let text =
        value.as_str().ok_or_else(|| failed(format!("`fromjson` wants a text, not a {}", value.kind())))?;
    // A value takes up to about twenty times the memory of its JSON.
    budget.charge_bytes(text.len().saturating_mul(4))?;
    let json = serde_json::from_str(text).map_err(|cause| failed(format!("`fromjson`: {cause}")))?;
    Ok(from_json(&json, 0))
}

pub(super) fn urlencode(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let text = text_of(argument(args, 0, "urlencode")?, &budget)?;
    budget.charge_bytes(bounded(text.len().checked_mul(3))?)?;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    Ok(Value::from(out))
}
