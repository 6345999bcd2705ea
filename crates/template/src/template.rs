//! A template, compiled once and rendered over a scope.

use std::io;
use std::sync::Arc;

use escrow_expr::Scope;
use minijinja::{Environment, Expression};

use crate::budget::Budget;
use crate::engine::{Compiled, ENGINE, context};
use crate::error::{RenderError, TemplateError};
use crate::parse::{self, Parsed};
use crate::parts::{self, Part};
use crate::reads::TemplateRead;
use crate::{convert, limits, rewrite, text, url};

/// A template that was read and compiled once.
pub struct Template {
    pub(crate) kind: Kind,
    pub(crate) compiled: Compiled,
}

pub(crate) enum Kind {
    Constant(String),
    Expression(Box<Expression<'static, 'static>>),
    Text(Box<Environment<'static>>),
}

/// The name of the one template in an environment.
const NAME: &str = "template";

impl Template {
    pub fn parse(source: &str) -> Result<Template, TemplateError> {
        let rewritten = match parse::template(source)? {
            Parsed::Constant(text) => {
                return Ok(Template { kind: Kind::Constant(text), compiled: Compiled::default() });
            }
            Parsed::Expression(rewritten) => return Template::of_expression(rewritten, source),
            Parsed::Text(rewritten) => rewritten,
        };
        let (text, compiled) = Compiled::of(rewritten);
        let mut env = ENGINE.clone();
        env.add_template_owned(NAME, text).map_err(|cause| uncompilable(&cause, source))?;
        Ok(Template { kind: Kind::Text(Box::new(env)), compiled })
    }

    /// Parses the inside of one `{{ }}`.
    pub fn parse_expression(source: &str) -> Result<Template, TemplateError> {
        Template::of_expression(parse::expression(source)?, source)
    }

    fn of_expression(rewritten: rewrite::Rewritten, source: &str) -> Result<Template, TemplateError> {
        let (text, compiled) = Compiled::of(rewritten);
        let expression =
            ENGINE.compile_expression_owned(text).map_err(|cause| uncompilable(&cause, source))?;
        Ok(Template { kind: Kind::Expression(Box::new(expression)), compiled })
    }

    /// Whether the source has no template syntax. Rendering a constant cannot fail.
    pub fn is_constant(&self) -> bool {
        matches!(self.kind, Kind::Constant(_))
    }

    /// Every free name with its literal members, in source order.
    pub fn reads(&self) -> &[TemplateRead] {
        &self.compiled.reads
    }

    /// The text: strings as they are, every other value as compact JSON.
    pub fn render(&self, scope: &dyn Scope) -> Result<String, RenderError> {
        let budget = Budget::full();
        match &self.kind {
            Kind::Constant(text) => Ok(text.clone()),
            Kind::Expression(expression) => expression
                .eval(context(&self.compiled, scope, &budget))
                .and_then(|value| text::text_of(&value, &budget))
                .map_err(|error| self.compiled.render_error(&error)),
            Kind::Text(env) => self.render_text(env, scope, &budget),
        }
    }

    /// The value, which keeps its type when the template is a single `{{ }}`; otherwise the text.
    pub fn value(&self, scope: &dyn Scope) -> Result<serde_json::Value, RenderError> {
        match &self.kind {
            Kind::Expression(expression) => {
                let budget = Budget::full();
                expression
                    .eval(context(&self.compiled, scope, &budget))
                    .and_then(|value| convert::to_json(&value, &budget, 0))
                    .map_err(|error| self.compiled.render_error(&error))
            }
            Kind::Constant(_) | Kind::Text(_) => self.render(scope).map(serde_json::Value::from),
        }
    }

    /// The text in parts: what the author wrote, and what values have put between.
    pub fn parts(&self, scope: &dyn Scope) -> Result<Vec<Part>, RenderError> {
        match &self.kind {
            Kind::Constant(text) => Ok(vec![Part::Written(text.clone())]),
            Kind::Expression(_) => Ok(vec![Part::Value(self.render(scope)?)]),
            Kind::Text(env) => Ok(parts::split(&self.render_text(env, scope, &Budget::marking_values())?)),
        }
    }

    /// The text as a URL, in parts. Each value is encoded for its place.
    pub fn url(&self, scope: &dyn Scope) -> Result<Vec<Part>, RenderError> {
        url::encoded(&self.parts(scope)?).map_err(|error| RenderError::Failed { message: error.to_string() })
    }

    /// Whether the template is a single `{{ }}`, whose value keeps its type.
    pub fn is_expression(&self) -> bool {
        matches!(self.kind, Kind::Expression(_))
    }

    /// The text as one argument of a command, which cannot hold a NUL character.
    pub fn argument(&self, scope: &dyn Scope) -> Result<String, RenderError> {
        let text = self.render(scope)?;
        if text.contains('\0') {
            let expression =
                self.reads().first().map_or_else(|| "the argument".to_owned(), TemplateRead::to_string);
            return Err(RenderError::Nul { expression });
        }
        Ok(text)
    }

    fn render_text(
        &self,
        env: &Environment<'static>,
        scope: &dyn Scope,
        budget: &Arc<Budget>,
    ) -> Result<String, RenderError> {
        let mut page = BoundedOutput { bytes: Vec::new(), full: false };
        let result = env.get_template(NAME).and_then(|template| {
            template.render_captured_to(context(&self.compiled, scope, budget), &mut page).map(drop)
        });
        match result {
            Err(_) if page.full => Err(RenderError::Limit {
                message: format!("the template's text is longer than {} bytes", limits::OUTPUT_BYTES_MAX),
            }),
            Err(error) => Err(self.compiled.render_error(&error)),
            Ok(()) => String::from_utf8(page.bytes)
                .map_err(|_| RenderError::Failed { message: "the template's text is not UTF-8".to_owned() }),
        }
    }
}

impl std::fmt::Debug for Template {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match &self.kind {
            Kind::Constant(_) => "constant",
            Kind::Expression(_) => "expression",
            Kind::Text(_) => "text",
        };
        f.debug_struct("Template").field("kind", &kind).field("reads", &self.compiled.reads).finish()
    }
}

/// A span of the rewritten source means nothing to the author, so the error covers the whole source.
fn uncompilable(cause: &minijinja::Error, source: &str) -> TemplateError {
    TemplateError::new(cause.detail().unwrap_or("the template cannot be compiled"), 0..source.len())
}

/// Collects the text up to `OUTPUT_BYTES_MAX`.
struct BoundedOutput {
    bytes: Vec<u8>,
    full: bool,
}

impl io::Write for BoundedOutput {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        if self.bytes.len() + text.len() > limits::OUTPUT_BYTES_MAX {
            self.full = true;
            return Err(io::Error::from(io::ErrorKind::WriteZero));
        }
        self.bytes.extend_from_slice(text);
        Ok(text.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
