//! Assignment targets: declared names and patterns, and literals reinterpreted as patterns.

use super::{Parsed, Parser};
use crate::syntax_error::SyntaxError;
use crate::token::Punctuator;
use crate::tree::{Declaration, Item, Key, Node, NodeId, Property, Target, TargetId};

impl Parser<'_> {
    /// A declared name or pattern, which may carry a default.
    pub(super) fn binding_with_default(&mut self, kind: Declaration) -> Parsed<TargetId> {
        let target = self.binding(kind)?;
        if !self.accept(Punctuator::Equal) {
            return Ok(target);
        }
        let value = self.with_in(Self::assignment)?;
        Ok(self.add_target(Target::Default { target, value }))
    }

    /// A declared name or pattern.
    pub(super) fn binding(&mut self, kind: Declaration) -> Parsed<TargetId> {
        self.enter()?;
        let result = if self.is(Punctuator::BracketOpen) {
            self.array_binding(kind)
        } else if self.is(Punctuator::BraceOpen) {
            self.object_binding(kind)
        } else {
            self.binding_name(kind)
        };
        self.leave();
        result
    }

    fn array_binding(&mut self, kind: Declaration) -> Parsed<TargetId> {
        self.advance();
        let (mut items, mut rest) = (Vec::new(), None);
        while !self.is(Punctuator::BracketClose) {
            if self.accept(Punctuator::Comma) {
                items.push(None);
                continue;
            }
            if self.accept(Punctuator::Spread) {
                rest = Some(self.binding(kind)?);
                break;
            }
            items.push(Some(self.binding_with_default(kind)?));
            if !self.accept(Punctuator::Comma) {
                break;
            }
        }
        self.expect(Punctuator::BracketClose, "`,` or `]`")?;
        Ok(self.add_target(Target::Array { items: items.into(), rest }))
    }

    fn object_binding(&mut self, kind: Declaration) -> Parsed<TargetId> {
        self.advance();
        let (mut members, mut rest) = (Vec::new(), None);
        while !self.is(Punctuator::BraceClose) {
            if self.accept(Punctuator::Spread) {
                rest = Some(self.binding(kind)?);
                break;
            }
            members.push(self.member_binding(kind)?);
            if !self.accept(Punctuator::Comma) {
                break;
            }
        }
        self.expect(Punctuator::BraceClose, "`,` or `}`")?;
        Ok(self.add_target(Target::Object { members: members.into(), rest }))
    }

    fn member_binding(&mut self, kind: Declaration) -> Parsed<(Key, TargetId)> {
        if self.accept(Punctuator::BracketOpen) {
            let key = self.with_in(Self::assignment)?;
            self.expect(Punctuator::BracketClose, "`]`")?;
            self.expect(Punctuator::Colon, "`:`")?;
            return Ok((Key::Computed(key), self.binding_with_default(kind)?));
        }
        let start = self.at;
        let name = self.property_name()?;
        if self.accept(Punctuator::Colon) {
            return Ok((Key::Named(name), self.binding_with_default(kind)?));
        }
        self.at = start;
        Ok((Key::Named(name), self.binding_with_default(kind)?))
    }

    /// Reinterprets a parsed expression as the left side of `=`.
    pub(super) fn target_from(&mut self, node: NodeId) -> Parsed<TargetId> {
        let target = match self.tree.node(node) {
            Node::Name(_) | Node::Member { .. } | Node::Index { .. } => Target::Simple(node),
            Node::Array(items) => {
                let items = items.clone();
                self.array_target(&items)?
            }
            Node::Object(_) => self.object_target(node)?,
            Node::Assign { target, value } => Target::Default { target: *target, value: *value },
            _ => return Err(SyntaxError::new("this cannot be assigned to", self.tree.span(node))),
        };
        Ok(self.add_target(target))
    }

    fn array_target(&mut self, items: &[Item]) -> Parsed<Target> {
        let (mut targets, mut rest) = (Vec::new(), None);
        for (position, item) in items.iter().enumerate() {
            match item {
                Item::One(node) if matches!(self.tree.node(*node), Node::Undefined) => targets.push(None),
                Item::One(node) => targets.push(Some(self.target_from(*node)?)),
                Item::Spread(node) if position + 1 == items.len() => rest = Some(self.target_from(*node)?),
                Item::Spread(node) => {
                    return Err(SyntaxError::new("the rest must come last", self.tree.span(*node)));
                }
            }
        }
        Ok(Target::Array { items: targets.into(), rest })
    }

    fn object_target(&mut self, literal: NodeId) -> Parsed<Target> {
        self.stray_default = None;
        let Node::Object(properties) = self.tree.node(literal) else {
            return Err(SyntaxError::new("this cannot be assigned to", self.tree.span(literal)));
        };
        let parts: Vec<(Option<Key>, NodeId)> = properties
            .iter()
            .map(|property| match property {
                Property::Named(name, node) => (Some(Key::Named(name.clone())), *node),
                Property::Computed(key, node) => (Some(Key::Computed(*key)), *node),
                Property::Spread(node) => (None, *node),
            })
            .collect();
        let (mut members, mut rest) = (Vec::new(), None);
        for (key, node) in parts {
            let target = self.target_from(node)?;
            match key {
                Some(key) => members.push((key, target)),
                None => rest = Some(target),
            }
        }
        Ok(Target::Object { members: members.into(), rest })
    }

    /// `++`, `--` and compound assignments need a name or a member, not a pattern.
    pub(super) fn require_simple_target(&self, node: NodeId) -> Parsed<()> {
        match self.tree.node(node) {
            Node::Name(_) | Node::Member { .. } | Node::Index { .. } => Ok(()),
            _ => Err(SyntaxError::new("this cannot be assigned to", self.tree.span(node))),
        }
    }
}
