//! Rewrites expressions: operators, filters, tests and calls.

use std::ops::Range;

use minijinja::value::ValueKind;

use super::Rewriter;
use crate::error::TemplateError;
use crate::filters::{self, FUNCTIONS};
use crate::limits::LITERAL_BYTES_MAX;
use crate::syntax::{BinOpKind, Call, CallArg, CompareOpKind, Expr, Filter, UnaryOpKind, range};

impl<'a> Rewriter<'a> {
    pub(super) fn expr(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
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
                    // Jinja prints nothing here, so the value is the empty text.
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

    /// A value that is assigned or compared. Without the depth check, a loop could nest a list in itself until a walk
    /// overflows the stack.
    pub(super) fn charged(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
        self.put("(");
        self.expr(expr)?;
        self.put(")|escrow_charged");
        Ok(())
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

    /// A member of a list or object literal, which must not be undefined.
    fn member(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
        if matches!(expr, Expr::Const(_) | Expr::List(_) | Expr::Map(_)) {
            return self.expr(expr);
        }
        self.put("(");
        self.expr(expr)?;
        self.put(")|escrow_defined");
        Ok(())
    }

    /// The operand of an index or a slice. The parentheses are needed to index the result of a filter.
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
        self.charged(expr)
    }

    fn binary(&mut self, op: BinOpKind, left: &Expr<'a>, right: &Expr<'a>) -> Result<(), TemplateError> {
        let (between, compares) = match op {
            BinOpKind::Add => return self.as_filter("escrow_add", left, right),
            BinOpKind::Mul => return self.as_filter("escrow_multiply", left, right),
            BinOpKind::Concat => return self.as_filter("escrow_concat", left, right),
            BinOpKind::Eq => (" == ", true),
            BinOpKind::Ne => (" != ", true),
            BinOpKind::Lt => return self.as_filter("escrow_less", left, right),
            BinOpKind::Lte => return self.as_filter("escrow_less_or_equal", left, right),
            BinOpKind::Gt => return self.as_filter("escrow_greater", left, right),
            BinOpKind::Gte => return self.as_filter("escrow_greater_or_equal", left, right),
            BinOpKind::In => return self.as_filter("escrow_in", left, right),
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

    /// The filters of a block, which apply to the block's text.
    pub(super) fn filter_chain(&mut self, expr: &Expr<'a>) -> Result<(), TemplateError> {
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

    pub(super) fn call(&mut self, call: &Call<'a>, span: Range<usize>) -> Result<(), TemplateError> {
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
            Expr::GetAttr(attr) if self.is_memory(&attr.expr) => {
                let message = format!("`memory.{}(…)` belongs to expressions", attr.name);
                return Err(TemplateError::new(message, span).with_help("in a template write `memory.key`"));
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

    /// Whether an expression is the run's memory, and not a variable of the template with that name.
    fn is_memory(&self, expr: &Expr<'a>) -> bool {
        matches!(expr, Expr::Var(var) if var.id == "memory" && !self.assigned.contains(var.id) && !self.is_local(var.id))
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
}

fn unknown(kind: &str, name: &str, known: &[&str], span: Range<usize>) -> TemplateError {
    TemplateError::new(format!("there is no {kind} `{name}`"), span)
        .with_help(format!("there are: {}", known.join(", ")))
}
