//! Literals of arrays, objects and templates.

use super::expression::is_reserved;
use super::{Parsed, Parser};
use crate::span::Span;
use crate::syntax_error::SyntaxError;
use crate::token::{Punctuator, TokenKind};
use crate::tree::{Item, Node, NodeId, Property, Target};

impl<'s> Parser<'s> {
    pub(super) fn array(&mut self) -> Parsed<NodeId> {
        let start = self.advance();
        let mut items = Vec::new();
        while !self.is(Punctuator::BracketClose) {
            if self.is(Punctuator::Comma) {
                // A hole reads as undefined, also in iterations.
                let hole = self.add(Node::Undefined, self.span())?;
                self.advance();
                items.push(Item::One(hole));
                continue;
            }
            items.push(self.item()?);
            if !self.accept(Punctuator::Comma) {
                break;
            }
        }
        self.expect(Punctuator::BracketClose, "`,` or `]`")?;
        self.add(Node::Array(items.into()), start.to(self.before()))
    }

    pub(super) fn object(&mut self) -> Parsed<NodeId> {
        let start = self.advance();
        let mut properties = Vec::new();
        while !self.is(Punctuator::BraceClose) {
            properties.push(self.property()?);
            if !self.accept(Punctuator::Comma) {
                break;
            }
        }
        self.expect(Punctuator::BraceClose, "`,` or `}`")?;
        self.add(Node::Object(properties.into()), start.to(self.before()))
    }

    fn property(&mut self) -> Parsed<Property> {
        let span = self.span();
        if self.accept(Punctuator::Spread) {
            return Ok(Property::Spread(self.with_in(Self::assignment)?));
        }
        if self.accept(Punctuator::BracketOpen) {
            let key = self.with_in(Self::assignment)?;
            self.expect(Punctuator::BracketClose, "`]`")?;
            let value = if self.is(Punctuator::ParenOpen) { self.method()? } else { self.property_value()? };
            return Ok(Property::Computed(key, value));
        }
        let word = self.word();
        let name = self.property_name()?;
        if let Some("get" | "set" | "async") = word
            && !matches!(
                self.kind(),
                TokenKind::Punctuator(
                    Punctuator::Comma
                        | Punctuator::Colon
                        | Punctuator::BraceClose
                        | Punctuator::ParenOpen
                        | Punctuator::Equal
                )
            )
        {
            return Err(SyntaxError::new("accessors and async methods are not supported", span));
        }
        if self.is(Punctuator::ParenOpen) {
            return Ok(Property::Named(name, self.method()?));
        }
        if let Some(word) = word
            && !self.is(Punctuator::Colon)
        {
            return self.shorthand(word, name, span);
        }
        Ok(Property::Named(name, self.property_value()?))
    }

    /// `{ a }`, and `{ a = 1 }` where the literal turns out to be a pattern.
    fn shorthand(&mut self, word: &'s str, name: Box<str>, span: Span) -> Parsed<Property> {
        if is_reserved(word) || matches!(word, "true" | "false" | "null" | "this") {
            return Err(self.unexpected("`:`"));
        }
        let interned = self.intern(word);
        let value = self.add(Node::Name(interned), span)?;
        if !self.accept(Punctuator::Equal) {
            return Ok(Property::Named(name, value));
        }
        let default = self.with_in(Self::assignment)?;
        let target = self.add_target(Target::Simple(value));
        self.stray_default = Some(span);
        let assign = self.add(Node::Assign { target, value: default }, span.to(self.before()))?;
        Ok(Property::Named(name, assign))
    }

    pub(super) fn property_name(&mut self) -> Parsed<Box<str>> {
        let name: Box<str> = match self.kind() {
            TokenKind::Text(text) => text.clone(),
            TokenKind::Number(number) => crate::number::to_text(*number).as_str().into(),
            TokenKind::Word => self.source[self.span().range()].into(),
            _ => return Err(self.unexpected("the name of a member")),
        };
        self.advance();
        Ok(name)
    }

    fn property_value(&mut self) -> Parsed<NodeId> {
        self.expect(Punctuator::Colon, "`:`")?;
        self.with_in(Self::assignment)
    }

    pub(super) fn template(&mut self) -> Parsed<NodeId> {
        let start = self.advance();
        let (mut chunks, mut holes) = (Vec::new(), Vec::new());
        loop {
            let TokenKind::Chunk { text, last } = self.kind().clone() else {
                return Err(self.unexpected("a template"));
            };
            self.advance();
            chunks.push(text);
            if last {
                break;
            }
            self.advance();
            holes.push(self.with_in(Self::expression)?);
            self.expect(Punctuator::BraceClose, "`}`")?;
        }
        let end = self.before();
        self.add(
            Node::Template { chunks: chunks.into(), holes: holes.into() },
            start.to(Span { start: end.end, end: end.end + 1 }),
        )
    }
}
