//! Statements, and whether each `break` and `continue` has a target.

use super::{Resolved, Resolver};
use crate::syntax_error::SyntaxError;
use crate::tree::{Jump, NameId, Statement, StatementId};

/// A construct that a `break` or a `continue` may target.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum JumpTarget {
    Loop,
    Switch,
    Label(NameId),
    /// A label right before a loop: the only kind that `continue` may name.
    LoopLabel(NameId),
    Function,
}

impl Resolver<'_> {
    pub(super) fn statements(&mut self, ids: &[StatementId]) -> Resolved<()> {
        ids.iter().try_for_each(|id| self.statement(*id))
    }

    fn statement(&mut self, id: StatementId) -> Resolved<()> {
        let mut statement = std::mem::replace(&mut self.tree.statements[id.0 as usize], Statement::Empty);
        let result = self.statement_parts(&mut statement);
        self.tree.statements[id.0 as usize] = statement;
        result
    }

    fn statement_parts(&mut self, statement: &mut Statement) -> Resolved<()> {
        match statement {
            Statement::Empty => Ok(()),
            Statement::Expression(node) | Statement::Throw(node) => self.visit(*node),
            Statement::Return(node) => self.visit_optional(*node),
            Statement::Declare { items, .. } => items.iter().try_for_each(|(target, value)| {
                self.visit_optional(*value)?;
                self.target(*target, true)
            }),
            Statement::If { test, then, otherwise } => {
                self.visit(*test)?;
                self.statement(*then)?;
                otherwise.map_or(Ok(()), |otherwise| self.statement(otherwise))
            }
            Statement::While { test, body } | Statement::DoWhile { test, body } => {
                self.visit(*test)?;
                self.body(*body, JumpTarget::Loop)
            }
            Statement::For { frame, start, test, update, body } => {
                self.open(frame);
                start.map_or(Ok(()), |start| self.statement(start))?;
                self.visit_optional(*test)?;
                self.visit_optional(*update)?;
                self.body(*body, JumpTarget::Loop)?;
                self.close(frame);
                Ok(())
            }
            Statement::Each { frame, target, declares, subject, body, .. } => {
                self.open(frame);
                self.visit(*subject)?;
                self.target(*target, *declares)?;
                self.body(*body, JumpTarget::Loop)?;
                self.close(frame);
                Ok(())
            }
            Statement::Switch { frame, subject, cases } => {
                self.visit(*subject)?;
                self.open(frame);
                self.hoisted(frame)?;
                self.jump_targets.push(JumpTarget::Switch);
                for case in cases.iter() {
                    self.visit_optional(case.test)?;
                    self.statements(&case.body)?;
                }
                self.jump_targets.pop();
                self.close(frame);
                Ok(())
            }
            Statement::Try { body, handler, finalizer } => {
                self.statement(*body)?;
                if let Some(handler) = handler {
                    self.open(&mut handler.frame);
                    handler.parameter.map_or(Ok(()), |parameter| self.target(parameter, true))?;
                    self.statement(handler.body)?;
                    self.close(&mut handler.frame);
                }
                finalizer.map_or(Ok(()), |finalizer| self.statement(finalizer))
            }
            Statement::Block { frame, body } => {
                self.open(frame);
                self.hoisted(frame)?;
                self.statements(body)?;
                self.close(frame);
                Ok(())
            }
            Statement::Labeled(label, body) => {
                let target = if self.is_loop(*body) {
                    JumpTarget::LoopLabel(*label)
                } else {
                    JumpTarget::Label(*label)
                };
                self.body(*body, target)
            }
            Statement::Break(jump) => self.jump(*jump, &[JumpTarget::Loop, JumpTarget::Switch], "break"),
            Statement::Continue(jump) => self.jump(*jump, &[JumpTarget::Loop], "continue"),
        }
    }

    fn body(&mut self, body: StatementId, target: JumpTarget) -> Resolved<()> {
        self.jump_targets.push(target);
        let result = self.statement(body);
        self.jump_targets.pop();
        result
    }

    fn is_loop(&self, id: StatementId) -> bool {
        match self.tree.statement(id) {
            Statement::For { .. }
            | Statement::Each { .. }
            | Statement::While { .. }
            | Statement::DoWhile { .. } => true,
            Statement::Labeled(_, body) => self.is_loop(*body),
            _ => false,
        }
    }

    fn jump(&self, jump: Jump, unlabeled: &[JumpTarget], word: &str) -> Resolved<()> {
        let inside = self.jump_targets.iter().rev().take_while(|target| **target != JumpTarget::Function);
        let found = match jump.label {
            Some(label) => inside.clone().any(|target| {
                *target == JumpTarget::LoopLabel(label)
                    || (*target == JumpTarget::Label(label) && unlabeled.contains(&JumpTarget::Switch))
            }),
            None => inside.clone().any(|target| unlabeled.contains(target)),
        };
        if found {
            Ok(())
        } else {
            Err(SyntaxError::new(format!("`{word}` has nothing to leave here"), jump.span))
        }
    }
}
