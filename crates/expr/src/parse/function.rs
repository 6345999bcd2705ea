//! Functions: arrows, function expressions and declarations, methods of literals.

use super::expression::is_reserved;
use super::{Parsed, Parser};
use crate::span::Span;
use crate::syntax_error::SyntaxError;
use crate::token::{Punctuator, TokenKind};
use crate::tree::{Body, Declaration, Function, FunctionId, NameId, Node, NodeId, Target, TargetId};

/// Parser state of the enclosing function, restored at the end of the inner one.
struct EnclosingFunction {
    deepest: u16,
    no_in: bool,
    returns: bool,
}

impl<'s> Parser<'s> {
    /// An arrow function, if one starts here.
    pub(super) fn arrow(&mut self) -> Parsed<Option<NodeId>> {
        let start = self.span();
        let arrow_at = match self.kind() {
            TokenKind::Word if self.ahead(1).kind == TokenKind::Punctuator(Punctuator::Arrow) => self.at + 1,
            TokenKind::Punctuator(Punctuator::ParenOpen) => self.token().partner as usize + 1,
            TokenKind::Word if self.is_word("async") && self.async_arrow_follows() => {
                return Err(SyntaxError::new("`async` functions are not supported", start));
            }
            _ => return Ok(None),
        };
        if self.tokens.get(arrow_at).map(|token| &token.kind)
            != Some(&TokenKind::Punctuator(Punctuator::Arrow))
        {
            return Ok(None);
        }
        let enclosing = self.enter_function();
        let mut function = Function::default();
        if self.is(Punctuator::ParenOpen) {
            self.parameters(&mut function)?;
        } else {
            function.parameters.push(self.binding_name(Declaration::Parameter)?);
        }
        self.expect(Punctuator::Arrow, "`=>`")?;
        function.body = if self.is(Punctuator::BraceOpen) {
            Body::Block(self.function_block()?)
        } else {
            // In the head of a loop, `in` is not an operator in the body of an arrow either.
            self.no_in = enclosing.no_in;
            Body::Expression(self.assignment()?)
        };
        let id = self.leave_function(function, &enclosing);
        self.add(Node::Function(id), start.to(self.before())).map(Some)
    }

    fn async_arrow_follows(&self) -> bool {
        let next = self.ahead(1);
        match next.kind {
            TokenKind::Word => self.ahead(2).kind == TokenKind::Punctuator(Punctuator::Arrow),
            TokenKind::Punctuator(Punctuator::ParenOpen) => {
                let after = next.partner as usize + 1;
                self.tokens
                    .get(after)
                    .is_some_and(|token| token.kind == TokenKind::Punctuator(Punctuator::Arrow))
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
        if self.is(Punctuator::Star) {
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
        let enclosing = self.enter_function();
        let mut function = Function { name, ..Function::default() };
        if !self.is(Punctuator::ParenOpen) {
            return Err(self.unexpected("`(`"));
        }
        self.parameters(&mut function)?;
        function.body = Body::Block(self.function_block()?);
        Ok(self.leave_function(function, &enclosing))
    }

    fn enter_function(&mut self) -> EnclosingFunction {
        let enclosing =
            EnclosingFunction { deepest: self.deepest, no_in: self.no_in, returns: self.main_returns };
        self.deepest = 0;
        self.no_in = false;
        self.function_frames.push(self.frames.len());
        self.push_frame();
        enclosing
    }

    fn leave_function(&mut self, mut function: Function, enclosing: &EnclosingFunction) -> FunctionId {
        function.frame = self.pop_frame();
        self.function_frames.pop();
        function.depth = self.deepest + 1;
        self.deepest = enclosing.deepest.max(function.depth);
        self.no_in = enclosing.no_in;
        self.main_returns = enclosing.returns;
        self.add_function(function)
    }

    fn parameters(&mut self, function: &mut Function) -> Parsed<()> {
        self.advance();
        while !self.is(Punctuator::ParenClose) {
            if self.accept(Punctuator::Spread) {
                function.rest = Some(self.binding(Declaration::Parameter)?);
                break;
            }
            let parameter = self.binding_with_default(Declaration::Parameter)?;
            function.parameters.push(parameter);
            if !self.accept(Punctuator::Comma) {
                break;
            }
        }
        self.expect(Punctuator::ParenClose, "`,` or `)`")?;
        Ok(())
    }

    fn function_block(&mut self) -> Parsed<Box<[crate::tree::StatementId]>> {
        self.expect(Punctuator::BraceOpen, "`{`")?;
        let mut body = Vec::new();
        while !self.is(Punctuator::BraceClose) {
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
        Ok(self.add_target(Target::Simple(node)))
    }
}
