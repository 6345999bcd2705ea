//! Rewrites reads: free names with their literal members.

use minijinja::value::ValueKind;

use super::Rewriter;
use crate::error::TemplateError;
use crate::filters::{FUNCTIONS, PRIVATE_PREFIX};
use crate::reads::{PathStep, TemplateRead};
use crate::syntax::{Expr, range};

impl<'a> Rewriter<'a> {
    /// The read that an expression is, if it is a free name with literal members.
    pub(super) fn literal_path(&self, expr: &Expr<'a>) -> Option<TemplateRead> {
        let end = range(expr.span()).end;
        let mut path = Vec::new();
        let mut at = expr;
        loop {
            at = match at {
                Expr::Var(var) if self.is_local(var.id) || FUNCTIONS.contains(&var.id) => return None,
                Expr::Var(var) => {
                    path.reverse();
                    let span = range(var.span()).start..end;
                    return Some(TemplateRead { name: var.id.to_owned(), path, span });
                }
                Expr::GetAttr(attr) => {
                    path.push(PathStep::Member(attr.name.to_owned()));
                    &attr.expr
                }
                Expr::GetItem(item) => {
                    let Expr::Const(key) = &item.subscript_expr else { return None };
                    path.push(match (key.value.as_str(), key.value.kind(), key.value.as_usize()) {
                        (Some(name), _, _) => PathStep::Member(name.to_owned()),
                        (None, ValueKind::Number, Some(index)) if key.value.is_integer() => {
                            PathStep::Item(index)
                        }
                        _ => return None,
                    });
                    &item.expr
                }
                _ => return None,
            };
        }
    }

    pub(super) fn read(&mut self, read: TemplateRead) -> Result<(), TemplateError> {
        self.public(&read.name, read.span.clone())?;
        if self.assigned.contains(read.name.as_str()) {
            // The template assigns this name somewhere, so only minijinja knows at render time which value it has.
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
