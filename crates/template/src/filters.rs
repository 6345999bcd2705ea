//! The filters, tests and functions that templates have.
//!
//! **Invariant:** each is in a table here, and each pays for what it walks through or builds. What the
//! engine offers and is not in a table does not exist for a template.

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, filters, functions, tests};

use crate::budget::{Budget, too_long};
use crate::convert::from_json;
use crate::limits::{NODE_UNITS, OUTPUT_BYTES_MAX};
use crate::text::{json_of, text_of, undefined};

/// Names that the rewritten source uses. A template cannot write them.
pub(crate) const PRIVATE_PREFIX: &str = "escrow_";

/// Functions that can be called by name.
pub(crate) const FUNCTIONS: &[&str] = &["dict", "namespace", "range"];

pub(crate) fn has_filter(name: &str) -> bool {
    WALKING.iter().chain(SHALLOW).any(|(known, _)| *known == name)
        || OWN.iter().any(|(known, _)| *known == name)
}

pub(crate) fn has_test(name: &str) -> bool {
    TESTS.iter().any(|(known, _)| *known == name)
}

pub(crate) fn filter_names() -> Vec<&'static str> {
    let mut names: Vec<_> = WALKING
        .iter()
        .chain(SHALLOW)
        .map(|(name, _)| *name)
        .chain(OWN.iter().map(|(name, _)| *name))
        .collect();
    names.sort_unstable();
    names
}

pub(crate) fn test_names() -> Vec<&'static str> {
    TESTS.iter().map(|(name, _)| *name).collect()
}

pub(crate) fn install(env: &mut Environment<'static>) {
    for (name, make) in SHALLOW {
        let filter = make();
        env.add_filter(*name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            charge_front(state, args.first())?;
            filter.call(state, &args)
        });
    }
    for (name, make) in WALKING {
        let filter = make();
        env.add_filter(*name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            charge_all(state, &args)?;
            let result = filter.call(state, &args)?;
            collected(state, result)
        });
    }
    for (name, run) in OWN.iter().chain(PRIVATE) {
        let (name, run) = (*name, *run);
        env.add_filter(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            if !matches!(name, "tojson" | "json" | "format") && args.last().is_some_and(Value::is_kwargs) {
                return Err(failed(format!("`{name}` takes its arguments in order, without their names")));
            }
            run(state, &args)
        });
    }
    for (name, make) in TESTS {
        let test = make();
        env.add_test(*name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            if args.len() > 1 {
                charge_all(state, &args)?;
            }
            test.call(state, &args)
        });
    }
    env.add_function("range", functions::range);
    env.add_function("dict", functions::dict);
    env.add_function("namespace", functions::namespace);
}

type Make = fn() -> Value;
type Run = fn(&mut State, &[Value]) -> Result<Value, Error>;

/// The engine's filters that look at one item, or at the length, of a list or an object.
const SHALLOW: &[(&str, Make)] = &[
    ("abs", || Value::from_function(filters::abs)),
    ("attr", || Value::from_function(filters::attr)),
    ("bool", || Value::from_function(filters::bool)),
    ("d", || Value::from_function(filters::default)),
    ("default", || Value::from_function(filters::default)),
    ("first", || Value::from_function(filters::first)),
    ("count", || Value::from_function(filters::length)),
    ("last", || Value::from_function(filters::last)),
    ("length", || Value::from_function(filters::length)),
    ("round", || Value::from_function(filters::round)),
];

/// The engine's filters whose cost and result are in proportion to their arguments.
const WALKING: &[(&str, Make)] = &[
    ("capitalize", || Value::from_function(filters::capitalize)),
    ("chain", || Value::from_function(filters::chain)),
    ("dictsort", || Value::from_function(filters::dictsort)),
    ("e", || Value::from_function(filters::escape)),
    ("escape", || Value::from_function(filters::escape)),
    ("float", || Value::from_function(filters::float)),
    ("groupby", || Value::from_function(filters::groupby)),
    ("int", || Value::from_function(filters::int)),
    ("items", || Value::from_function(filters::items)),
    ("lines", || Value::from_function(filters::lines)),
    ("list", || Value::from_function(filters::list)),
    ("lower", || Value::from_function(filters::lower)),
    ("map", || Value::from_function(filters::map)),
    ("max", || Value::from_function(filters::max)),
    ("min", || Value::from_function(filters::min)),
    ("reject", || Value::from_function(filters::reject)),
    ("rejectattr", || Value::from_function(filters::rejectattr)),
    ("reverse", || Value::from_function(filters::reverse)),
    ("select", || Value::from_function(filters::select)),
    ("selectattr", || Value::from_function(filters::selectattr)),
    ("sort", || Value::from_function(filters::sort)),
    ("split", || Value::from_function(filters::split)),
    ("sum", || Value::from_function(filters::sum)),
    ("title", || Value::from_function(filters::title)),
    ("trim", || Value::from_function(filters::trim)),
    ("unique", || Value::from_function(filters::unique)),
    ("upper", || Value::from_function(filters::upper)),
    ("zip", || Value::from_function(filters::zip)),
];

/// Filters of our own: those whose result can be far larger than their arguments, those that write
/// values as text, and those that the engine lacks.
const OWN: &[(&str, Run)] = &[
    ("batch", batch),
    ("format", format),
    ("fromjson", fromjson),
    ("indent", indent),
    ("join", join),
    // As Liquid spells it.
    ("json", tojson),
    ("replace", replace),
    ("slice", slice),
    ("string", string),
    ("tojson", tojson),
    ("urlencode", urlencode),
];

/// What the rewritten source calls in place of operators that build or compare.
const PRIVATE: &[(&str, Run)] = &[
    ("escrow_add", add),
    ("escrow_charged", charged),
    ("escrow_concat", concat),
    ("escrow_defined", defined),
    ("escrow_indexed", indexed),
    ("escrow_looped", looped),
    ("escrow_multiply", multiply),
];

const TESTS: &[(&str, Make)] = &[
    ("boolean", || Value::from_function(tests::is_boolean)),
    ("defined", || Value::from_function(tests::is_defined)),
    ("divisibleby", || Value::from_function(tests::is_divisibleby)),
    ("endingwith", || Value::from_function(tests::is_endingwith)),
    ("eq", || Value::from_function(tests::is_eq)),
    ("equalto", || Value::from_function(tests::is_eq)),
    ("even", || Value::from_function(tests::is_even)),
    ("false", || Value::from_function(tests::is_false)),
    ("float", || Value::from_function(tests::is_float)),
    ("ge", || Value::from_function(tests::is_ge)),
    ("greaterthan", || Value::from_function(tests::is_gt)),
    ("gt", || Value::from_function(tests::is_gt)),
    ("in", || Value::from_function(tests::is_in)),
    ("int", || Value::from_function(tests::is_integer)),
    ("integer", || Value::from_function(tests::is_integer)),
    ("iterable", || Value::from_function(tests::is_iterable)),
    ("le", || Value::from_function(tests::is_le)),
    ("lessthan", || Value::from_function(tests::is_lt)),
    ("lt", || Value::from_function(tests::is_lt)),
    ("mapping", || Value::from_function(tests::is_mapping)),
    ("ne", || Value::from_function(tests::is_ne)),
    ("none", || Value::from_function(tests::is_none)),
    ("null", || Value::from_function(tests::is_none)),
    ("number", || Value::from_function(tests::is_number)),
    ("odd", || Value::from_function(tests::is_odd)),
    ("sequence", || Value::from_function(tests::is_sequence)),
    ("startingwith", || Value::from_function(tests::is_startingwith)),
    ("string", || Value::from_function(tests::is_string)),
    ("true", || Value::from_function(tests::is_true)),
    ("undefined", || Value::from_function(tests::is_undefined)),
];

fn charge_all(state: &State, args: &[Value]) -> Result<(), Error> {
    let budget = Budget::of(state)?;
    args.iter().try_for_each(|arg| budget.charge_walk(arg))
}

/// A list in place of what is produced item by item: iterables within iterables would cost more with
/// every layer than anyone paid.
fn collected(state: &State, value: Value) -> Result<Value, Error> {
    if value.kind() != ValueKind::Iterable {
        return Ok(value);
    }
    let budget = Budget::of(state)?;
    let mut items = Vec::new();
    for item in value.try_iter()? {
        budget.charge(NODE_UNITS)?;
        items.push(item);
    }
    Ok(Value::from(items))
}

fn argument<'a>(args: &'a [Value], index: usize, filter: &str) -> Result<&'a Value, Error> {
    match args.get(index) {
        Some(value) if value.is_undefined() => Err(undefined(value)),
        Some(value) => Ok(value),
        None => Err(failed(format!("`{filter}` wants more arguments"))),
    }
}

fn failed(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.into())
}

fn bounded(length: Option<usize>) -> Result<usize, Error> {
    length.filter(|length| *length <= OUTPUT_BYTES_MAX).ok_or_else(too_long)
}

/// `a ~ b`: both as text.
fn concat(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let mut text = text_of(argument(args, 0, "~")?, &budget)?;
    let right = text_of(argument(args, 1, "~")?, &budget)?;
    bounded(text.len().checked_add(right.len()))?;
    text.push_str(&right);
    Ok(Value::from(text))
}

/// `a + b`: strings and lists are joined here, where their size is known; numbers are the engine's.
fn add(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let (left, right) = (argument(args, 0, "+")?, argument(args, 1, "+")?);
    match (left.kind(), right.kind()) {
        (ValueKind::String, ValueKind::String) => concat(state, args),
        (ValueKind::Seq | ValueKind::Iterable, ValueKind::Seq | ValueKind::Iterable) => {
            budget.charge_walk(left)?;
            budget.charge_walk(right)?;
            Ok(Value::from(left.try_iter()?.chain(right.try_iter()?).collect::<Vec<_>>()))
        }
        (ValueKind::Number, ValueKind::Number) => number_operation("a + b", left, right),
        (left, right) => Err(failed(format!("`+` cannot add a {right} to a {left}; `~` joins text"))),
    }
}

/// `a * b`: numbers, and repetition of a string or a list within the limits.
fn multiply(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let (left, right) = (argument(args, 0, "*")?, argument(args, 1, "*")?);
    let (repeated, count) = if left.kind() == ValueKind::Number { (right, left) } else { (left, right) };
    let times = || {
        count
            .as_usize()
            .ok_or_else(|| failed(format!("a {} can be repeated a whole number of times", repeated.kind())))
    };
    match repeated.kind() {
        ValueKind::Number => number_operation("a * b", left, right),
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

/// Arithmetic stays the engine's: it has the coercions and the overflow checks.
fn number_operation(operation: &'static str, left: &Value, right: &Value) -> Result<Value, Error> {
    static PLAIN: std::sync::LazyLock<Environment<'static>> = std::sync::LazyLock::new(Environment::empty);
    PLAIN.compile_expression(operation)?.eval(Value::from_pairs([("a", left.clone()), ("b", right.clone())]))
}

/// An operand of a comparison, or a value that is kept: pays for being walked through.
fn charged(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    charge_all(state, args)?;
    Ok(args.first().cloned().unwrap_or(Value::UNDEFINED))
}

/// The result of an expression. Here the engine still knows where an undefined value came from.
fn defined(_: &mut State, args: &[Value]) -> Result<Value, Error> {
    argument(args, 0, "{{ }}").cloned()
}

/// What is looped over. The loop pays for each item as it comes, but a text is cut up at once.
fn looped(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    match args.first() {
        Some(value) if value.kind() == ValueKind::String => indexed(state, args),
        other => Ok(other.cloned().unwrap_or(Value::UNDEFINED)),
    }
}

/// What is indexed or sliced.
fn indexed(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    charge_front(state, args.first())?;
    Ok(args.first().cloned().unwrap_or(Value::UNDEFINED))
}

/// Finding a place in a list is free; in a text, or in what must be produced item by item, it is not.
fn charge_front(state: &State, value: Option<&Value>) -> Result<(), Error> {
    match value {
        Some(value) if matches!(value.kind(), ValueKind::String | ValueKind::Iterable) => {
            Budget::of(state)?.charge_walk(value)
        }
        _ => Ok(()),
    }
}

fn string(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let value = argument(args, 0, "string")?;
    if value.kind() == ValueKind::String {
        return Ok(value.clone());
    }
    Ok(Value::from(text_of(value, &*Budget::of(state)?)?))
}

fn join(state: &mut State, args: &[Value]) -> Result<Value, Error> {
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

fn replace(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let text = text_of(argument(args, 0, "replace")?, &budget)?;
    let from = text_of(argument(args, 1, "replace")?, &budget)?;
    let to = text_of(argument(args, 2, "replace")?, &budget)?;
    let length =
        text.matches(from.as_str()).count().checked_mul(to.len()).and_then(|n| n.checked_add(text.len()));
    budget.charge_bytes(bounded(length)?)?;
    Ok(Value::from(text.replace(from.as_str(), &to)))
}

fn indent(state: &mut State, args: &[Value]) -> Result<Value, Error> {
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

/// Widths and precisions are the only way in which `format` makes more text than it is given.
fn format(state: &mut State, args: &[Value]) -> Result<Value, Error> {
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

fn batch(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    grouped(state, args, Value::from_function(filters::batch))
}

fn slice(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    grouped(state, args, Value::from_function(filters::slice))
}

/// A group is filled up to the size that was asked for, so the size is paid like an argument.
#[expect(clippy::needless_pass_by_value, reason = "the filter is made for this one call")]
fn grouped(state: &mut State, args: &[Value], filter: Value) -> Result<Value, Error> {
    charge_all(state, args)?;
    let size = argument(args, 1, "batch")?.as_usize().ok_or_else(|| failed("a group wants a size"))?;
    Budget::of(state)?.charge_bytes(size.saturating_mul(16))?;
    filter.call(state, args)
}

fn tojson(state: &mut State, args: &[Value]) -> Result<Value, Error> {
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

fn fromjson(state: &mut State, args: &[Value]) -> Result<Value, Error> {
    let budget = Budget::of(state)?;
    let value = argument(args, 0, "fromjson")?;
    let text =
        value.as_str().ok_or_else(|| failed(format!("`fromjson` wants a text, not a {}", value.kind())))?;
    // A value in memory is some twenty times as large as the shortest JSON for it.
    budget.charge_bytes(text.len().saturating_mul(4))?;
    let json = serde_json::from_str(text).map_err(|cause| failed(format!("`fromjson`: {cause}")))?;
    Ok(from_json(&json, 0))
}

fn urlencode(state: &mut State, args: &[Value]) -> Result<Value, Error> {
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

#[cfg(test)]
mod unit_tests {
    use super::{FUNCTIONS, OWN, PRIVATE, PRIVATE_PREFIX, SHALLOW, TESTS, WALKING};

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = SHALLOW.iter().chain(WALKING).map(|(name, _)| *name).collect();
        names.extend(OWN.iter().chain(PRIVATE).map(|(name, _)| *name));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
        let mut tests: Vec<_> = TESTS.iter().map(|(name, _)| *name).collect();
        tests.dedup();
        assert_eq!(tests.len(), TESTS.len());
    }

    #[test]
    fn private_names_have_the_prefix_and_public_ones_have_not() {
        assert!(PRIVATE.iter().all(|(name, _)| name.starts_with(PRIVATE_PREFIX)));
        assert!(OWN.iter().all(|(name, _)| !name.starts_with(PRIVATE_PREFIX)));
        assert!(FUNCTIONS.iter().all(|name| !name.starts_with(PRIVATE_PREFIX)));
    }
}
