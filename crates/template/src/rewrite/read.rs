//! Free names with their literal members: what a template reads.

use minijinja::machinery::ast::Expr;
use minijinja::value::ValueKind;

use super::{Rewriter, range};
use crate::fault::TemplateError;
use crate::filters::{FUNCTIONS, PRIVATE_PREFIX};
use crate::reads::{Read, Step};

impl<'a> Rewriter<'a> {
    /// A free name with the literal members behind it.
    pub(super) fn literal_path(&self, expr: &Expr<'a>) -> Option<Read> {
        let end = range(expr.span()).end;
        let mut path = Vec::new();
        let mut at = expr;
        loop {
            at = match at {
                Expr::Var(var) if self.is_local(var.id) || FUNCTIONS.contains(&var.id) => return None,
                Expr::Var(var) => {
                    path.reverse();
                    let span = range(var.span()).start..end;
                    return Some(Read { name: var.id.to_owned(), path, span });
                }
                Expr::GetAttr(attr) => {
                    path.push(Step::Member(attr.name.to_owned()));
                    &attr.expr
                }
                Expr::GetItem(item) => {
                    let Expr::Const(key) = &item.subscript_expr else { return None };
                    path.push(match (key.value.as_str(), key.value.kind(), key.value.as_usize()) {
                        (Some(name), _, _) => Step::Member(name.to_owned()),
                        (None, ValueKind::Number, Some(index)) if key.value.is_integer() => Step::Item(index),
                        _ => return None,
                    });
                    &item.expr
                }
                _ => return None,
            };
        }
    }

    pub(super) fn read(&mut self, read: Read) -> Result<(), TemplateError> {
        self.public(&read.name, read.span.clone())?;
        if self.assigned.contains(read.name.as_str()) {
            // Assigned somewhere else, perhaps before this is reached: the engine must look for it.
            let whole = read.written(0);
            let written = read.to_string();
            self.put(&written);
            self.out.names.push(whole);
            self.out.reads.push(read);
            return Ok(());
        }
        let name = format!("{PRIVATE_PREFIX}read_{}", self.out.reads.len());
        self.put(&name);
        self.out.names.push(name);
        self.out.reads.push(read);
        Ok(())
    }
}
