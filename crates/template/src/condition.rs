//! A Jinja expression that is evaluated to true or false, for the `condition` of a chain's step.

use crate::budget::Budget;
use crate::engine::context;
use crate::error::{RenderError, TemplateError};
use crate::reads::TemplateRead;
use crate::template::{Kind, Template};
use escrow_expr::Scope;

#[derive(Debug)]
pub struct Condition {
    expression: Template,
}

impl Condition {
    /// Parses an expression (`steps[0].status == 'failed'`), with or without `{{ }}` around it.
    pub fn parse(source: &str) -> Result<Condition, TemplateError> {
        let trimmed = source.trim();
        let inner = trimmed.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        // `{{ a }} and {{ b }}` has the same prefix and suffix; parsed as one expression it is a syntax error.
        let (inner, offset) = match inner {
            Some(inner) => (inner, source.len() - source.trim_start().len() + 2),
            None => (source, 0),
        };
        let expression = Template::parse_expression(inner).map_err(|error| error.moved(offset))?;
        Ok(Condition { expression })
    }

    pub fn reads(&self) -> &[TemplateRead] {
        self.expression.reads()
    }

    /// Whether the value is truthy in Jinja: false, null, 0 and empty values are not.
    pub fn holds(&self, scope: &dyn Scope) -> Result<bool, RenderError> {
        let compiled = &self.expression.compiled;
        match &self.expression.kind {
            Kind::Expression(expression) => expression
                .eval(context(compiled, scope, &Budget::full()))
                .map(|value| value.is_true())
                .map_err(|error| compiled.render_error(&error)),
            Kind::Constant(text) => Ok(!text.is_empty()),
            Kind::Text(_) => self.expression.render(scope).map(|text| !text.is_empty()),
        }
    }
}
