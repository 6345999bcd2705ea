//! Jinja syntax trees and tokens, as minijinja parses them: the only file that names its unstable machinery.
//!
//! The crate asks for minijinja's feature `unstable_machinery`, and `Cargo.toml` pins the minor version, because
//! the stable interface offers no way to do three things that the limits and the diagnostics rest on:
//!
//! - **Charging for operators.** minijinja's fuel counts instructions, not what one instruction costs:
//!   `{% set a = a ~ a %}` doubles a string per instruction, and `==` walks both operands. The operators of
//!   strings and lists have no hook, so `rewrite` replaces them by filters that charge a budget. That takes a tree.
//! - **Reads with their members, order and spans.** `Template::undeclared_variables` gives a set of dotted names
//!   without positions, and drops indexes (`files[0]`). The plan needs each read at its byte range.
//! - **Refusing at parse time, where it is written.** Unknown filters, tests and functions, `include` and its
//!   relatives are render-time errors in minijinja; a playbook must be refused before anything runs.
//!
//! The alternative is a Jinja parser of our own, which would have to agree with minijinja's on every source:
//! a rewritten template is compiled by minijinja again. A change in the machinery shows up here as a compile
//! error or as a failing test of `rewrite`, not as a different meaning at run time.

use std::ops::Range;

pub(crate) use minijinja::machinery::ast::{
    BinOpKind, Call, CallArg, CompareOpKind, Expr, Filter, Macro, Stmt, UnaryOpKind,
};
pub(crate) use minijinja::machinery::{Span, Token};

use minijinja::Error;
use minijinja::machinery::{parse, parse_expr, tokenize};
use minijinja::syntax::SyntaxConfig;

/// What a source is read as.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Text with `{{ }}` and `{% %}` in it.
    Template,
    /// The inside of one `{{ }}`.
    Expression,
}

pub(crate) fn parse_template(source: &str) -> Result<Stmt<'_>, Error> {
    parse(source, "template", syntax())
}

pub(crate) fn parse_expression(source: &str) -> Result<Expr<'_>, Error> {
    parse_expr(source)
}

pub(crate) fn tokens(source: &str, form: Form) -> impl Iterator<Item = Result<(Token<'_>, Span), Error>> {
    tokenize(source, form == Form::Expression, syntax())
}

pub(crate) fn is_literal(token: &Token<'_>) -> bool {
    matches!(token, Token::Str(_) | Token::String(_) | Token::Int(_) | Token::Int128(_) | Token::Float(_))
}

/// The byte range of a span.
pub(crate) fn range(span: Span) -> Range<usize> {
    let offset = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
    offset(span.start_offset)..offset(span.end_offset)
}

/// Jinja's own syntax, except that a newline at the end of a template belongs to its text.
fn syntax() -> SyntaxConfig {
    SyntaxConfig::builder().keep_trailing_newline(true).build().unwrap_or_default()
}
