//! Statements.

use super::{Evaluator, handle};
use crate::fault::{ErrorKind, Failure, Outcome};
use crate::heap::{ErrorObject, Members, Plain};
use crate::tree::{
    Case, Declaration, Frame, Handler, NameId, NodeId, Over, Statement, StatementId, TargetId,
};
use crate::value::{Text, Value};

/// How a statement ends.
pub(super) enum Flow<'a> {
    Normal,
    Return(Value<'a>),
    Break(Option<NameId>),
    Continue(Option<NameId>),
}

/// What a loop does after one turn of its body.
enum Turn<'a> {
    Next,
    Leave,
    Pass(Flow<'a>),
}

impl<'a> Evaluator<'a> {
    pub(super) fn execute(&mut self, id: StatementId) -> Outcome<'a, Flow<'a>> {
        self.execute_labeled(id, &[])
    }

    fn execute_labeled(&mut self, id: StatementId, labels: &[NameId]) -> Outcome<'a, Flow<'a>> {
        self.step()?;
        let tree = self.tree;
        match tree.statement(id) {
            Statement::Empty => Ok(Flow::Normal),
            Statement::Expression(node) => {
                self.completion = self.evaluate(*node)?;
                Ok(Flow::Normal)
            }
            Statement::Declare { kind, items } => self.declare(*kind, items),
            Statement::Return(None) => Ok(Flow::Return(Value::Undefined)),
            Statement::Return(Some(node)) => Ok(Flow::Return(self.evaluate(*node)?)),
            Statement::Throw(node) => {
                let value = self.evaluate(*node)?;
                Err(Box::new(Failure::Thrown { value, span: self.tree.span(*node) }))
            }
            Statement::Break(jump) => Ok(Flow::Break(jump.label)),
            Statement::Continue(jump) => Ok(Flow::Continue(jump.label)),
            nested => {
                self.descend()?;
                let flow = self.execute_nested(nested, labels)?;
                self.ascend();
                Ok(flow)
            }
        }
    }

    fn execute_nested(&mut self, statement: &'a Statement, labels: &[NameId]) -> Outcome<'a, Flow<'a>> {
        match statement {
            Statement::If { test, then, otherwise } => {
                let test = self.evaluate(*test)?;
                if self.is_truthy(&test) {
                    self.execute(*then)
                } else {
                    otherwise.map_or(Ok(Flow::Normal), |otherwise| self.execute(otherwise))
                }
            }
            Statement::Block { frame, body } => {
                self.enter_frame(frame)?;
                self.run_statements(body)
            }
            Statement::For { frame, start, test, update, body } => {
                self.run_for(frame, *start, (*test, *update), *body, labels)
            }
            Statement::Each { frame, over, target, subject, body, .. } => {
                self.run_each(frame, *over, *target, *subject, *body, labels)
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
            | Statement::Continue(_) => Ok(Flow::Normal),
        }
    }

    fn run_statements(&mut self, body: &'a [StatementId]) -> Outcome<'a, Flow<'a>> {
        for statement in body {
            match self.execute(*statement)? {
                Flow::Normal => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Normal)
    }

    fn declare(
        &mut self,
        kind: Declaration,
        items: &'a [(TargetId, Option<NodeId>)],
    ) -> Outcome<'a, Flow<'a>> {
        for (target, value) in items {
            let value = match value {
                Some(node) => self.evaluate(*node)?,
                None if kind == Declaration::Var => continue,
                None => Value::Undefined,
            };
            self.assign_target(*target, value)?;
        }
        Ok(Flow::Normal)
    }

    fn run_labeled(&mut self, label: NameId, body: StatementId, labels: &[NameId]) -> Outcome<'a, Flow<'a>> {
        let mut all = labels.to_vec();
        all.push(label);
        match self.execute_labeled(body, &all)? {
            Flow::Break(Some(left)) if left == label => Ok(Flow::Normal),
            other => Ok(other),
        }
    }

    /// One turn of a loop's body.
    fn turn(&mut self, body: StatementId, labels: &[NameId]) -> Outcome<'a, Turn<'a>> {
        Ok(match self.execute(body)? {
            Flow::Normal | Flow::Continue(None) => Turn::Next,
            Flow::Break(None) => Turn::Leave,
            Flow::Continue(Some(label)) if labels.contains(&label) => Turn::Next,
            flow @ (Flow::Return(_) | Flow::Break(Some(_)) | Flow::Continue(Some(_))) => Turn::Pass(flow),
        })
    }

    fn run_while(&mut self, test: NodeId, body: StatementId, labels: &[NameId]) -> Outcome<'a, Flow<'a>> {
        loop {
            let value = self.evaluate(test)?;
            if !self.is_truthy(&value) {
                return Ok(Flow::Normal);
            }
            match self.turn(body, labels)? {
                Turn::Next => {}
                Turn::Leave => return Ok(Flow::Normal),
                Turn::Pass(flow) => return Ok(flow),
            }
        }
    }

    fn run_do_while(&mut self, test: NodeId, body: StatementId, labels: &[NameId]) -> Outcome<'a, Flow<'a>> {
        loop {
            match self.turn(body, labels)? {
                Turn::Next => {}
                Turn::Leave => return Ok(Flow::Normal),
                Turn::Pass(flow) => return Ok(flow),
            }
            let value = self.evaluate(test)?;
            if !self.is_truthy(&value) {
                return Ok(Flow::Normal);
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
    ) -> Outcome<'a, Flow<'a>> {
        self.enter_frame(frame)?;
        if let Some(start) = start {
            self.execute(start)?;
        }
        loop {
            if let Some(test) = test {
                let value = self.evaluate(test)?;
                if !self.is_truthy(&value) {
                    return Ok(Flow::Normal);
                }
            }
            match self.turn(body, labels)? {
                Turn::Next => {}
                Turn::Leave => return Ok(Flow::Normal),
                Turn::Pass(flow) => return Ok(flow),
            }
            self.renew_cells(frame)?;
            if let Some(update) = update {
                self.evaluate(update)?;
            } else {
                self.step()?;
            }
        }
    }

    /// Each turn of a `for` has variables of its own, which start with the values of the turn before.
    fn renew_cells(&mut self, frame: &'a Frame) -> Outcome<'a, ()> {
        for slot in &frame.cells {
            self.charge(super::VALUE_BYTES)?;
            let place = self.base + *slot as usize;
            if let Value::Cell(cell) = self.stack[place] {
                let value = self.heap.cells[cell as usize].clone();
                self.heap.cells.push(value);
                self.stack[place] = Value::Cell(handle(self.heap.cells.len() - 1));
            }
        }
        Ok(())
    }

    fn run_each(
        &mut self,
        frame: &'a Frame,
        over: Over,
        target: TargetId,
        subject: NodeId,
        body: StatementId,
        labels: &[NameId],
    ) -> Outcome<'a, Flow<'a>> {
        let value = self.evaluate(subject)?;
        self.current = subject;
        let listed = over == Over::Items && self.is_list(&value);
        let items = match over {
            Over::Items if listed => Vec::new(),
            Over::Items => self.iterate(&value)?,
            Over::Keys => self.keys(&value)?.into_iter().map(Value::Text).collect(),
        };
        let mut position = 0;
        loop {
            // A list may grow or shrink while it is walked.
            let length = if listed { self.list_length(&value).unwrap_or(0) } else { items.len() };
            if position >= length {
                return Ok(Flow::Normal);
            }
            let item = if listed { self.list_item(&value, position) } else { items[position].clone() };
            position += 1;
            self.enter_frame(frame)?;
            self.assign_target(target, item)?;
            match self.turn(body, labels)? {
                Turn::Next => {}
                Turn::Leave => return Ok(Flow::Normal),
                Turn::Pass(flow) => return Ok(flow),
            }
        }
    }

    fn run_switch(&mut self, frame: &'a Frame, subject: NodeId, cases: &'a [Case]) -> Outcome<'a, Flow<'a>> {
        let subject = self.evaluate(subject)?;
        self.enter_frame(frame)?;
        let mut found = None;
        for (position, case) in cases.iter().enumerate() {
            if let Some(test) = case.test {
                let value = self.evaluate(test)?;
                if self.strict_equal(&subject, &value) {
                    found = Some(position);
                    break;
                }
            }
        }
        let Some(start) = found.or_else(|| cases.iter().position(|case| case.test.is_none())) else {
            return Ok(Flow::Normal);
        };
        for case in &cases[start..] {
            match self.run_statements(&case.body)? {
                Flow::Normal => {}
                Flow::Break(None) => return Ok(Flow::Normal),
                other => return Ok(other),
            }
        }
        Ok(Flow::Normal)
    }

    fn run_try(
        &mut self,
        body: StatementId,
        handler: Option<&'a Handler>,
        finalizer: Option<StatementId>,
    ) -> Outcome<'a, Flow<'a>> {
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
                Err(failure) if !matches!(*failure, Failure::Budget { .. }) => {
                    restore(self);
                    self.handle(handler, *failure)
                }
                other => other,
            };
        }
        let Some(finalizer) = finalizer else { return result };
        if matches!(&result, Err(failure) if matches!(**failure, Failure::Budget { .. })) {
            return result;
        }
        restore(self);
        match self.execute(finalizer)? {
            Flow::Normal => result,
            other => Ok(other),
        }
    }

    fn handle(&mut self, handler: &'a Handler, failure: Failure<'a>) -> Outcome<'a, Flow<'a>> {
        let value = match failure {
            Failure::Thrown { value, .. } => value,
            Failure::Error { kind, message, .. } => {
                self.charge(message.len())?;
                self.new_error(kind, Text::Shared(message.into()))?
            }
            budget @ Failure::Budget { .. } => return Err(Box::new(budget)),
        };
        self.enter_frame(&handler.frame)?;
        if let Some(parameter) = handler.parameter {
            self.assign_target(parameter, value)?;
        }
        self.execute(handler.body)
    }

    pub(crate) fn new_error(&mut self, kind: ErrorKind, message: Text<'a>) -> Outcome<'a> {
        self.charge(128)?;
        self.heap.plains.push(Plain {
            members: Members::default(),
            error: Some(ErrorObject { kind, message }),
            frozen: false,
        });
        Ok(Value::Plain(handle(self.heap.plains.len() - 1)))
    }
}
