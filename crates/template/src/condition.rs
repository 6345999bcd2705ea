//! A Jinja expression that is asked for yes or no, as in the `condition` of a chain's step.

use crate::budget::Budget;
use crate::engine::context;
use crate::fault::{TemplateError, TemplateFault};
use crate::reads::Read;
use crate::template::{Kind, Template};
use escrow_expr::Scope;

#[derive(Debug)]
pub struct Condition {
    expression: Template,
}

impl Condition {
    /// An expression (`steps[0].status == 'failed'`), which may stand within `{{ }}`.
    pub fn parse(source: &str) -> Result<Condition, TemplateError> {
        let trimmed = source.trim();
        let inner = trimmed.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        // `{{ a }} and {{ b }}` also begins and ends so; read as one expression it is a syntax error.
        let (inner, offset) = match inner {
            Some(inner) => (inner, source.len() - source.trim_start().len() + 2),
            None => (source, 0),
        };
        let expression = Template::parse_expression(inner).map_err(|error| error.moved(offset))?;
        Ok(Condition { expression })
    }

    pub fn reads(&self) -> &[Read] {
        self.expression.reads()
    }

    /// Jinja's truth: false, null, 0, and what is empty are false.
    pub fn holds(&self, scope: &dyn Scope) -> Result<bool, TemplateFault> {
        let compiled = &self.expression.compiled;
        match &self.expression.kind {
            Kind::Expression(expression) => expression
                .eval(context(compiled, scope, &Budget::full()))
                .map(|value| value.is_true())
                .map_err(|error| compiled.fault(&error)),
            Kind::Constant(text) => Ok(!text.is_empty()),
            Kind::Text(_) => self.expression.render(scope).map(|text| !text.is_empty()),
        }
    }
}
