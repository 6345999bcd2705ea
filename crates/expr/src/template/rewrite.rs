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

use std::collections::BTreeSet;
use std::ops::Range;

use minijinja::machinery::Span;
use minijinja::machinery::ast::{
    BinOpKind, Call, CallArg, CompareOpKind, Expr, Filter, Macro, Stmt, UnaryOpKind,
};
use minijinja::value::ValueKind;

use assigned::{collect_assigned, parameter_names, targets};

use super::fault::TemplateError;
use super::filters::{self, FUNCTIONS, PRIVATE_PREFIX};
use super::limits::LITERAL_BYTES_MAX;
use super::reads::{Read, Step};

/// What the engine compiles, and what it must be given.
#[derive(Debug, Default)]
pub(super) struct Rewritten {
    pub(super) source: String,
    /// Every free name, in the order in which they are written.
    pub(super) reads: Vec<Read>,
    /// For each read, the name under which the rewritten source looks it up.
    pub(super) names: Vec<String>,
}

pub(super) fn template(statements: &[Stmt<'_>]) -> Result<Rewritten, TemplateError> {
    let mut assigned = BTreeSet::new();
    collect_assigned(statements, &mut assigned);
    let mut rewriter =
        Rewriter { out: Rewritten::default(), assigned, scopes: vec![BTreeSet::new()], line_start: 0 };
    rewriter.statements(statements)?;
    Ok(rewriter.out)
}

pub(super) fn expression(expr: &Expr<'_>) -> Result<Rewritten, TemplateError> {
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

pub(super) fn range(span: Span) -> Range<usize> {
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

    fn statements(&mut self, statements: &[Stmt<'a>]) -> Result<(), TemplateError> {
        statements.iter().try_for_each(|statement| self.statement(statement))
    }

    fn scoped(&mut self, statements: &[Stmt<'a>], names: &[&'a str]) -> Result<(), TemplateError> {
        self.scopes.push(names.iter().copied().collect());
        let result = self.statements(statements);
        self.scopes.pop();
        result
    }

    fn statement(&mut self, statement: &Stmt<'a>) -> Result<(), TemplateError> {
        match statement {
            Stmt::Template(template) => self.statements(&template.children),
            Stmt::EmitRaw(text) => {
                let mut rest = text.raw;
                while !rest.is_empty() {
                    let (chunk, more) = rest.split_at(rest.floor_char_boundary(LITERAL_BYTES_MAX));
                    self.put("{{ ");
                    self.string(chunk);
                    self.put(" }}");
                    rest = more;
                }
                Ok(())
            }
            Stmt::EmitExpr(emit) => {
                self.put("{{ ");
                self.break_line();
                self.expr(&emit.expr)?;
                self.put(" }}");
                Ok(())
            }
            Stmt::ForLoop(each) => {
                self.put("{% for ");
                self.break_line();
                let mut names = vec!["loop"];
                targets(&each.target, &mut names);
                self.target(&each.target)?;
                self.put(" in (");
                self.expr(&each.iter)?;
                self.put(")|escrow_looped");
                if let Some(filter) = &each.filter_expr {
                    self.put(" if ");
                    self.scopes.push(names.iter().copied().collect());
                    let result = self.expr(filter);
                    self.scopes.pop();
                    result?;
                }
                self.put(if each.recursive { " recursive %}" } else { " %}" });
                self.scoped(&each.body, &names)?;
                if !each.else_body.is_empty() {
                    self.put("{% else %}");
                    self.scoped(&each.else_body, &[])?;
                }
                self.put("{% endfor %}");
                Ok(())
            }
            Stmt::IfCond(branch) => {
                self.put("{% if ");
                self.break_line();
                self.expr(&branch.expr)?;
                self.put(" %}");
                // A name that is assigned in a branch may be free behind it: it counts as read there.
                self.scoped(&branch.true_body, &[])?;
                if !branch.false_body.is_empty() {
                    self.put("{% else %}");
                    self.scoped(&branch.false_body, &[])?;
                }
                self.put("{% endif %}");
                Ok(())
            }
            Stmt::WithBlock(with) => {
                self.put("{% with ");
                self.scopes.push(BTreeSet::new());
                for (index, (target, value)) in with.assignments.iter().enumerate() {
                    if index > 0 {
                        self.comma();
                    }
                    self.target(target)?;
                    self.put(" = ");
                    self.kept(value)?;
                    self.assign(target);
                }
                self.put(" %}");
                let result = self.statements(&with.body);
                self.scopes.pop();
                result?;
                self.put("{% endwith %}");
                Ok(())
            }
            Stmt::Set(set) => {
                self.put("{% set ");
                self.break_line();
                self.target(&set.target)?;
                self.put(" = ");
                self.kept(&set.expr)?;
                self.put(" %}");
                self.assign(&set.target);
                Ok(())
            }
            Stmt::SetBlock(set) => {
                self.put("{% set ");
                self.break_line();
                self.target(&set.target)?;
                if let Some(filter) = &set.filter {
                    self.put(" | ");
                    self.filter_chain(filter)?;
                }
                self.put(" %}");
                self.scoped(&set.body, &[])?;
                self.put("{% endset %}");
                self.assign(&set.target);
                Ok(())
            }
            Stmt::FilterBlock(block) => {
                self.put("{% filter ");
                self.filter_chain(&block.filter)?;
                self.put(" %}");
                self.scoped(&block.body, &[])?;
                self.put("{% endfilter %}");
                Ok(())
            }
            Stmt::AutoEscape(block) => {
                Err(TemplateError::new("there is no automatic escaping in templates", range(block.span()))
                    .with_help("use the filter `escape` where a value goes into HTML"))
            }
            Stmt::Block(block) => Err(from_another_file("block", range(block.span()))),
            Stmt::Import(import) => Err(from_another_file("import", range(import.span()))),
            Stmt::FromImport(import) => Err(from_another_file("from", range(import.span()))),
            Stmt::Extends(extends) => Err(from_another_file("extends", range(extends.span()))),
            Stmt::Include(include) => Err(from_another_file("include", range(include.span()))),
            Stmt::Macro(decl) => {
                self.public(decl.name, range(decl.span()))?;
                self.assign_name(decl.name);
                self.put("{% macro ");
                self.put(decl.name);
                self.macro_rest(decl, &["caller"])?;
                self.put("{% endmacro %}");
                Ok(())
            }
            Stmt::CallBlock(block) => {
                self.put("{% call");
                // The parser keeps the callback as a macro and the call beside it; the source has the
                // callback's arguments before the call and its body behind.
                self.put("(");
                self.parameters(&block.macro_decl)?;
                self.put(") ");
                self.call(&block.call, range(block.call.span()))?;
                self.put(" %}");
                let names = parameter_names(&block.macro_decl);
                self.scoped(&block.macro_decl.body, &names)?;
                self.put("{% endcall %}");
                Ok(())
            }
            Stmt::Do(statement) => {
                self.put("{% do ");
                self.call(&statement.call, range(statement.call.span()))?;
                self.put(" %}");
                Ok(())
            }
        }
    }

    fn macro_rest(&mut self, decl: &Macro<'a>, more: &[&'a str]) -> Result<(), TemplateError> {
        self.put("(");
        self.parameters(decl)?;
        self.put(") %}");
        let mut names = parameter_names(decl);
        names.extend(more);
        self.scoped(&decl.body, &names)
    }

    fn parameters(&mut self, decl: &Macro<'a>) -> Result<(), TemplateError> {
        let without_default = decl.args.len().saturating_sub(decl.defaults.len());
        for (index, arg) in decl.args.iter().enumerate() {
            if index > 0 {
                self.comma();
            }
            self.target(arg)?;
            if let Some(default) =
                index.checked_sub(without_default).and_then(|index| decl.defaults.get(index))
            {
                self.put("=");
                self.expr(default)?;
            }
        }
        Ok(())
    }

    /// The left side of an assignment.
    fn target(&mut self, target: &Expr<'a>) -> Result<(), TemplateError> {
        match target {
            Expr::Var(var) => {
                self.public(var.id, range(var.span()))?;
                self.put(var.id);
                Ok(())
            }
            Expr::Tuple(tuple) => self.target_list(&tuple.items),
            Expr::List(list) => self.target_list(&list.items),
            Expr::GetAttr(attr) => {
                self.target(&attr.expr)?;
                self.put(".");
                self.put(attr.name);
                Ok(())
            }
            other => Err(TemplateError::new("this cannot be assigned to", range(other.span()))),
        }
    }

    fn target_list(&mut self, items: &[Expr<'a>]) -> Result<(), TemplateError> {
        self.put("(");
        for item in items {
            self.target(item)?;
            self.comma();
        }
        self.put(")");
        Ok(())
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

    /// A value that is given a name. Without the check, a loop could nest a list in itself until the
    /// stack ends.
    fn kept(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
        self.put("(");
        self.expr(expr)?;
        self.put(")|escrow_charged");
        Ok(())
    }

    fn expr(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
        if let Some(read) = self.literal_path(expr) {
            return self.read(read);
        }
        match expr {
            Expr::Var(var) => {
                self.public(var.id, range(var.span()))?;
                self.put(var.id);
                Ok(())
            }
            Expr::Const(constant) => match constant.value.kind() {
                ValueKind::String => {
                    let text = constant.value.as_str().unwrap_or_default();
                    if text.len() > LITERAL_BYTES_MAX {
                        let message =
                            format!("a text within an expression is at most {LITERAL_BYTES_MAX} bytes long");
                        return Err(TemplateError::new(message, range(constant.span())));
                    }
                    self.string(text);
                    Ok(())
                }
                _ => {
                    let text = constant.value.to_string();
                    self.put(&text);
                    Ok(())
                }
            },
            Expr::Slice(slice) => {
                self.indexed(&slice.expr)?;
                self.put("[");
                if let Some(start) = &slice.start {
                    self.expr(start)?;
                }
                self.put(":");
                if let Some(stop) = &slice.stop {
                    self.expr(stop)?;
                }
                if let Some(step) = &slice.step {
                    self.put(":");
                    self.expr(step)?;
                }
                self.put("]");
                Ok(())
            }
            Expr::UnaryOp(unary) => {
                self.put(match unary.op {
                    UnaryOpKind::Not => "(not ",
                    UnaryOpKind::Neg => "(-",
                });
                self.expr(&unary.expr)?;
                self.put(")");
                Ok(())
            }
            Expr::BinOp(binary) => self.binary(binary.op, &binary.left, &binary.right),
            Expr::Compare(compare) => {
                self.put("(");
                self.operand(&compare.expr)?;
                for step in &compare.ops {
                    self.put(match step.op {
                        CompareOpKind::Eq => " == ",
                        CompareOpKind::Ne => " != ",
                        CompareOpKind::Lt => " < ",
                        CompareOpKind::Lte => " <= ",
                        CompareOpKind::Gt => " > ",
                        CompareOpKind::Gte => " >= ",
                        CompareOpKind::In => " in ",
                        CompareOpKind::NotIn => " not in ",
                    });
                    self.operand(&step.expr)?;
                }
                self.put(")");
                Ok(())
            }
            Expr::IfExpr(choice) => {
                self.put("(");
                self.expr(&choice.true_expr)?;
                self.put(" if ");
                self.expr(&choice.test_expr)?;
                self.put(" else ");
                match &choice.false_expr {
                    Some(other) => self.expr(other)?,
                    // Jinja prints nothing here, and nothing as a value is the empty text.
                    None => self.put("\"\""),
                }
                self.put(")");
                Ok(())
            }
            Expr::Filter(filter) => {
                self.put("(");
                match &filter.expr {
                    Some(inner) => {
                        self.put("(");
                        self.expr(inner)?;
                        self.put(")|");
                    }
                    None => {
                        return Err(TemplateError::new("a filter wants a value", range(filter.span())));
                    }
                }
                self.filter(filter, range(filter.span()))?;
                self.put(")");
                Ok(())
            }
            Expr::Test(test) => {
                self.public(test.name, range(test.span()))?;
                if !filters::has_test(test.name) {
                    return Err(unknown("test", test.name, &filters::test_names(), range(test.span())));
                }
                self.put("((");
                self.expr(&test.expr)?;
                self.put(") is ");
                self.put(test.name);
                if !test.args.is_empty() {
                    self.arguments(&test.args)?;
                }
                self.put(")");
                Ok(())
            }
            Expr::GetAttr(attr) => {
                self.base(&attr.expr)?;
                self.put(".");
                self.put(attr.name);
                Ok(())
            }
            Expr::GetItem(item) => {
                self.indexed(&item.expr)?;
                self.put("[");
                self.expr(&item.subscript_expr)?;
                self.put("]");
                Ok(())
            }
            Expr::Call(call) => self.call(call, range(call.span())),
            Expr::List(list) => {
                self.put("[");
                self.items(&list.items)?;
                self.put("]");
                Ok(())
            }
            Expr::Tuple(tuple) => {
                // JSON has no tuples; a template's tuple is a list.
                self.put("[");
                self.items(&tuple.items)?;
                self.put("]");
                Ok(())
            }
            Expr::Map(map) => {
                self.put("{");
                for (index, (key, value)) in map.keys.iter().zip(&map.values).enumerate() {
                    if index > 0 {
                        self.comma();
                    }
                    self.expr(key)?;
                    self.put(": ");
                    self.member(value)?;
                }
                self.put("}");
                Ok(())
            }
        }
    }

    fn items(&mut self, items: &[Expr<'a>]) -> Result<(), TemplateError> {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.comma();
            }
            self.member(item)?;
        }
        Ok(())
    }

    /// A member of a list or an object that the template writes: never undefined.
    fn member(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
        if matches!(expr, Expr::Const(_) | Expr::List(_) | Expr::Map(_)) {
            return self.expr(expr);
        }
        self.put("(");
        self.expr(expr)?;
        self.put(")|escrow_defined");
        Ok(())
    }

    /// What stands before an index. A filter takes an index behind it only within parentheses.
    fn indexed(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
        self.put("((");
        self.expr(expr)?;
        self.put(")|escrow_indexed)");
        Ok(())
    }

    fn base(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
        if matches!(expr, Expr::Var(_) | Expr::GetAttr(_) | Expr::Call(_))
            && self.literal_path(expr).is_none()
        {
            return self.expr(expr);
        }
        self.put("(");
        self.expr(expr)?;
        self.put(")");
        Ok(())
    }

    fn operand(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
        if matches!(expr, Expr::Const(_)) {
            return self.expr(expr);
        }
        self.kept(expr)
    }

    fn binary(&mut self, op: BinOpKind, left: &Expr<'a>, right: &Expr<'a>) -> Result<(), TemplateError> {
        let (between, compares) = match op {
            BinOpKind::Add => return self.as_filter("escrow_add", left, right),
            BinOpKind::Mul => return self.as_filter("escrow_multiply", left, right),
            BinOpKind::Concat => return self.as_filter("escrow_concat", left, right),
            BinOpKind::Eq => (" == ", true),
            BinOpKind::Ne => (" != ", true),
            BinOpKind::Lt => (" < ", true),
            BinOpKind::Lte => (" <= ", true),
            BinOpKind::Gt => (" > ", true),
            BinOpKind::Gte => (" >= ", true),
            BinOpKind::In => (" in ", true),
            BinOpKind::ScAnd => (" and ", false),
            BinOpKind::ScOr => (" or ", false),
            BinOpKind::Sub => (" - ", false),
            BinOpKind::Div => (" / ", false),
            BinOpKind::FloorDiv => (" // ", false),
            BinOpKind::Rem => (" % ", false),
            BinOpKind::Pow => (" ** ", false),
        };
        self.put("(");
        if compares {
            self.operand(left)?
        } else {
            self.expr(left)?
        }
        self.put(between);
        if compares {
            self.operand(right)?
        } else {
            self.expr(right)?
        }
        self.put(")");
        Ok(())
    }

    fn as_filter(&mut self, name: &str, left: &Expr<'a>, right: &Expr<'a>) -> Result<(), TemplateError> {
        self.put("((");
        self.expr(left)?;
        self.put(")|");
        self.put(name);
        self.put("(");
        self.expr(right)?;
        self.put("))");
        Ok(())
    }

    /// The filters of a block, which have no value in front.
    fn filter_chain(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
        match expr {
            Expr::Filter(filter) => {
                if let Some(inner) = &filter.expr {
                    self.filter_chain(inner)?;
                    self.put("|");
                }
                self.filter(filter, range(filter.span()))
            }
            other => Err(TemplateError::new("a block can only be filtered by filters", range(other.span()))),
        }
    }

    fn filter(&mut self, filter: &Filter<'a>, span: Range<usize>) -> Result<(), TemplateError> {
        self.public(filter.name, span.clone())?;
        if !filters::has_filter(filter.name) {
            return Err(unknown("filter", filter.name, &filters::filter_names(), span));
        }
        self.put(filter.name);
        if !filter.args.is_empty() {
            self.arguments(&filter.args)?;
        }
        Ok(())
    }

    fn call(&mut self, call: &Call<'a>, span: Range<usize>) -> Result<(), TemplateError> {
        match &call.expr {
            Expr::Var(var) => {
                let known =
                    FUNCTIONS.contains(&var.id) || self.assigned.contains(var.id) || self.is_local(var.id);
                if !known {
                    return Err(unknown("function", var.id, FUNCTIONS, span));
                }
                self.public(var.id, span)?;
                self.put(var.id);
            }
            Expr::GetAttr(attr) => {
                self.base(&attr.expr)?;
                self.put(".");
                self.put(attr.name);
            }
            other => {
                self.put("(");
                self.expr(other)?;
                self.put(")");
            }
        }
        self.arguments(&call.args)
    }

    fn arguments(&mut self, args: &[CallArg<'a>]) -> Result<(), TemplateError> {
        self.put("(");
        for (index, arg) in args.iter().enumerate() {
            if index > 0 {
                self.comma();
            }
            match arg {
                CallArg::Pos(value) => self.expr(value)?,
                CallArg::Kwarg(name, value) => {
                    self.put(name);
                    self.put("=");
                    self.expr(value)?;
                }
                CallArg::PosSplat(value) => {
                    self.put("*");
                    self.expr(value)?;
                }
                CallArg::KwargSplat(value) => {
                    self.put("**");
                    self.expr(value)?;
                }
            }
        }
        self.put(")");
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

    /// A free name with the literal members behind it.
    fn literal_path(&self, expr: &Expr<'a>) -> Option<Read> {
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

    fn read(&mut self, read: Read) -> Result<(), TemplateError> {
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

fn unknown(kind: &str, name: &str, known: &[&str], span: Range<usize>) -> TemplateError {
    TemplateError::new(format!("there is no {kind} `{name}`"), span)
        .with_help(format!("there are: {}", known.join(", ")))
}

fn from_another_file(statement: &str, span: Range<usize>) -> TemplateError {
    TemplateError::new(format!("there is no statement `{statement}`"), span)
        .with_help("a template stands alone: write the text here, or in a macro")
}
