//! Rewrites a parsed template into the source that minijinja compiles.
//!
//!   source ──parse──▶ syntax tree ──Rewriter──▶ source that charges its budget, and the reads
//!
//! Three things change. Every free name with its literal members becomes one variable (`outputs.lint.files` →
//! `escrow_read_0`), so that a rendering copies just that value. Operators that build or compare data become filters
//! that charge the budget. Literal text becomes an expression, so that it is charged where a block captures it.
//!
//! **Invariant:** minijinja compiles only rewritten sources.

mod assigned;
mod expression;
mod read;
mod statement;

use std::collections::BTreeSet;
use std::ops::Range;

use assigned::{collect_assigned, targets};

use crate::error::TemplateError;
use crate::filters::PRIVATE_PREFIX;
use crate::reads::TemplateRead;
use crate::syntax::{Expr, Stmt};

/// A source for minijinja, and the values it needs.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub(crate) source: String,
    /// Every free name, in source order.
    pub(crate) reads: Vec<TemplateRead>,
    /// For each read, the name under which the rewritten source looks it up.
    pub(crate) names: Vec<String>,
}

pub(crate) fn template(statements: &[Stmt<'_>]) -> Result<Rewritten, TemplateError> {
    let mut assigned = BTreeSet::new();
    collect_assigned(statements, &mut assigned);
    let mut rewriter =
        Rewriter { out: Rewritten::default(), assigned, scopes: vec![BTreeSet::new()], line_start: 0 };
    rewriter.statements(statements)?;
    Ok(rewriter.out)
}

pub(crate) fn expression(expr: &Expr<'_>) -> Result<Rewritten, TemplateError> {
    let mut rewriter = Rewriter {
        out: Rewritten::default(),
        assigned: BTreeSet::new(),
        scopes: vec![BTreeSet::new()],
        line_start: 0,
    };
    rewriter.put("(");
    rewriter.expr(expr)?;
    rewriter.put(")|escrow_defined");
    Ok(rewriter.out)
}

struct Rewriter<'a> {
    out: Rewritten,
    /// Names that the template assigns anywhere. Which assignment a use sees is known only at render time, so such
    /// names are not rewritten.
    assigned: BTreeSet<&'a str>,
    scopes: Vec<BTreeSet<&'a str>>,
    /// Where the last line of the rewritten source begins.
    line_start: usize,
}

impl<'a> Rewriter<'a> {
    fn put(&mut self, text: &str) {
        self.out.source.push_str(text);
    }

    /// Separates two items, and breaks the line when it is long.
    fn comma(&mut self) {
        self.put(", ");
        self.break_line();
    }

    /// Breaks a long line: minijinja counts columns in 16 bits.
    fn break_line(&mut self) {
        const LINE_BYTES: usize = 8_000;
        if self.out.source.len() - self.line_start > LINE_BYTES {
            self.out.source.push('\n');
            self.line_start = self.out.source.len();
        }
    }

    fn assign(&mut self, target: &Expr<'a>) {
        let mut names = Vec::new();
        targets(target, &mut names);
        for name in names {
            self.assign_name(name);
        }
    }

    fn assign_name(&mut self, name: &'a str) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(name);
        }
    }

    fn public(&self, name: &str, span: Range<usize>) -> Result<(), TemplateError> {
        if name.starts_with(PRIVATE_PREFIX) {
            return Err(TemplateError::new(
                format!("names that begin with `{PRIVATE_PREFIX}` are reserved, and `{name}` does"),
                span,
            ));
        }
        Ok(())
    }

    fn string(&mut self, text: &str) {
        self.break_line();
        let source = &mut self.out.source;
        source.push('"');
        for c in text.chars() {
            match c {
                '\\' | '"' => {
                    source.push('\\');
                    source.push(c);
                }
                '\n' => source.push_str("\\n"),
                '\r' => source.push_str("\\r"),
                _ => source.push(c),
            }
        }
        source.push('"');
    }

    fn is_local(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| scope.contains(name))
    }
}
