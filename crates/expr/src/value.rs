//! The values of an evaluation.
//!
//! **Invariant:** a value is small and cheap to clone. Values of the scope and of the program are borrowed; values
//! that the evaluation builds are indexes into its heap, so cycles cost nothing and dropping does not recurse.

use std::cmp::Ordering;
use std::ops::Deref;
use std::rc::Rc;

use serde_json::Value as Json;

use crate::builtins::Builtin;
use crate::scope::{List, Object};

#[derive(Clone)]
pub(crate) enum Value<'a> {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Text<'a>),
    /// An array or an object of the scope. Scalars are converted when they are read.
    Json(&'a Json),
    Object(&'a dyn Object),
    List(&'a dyn List),
    /// A value of the scope with extra members, as an index into `Heap::records`.
    Record(u32),
    Array(u32),
    Plain(u32),
    Function(u32),
    Builtin(Builtin),
    Regex(u32),
    Collection(u32),
    /// A declared variable before its initialisation. Only in frames and cells.
    Uninitialized,
    /// A captured variable, as an index into `Heap::cells`. Only in frames.
    Cell(u32),
}

impl<'a> Value<'a> {
    pub(crate) fn text(text: impl Into<Rc<str>>) -> Value<'a> {
        Value::Text(Text::Shared(text.into()))
    }

    pub(crate) fn borrowed(text: &'a str) -> Value<'a> {
        Value::Text(Text::Borrowed(text))
    }

    pub(crate) fn count(count: usize) -> Value<'a> {
        Value::Number(crate::number::from_count(count))
    }

    pub(crate) fn json(json: &'a Json) -> Value<'a> {
        match json {
            Json::Null => Value::Null,
            Json::Bool(value) => Value::Bool(*value),
            Json::Number(number) => Value::Number(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Value::borrowed(text),
            Json::Array(_) | Json::Object(_) => Value::Json(json),
        }
    }

    pub(crate) fn is_nullish(&self) -> bool {
        matches!(self, Value::Undefined | Value::Null)
    }

    pub(crate) fn is_callable(&self) -> bool {
        match self {
            Value::Function(_) => true,
            Value::Builtin(builtin) => !builtin.is_namespace(),
            _ => false,
        }
    }
}

/// A text, borrowed from the scope or the program where possible.
#[derive(Clone, Debug)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Shared(Rc<str>),
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Text::Borrowed(text) => text,
            Text::Shared(text) => text,
        }
    }
}

impl PartialEq for Text<'_> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Text<'_> {}

impl PartialOrd for Text<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Text<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        (**self).cmp(&**other)
    }
}
