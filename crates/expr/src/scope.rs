//! The values that an expression or a template may read, borrowed from their owner.
//!
//!   Scope ──name──▶ ScopeValue ──member / item──▶ ScopeValue
//!
//! **Invariant:** building a scope copies nothing. A run with a thousand outputs offers them through `Object`; an
//! expression that reads one of them touches one.

use serde_json::Value;

/// The names an evaluation starts from.
pub trait Scope {
    /// The value of a free name, or `None` when there is no such name.
    fn name(&self, name: &str) -> Option<ScopeValue<'_>>;

    /// All names, for templates that list them and for "did you mean".
    fn names(&self) -> Vec<&str>;

    /// The author association of the event (`OWNER`, `MEMBER`, …), for `isMember()` and similar helpers.
    fn author_association(&self) -> Option<&str> {
        None
    }

    /// The values that `memory.get(key, namespace)` reads. The default namespace is `default`.
    fn memory(&self, _namespace: &str) -> Option<ScopeValue<'_>> {
        None
    }
}

/// One value, borrowed in the form in which its owner keeps it.
#[derive(Clone, Copy)]
pub enum ScopeValue<'a> {
    Undefined,
    /// Nothing, below any member as well. Templates take it for false and empty, never for an error; expressions for
    /// undefined.
    Absent,
    Json(&'a Value),
    /// A value with extra members, consulted for names that the value itself lacks: `output.exitCode` on a
    /// text output reads the attempt's record.
    Record {
        value: &'a Value,
        extra: &'a dyn Object,
    },
    Object(&'a dyn Object),
    List(&'a dyn List),
    /// A member that exists and cannot be given, for this reason. Reading it is an error, so that a contract over it
    /// fails closed.
    Unreadable(&'a str),
}

/// An object that computes its members on demand.
pub trait Object {
    fn member(&self, name: &str) -> Option<ScopeValue<'_>>;
    /// In insertion order.
    fn names(&self) -> Vec<&str>;
    /// The item at an index, for an object that templates also read as a list.
    fn item(&self, _index: usize) -> Option<ScopeValue<'_>> {
        None
    }
}

/// A list that computes its items on demand.
pub trait List {
    fn len(&self) -> usize;
    fn item(&self, index: usize) -> Option<ScopeValue<'_>>;
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A member of a JSON object. Small objects are searched, which takes less time than hashing the name.
pub(crate) fn member<'a>(members: &'a serde_json::Map<String, Value>, name: &str) -> Option<&'a Value> {
    const SEARCHED_MAX: usize = 8;
    if members.len() > SEARCHED_MAX {
        return members.get(name);
    }
    members.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// A JSON object as a scope: each of its members is a name. `__assoc` and `__memory` feed the helpers.
pub struct JsonScope<'a>(pub &'a Value);

impl Scope for JsonScope<'_> {
    fn name(&self, name: &str) -> Option<ScopeValue<'_>> {
        self.0.as_object().and_then(|members| member(members, name)).map(ScopeValue::Json)
    }

    fn names(&self) -> Vec<&str> {
        self.0.as_object().map(|object| object.keys().map(String::as_str).collect()).unwrap_or_default()
    }

    fn author_association(&self) -> Option<&str> {
        self.0.get("__assoc").and_then(Value::as_str)
    }

    fn memory(&self, namespace: &str) -> Option<ScopeValue<'_>> {
        self.0.get("__memory").and_then(|memory| memory.get(namespace)).map(ScopeValue::Json)
    }
}
