//! Evaluates a program over a scope, within a budget.
//!
//!   Tree ──Evaluator──▶ Value, or the Exception that stopped the evaluation
//!         ▲
//!       Scope (borrowed; read when a name is evaluated)
//!
//! **Invariant:** every sub-expression costs a step, every nesting costs depth and every allocation is charged
//! before it is made. The evaluator recurses no deeper than the depth of its budget.

mod access;
mod assign;
mod coerce;
mod expression;
mod function;
mod operator;
mod statement;
mod text;

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::budget::Budget;
use crate::eval_error::{EvalError, EvalErrorKind};
use crate::exception::{ErrorClass, EvalResult, Exception};
use crate::explain::Recorder;
use crate::heap::{Array, Heap, Members, PlainObject};
use crate::scope::{Scope, ScopeValue};
use crate::tree::{Function, NameId, NodeId, Tree};
use crate::value::{Text, Value};

pub(crate) use access::identity;
pub(crate) use function::Arguments;
pub(crate) use operator::power;

/// Bytes charged for a value on the heap, rounded up.
const VALUE_BYTES: usize = 32;

pub(crate) struct Evaluator<'a> {
    pub(crate) tree: &'a Tree,
    pub(crate) scope: &'a dyn Scope,
    pub(crate) heap: Heap<'a>,
    /// The frames of all functions that are running.
    stack: Vec<Value<'a>>,
    /// Where the frame of the current function starts.
    base: usize,
    steps_left: u64,
    memory_left: u64,
    depth_left: u32,
    /// The node whose span an error gets.
    current: NodeId,
    /// Names that the program assigned to without declaring them.
    globals: Vec<(NameId, Value<'a>)>,
    /// Values of the scope that the program changed: where they are, and the copy that replaces them.
    changed: BTreeMap<usize, Value<'a>>,
    /// Values written by `memory.set`, `memory.increment` and `memory.append`, by namespace.
    pub(crate) written: BTreeMap<String, u32>,
    pub(crate) memory_writable: bool,
    pub(crate) writes: Vec<(String, String, Value<'a>)>,
    /// Arrays being joined; an array inside itself joins as the empty string.
    joining: Vec<Value<'a>>,
    /// The value of the last expression statement, which is the value of a script.
    completion: Value<'a>,
    /// Why a value cannot be given that was reached without its name, as `JSON.stringify(outputs)` does. The evaluation
    /// fails in the end.
    unreadable: Option<&'a str>,
    measured: text::Measured<'a>,
    pub(crate) recorder: Option<Box<Recorder>>,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(tree: &'a Tree, scope: &'a dyn Scope, budget: Budget) -> Evaluator<'a> {
        Evaluator {
            tree,
            scope,
            heap: Heap::default(),
            stack: Vec::new(),
            base: 0,
            steps_left: budget.steps,
            memory_left: budget.memory_bytes,
            depth_left: budget.depth.min(Budget::DEPTH_MAX),
            current: NodeId(0),
            globals: Vec::new(),
            changed: BTreeMap::new(),
            written: BTreeMap::new(),
            memory_writable: false,
            writes: Vec::new(),
            joining: Vec::new(),
            completion: Value::Undefined,
            unreadable: None,
            measured: text::Measured::default(),
            recorder: None,
        }
    }

    /// Runs the whole source. `completion` says that the last expression statement is the value.
    pub(crate) fn run(&mut self, main: &'a Function, completion: bool) -> EvalResult<'a> {
        let value = self.run_main(main)?;
        if let Some(why) = self.unreadable {
            return Err(self.type_error(why));
        }
        Ok(if completion { std::mem::replace(&mut self.completion, Value::Undefined) } else { value })
    }

    pub(crate) fn step(&mut self) -> EvalResult<'a, ()> {
        match self.steps_left.checked_sub(1) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(self.exhausted("it takes too many steps")),
        }
    }

    /// Charges work that is proportional to `count`.
    pub(crate) fn work(&mut self, count: usize) -> EvalResult<'a, ()> {
        match self.steps_left.checked_sub(count as u64) {
            Some(left) => {
                self.steps_left = left;
                Ok(())
            }
            None => Err(self.exhausted("it takes too many steps")),
        }
    }

    /// Charges a search through the bytes of a text.
    pub(crate) fn scan(&mut self, bytes: usize) -> EvalResult<'a, ()> {
        self.work(bytes / 64)
    }

    /// Charges a walk over the characters of a text, which costs more than a search for a byte.
    pub(crate) fn walk(&mut self, bytes: usize) -> EvalResult<'a, ()> {
        self.work(bytes / 16)
    }

    /// Charges an allocation, before it is made.
    pub(crate) fn charge(&mut self, bytes: usize) -> EvalResult<'a, ()> {
        match self.memory_left.checked_sub(bytes as u64 + 16) {
            Some(left) => {
                self.memory_left = left;
                Ok(())
            }
            None => Err(self.exhausted("it needs too much memory")),
        }
    }

    pub(crate) fn charge_values(&mut self, count: usize) -> EvalResult<'a, ()> {
        self.work(count / 4)?;
        self.charge(count.saturating_mul(VALUE_BYTES))
    }

    pub(crate) fn descend(&mut self) -> EvalResult<'a, ()> {
        self.descend_by(1)
    }

    /// Charges the depth of several nested sub-expressions at once.
    pub(crate) fn descend_by(&mut self, levels: u32) -> EvalResult<'a, ()> {
        match self.depth_left.checked_sub(levels) {
            Some(left) => {
                self.depth_left = left;
                Ok(())
            }
            None => Err(self.exhausted("it nests too deeply")),
        }
    }

    pub(crate) fn ascend(&mut self) {
        self.ascend_by(1);
    }

    pub(crate) fn ascend_by(&mut self, levels: u32) {
        self.depth_left += levels;
    }

    #[cold]
    fn exhausted(&self, message: &'static str) -> Box<Exception<'a>> {
        Box::new(Exception::Budget { message, span: self.here() })
    }

    /// The span of the current node. A program of empty statements has no nodes.
    fn here(&self) -> crate::span::Span {
        self.tree.spans.get(self.current.0 as usize).copied().unwrap_or_default()
    }

    #[cold]
    pub(crate) fn error(&self, kind: ErrorClass, message: impl Into<String>) -> Box<Exception<'a>> {
        Box::new(Exception::Error { kind, message: message.into(), span: self.here() })
    }

    #[cold]
    pub(crate) fn type_error(&self, message: impl Into<String>) -> Box<Exception<'a>> {
        self.error(ErrorClass::Type, message)
    }

    pub(crate) fn scope_value(&mut self, value: ScopeValue<'a>) -> Value<'a> {
        match value {
            ScopeValue::Undefined | ScopeValue::Absent => Value::Undefined,
            ScopeValue::Unreadable(why) => {
                self.unreadable.get_or_insert(why);
                Value::Undefined
            }
            ScopeValue::Json(json) => Value::json(json),
            ScopeValue::Object(object) => Value::Object(object),
            ScopeValue::List(list) => Value::List(list),
            ScopeValue::Record { value, extra } => {
                let known = self.heap.records.iter().position(|(json, _)| std::ptr::eq(*json, value));
                let position = known.unwrap_or_else(|| {
                    self.heap.records.push((value, extra));
                    self.heap.records.len() - 1
                });
                Value::Record(handle(position))
            }
        }
    }

    pub(crate) fn new_array(&mut self, items: Vec<Value<'a>>) -> Value<'a> {
        self.heap.arrays.push(Array { items, extra: None });
        Value::Array(handle(self.heap.arrays.len() - 1))
    }

    pub(crate) fn new_plain(&mut self, members: Members<'a>) -> Value<'a> {
        self.heap.plains.push(PlainObject { members, error: None, frozen: false });
        Value::Plain(handle(self.heap.plains.len() - 1))
    }

    pub(crate) fn new_text(&mut self, text: String) -> EvalResult<'a> {
        // The caller has already charged for the text.
        Ok(Value::Text(Text::Shared(Rc::from(text))))
    }

    /// Converts an exception into the error that callers see.
    pub(crate) fn eval_error(&mut self, exception: Exception<'a>) -> EvalError {
        match exception {
            Exception::Budget { message, span } => EvalError::new(
                EvalErrorKind::Budget,
                "BudgetError",
                format!("the expression was stopped: {message}"),
                span,
            ),
            Exception::Error { kind, message, span } => {
                EvalError::new(kind.eval_error_kind(), kind.name(), message, span)
            }
            Exception::Thrown { value, span } => self.thrown(&value, span),
        }
    }

    fn thrown(&mut self, value: &Value<'a>, span: crate::span::Span) -> EvalError {
        // Describing the thrown value must succeed even when the budget is exhausted.
        self.steps_left = self.steps_left.max(10_000);
        self.memory_left = self.memory_left.max(1 << 20);
        let error = match value {
            Value::Plain(plain) => self.heap.plains[*plain as usize].error.clone(),
            _ => None,
        };
        let Some(error) = error else {
            let message = self.text_of(value).map_or_else(|_| String::new(), |text| text.to_string());
            return EvalError::new(EvalErrorKind::Thrown, "Error", message, span);
        };
        let mut part = |name: &str, default: &str| match self.get_member(value, name) {
            Ok(Value::Text(text)) => text.to_string(),
            Ok(_) | Err(_) => default.to_owned(),
        };
        let (name, message) = (part("name", error.kind.name()), part("message", &error.message));
        let kind = if error.kind == ErrorClass::Error {
            EvalErrorKind::Thrown
        } else {
            error.kind.eval_error_kind()
        };
        EvalError::new(kind, name, message, span)
    }
}

/// A heap index as `u32`: every budget keeps collections far smaller.
pub(crate) fn handle(position: usize) -> u32 {
    u32::try_from(position).unwrap_or(u32::MAX)
}
