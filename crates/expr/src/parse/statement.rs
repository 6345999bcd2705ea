//! Statements.

use super::expression::is_reserved;
use super::{Parsed, Parser};
use crate::syntax_error::SyntaxError;
use crate::token::{Punctuator, TokenKind};
use crate::tree::{Case, Declaration, EachKind, Handler, Jump, NodeId, Statement, StatementId};

impl Parser<'_> {
    pub(super) fn statement(&mut self) -> Parsed<StatementId> {
        self.enter()?;
        let statement = self.statement_inside()?;
        self.refuse_stray_default()?;
        self.leave();
        Ok(self.add_statement(statement))
    }

    fn statement_inside(&mut self) -> Parsed<Statement> {
        if self.is(Punctuator::BraceOpen) {
            return self.block();
        }
        if self.accept(Punctuator::Semicolon) {
            return Ok(Statement::Empty);
        }
        let Some(word) = self.word() else { return self.expression_statement() };
        if self.ahead(1).kind == TokenKind::Punctuator(Punctuator::Colon) && !is_reserved(word) {
            return self.labeled();
        }
        match word {
            "const" => self.declaration(Declaration::Const),
            "var" => self.declaration(Declaration::Var),
            "let" if self.declares_after_let() => self.declaration(Declaration::Let),
            "function" => self.function_declaration().map(|()| Statement::Empty),
            "if" => self.conditional_statement(),
            "for" => self.for_statement(),
            "while" => {
                self.advance();
                let test = self.head()?;
                Ok(Statement::While { test, body: self.statement()? })
            }
            "do" => self.do_while(),
            "switch" => self.switch(),
            "return" => self.return_statement(),
            "throw" => self.throw(),
            "try" => self.try_statement(),
            "break" => Ok(Statement::Break(self.jump()?)),
            "continue" => Ok(Statement::Continue(self.jump()?)),
            "class" | "import" | "export" | "with" | "debugger" => {
                Err(SyntaxError::new(format!("`{word}` is not supported"), self.span()))
            }
            "async" if self.word_of(self.ahead(1)) == Some("function") => {
                Err(SyntaxError::new("`async` functions are not supported", self.span()))
            }
            _ => self.expression_statement(),
        }
    }

    fn declares_after_let(&self) -> bool {
        let next = self.ahead(1);
        match &next.kind {
            TokenKind::Word => !matches!(self.word_of(next), Some("in" | "instanceof" | "of")),
            TokenKind::Punctuator(Punctuator::BracketOpen | Punctuator::BraceOpen) => true,
            _ => false,
        }
    }

    fn labeled(&mut self) -> Parsed<Statement> {
        let Some(word) = self.word() else { return Err(self.unexpected("a label")) };
        let name = self.intern(word);
        self.advance();
        self.advance();
        Ok(Statement::Labeled(name, self.statement()?))
    }

    fn expression_statement(&mut self) -> Parsed<Statement> {
        let node = self.expression()?;
        self.end_of_statement()?;
        Ok(Statement::Expression(node))
    }

    /// A `;`, or a position where JavaScript inserts one.
    fn end_of_statement(&mut self) -> Parsed<()> {
        if self.accept(Punctuator::Semicolon)
            || self.is(Punctuator::BraceClose)
            || self.kind() == &TokenKind::End
            || self.token().after_newline
        {
            return Ok(());
        }
        Err(self.unexpected("`;` or a new line"))
    }

    fn block(&mut self) -> Parsed<Statement> {
        self.expect(Punctuator::BraceOpen, "`{`")?;
        self.push_frame();
        let mut body = Vec::new();
        while !self.is(Punctuator::BraceClose) {
            body.push(self.statement()?);
        }
        self.advance();
        Ok(Statement::Block { frame: self.pop_frame(), body: body.into() })
    }

    fn block_statement(&mut self) -> Parsed<StatementId> {
        let block = self.block()?;
        Ok(self.add_statement(block))
    }

    fn declaration(&mut self, kind: Declaration) -> Parsed<Statement> {
        let statement = self.declarators(kind)?;
        self.end_of_statement()?;
        Ok(statement)
    }

    fn declarators(&mut self, kind: Declaration) -> Parsed<Statement> {
        self.advance();
        let mut items = Vec::new();
        loop {
            let pattern = self.is(Punctuator::BracketOpen) || self.is(Punctuator::BraceOpen);
            let target = self.binding(kind)?;
            let value = if self.accept(Punctuator::Equal) { Some(self.assignment()?) } else { None };
            if value.is_none() && (pattern || kind == Declaration::Const) && !self.loop_word_follows() {
                return Err(self.unexpected("`=` and a value"));
            }
            items.push((target, value));
            if !self.accept(Punctuator::Comma) {
                return Ok(Statement::Declare { kind, items: items.into() });
            }
        }
    }

    fn loop_word_follows(&self) -> bool {
        self.no_in && (self.is_word("of") || self.is_word("in"))
    }

    /// A condition in parentheses.
    fn head(&mut self) -> Parsed<NodeId> {
        self.expect(Punctuator::ParenOpen, "`(`")?;
        let node = self.expression()?;
        self.expect(Punctuator::ParenClose, "`)`")?;
        Ok(node)
    }

    fn conditional_statement(&mut self) -> Parsed<Statement> {
        self.advance();
        let test = self.head()?;
        let then = self.statement()?;
        let otherwise = if self.accept_word("else") { Some(self.statement()?) } else { None };
        Ok(Statement::If { test, then, otherwise })
    }

    fn do_while(&mut self) -> Parsed<Statement> {
        self.advance();
        let body = self.statement()?;
        if !self.accept_word("while") {
            return Err(self.unexpected("`while`"));
        }
        let test = self.head()?;
        self.accept(Punctuator::Semicolon);
        Ok(Statement::DoWhile { test, body })
    }

    fn for_statement(&mut self) -> Parsed<Statement> {
        self.advance();
        self.expect(Punctuator::ParenOpen, "`(`")?;
        self.push_frame();
        let start_span = self.span();
        self.no_in = true;
        let start = match self.word() {
            Some("const") => Some(self.declarators(Declaration::Const)?),
            Some("var") => Some(self.declarators(Declaration::Var)?),
            Some("let") if self.declares_after_let() => Some(self.declarators(Declaration::Let)?),
            _ if self.is(Punctuator::Semicolon) => None,
            Some(_) | None => Some(Statement::Expression(self.expression()?)),
        };
        self.no_in = false;
        if self.is_word("of") || self.is_word("in") {
            let Some(start) = start else { return Err(self.unexpected("`;`")) };
            return self.each(start, start_span);
        }
        self.refuse_stray_default()?;
        self.expect(Punctuator::Semicolon, "`;`")?;
        let start = start.map(|statement| self.add_statement(statement));
        let test = if self.is(Punctuator::Semicolon) { None } else { Some(self.expression()?) };
        self.expect(Punctuator::Semicolon, "`;`")?;
        let update = if self.is(Punctuator::ParenClose) { None } else { Some(self.expression()?) };
        self.expect(Punctuator::ParenClose, "`)`")?;
        let body = self.statement()?;
        Ok(Statement::For { frame: self.pop_frame(), start, test, update, body })
    }

    fn each(&mut self, start: Statement, span: crate::span::Span) -> Parsed<Statement> {
        let kind = if self.is_word("of") { EachKind::Of } else { EachKind::In };
        self.advance();
        let (target, declares) = match start {
            Statement::Expression(node) => (self.target_from(node)?, false),
            Statement::Declare { items, .. } => match &*items {
                [(target, None)] => (*target, true),
                _ => return Err(SyntaxError::new("a loop over items declares one name", span)),
            },
            _ => return Err(SyntaxError::new("this cannot be assigned to", span)),
        };
        let subject = if kind == EachKind::Of { self.assignment()? } else { self.expression()? };
        self.expect(Punctuator::ParenClose, "`)`")?;
        let body = self.statement()?;
        Ok(Statement::Each { frame: self.pop_frame(), kind, target, declares, subject, body })
    }

    fn switch(&mut self) -> Parsed<Statement> {
        self.advance();
        let subject = self.head()?;
        self.expect(Punctuator::BraceOpen, "`{`")?;
        self.push_frame();
        let mut cases: Vec<Case> = Vec::new();
        while !self.is(Punctuator::BraceClose) {
            let test = if self.accept_word("case") {
                Some(self.expression()?)
            } else if self.is_word("default") && cases.iter().all(|case| case.test.is_some()) {
                self.advance();
                None
            } else {
                return Err(self.unexpected("`case` or one `default`"));
            };
            self.expect(Punctuator::Colon, "`:`")?;
            let mut body = Vec::new();
            while !self.is(Punctuator::BraceClose) && !self.is_word("case") && !self.is_word("default") {
                body.push(self.statement()?);
            }
            cases.push(Case { test, body: body.into() });
        }
        self.advance();
        Ok(Statement::Switch { frame: self.pop_frame(), subject, cases: cases.into() })
    }

    fn return_statement(&mut self) -> Parsed<Statement> {
        self.advance();
        self.main_returns = true;
        let ends = self.is(Punctuator::Semicolon)
            || self.is(Punctuator::BraceClose)
            || self.kind() == &TokenKind::End
            || self.token().after_newline;
        let value = if ends { None } else { Some(self.expression()?) };
        self.end_of_statement()?;
        Ok(Statement::Return(value))
    }

    fn throw(&mut self) -> Parsed<Statement> {
        self.advance();
        if self.token().after_newline {
            return Err(SyntaxError::new("a value must follow `throw` on the same line", self.before()));
        }
        let value = self.expression()?;
        self.end_of_statement()?;
        Ok(Statement::Throw(value))
    }

    fn try_statement(&mut self) -> Parsed<Statement> {
        self.advance();
        let body = self.block_statement()?;
        let handler = if self.accept_word("catch") { Some(self.handler()?) } else { None };
        let finalizer = if self.accept_word("finally") { Some(self.block_statement()?) } else { None };
        if handler.is_none() && finalizer.is_none() {
            return Err(self.unexpected("`catch` or `finally`"));
        }
        Ok(Statement::Try { body, handler, finalizer })
    }

    fn handler(&mut self) -> Parsed<Handler> {
        self.push_frame();
        let parameter = if self.accept(Punctuator::ParenOpen) {
            let target = self.binding(Declaration::Let)?;
            self.expect(Punctuator::ParenClose, "`)`")?;
            Some(target)
        } else {
            None
        };
        let body = self.block_statement()?;
        Ok(Handler { frame: self.pop_frame(), parameter, body })
    }

    fn jump(&mut self) -> Parsed<Jump> {
        let start = self.advance();
        let label = match self.word() {
            Some(word) if !self.token().after_newline && !is_reserved(word) => {
                self.advance();
                Some(self.intern(word))
            }
            Some(_) | None => None,
        };
        let span = start.to(self.before());
        self.end_of_statement()?;
        Ok(Jump { label, span })
    }
}
