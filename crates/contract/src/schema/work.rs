//! How much work it is to judge a value by a schema, before it is done.
//!
//! The compiled schema has no limit of its own, and the number of its steps can double with each level of a value: two
//! alternatives that look into the same member are enough. The estimate here never is too low, and it takes itself no
//! more steps than it allows: what several ways lead to is counted once and multiplied.

use std::collections::BTreeMap;

use serde_json::Value;

use super::graph::{Graph, NodeId, ROOT};

/// About a second.
pub(super) const STEPS_MAX: u64 = 20_000_000;

/// How deep subschemas and values may lead into one another: each level needs room on the stack.
pub(super) const LEVELS_MAX: u32 = 1_000;

/// Bytes of text that are looked at in one step.
const BYTES_PER_STEP: u64 = 64;

/// Steps for each value that a dialect of JSON Schema judges.
const DIALECT_STEPS: u64 = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TooMuch {
    Steps,
    Levels,
}

/// The steps that judging the value takes at most.
pub(super) fn steps(graph: &Graph, value: &Value) -> Result<u64, TooMuch> {
    let mut estimate = Estimate { graph, known: BTreeMap::new(), left: STEPS_MAX };
    estimate.of(ROOT, value, 0, Address::Stable)
}

/// Whether a value stays at its address until the end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Address {
    Stable,
    Temporary,
}

struct Estimate<'g> {
    graph: &'g Graph,
    /// Of subschemas that several ways lead to, by the address of the value.
    known: BTreeMap<(NodeId, usize), u64>,
    /// Of the estimate itself.
    left: u64,
}

impl Estimate<'_> {
    fn of(&mut self, id: NodeId, value: &Value, level: u32, address: Address) -> Result<u64, TooMuch> {
        self.left = self.left.checked_sub(1).ok_or(TooMuch::Steps)?;
        if level >= LEVELS_MAX {
            return Err(TooMuch::Levels);
        }
        let graph = self.graph;
        let node = graph.node(id);
        let key =
            (node.is_shared && address == Address::Stable).then(|| (id, std::ptr::from_ref(value) as usize));
        if let Some(known) = key.and_then(|key| self.known.get(&key)) {
            return Ok(*known);
        }
        let mut again = 0;
        for &next in &node.in_place {
            again = sum(again, self.of(next, value, level + 1, address)?)?;
        }
        let mut total = node.keywords + self.looking_at(value, node.compares || node.is_dialect)?;
        if node.is_dialect {
            total = total.saturating_mul(DIALECT_STEPS);
        }
        match value {
            Value::Object(members) => {
                for (name, member) in members {
                    if let Some(names) = node.names {
                        total = sum(
                            total,
                            self.of(names, &Value::String(name.clone()), level + 1, Address::Temporary)?,
                        )?;
                    }
                    let declared = node.properties.get(name);
                    for &next in declared.into_iter().chain(&node.members) {
                        total = sum(total, self.of(next, member, level + 1, address)?)?;
                    }
                    for &next in node.other_members.iter().filter(|_| declared.is_none()) {
                        again = sum(again, self.of(next, member, level + 1, address)?)?;
                    }
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    for &next in node.prefix.get(index).into_iter().chain(&node.items) {
                        total = sum(total, self.of(next, item, level + 1, address)?)?;
                    }
                    for &next in node.other_items.iter().filter(|_| index >= node.prefix.len()) {
                        again = sum(again, self.of(next, item, level + 1, address)?)?;
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
        // Each subschema on the way is asked by itself which members it has judged.
        let times = if node.asks_again { 2 + node.height } else { 1 };
        let total = sum(total, again.saturating_mul(times))?;
        if let Some(key) = key {
            self.known.insert(key, total);
        }
        Ok(total)
    }

    /// The steps of assertions about the value itself, or about all that is in it.
    fn looking_at(&mut self, value: &Value, whole: bool) -> Result<u64, TooMuch> {
        let mut steps = 0;
        let mut open = vec![value];
        while let Some(value) = open.pop() {
            steps += 1;
            match value {
                Value::String(text) => steps += text.len() as u64 / BYTES_PER_STEP,
                Value::Array(items) if whole => open.extend(items),
                Value::Object(members) => {
                    steps += members.len() as u64;
                    open.extend(members.values().filter(|_| whole));
                }
                Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
            }
            self.left = self.left.checked_sub(u64::from(whole)).ok_or(TooMuch::Steps)?;
        }
        Ok(steps)
    }
}

fn sum(one: u64, other: u64) -> Result<u64, TooMuch> {
    Some(one.saturating_add(other)).filter(|sum| *sum <= STEPS_MAX).ok_or(TooMuch::Steps)
}
