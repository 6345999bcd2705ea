//! The heap of an evaluation: the arrays, objects, functions and collections it builds.
//!
//! **Invariant:** nothing is freed before the evaluation ends, and every allocation was charged to the budget first.

use std::collections::BTreeMap;
use std::rc::Rc;

use serde_json::Value as Json;

use crate::exception::ErrorClass;
use crate::pattern::Pattern;
use crate::scope::Object;
use crate::tree::FunctionId;
use crate::value::{Text, Value};

#[derive(Default)]
pub(crate) struct Heap<'a> {
    pub(crate) arrays: Vec<Array<'a>>,
    pub(crate) plains: Vec<PlainObject<'a>>,
    pub(crate) functions: Vec<Closure>,
    pub(crate) collections: Vec<Collection<'a>>,
    pub(crate) regexes: Vec<RegexObject<'a>>,
    pub(crate) cells: Vec<Value<'a>>,
    pub(crate) records: Vec<(&'a Json, &'a dyn Object)>,
}

#[derive(Default)]
pub(crate) struct Array<'a> {
    pub(crate) items: Vec<Value<'a>>,
    /// `index`, `input` and `groups` of a match.
    pub(crate) extra: Option<Box<Members<'a>>>,
}

#[derive(Default)]
pub(crate) struct PlainObject<'a> {
    pub(crate) members: Members<'a>,
    pub(crate) error: Option<ErrorObject<'a>>,
    pub(crate) frozen: bool,
}

/// The non-enumerable parts of an error object.
#[derive(Clone)]
pub(crate) struct ErrorObject<'a> {
    pub(crate) kind: ErrorClass,
    pub(crate) message: Text<'a>,
}

#[derive(Clone)]
pub(crate) struct Closure {
    pub(crate) function: FunctionId,
    /// Cells, in the order of the function's captures.
    pub(crate) captured: Rc<[u32]>,
}

pub(crate) struct RegexObject<'a> {
    pub(crate) pattern: PatternRef<'a>,
    /// In UTF-16 units, as scripts see it.
    pub(crate) last_index: usize,
}

#[derive(Clone)]
pub(crate) enum PatternRef<'a> {
    Literal(&'a Pattern),
    Built(Rc<Pattern>),
}

impl std::ops::Deref for PatternRef<'_> {
    type Target = Pattern;

    fn deref(&self) -> &Pattern {
        match self {
            PatternRef::Literal(pattern) => pattern,
            PatternRef::Built(pattern) => pattern,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum CollectionKind {
    Set,
    Map,
}

/// A `Set` or a `Map`. Removed entries leave a gap, so that positions of running iterations stay valid.
pub(crate) struct Collection<'a> {
    pub(crate) kind: CollectionKind,
    pub(crate) entries: Vec<Option<(Value<'a>, Value<'a>)>>,
    pub(crate) index: BTreeMap<CollectionKey<'a>, usize>,
}

/// A key in the form by which a collection compares it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CollectionKey<'a> {
    Undefined,
    Null,
    Bool(bool),
    Number(u64),
    Text(Text<'a>),
    Identity(u8, usize),
}

/// The members of an object in insertion order.
#[derive(Default)]
pub(crate) struct Members<'a> {
    entries: Vec<(Text<'a>, Value<'a>)>,
    /// Only for objects with more than `SEARCHED_MAX` members; smaller ones are searched linearly.
    index: Option<BTreeMap<Text<'a>, usize>>,
}

const SEARCHED_MAX: usize = 12;

impl<'a> Members<'a> {
    pub(crate) fn with_capacity(capacity: usize) -> Members<'a> {
        Members { entries: Vec::with_capacity(capacity), index: None }
    }

    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    fn position(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(&Text::Borrowed(name)).copied(),
            None => self.entries.iter().position(|(known, _)| **known == *name),
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value<'a>> {
        self.position(name).map(|position| &self.entries[position].1)
    }

    pub(crate) fn set(&mut self, name: Text<'a>, value: Value<'a>) {
        if let Some(position) = self.position(&name) {
            self.entries[position].1 = value;
            return;
        }
        if let Some(index) = &mut self.index {
            index.insert(name.clone(), self.entries.len());
        }
        self.entries.push((name, value));
        if self.index.is_none() && self.entries.len() > SEARCHED_MAX {
            self.reindex();
        }
    }

    pub(crate) fn remove(&mut self, name: &str) {
        if let Some(position) = self.position(name) {
            self.entries.remove(position);
            if self.index.is_some() {
                self.reindex();
            }
        }
    }

    fn reindex(&mut self) {
        self.index = Some(
            self.entries.iter().enumerate().map(|(position, (name, _))| (name.clone(), position)).collect(),
        );
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &(Text<'a>, Value<'a>)> {
        self.entries.iter()
    }
}
