//! The filters, tests and functions of templates.
//!
//! **Invariant:** templates have exactly the filters, tests and functions in these tables, and each charges the budget
//! for the data it walks or builds.

mod operators;
mod own;

use minijinja::value::{Rest, Value, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, State, filters, functions, tests};

use crate::absent::is_absent;
use crate::budget::{Budget, too_long};
use crate::limits::{NODE_UNITS, OUTPUT_BYTES_MAX};
use crate::text::undefined;

/// The prefix of names in rewritten sources. A template that uses it is refused.
pub(crate) const PRIVATE_PREFIX: &str = "escrow_";

/// The filter of the template's own text. Its result is a safe string, which no other filter makes: that is how a rendering
/// tells the text from the values in it.
pub(crate) const WRITTEN: &str = "escrow_written";

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
        let (name, filter) = (*name, make());
        env.add_filter(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            charge_front(state, args.first())?;
            if matches!(name, "d" | "default") && args.first().is_some_and(is_absent) {
                return Ok(args.get(1).cloned().unwrap_or_else(|| Value::from("")));
            }
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
        let (name, test) = (*name, make());
        env.add_test(name, move |state: &mut State, args: Rest<ValueOrKwargs>| {
            let args = args.into_values();
            if let (Some(true), "defined" | "undefined" | "none") = (args.first().map(is_absent), name) {
                return Ok(Value::from(name != "defined"));
            }
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

/// minijinja's filters that read one item, or the length, of a list or an object.
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

/// minijinja's filters whose cost and result are proportional to their arguments.
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

/// Filters of our own, see `own`.
const OWN: &[(&str, Run)] = &[
    ("batch", own::batch),
    ("format", own::format),
    ("fromjson", own::fromjson),
    ("indent", own::indent),
    ("join", own::join),
    // As Liquid spells it.
    ("json", own::tojson),
    ("replace", own::replace),
    ("slice", own::slice),
    ("string", own::string),
    ("tojson", own::tojson),
    ("urlencode", own::urlencode),
];

/// Filters that rewritten sources use in place of operators, see `operators`.
const PRIVATE: &[(&str, Run)] = &[
    ("escrow_add", operators::add),
    ("escrow_charged", operators::charged),
    ("escrow_concat", operators::concat),
    ("escrow_defined", operators::defined),
    ("escrow_greater", operators::greater),
    ("escrow_greater_or_equal", operators::greater_or_equal),
    ("escrow_in", operators::is_in),
    ("escrow_indexed", operators::indexed),
    ("escrow_less", operators::less),
    ("escrow_less_or_equal", operators::less_or_equal),
    ("escrow_looped", operators::looped),
    ("escrow_multiply", operators::multiply),
    (WRITTEN, operators::written),
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

/// Collects an iterable into a list. Nested lazy iterables would cost more with every layer than was charged.
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

/// Charges for finding a position in a text or a lazy iterable; in a list that is free.
fn charge_front(state: &State, value: Option<&Value>) -> Result<(), Error> {
    match value {
        Some(value) if matches!(value.kind(), ValueKind::String | ValueKind::Iterable) => {
            Budget::of(state)?.charge_walk(value)
        }
        _ => Ok(()),
    }
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
