//! Rewrites statements.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Rewriter;
use super::assigned::{parameter_names, targets};
use crate::error::TemplateError;
use crate::filters::WRITTEN;
use crate::limits::LITERAL_BYTES_MAX;
use crate::syntax::{Expr, Macro, Stmt, range};

impl<'a> Rewriter<'a> {
    pub(super) fn statements(&mut self, statements: &[Stmt<'a>]) -> Result<(), TemplateError> {
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
                    self.put("|");
                    self.put(WRITTEN);
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
                // A name assigned in a branch may still be free after it, so it counts as read there.
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
                    self.charged(value)?;
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
                self.charged(&set.expr)?;
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
                // The tree holds the callback as a macro next to the call; the source has the callback's
                // parameters before the call and its body after it.
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
}

fn from_another_file(statement: &str, span: Range<usize>) -> TemplateError {
    TemplateError::new(format!("there is no statement `{statement}`"), span)
        .with_help("a template stands alone: write the text here, or in a macro")
}
