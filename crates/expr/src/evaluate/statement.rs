//! Statements.

use super::{Evaluator, handle};
use crate::exception::{ErrorClass, EvalResult, Exception};
use crate::heap::{ErrorObject, Members, PlainObject};
use crate::tree::{
    Case, Declaration, EachKind, Frame, Handler, NameId, NodeId, Statement, StatementId, TargetId,
};
use crate::value::{Text, Value};

/// How a statement completes.
pub(super) enum Completion<'a> {
    Normal,
    Return(Value<'a>),
    Break(Option<NameId>),
    Continue(Option<NameId>),
}

/// What a loop does after one iteration.
enum LoopStep<'a> {
    Continue,
    Break,
    Propagate(Completion<'a>),
}

impl<'a> Evaluator<'a> {
    pub(super) fn execute(&mut self, id: StatementId) -> EvalResult<'a, Completion<'a>> {
        self.execute_labeled(id, &[])
    }

    fn execute_labeled(&mut self, id: StatementId, labels: &[NameId]) -> EvalResult<'a, Completion<'a>> {
        self.step()?;
        let tree = self.tree;
        match tree.statement(id) {
            Statement::Empty => Ok(Completion::Normal),
            Statement::Expression(node) => {
                self.completion = self.evaluate(*node)?;
                Ok(Completion::Normal)
            }
            Statement::Declare { kind, items } => self.declare(*kind, items),
            Statement::Return(None) => Ok(Completion::Return(Value::Undefined)),
            Statement::Return(Some(node)) => Ok(Completion::Return(self.evaluate(*node)?)),
            Statement::Throw(node) => {
                let value = self.evaluate(*node)?;
                Err(Box::new(Exception::Thrown { value, span: self.tree.span(*node) }))
            }
            Statement::Break(jump) => Ok(Completion::Break(jump.label)),
            Statement::Continue(jump) => Ok(Completion::Continue(jump.label)),
            nested => {
                self.descend()?;
                let completion = self.execute_nested(nested, labels)?;
                self.ascend();
                Ok(completion)
            }
        }
    }

    fn execute_nested(
        &mut self,
        statement: &'a Statement,
        labels: &[NameId],
    ) -> EvalResult<'a, Completion<'a>> {
        match statement {
            Statement::If { test, then, otherwise } => {
                let test = self.evaluate(*test)?;
                if self.is_truthy(&test) {
                    self.execute(*then)
                } else {
                    otherwise.map_or(Ok(Completion::Normal), |otherwise| self.execute(otherwise))
                }
            }
            Statement::Block { frame, body } => {
                self.enter_frame(frame)?;
                self.run_statements(body)
            }
            Statement::For { frame, start, test, update, body } => {
                self.run_for(frame, *start, (*test, *update), *body, labels)
            }
            Statement::Each { frame, kind, target, subject, body, .. } => {
                self.run_each(frame, *kind, *target, *subject, *body, labels)
            }
            Statement::While { test, body } => self.run_while(*test, *body, labels),
            Statement::DoWhile { test, body } => self.run_do_while(*test, *body, labels),
            Statement::Switch { frame, subject, cases } => self.run_switch(frame, *subject, cases),
            Statement::Try { body, handler, finalizer } => self.run_try(*body, handler.as_ref(), *finalizer),
            Statement::Labeled(label, body) => self.run_labeled(*label, *body, labels),
            Statement::Empty
            | Statement::Expression(_)
            | Statement::Declare { .. }
            | Statement::Return(_)
            | Statement::Throw(_)
            | Statement::Break(_)
            | Statement::Continue(_) => Ok(Completion::Normal),
        }
    }

    fn run_statements(&mut self, body: &'a [StatementId]) -> EvalResult<'a, Completion<'a>> {
        for statement in body {
            match self.execute(*statement)? {
                Completion::Normal => {}
                other => return Ok(other),
            }
        }
        Ok(Completion::Normal)
    }

    fn declare(
        &mut self,
        kind: Declaration,
        items: &'a [(TargetId, Option<NodeId>)],
    ) -> EvalResult<'a, Completion<'a>> {
        for (target, value) in items {
            let value = match value {
                Some(node) => self.evaluate(*node)?,
                None if kind == Declaration::Var => continue,
                None => Value::Undefined,
            };
            self.assign_target(*target, value)?;
        }
        Ok(Completion::Normal)
    }

    fn run_labeled(
        &mut self,
        label: NameId,
        body: StatementId,
        labels: &[NameId],
    ) -> EvalResult<'a, Completion<'a>> {
        let mut all = labels.to_vec();
        all.push(label);
        match self.execute_labeled(body, &all)? {
            Completion::Break(Some(left)) if left == label => Ok(Completion::Normal),
            other => Ok(other),
        }
    }

    /// Runs one iteration of a loop's body.
    fn run_loop_body(&mut self, body: StatementId, labels: &[NameId]) -> EvalResult<'a, LoopStep<'a>> {
        Ok(match self.execute(body)? {
            Completion::Normal | Completion::Continue(None) => LoopStep::Continue,
            Completion::Break(None) => LoopStep::Break,
            Completion::Continue(Some(label)) if labels.contains(&label) => LoopStep::Continue,
            completion @ (Completion::Return(_)
            | Completion::Break(Some(_))
            | Completion::Continue(Some(_))) => LoopStep::Propagate(completion),
        })
    }

    fn run_while(
        &mut self,
        test: NodeId,
        body: StatementId,
        labels: &[NameId],
    ) -> EvalResult<'a, Completion<'a>> {
        loop {
            let value = self.evaluate(test)?;
            if !self.is_truthy(&value) {
                return Ok(Completion::Normal);
            }
            match self.run_loop_body(body, labels)? {
                LoopStep::Continue => {}
                LoopStep::Break => return Ok(Completion::Normal),
                LoopStep::Propagate(completion) => return Ok(completion),
            }
        }
    }

    fn run_do_while(
        &mut self,
        test: NodeId,
        body: StatementId,
        labels: &[NameId],
    ) -> EvalResult<'a, Completion<'a>> {
        loop {
            match self.run_loop_body(body, labels)? {
                LoopStep::Continue => {}
                LoopStep::Break => return Ok(Completion::Normal),
                LoopStep::Propagate(completion) => return Ok(completion),
            }
            let value = self.evaluate(test)?;
            if !self.is_truthy(&value) {
                return Ok(Completion::Normal);
            }
        }
    }

    fn run_for(
        &mut self,
        frame: &'a Frame,
        start: Option<StatementId>,
        (test, update): (Option<NodeId>, Option<NodeId>),
        body: StatementId,
        labels: &[NameId],
    ) -> EvalResult<'a, Completion<'a>> {
        self.enter_frame(frame)?;
        if let Some(start) = start {
            self.execute(start)?;
        }
        loop {
            if let Some(test) = test {
                let value = self.evaluate(test)?;
                if !self.is_truthy(&value) {
                    return Ok(Completion::Normal);
                }
            }
            match self.run_loop_body(body, labels)? {
                LoopStep::Continue => {}
                LoopStep::Break => return Ok(Completion::Normal),
                LoopStep::Propagate(completion) => return Ok(completion),
            }
            self.renew_cells(frame)?;
            if let Some(update) = update {
                self.evaluate(update)?;
            } else {
                self.step()?;
            }
        }
    }

    /// Each iteration of a `for` has variables of its own, which start with the values of the iteration before.
    fn renew_cells(&mut self, frame: &'a Frame) -> EvalResult<'a, ()> {
        for slot in &frame.cells {
            self.charge(super::VALUE_BYTES)?;
            let position = self.base + *slot as usize;
            if let Value::Cell(cell) = self.stack[position] {
                let value = self.heap.cells[cell as usize].clone();
                self.heap.cells.push(value);
                self.stack[position] = Value::Cell(handle(self.heap.cells.len() - 1));
            }
        }
        Ok(())
    }

    fn run_each(
        &mut self,
        frame: &'a Frame,
        kind: EachKind,
        target: TargetId,
        subject: NodeId,
        body: StatementId,
        labels: &[NameId],
    ) -> EvalResult<'a, Completion<'a>> {
        let value = self.evaluate(subject)?;
        self.current = subject;
        let listed = kind == EachKind::Of && self.is_list(&value);
        let items = match kind {
            EachKind::Of if listed => Vec::new(),
            EachKind::Of => self.iterate(&value)?,
            EachKind::In => self.keys(&value)?.into_iter().map(Value::Text).collect(),
        };
        let mut position = 0;
        loop {
            // The body may change the length of the list.
            let length = if listed { self.list_length(&value).unwrap_or(0) } else { items.len() };
            if position >= length {
                return Ok(Completion::Normal);
            }
            let item = if listed { self.list_item(&value, position) } else { items[position].clone() };
            position += 1;
            self.enter_frame(frame)?;
            self.assign_target(target, item)?;
            match self.run_loop_body(body, labels)? {
                LoopStep::Continue => {}
                LoopStep::Break => return Ok(Completion::Normal),
                LoopStep::Propagate(completion) => return Ok(completion),
            }
        }
    }

    fn run_switch(
        &mut self,
        frame: &'a Frame,
        subject: NodeId,
        cases: &'a [Case],
    ) -> EvalResult<'a, Completion<'a>> {
        let subject = self.evaluate(subject)?;
        self.enter_frame(frame)?;
        let mut found = None;
        for (position, case) in cases.iter().enumerate() {
            if let Some(test) = case.test {
                let value = self.evaluate(test)?;
                if self.strict_equal(&subject, &value)? {
                    found = Some(position);
                    break;
                }
            }
        }
        let Some(start) = found.or_else(|| cases.iter().position(|case| case.test.is_none())) else {
            return Ok(Completion::Normal);
        };
        for case in &cases[start..] {
            match self.run_statements(&case.body)? {
                Completion::Normal => {}
                Completion::Break(None) => return Ok(Completion::Normal),
                other => return Ok(other),
            }
        }
        Ok(Completion::Normal)
    }

    fn run_try(
        &mut self,
        body: StatementId,
        handler: Option<&'a Handler>,
        finalizer: Option<StatementId>,
    ) -> EvalResult<'a, Completion<'a>> {
        let (base, height, depth) = (self.base, self.stack.len(), self.depth_left);
        let restore = |evaluator: &mut Self| {
            evaluator.base = base;
            evaluator.stack.truncate(height);
            evaluator.depth_left = depth;
            evaluator.joining.clear();
        };
        let mut result = self.execute(body);
        if let Some(handler) = handler {
            result = match result {
                Err(exception) if !matches!(*exception, Exception::Budget { .. }) => {
                    restore(self);
                    self.handle(handler, *exception)
                }
                other => other,
            };
        }
        let Some(finalizer) = finalizer else { return result };
        if matches!(&result, Err(exception) if matches!(**exception, Exception::Budget { .. })) {
            return result;
        }
        restore(self);
        match self.execute(finalizer)? {
            Completion::Normal => result,
            other => Ok(other),
        }
    }

    fn handle(&mut self, handler: &'a Handler, exception: Exception<'a>) -> EvalResult<'a, Completion<'a>> {
        let value = match exception {
            Exception::Thrown { value, .. } => value,
            Exception::Error { kind, message, .. } => {
                self.charge(message.len())?;
                self.new_error(kind, Text::Shared(message.into()))?
            }
            budget @ Exception::Budget { .. } => return Err(Box::new(budget)),
        };
        self.enter_frame(&handler.frame)?;
        if let Some(parameter) = handler.parameter {
            self.assign_target(parameter, value)?;
        }
        self.execute(handler.body)
    }

    pub(crate) fn new_error(&mut self, kind: ErrorClass, message: Text<'a>) -> EvalResult<'a> {
        self.charge(128)?;
        self.heap.plains.push(PlainObject {
            members: Members::default(),
            error: Some(ErrorObject { kind, message }),
            frozen: false,
        });
        Ok(Value::Plain(handle(self.heap.plains.len() - 1)))
    }
}
