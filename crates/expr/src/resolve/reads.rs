//! Records what the program reads and changes: paths, helper calls, effects.

use super::{Resolved, Resolver};
use crate::builtins::Builtin;
use crate::reads::{HelperCall, PathRead, Reads};
use crate::tree::{Item, Node, NodeId};

impl Resolver<'_> {
    /// Records a change to a value of the scope: to the name itself or to a member at any depth.
    pub(super) fn record_change(&mut self, assigned: NodeId) {
        let mut at = assigned;
        loop {
            at = match self.tree.node(at) {
                Node::Member { object, .. } | Node::Index { object, .. } | Node::Chain(object) => *object,
                Node::Free(_) => break,
                _ => return,
            };
        }
        let span = self.tree.span(assigned).range();
        self.reads.effects.push(HelperCall { name: Reads::CHANGE.to_owned(), span });
    }

    /// Visits a callee. A called member is a method, not a read.
    pub(super) fn callee(&mut self, callee: NodeId, arguments: &[Item], call: NodeId) -> Resolved<()> {
        if let Node::Member { object, .. } | Node::Index { object, .. } = self.tree.node(callee) {
            let object = *object;
            self.record_path(object, object, matches!(self.tree.node(callee), Node::Index { .. }));
            self.inside(callee)?;
        } else {
            self.visit(callee)?;
        }
        self.record_missing(callee);
        let called = match self.tree.node(callee) {
            Node::Standard(builtin) if builtin.is_helper() => builtin.name().to_owned(),
            Node::Member { object, name, .. } => match self.tree.node(*object) {
                Node::Standard(Builtin::Memory) => {
                    self.memory_passed -= 1;
                    format!("memory.{name}")
                }
                _ => return Ok(()),
            },
            _ => return Ok(()),
        };
        let span = self.tree.span(call).range();
        if matches!(called.as_str(), "log" | "memory.set" | "memory.increment" | "memory.append") {
            self.reads.effects.push(HelperCall { name: called.clone(), span: span.clone() });
        }
        if matches!(called.as_str(), "memory.set" | "memory.increment" | "memory.append") {
            let key = match arguments.first() {
                Some(Item::One(key)) => match self.tree.node(*key) {
                    Node::Text(key) => Some(key.to_string()),
                    _ => None,
                },
                Some(Item::Spread(_)) | None => None,
            };
            self.reads.memory_writes.push(key);
        }
        self.reads.helpers.push(HelperCall { name: called, span });
        Ok(())
    }

    /// Records a call of a function that a standard object lacks.
    pub(super) fn record_missing(&mut self, callee: NodeId) {
        let Node::Member { object, name, .. } = self.tree.node(callee) else { return };
        let Node::Standard(builtin) = self.tree.node(*object) else { return };
        if builtin.member(name).is_none() {
            let name = format!("{}.{name}", builtin.name());
            let span = self.tree.span(callee).range();
            self.reads.missing.push(HelperCall { name, span });
        }
    }

    /// Records the literal path that ends at `id`, if it starts at a name of the scope.
    pub(super) fn record_path(&mut self, id: NodeId, from: NodeId, computed_after: bool) {
        let mut segments = Vec::new();
        let mut computed = computed_after;
        let mut at = from;
        let mut end = id;
        loop {
            match self.tree.node(at) {
                Node::Member { object, name, .. } => {
                    segments.push(name.to_string());
                    at = *object;
                }
                Node::Index { object, index, .. } => {
                    if let Node::Number(number) = self.tree.node(*index) {
                        segments.push(crate::number::to_text(*number));
                    } else {
                        segments.clear();
                        computed = true;
                        end = *object;
                    }
                    at = *object;
                }
                Node::Chain(inner) => at = *inner,
                Node::Name(name) => {
                    let name = *name;
                    let text = self.tree.name(name).to_owned();
                    let known = matches!(text.as_str(), "undefined" | "NaN" | "Infinity")
                        || Builtin::global(&text).is_some();
                    if known || self.lookup(self.functions.len() - 1, name).is_some() {
                        return;
                    }
                    segments.push(text);
                    segments.reverse();
                    let span = self.tree.span(end).range();
                    self.reads.paths.push(PathRead { segments, span, computed });
                    return;
                }
                _ => return,
            }
        }
    }
}
