//! Expressions, by precedence.

use super::{Parsed, Parser};
use crate::pattern::Pattern;
use crate::span::Span;
use crate::syntax_error::SyntaxError;
use crate::token::{Punctuator, TokenKind};
use crate::tree::{Binary, Compound, Item, Logical, Node, NodeId, Unary, UpdateForm};

#[derive(Clone, Copy)]
enum Infix {
    Binary(Binary),
    Logical(Logical),
}

impl<'s> Parser<'s> {
    /// An expression that may hold commas.
    pub(super) fn expression(&mut self) -> Parsed<NodeId> {
        let first = self.assignment()?;
        if !self.is(Punctuator::Comma) {
            return Ok(first);
        }
        let mut nodes = vec![first];
        while self.accept(Punctuator::Comma) {
            nodes.push(self.assignment()?);
        }
        let span = self.tree.span(first).to(self.before());
        self.add(Node::Sequence(nodes.into()), span)
    }

    /// An expression without commas at its top.
    pub(super) fn assignment(&mut self) -> Parsed<NodeId> {
        self.enter()?;
        let result = self.assignment_inside();
        self.leave();
        result
    }

    fn assignment_inside(&mut self) -> Parsed<NodeId> {
        if let Some(arrow) = self.arrow()? {
            return Ok(arrow);
        }
        let start = self.span();
        let left = self.conditional()?;
        if self.is(Punctuator::Equal) {
            let target = self.target_from(left)?;
            self.advance();
            let value = self.assignment()?;
            return self.add(Node::Assign { target, value }, start.to(self.before()));
        }
        let Some(operator) = self.compound() else { return Ok(left) };
        self.require_simple_target(left)?;
        self.advance();
        let value = self.assignment()?;
        self.add(Node::Compound { operator, target: left, value }, start.to(self.before()))
    }

    fn compound(&self) -> Option<Compound> {
        let TokenKind::Punctuator(punctuator) = self.kind() else { return None };
        let operator = match punctuator {
            Punctuator::PlusEqual => Binary::Add,
            Punctuator::MinusEqual => Binary::Subtract,
            Punctuator::StarEqual => Binary::Multiply,
            Punctuator::StarStarEqual => Binary::Power,
            Punctuator::SlashEqual => Binary::Divide,
            Punctuator::PercentEqual => Binary::Remainder,
            Punctuator::AmpersandEqual => Binary::BitAnd,
            Punctuator::PipeEqual => Binary::BitOr,
            Punctuator::CaretEqual => Binary::BitXor,
            Punctuator::ShiftLeftEqual => Binary::ShiftLeft,
            Punctuator::ShiftRightEqual => Binary::ShiftRight,
            Punctuator::ShiftRightZeroEqual => Binary::ShiftRightZero,
            Punctuator::AndEqual => return Some(Compound::Logical(Logical::And)),
            Punctuator::OrEqual => return Some(Compound::Logical(Logical::Or)),
            Punctuator::NullishEqual => return Some(Compound::Logical(Logical::Nullish)),
            _ => return None,
        };
        Some(Compound::Arithmetic(operator))
    }

    fn conditional(&mut self) -> Parsed<NodeId> {
        let start = self.span();
        let test = self.binary(0)?;
        if !self.accept(Punctuator::Question) {
            return Ok(test);
        }
        let no_in = std::mem::take(&mut self.no_in);
        let then = self.assignment()?;
        self.no_in = no_in;
        self.expect(Punctuator::Colon, "`:`")?;
        let otherwise = self.assignment()?;
        self.add(Node::Conditional { test, then, otherwise }, start.to(self.before()))
    }

    fn infix(&self) -> Option<(u8, Infix)> {
        let binary = |precedence, operator| Some((precedence, Infix::Binary(operator)));
        let TokenKind::Punctuator(punctuator) = self.kind() else {
            return match self.word() {
                Some("instanceof") => binary(8, Binary::InstanceOf),
                Some("in") if !self.no_in => binary(8, Binary::In),
                Some(_) | None => None,
            };
        };
        match punctuator {
            Punctuator::Nullish => Some((1, Infix::Logical(Logical::Nullish))),
            Punctuator::Or => Some((2, Infix::Logical(Logical::Or))),
            Punctuator::And => Some((3, Infix::Logical(Logical::And))),
            Punctuator::Pipe => binary(4, Binary::BitOr),
            Punctuator::Caret => binary(5, Binary::BitXor),
            Punctuator::Ampersand => binary(6, Binary::BitAnd),
            Punctuator::LooseEqual => binary(7, Binary::LooseEqual),
            Punctuator::LooseNotEqual => binary(7, Binary::LooseNotEqual),
            Punctuator::StrictEqual => binary(7, Binary::StrictEqual),
            Punctuator::StrictNotEqual => binary(7, Binary::StrictNotEqual),
            Punctuator::Less => binary(8, Binary::Less),
            Punctuator::LessEqual => binary(8, Binary::LessEqual),
            Punctuator::Greater => binary(8, Binary::Greater),
            Punctuator::GreaterEqual => binary(8, Binary::GreaterEqual),
            Punctuator::ShiftLeft => binary(9, Binary::ShiftLeft),
            Punctuator::ShiftRight => binary(9, Binary::ShiftRight),
            Punctuator::ShiftRightZero => binary(9, Binary::ShiftRightZero),
            Punctuator::Plus => binary(10, Binary::Add),
            Punctuator::Minus => binary(10, Binary::Subtract),
            Punctuator::Star => binary(11, Binary::Multiply),
            Punctuator::Slash => binary(11, Binary::Divide),
            Punctuator::Percent => binary(11, Binary::Remainder),
            Punctuator::StarStar => binary(12, Binary::Power),
            _ => None,
        }
    }

    fn binary(&mut self, least: u8) -> Parsed<NodeId> {
        let start = self.span();
        let parenthesised = self.is(Punctuator::ParenOpen);
        let mut left = self.unary()?;
        let mut left_parenthesised = parenthesised
            && self.tokens[self.at.saturating_sub(1)].kind == TokenKind::Punctuator(Punctuator::ParenClose);
        while let Some((precedence, infix)) = self.infix() {
            if precedence <= least {
                break;
            }
            let operator_span = self.advance();
            let right_start_paren = self.is(Punctuator::ParenOpen);
            let right = match infix {
                Infix::Binary(Binary::Power) => {
                    if matches!(self.tree.node(left), Node::Unary(..)) && !left_parenthesised {
                        return Err(SyntaxError::new("put the left side of `**` in parentheses", start));
                    }
                    self.enter()?;
                    let right = self.binary(11);
                    self.leave();
                    right?
                }
                Infix::Binary(_) | Infix::Logical(_) => self.binary(precedence)?,
            };
            let right_parenthesised = right_start_paren
                && self.tokens[self.at.saturating_sub(1)].kind
                    == TokenKind::Punctuator(Punctuator::ParenClose);
            let span = start.to(self.before());
            let node = match infix {
                Infix::Binary(operator) => Node::Binary(operator, left, right),
                Infix::Logical(operator) => {
                    self.refuse_mixed_nullish(
                        operator,
                        (left, left_parenthesised),
                        (right, right_parenthesised),
                        operator_span,
                    )?;
                    Node::Logical(operator, left, right)
                }
            };
            left = self.add(node, span)?;
            left_parenthesised = false;
        }
        Ok(left)
    }

    /// `a ?? b || c` needs parentheses in JavaScript.
    fn refuse_mixed_nullish(
        &self,
        operator: Logical,
        left: (NodeId, bool),
        right: (NodeId, bool),
        span: Span,
    ) -> Parsed<()> {
        let mixes = |(node, parenthesised): (NodeId, bool)| match self.tree.node(node) {
            Node::Logical(inner, ..) if !parenthesised => {
                (operator == Logical::Nullish) != (*inner == Logical::Nullish)
            }
            _ => false,
        };
        if mixes(left) || mixes(right) {
            return Err(SyntaxError::new("put `??` beside `||` or `&&` in parentheses", span));
        }
        Ok(())
    }

    fn unary(&mut self) -> Parsed<NodeId> {
        let start = self.span();
        let operator = match self.kind() {
            TokenKind::Punctuator(Punctuator::Not) => Unary::Not,
            TokenKind::Punctuator(Punctuator::Minus) => Unary::Minus,
            TokenKind::Punctuator(Punctuator::Plus) => Unary::Plus,
            TokenKind::Punctuator(Punctuator::Tilde) => Unary::BitNot,
            TokenKind::Punctuator(punctuator @ (Punctuator::Increment | Punctuator::Decrement)) => {
                let delta = if *punctuator == Punctuator::Increment { 1.0 } else { -1.0 };
                self.advance();
                let target = self.nested_unary()?;
                self.require_simple_target(target)?;
                let span = start.to(self.before());
                return self.add(Node::Update { target, delta, form: UpdateForm::Prefix }, span);
            }
            TokenKind::Word => match self.word() {
                Some("typeof") => Unary::Typeof,
                Some("void") => Unary::Void,
                Some("delete") => {
                    self.advance();
                    let target = self.nested_unary()?;
                    return self.add(Node::Delete(target), start.to(self.before()));
                }
                Some("await") => {
                    return Err(SyntaxError::with_help(
                        "`await` is not supported",
                        start,
                        "there are no promises: calls answer directly",
                    ));
                }
                Some(_) | None => return self.postfix(),
            },
            _ => return self.postfix(),
        };
        self.advance();
        let inner = self.nested_unary()?;
        self.add(Node::Unary(operator, inner), start.to(self.before()))
    }

    fn nested_unary(&mut self) -> Parsed<NodeId> {
        self.enter()?;
        let result = self.unary();
        self.leave();
        result
    }

    fn postfix(&mut self) -> Parsed<NodeId> {
        let start = self.span();
        let node = self.chain()?;
        let delta = match self.kind() {
            TokenKind::Punctuator(Punctuator::Increment) if !self.token().after_newline => 1.0,
            TokenKind::Punctuator(Punctuator::Decrement) if !self.token().after_newline => -1.0,
            _ => return Ok(node),
        };
        self.require_simple_target(node)?;
        self.advance();
        self.add(Node::Update { target: node, delta, form: UpdateForm::Postfix }, start.to(self.before()))
    }

    /// A value with the members, indexes and calls that follow it.
    fn chain(&mut self) -> Parsed<NodeId> {
        let start = self.span();
        let mut node = if self.is_word("new") { self.new_object()? } else { self.primary()? };
        let mut has_optional = false;
        loop {
            let optional = self.accept(Punctuator::OptionalDot);
            has_optional |= optional;
            node = match self.kind() {
                TokenKind::Punctuator(Punctuator::BracketOpen) => {
                    self.advance();
                    let index = self.with_in(Self::expression)?;
                    self.expect(Punctuator::BracketClose, "`]`")?;
                    self.indexed(node, index, optional, start)?
                }
                TokenKind::Punctuator(Punctuator::ParenOpen) => {
                    let arguments = self.arguments()?;
                    self.add(Node::Call { callee: node, arguments, optional }, start.to(self.before()))?
                }
                TokenKind::Punctuator(Punctuator::Dot) if !optional => {
                    self.advance();
                    self.member(node, false, start)?
                }
                TokenKind::Punctuator(Punctuator::TemplateOpen) => {
                    return Err(SyntaxError::new("tagged templates are not supported", self.span()));
                }
                _ if optional => self.member(node, true, start)?,
                _ => break,
            };
        }
        if has_optional { self.add(Node::Chain(node), start.to(self.before())) } else { Ok(node) }
    }

    fn member(&mut self, object: NodeId, optional: bool, start: Span) -> Parsed<NodeId> {
        let Some(name) = self.word() else { return Err(self.unexpected("the name of a member")) };
        self.advance();
        self.add(Node::Member { object, name: name.into(), optional }, start.to(self.before()))
    }

    /// Parses `a['b']` as `a.b`, so that both are recorded as the same path.
    fn indexed(&mut self, object: NodeId, index: NodeId, optional: bool, start: Span) -> Parsed<NodeId> {
        let span = start.to(self.before());
        let name = match self.tree.node(index) {
            Node::Text(text) if !crate::number::is_index(text) => Some(text.clone()),
            _ => None,
        };
        match name {
            Some(name) => self.add(Node::Member { object, name, optional }, span),
            None => self.add(Node::Index { object, index, optional }, span),
        }
    }

    fn new_object(&mut self) -> Parsed<NodeId> {
        let start = self.advance();
        let callee_start = self.span();
        let mut callee = self.primary()?;
        while self.accept(Punctuator::Dot) {
            callee = self.member(callee, false, callee_start)?;
        }
        let arguments = if self.is(Punctuator::ParenOpen) { self.arguments()? } else { Box::default() };
        self.add(Node::New { callee, arguments }, start.to(self.before()))
    }

    fn arguments(&mut self) -> Parsed<Box<[Item]>> {
        self.advance();
        let mut items = Vec::new();
        while !self.is(Punctuator::ParenClose) {
            items.push(self.item()?);
            if !self.accept(Punctuator::Comma) {
                break;
            }
        }
        self.expect(Punctuator::ParenClose, "`,` or `)`")?;
        Ok(items.into())
    }

    pub(super) fn item(&mut self) -> Parsed<Item> {
        if self.accept(Punctuator::Spread) {
            return Ok(Item::Spread(self.with_in(Self::assignment)?));
        }
        Ok(Item::One(self.with_in(Self::assignment)?))
    }

    /// Inside brackets `in` is an operator again, even in the head of a loop.
    pub(super) fn with_in<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let no_in = std::mem::take(&mut self.no_in);
        let result = read(self);
        self.no_in = no_in;
        result
    }

    fn primary(&mut self) -> Parsed<NodeId> {
        let span = self.span();
        let node = match self.kind().clone() {
            TokenKind::Number(value) => Node::Number(value),
            TokenKind::Text(text) => Node::Text(text),
            TokenKind::Regex { pattern, flags } => {
                let pattern = Pattern::compile(&pattern, &flags).map_err(|refused| refused.at(span))?;
                self.tree.regexes.push(pattern);
                Node::Regex(super::index(self.tree.regexes.len() - 1))
            }
            TokenKind::Word => return self.primary_word(),
            TokenKind::Punctuator(Punctuator::ParenOpen) => {
                self.advance();
                let inner = self.with_in(Self::expression)?;
                self.expect(Punctuator::ParenClose, "`)`")?;
                // Parentheses end an optional chain.
                return Ok(inner);
            }
            TokenKind::Punctuator(Punctuator::BracketOpen) => return self.array(),
            TokenKind::Punctuator(Punctuator::BraceOpen) => return self.object(),
            TokenKind::Punctuator(Punctuator::TemplateOpen) => return self.template(),
            TokenKind::Punctuator(_) | TokenKind::Chunk { .. } | TokenKind::End => {
                return Err(self.unexpected("a value"));
            }
        };
        self.advance();
        self.add(node, span)
    }

    fn primary_word(&mut self) -> Parsed<NodeId> {
        let span = self.span();
        let Some(word) = self.word() else { return Err(self.unexpected("a value")) };
        let node = match word {
            "true" => Node::Bool(true),
            "false" => Node::Bool(false),
            "null" => Node::Null,
            "this" => Node::Undefined,
            "function" => return self.function_expression(),
            "async" if self.word_of(self.ahead(1)) == Some("function") => {
                return Err(SyntaxError::new("`async` functions are not supported", span));
            }
            "class" | "super" | "import" | "yield" => {
                return Err(SyntaxError::new(format!("`{word}` is not supported"), span));
            }
            word if is_reserved(word) => return Err(self.unexpected("a value")),
            word => Node::Name(self.intern(word)),
        };
        self.advance();
        self.add(node, span)
    }
}

/// Reserved words, which cannot be names.
pub(super) fn is_reserved(word: &str) -> bool {
    matches!(
        word,
        "break"
            | "case"
            | "catch"
            | "class"
            | "const"
            | "continue"
            | "debugger"
            | "default"
            | "delete"
            | "do"
            | "else"
            | "enum"
            | "export"
            | "extends"
            | "finally"
            | "for"
            | "function"
            | "if"
            | "import"
            | "in"
            | "instanceof"
            | "new"
            | "return"
            | "super"
            | "switch"
            | "throw"
            | "try"
            | "typeof"
            | "var"
            | "void"
            | "while"
            | "with"
            | "true"
            | "false"
            | "null"
            | "this"
    )
}
