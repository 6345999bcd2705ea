//! Writes a parsed template out again, as the source that the engine really compiles.
//!
//!   source ──parse──▶ syntax tree ──Rewriter──▶ source that pays its way, and the reads
//!
//! Three things change. Every free name with its literal members becomes one name of its own
//! (`outputs.lint.files` → `escrow_read_0`), so that a rendering copies just that value. Operators that
//! build or compare data become filters that pay for it. Literal text is written through the same door
//! as values, so that it counts wherever it is captured.
//!
//! **Invariant:** nothing that a template can write reaches the engine without passing through here.

mod assigned;
mod expression;
mod read;
mod statement;

use std::collections::BTreeSet;
use std::ops::Range;

use minijinja::machinery::Span;
use minijinja::machinery::ast::{Expr, Stmt};

use assigned::{collect_assigned, targets};

use crate::fault::TemplateError;
use crate::filters::PRIVATE_PREFIX;
use crate::reads::Read;

/// What the engine compiles, and what it must be given.
#[derive(Debug, Default)]
pub(crate) struct Rewritten {
    pub(crate) source: String,
    /// Every free name, in the order in which they are written.
    pub(crate) reads: Vec<Read>,
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

pub(crate) fn range(span: Span) -> Range<usize> {
    let offset = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
    offset(span.start_offset)..offset(span.end_offset)
}

struct Rewriter<'a> {
    out: Rewritten,
    /// Every name that the template assigns anywhere. Which assignment a use sees is known only while
    /// rendering, so such names keep their own name.
    assigned: BTreeSet<&'a str>,
    scopes: Vec<BTreeSet<&'a str>>,
    /// Where the last line of the rewritten source begins.
    line_start: usize,
}

impl<'a> Rewriter<'a> {
    fn put(&mut self, text: &str) {
        self.out.source.push_str(text);
    }

    /// The end of an item in a list, where a line may end.
    fn comma(&mut self) {
        self.put(", ");
        self.break_line();
    }

    /// The parser counts columns in 16 bits, so lines are kept short wherever a line may end.
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
