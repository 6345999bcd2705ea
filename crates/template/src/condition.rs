//! A Jinja expression that is evaluated to true or false, for the `condition` of a chain's step.

use std::ops::Range;

use crate::absent::is_absent;
use crate::budget::Budget;
use crate::convert::{resolve, to_json};
use crate::engine::context;
use crate::error::{RenderError, TemplateError};
use crate::reads::TemplateRead;
use crate::template::{Kind, Template};
use escrow_expr::Scope;

#[derive(Debug)]
pub struct Condition {
    expression: Template,
    /// With the spans of the whole source.
    reads: Vec<TemplateRead>,
}

/// A read of a condition, and what it gave.
#[derive(Clone, Debug, PartialEq)]
pub struct SeenRead {
    /// As the source has it: `steps[0].outcome.passed`.
    pub source: String,
    /// Bytes of the whole source.
    pub span: Range<usize>,
    pub value: SeenValue,
}

/// The value of a read.
#[derive(Clone, Debug, PartialEq)]
pub enum SeenValue {
    Json(serde_json::Value),
    /// There is none, which is no error.
    Absent,
    /// There is no such member, or it cannot be read.
    Undefined,
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
        let moved = |read: &TemplateRead| TemplateRead {
            span: read.span.start + offset..read.span.end + offset,
            ..read.clone()
        };
        let reads = expression.reads().iter().map(moved).collect();
        Ok(Condition { expression, reads })
    }

    /// Every free name with its literal members, in source order.
    pub fn reads(&self) -> &[TemplateRead] {
        &self.reads
    }

    /// Whether the value is truthy in Jinja: false, null, 0 and empty values are not. A condition over an absent value
    /// is never an error: where it cannot be evaluated because of one, it is false.
    pub fn holds(&self, scope: &dyn Scope) -> Result<bool, RenderError> {
        let compiled = &self.expression.compiled;
        let result = match &self.expression.kind {
            Kind::Expression(expression) => expression
                .eval(context(compiled, scope, &Budget::full()))
                .map(|value| value.is_true())
                .map_err(|error| compiled.render_error(&error)),
            Kind::Constant(text) => Ok(!text.is_empty()),
            Kind::Text(_) => self.expression.render(scope).map(|text| !text.is_empty()),
        };
        let reads_absent = || self.reads().iter().any(|read| self.is_absent(scope, read));
        match result {
            Err(_) if reads_absent() => Ok(false),
            result => result,
        }
    }

    fn is_absent(&self, scope: &dyn Scope, read: &TemplateRead) -> bool {
        resolve(scope, read).is_some_and(|value| is_absent(&value))
    }

    /// Every read, in source order, with its value.
    pub fn seen(&self, scope: &dyn Scope) -> Vec<SeenRead> {
        let budget = Budget::full();
        let seen = self.reads().iter().map(|read| {
            let value = match resolve(scope, read) {
                Some(value) if is_absent(&value) => SeenValue::Absent,
                Some(value) => to_json(&value, &budget, 0).map_or(SeenValue::Undefined, SeenValue::Json),
                None => SeenValue::Undefined,
            };
            SeenRead { source: read.to_string(), span: read.span.clone(), value }
        });
        seen.collect()
    }
}
