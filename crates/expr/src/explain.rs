//! Explains a result: each sub-expression with its value.
//!
//! **Invariant:** an explanation is bounded in its number of parts and in the characters shown of each value.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::ops::Range;

use serde::Serialize;
use serde_json::Value as Json;

use crate::answer::Answer;
use crate::children;
use crate::eval_error::EvalError;
use crate::evaluate::Evaluator;
use crate::tree::{Function, Node, NodeId, Tree};
use crate::value::Value;

/// How many sub-expressions are kept.
const PARTS_MAX: usize = 200;
/// How many characters of a value are shown.
const SHOWN_MAX: usize = 60;

/// How many values are formatted in all; further evaluations are only counted.
const WRITTEN_MAX: u32 = 10_000;

/// The parts of an evaluation with their values.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    pub source: String,
    /// The value of the whole, or the error that stopped it.
    pub result: String,
    pub parts: Vec<Part>,
}

/// One sub-expression.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    pub source: String,
    /// Bytes of the whole source.
    pub span: Range<usize>,
    /// `None` when it was not evaluated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// How often it was evaluated; the value is the last one.
    pub times: u32,
    /// Every value, in order, when it was evaluated several times. Shorter than `times` when there are too many to keep.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// The byte under which the value is printed: the operator, the name of a member, or the start.
    #[serde(skip)]
    anchor: usize,
}

/// Collects values while a program runs.
#[derive(Default)]
pub(crate) struct Recorder {
    seen: BTreeMap<u32, Seen>,
    written: u32,
}

/// The values of one node.
#[derive(Default)]
struct Seen {
    values: Vec<String>,
    times: u32,
}

impl Recorder {
    pub(crate) fn new() -> Recorder {
        Recorder::default()
    }
}

impl<'a> Evaluator<'a> {
    /// Records the value of a node.
    #[cold]
    pub(crate) fn record(&mut self, id: NodeId, value: &Value<'a>) {
        let Some(recorder) = &mut self.recorder else { return };
        let known = recorder.seen.len() < PARTS_MAX || recorder.seen.contains_key(&id.0);
        if !known {
            return;
        }
        if recorder.written >= WRITTEN_MAX {
            if let Some(seen) = recorder.seen.get_mut(&id.0) {
                seen.times = seen.times.saturating_add(1);
            }
            return;
        }
        let mut shown = String::new();
        self.show(value, 0, &mut shown);
        let Some(recorder) = &mut self.recorder else { return };
        recorder.written += 1;
        let seen = recorder.seen.entry(id.0).or_default();
        seen.values.push(shown);
        seen.times = seen.times.saturating_add(1);
    }

    /// Formats the start of a value. Items beyond the limit are not visited.
    fn show(&mut self, value: &Value<'a>, depth: usize, shown: &mut String) {
        let value = self.effective(value);
        if let Some(length) = self.list_length(&value) {
            if depth >= 2 {
                let _ = write!(shown, "[… {length} items]");
                return;
            }
            shown.push('[');
            for position in 0..length {
                if position > 0 {
                    shown.push_str(", ");
                }
                if shown.chars().count() > SHOWN_MAX {
                    let _ = write!(shown, "… {} more", length - position);
                    break;
                }
                let item = self.list_item(&value, position);
                self.show(&item, depth + 1, shown);
            }
            shown.push(']');
            return;
        }
        match &value {
            Value::Text(text) => {
                let start: String = text.chars().take(SHOWN_MAX).collect();
                let dots = if start.len() < text.len() { "…" } else { "" };
                let _ = write!(shown, "{}", Json::String(start + dots));
            }
            Value::Json(_) | Value::Plain(_) | Value::Object(_) if !self.is_error(&value) => {
                self.show_members(&value, depth, shown)
            }
            Value::Function(_) => shown.push_str("(function)"),
            Value::Builtin(builtin) => shown.push_str(builtin.name()),
            other => {
                let text = self
                    .text_of(other)
                    .map_or_else(|_| "…".to_owned(), |text| text.chars().take(SHOWN_MAX).collect());
                shown.push_str(&text);
            }
        }
    }

    fn is_error(&self, value: &Value<'a>) -> bool {
        matches!(value, Value::Plain(plain) if self.heap.plains[*plain as usize].error.is_some())
    }

    fn show_members(&mut self, value: &Value<'a>, depth: usize, shown: &mut String) {
        let Ok(keys) = self.keys(value) else {
            shown.push_str("{…}");
            return;
        };
        if depth >= 2 && !keys.is_empty() {
            let _ = write!(shown, "{{… {} members}}", keys.len());
            return;
        }
        shown.push('{');
        for (position, key) in keys.iter().enumerate() {
            if position > 0 {
                shown.push_str(", ");
            }
            if shown.chars().count() > SHOWN_MAX {
                let _ = write!(shown, "… {} more", keys.len() - position);
                break;
            }
            shown.push_str(key);
            shown.push_str(": ");
            let member = self.own_member(value, key).ok().flatten().unwrap_or(Value::Undefined);
            self.show(&member, depth + 1, shown);
        }
        shown.push('}');
    }
}

impl Explanation {
    pub(crate) fn new(
        source: &str,
        tree: &Tree,
        main: &Function,
        recorder: &Recorder,
        result: &Result<Answer, EvalError>,
    ) -> Explanation {
        let mut roots = Vec::new();
        children::of_function(tree, main, &mut roots);
        let mut left = PARTS_MAX;
        let parts =
            roots.iter().flat_map(|root| parts_of(source, tree, *root, recorder, &mut left)).collect();
        let result = match result {
            Ok(answer) => match answer.json() {
                Some(json) => shortened(&json.to_string()),
                None => "undefined".to_owned(),
            },
            Err(fault) => fault.to_string(),
        };
        Explanation { source: source.to_owned(), result, parts }
    }

    /// Of a source in another language: what it read, each with its value.
    pub fn of_reads(source: &str, result: String, reads: Vec<(Range<usize>, String)>) -> Explanation {
        let part = |(span, value): (Range<usize>, String)| Part {
            source: source.get(span.clone()).unwrap_or_default().to_owned(),
            anchor: span.start,
            span,
            value: Some(shortened(&value)),
            times: 1,
            values: Vec::new(),
            parts: Vec::new(),
        };
        let parts = reads.into_iter().take(PARTS_MAX).map(part).collect();
        Explanation { source: source.to_owned(), result, parts }
    }

    /// Every part, outermost first.
    pub fn walk(&self) -> Vec<&Part> {
        let mut all = Vec::new();
        let mut waiting: Vec<&Part> = self.parts.iter().rev().collect();
        while let Some(part) = waiting.pop() {
            all.push(part);
            waiting.extend(part.parts.iter().rev());
        }
        all
    }
}

/// The part of a node. A node without a value worth showing is replaced by the parts of its children.
fn parts_of(source: &str, tree: &Tree, id: NodeId, recorder: &Recorder, left: &mut usize) -> Vec<Part> {
    if *left == 0 {
        return Vec::new();
    }
    let span = tree.span(id).range();
    let shown = recorder.seen.get(&id.0);
    let says_something = match tree.node(id) {
        Node::Number(_)
        | Node::Text(_)
        | Node::Bool(_)
        | Node::Null
        | Node::Undefined
        | Node::Standard(_)
        | Node::Regex(_) => return Vec::new(),
        // The call shows a method's value, the last link that of a chain.
        Node::Function(_) | Node::Chain(_) => false,
        Node::Member { .. } | Node::Index { .. } => shown.is_some() || !is_called(tree, id),
        _ => true,
    };
    if says_something {
        *left -= 1;
    }
    let below = children::of_node(tree, id)
        .into_iter()
        .flat_map(|child| parts_of(source, tree, child, recorder, left))
        .collect();
    if !says_something {
        return below;
    }
    let text = source.get(span.clone()).unwrap_or_default();
    let anchor = anchor(source, tree, id);
    vec![Part {
        source: shortened(text),
        value: shown.and_then(|seen| seen.values.last().cloned()),
        times: shown.map_or(0, |seen| seen.times),
        values: shown.filter(|seen| seen.times > 1).map(|seen| seen.values.clone()).unwrap_or_default(),
        parts: below,
        anchor,
        span,
    }]
}

/// Whether a member is the callee of a call. Calls do not record their callee.
fn is_called(tree: &Tree, id: NodeId) -> bool {
    tree.nodes.iter().any(|node| matches!(node, Node::Call { callee, .. } if *callee == id))
}

/// The byte to point at.
fn anchor(source: &str, tree: &Tree, id: NodeId) -> usize {
    let span = tree.span(id).range();
    let after = |left: NodeId| {
        let end = tree.span(left).range().end;
        let rest = source.get(end..span.end).unwrap_or_default();
        end + rest.find(|c: char| !c.is_whitespace() && c != ')').unwrap_or(0)
    };
    match tree.node(id) {
        Node::Binary(_, left, _) | Node::Logical(_, left, _) => after(*left),
        Node::Conditional { test, .. } => after(*test),
        Node::Member { object, .. } => {
            let at = after(*object);
            let rest = source.get(at..span.end).unwrap_or_default();
            at + rest.find(|c: char| !matches!(c, '.' | '?' | '[' | '\'' | '"')).unwrap_or(0)
        }
        Node::Call { callee, .. } => match tree.node(*callee) {
            Node::Member { .. } => anchor(source, tree, *callee),
            _ => span.start,
        },
        _ => span.start,
    }
}

fn shortened(text: &str) -> String {
    let mut chars = text.chars();
    let start: String = chars.by_ref().take(SHOWN_MAX * 2).collect();
    if chars.next().is_some() { start + "…" } else { start }
}

impl fmt::Display for Explanation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.source.contains('\n') || self.source.chars().count() > 100 {
            self.as_tree(formatter)
        } else {
            self.as_columns(formatter)
        }
    }
}

impl Explanation {
    /// Prints each value below the operator or name it belongs to.
    fn as_columns(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.source)?;
        let column = |byte: usize| self.source.get(..byte).map_or(0, |before| before.chars().count());
        let mut values: Vec<(usize, String)> = self
            .walk()
            .iter()
            .filter_map(|part| {
                part.value.as_ref().map(|value| (column(part.anchor), with_times(value, part.times)))
            })
            .collect();
        values.sort_by_key(|(column, _)| *column);
        values.dedup_by_key(|(column, _)| *column);
        let bars = |until: usize| {
            let mut line = String::new();
            for (column, _) in &values[..until] {
                let width = line.chars().count();
                line.extend(std::iter::repeat_n(' ', column.saturating_sub(width)));
                line.push('│');
            }
            line
        };
        if !values.is_empty() {
            writeln!(formatter, "{}", bars(values.len()))?;
        }
        for position in (0..values.len()).rev() {
            let mut line = bars(position);
            let width = line.chars().count();
            line.extend(std::iter::repeat_n(' ', values[position].0.saturating_sub(width)));
            line.push_str(&values[position].1);
            writeln!(formatter, "{line}")?;
        }
        write!(formatter, "= {}", self.result)
    }

    fn as_tree(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{}", self.source.trim_end())?;
        let mut waiting: Vec<(usize, &Part)> = self.parts.iter().rev().map(|part| (1, part)).collect();
        while let Some((depth, part)) = waiting.pop() {
            let source = part.source.split_whitespace().collect::<Vec<_>>().join(" ");
            let value = part
                .value
                .as_ref()
                .map_or_else(|| "(not evaluated)".to_owned(), |value| with_times(value, part.times));
            writeln!(formatter, "{}{source} → {value}", "  ".repeat(depth))?;
            if part.value.is_some() {
                waiting.extend(part.parts.iter().rev().map(|below| (depth + 1, below)));
            }
        }
        write!(formatter, "= {}", self.result)
    }
}

fn with_times(value: &str, times: u32) -> String {
    if times > 1 { format!("{value} (last of {times})") } else { value.to_owned() }
}
