//! Functions: arrows, function expressions and declarations, methods of literals.

use super::expression::is_reserved;
use super::{Parsed, Parser};
use crate::span::Span;
use crate::syntax_error::SyntaxError;
use crate::token::{Kind, Mark};
use crate::tree::{Body, Declaration, Function, FunctionId, NameId, Node, NodeId, Target, TargetId};

/// What must be put back when a function ends.
struct Outside {
    deepest: u16,
    no_in: bool,
    returns: bool,
}

impl<'s> Parser<'s> {
    /// An arrow function, if one starts here.
    pub(super) fn arrow(&mut self) -> Parsed<Option<NodeId>> {
        let start = self.span();
        let arrow_at = match self.kind() {
            Kind::Word if self.ahead(1).kind == Kind::Mark(Mark::Arrow) => self.at + 1,
            Kind::Mark(Mark::ParenOpen) => self.token().partner as usize + 1,
            Kind::Word if self.is_word("async") && self.async_arrow_follows() => {
                return Err(SyntaxError::new("`async` functions are not supported", start));
            }
            _ => return Ok(None),
        };
        if self.tokens.get(arrow_at).map(|token| &token.kind) != Some(&Kind::Mark(Mark::Arrow)) {
            return Ok(None);
        }
        let outside = self.enter_function();
        let mut function = Function::default();
        if self.is(Mark::ParenOpen) {
            self.parameters(&mut function)?;
        } else {
            function.parameters.push(self.binding_name(Declaration::Parameter)?);
        }
        self.expect(Mark::Arrow, "`=>`")?;
        function.body = if self.is(Mark::BraceOpen) {
            Body::Block(self.function_block()?)
        } else {
            // The loop head that surrounds an arrow still owns `in`.
            self.no_in = outside.no_in;
            Body::Expression(self.assignment()?)
        };
        let id = self.leave_function(function, &outside);
        self.add(Node::Function(id), start.to(self.before())).map(Some)
    }

    fn async_arrow_follows(&self) -> bool {
        let next = self.ahead(1);
        match next.kind {
            Kind::Word => self.ahead(2).kind == Kind::Mark(Mark::Arrow),
            Kind::Mark(Mark::ParenOpen) => {
                let after = next.partner as usize + 1;
                self.tokens.get(after).is_some_and(|token| token.kind == Kind::Mark(Mark::Arrow))
            }
            _ => false,
        }
    }

    pub(super) fn function_expression(&mut self) -> Parsed<NodeId> {
        let start = self.advance();
        self.refuse_generator()?;
        let name = match self.word() {
            Some(word) if !is_reserved(word) => {
                self.advance();
                Some(self.intern(word))
            }
            Some(_) | None => None,
        };
        let id = self.function_rest(name)?;
        self.add(Node::Function(id), start.to(self.before()))
    }

    pub(super) fn function_declaration(&mut self) -> Parsed<()> {
        self.advance();
        self.refuse_generator()?;
        let span = self.span();
        let Some(word) = self.word().filter(|word| !is_reserved(word)) else {
            return Err(self.unexpected("the name of the function"));
        };
        self.advance();
        let name = self.intern(word);
        self.declare(name, Declaration::Function, span)?;
        let id = self.function_rest(None)?;
        if let Some(frame) = self.frames.last_mut() {
            frame.functions.push((name, 0, id));
        }
        Ok(())
    }

    fn refuse_generator(&self) -> Parsed<()> {
        if self.is(Mark::Star) {
            Err(SyntaxError::new("generators are not supported", self.span()))
        } else {
            Ok(())
        }
    }

    pub(super) fn method(&mut self) -> Parsed<NodeId> {
        let start = self.span();
        let id = self.function_rest(None)?;
        self.add(Node::Function(id), start.to(self.before()))
    }

    /// Parameters and body.
    fn function_rest(&mut self, name: Option<NameId>) -> Parsed<FunctionId> {
        let outside = self.enter_function();
        let mut function = Function { name, ..Function::default() };
        if !self.is(Mark::ParenOpen) {
            return Err(self.unexpected("`(`"));
        }
        self.parameters(&mut function)?;
        function.body = Body::Block(self.function_block()?);
        Ok(self.leave_function(function, &outside))
    }

    fn enter_function(&mut self) -> Outside {
        let outside = Outside { deepest: self.deepest, no_in: self.no_in, returns: self.returns_outside };
        self.deepest = 0;
        self.no_in = false;
        self.function_frames.push(self.frames.len());
        self.push_frame();
        outside
    }

    fn leave_function(&mut self, mut function: Function, outside: &Outside) -> FunctionId {
        function.frame = self.pop_frame();
        self.function_frames.pop();
        function.depth = self.deepest + 1;
        self.deepest = outside.deepest.max(function.depth);
        self.no_in = outside.no_in;
        self.returns_outside = outside.returns;
        self.add_function(function)
    }

    fn parameters(&mut self, function: &mut Function) -> Parsed<()> {
        self.advance();
        while !self.is(Mark::ParenClose) {
            if self.accept(Mark::Spread) {
                function.rest = Some(self.binding(Declaration::Parameter)?);
                break;
            }
            let parameter = self.binding_with_default(Declaration::Parameter)?;
            function.parameters.push(parameter);
            if !self.accept(Mark::Comma) {
                break;
            }
        }
        self.expect(Mark::ParenClose, "`,` or `)`")?;
        Ok(())
    }

    fn function_block(&mut self) -> Parsed<Box<[crate::tree::StatementId]>> {
        self.expect(Mark::BraceOpen, "`{`")?;
        let mut body = Vec::new();
        while !self.is(Mark::BraceClose) {
            body.push(self.statement()?);
        }
        self.advance();
        Ok(body.into())
    }

    /// One declared name.
    pub(super) fn binding_name(&mut self, kind: Declaration) -> Parsed<TargetId> {
        let span: Span = self.span();
        let Some(word) = self.word().filter(|word| !is_reserved(word)) else {
            return Err(self.unexpected("a name"));
        };
        self.advance();
        let name = self.intern(word);
        self.declare(name, kind, span)?;
        let node = self.add(Node::Name(name), span)?;
        Ok(self.add_target(Target::Place(node)))
    }
}
