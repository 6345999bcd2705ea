//! Parses a template or an expression, and refuses sources whose tree would be too deep to walk.

use crate::error::TemplateError;
use crate::limits::{BRANCHES_MAX, LINE_CHARS_MAX, LINES_MAX, OPERATORS_MAX, SOURCE_BYTES_MAX};
use crate::rewrite::{self, Rewritten};
use crate::syntax::{self, Form, Stmt, Token, is_literal, range};

/// A parsed source, by what it contains.
pub(crate) enum Parsed {
    /// No template syntax, or only comments and `raw` blocks.
    Constant(String),
    /// One `{{ … }}` and nothing around it.
    Expression(Rewritten),
    Text(Rewritten),
}

pub(crate) fn template(source: &str) -> Result<Parsed, TemplateError> {
    // Most strings of a playbook contain no template syntax; they need no parser.
    if !["{{", "{%", "{#"].iter().any(|opening| source.contains(opening)) {
        return Ok(Parsed::Constant(source.to_owned()));
    }
    check_size(source, Form::Template)?;
    let tree = syntax::parse_template(source).map_err(|cause| syntax_error(&cause, source))?;
    let Stmt::Template(root) = &tree else {
        return Err(TemplateError::new("this is not a template", 0..source.len()));
    };
    if root.children.iter().all(|child| matches!(child, Stmt::EmitRaw(_))) {
        let text = root.children.iter().filter_map(|child| match child {
            Stmt::EmitRaw(text) => Some(text.raw),
            _ => None,
        });
        return Ok(Parsed::Constant(text.collect()));
    }
    if let [Stmt::EmitExpr(only)] = root.children.as_slice() {
        return Ok(Parsed::Expression(rewrite::expression(&only.expr)?));
    }
    Ok(Parsed::Text(rewrite::template(&root.children)?))
}

pub(crate) fn expression(source: &str) -> Result<Rewritten, TemplateError> {
    check_size(source, Form::Expression)?;
    let tree = syntax::parse_expression(source).map_err(|cause| syntax_error(&cause, source))?;
    rewrite::expression(&tree)
}

/// minijinja limits how deep brackets nest, but parses a long chain (`a ~ a ~ a …`) into a deep tree, and walking
/// that tree would overflow the stack.
fn check_size(source: &str, form: Form) -> Result<(), TemplateError> {
    if source.len() > SOURCE_BYTES_MAX {
        return Err(TemplateError::new(
            format!("the template is {} bytes long; {SOURCE_BYTES_MAX} are allowed", source.len()),
            0..0,
        ));
    }
    let too_wide =
        source.lines().any(|line| line.len() > LINE_CHARS_MAX && line.chars().count() > LINE_CHARS_MAX);
    if too_wide || source.matches('\n').count() > LINES_MAX {
        return Err(TemplateError::new(
            format!("a template has at most {LINES_MAX} lines, and {LINE_CHARS_MAX} characters in a line"),
            0..0,
        ));
    }
    let (mut operators, mut branches) = (0, 0);
    for token in syntax::tokens(source, form) {
        let (token, span) = token.map_err(|cause| syntax_error(&cause, source))?;
        match token {
            Token::VariableStart | Token::BlockStart => operators = 0,
            Token::Ident("elif") => branches += 1,
            Token::Ident("and" | "or" | "not" | "is" | "in" | "if" | "else") => operators += 1,
            Token::Ident(_)
            | Token::TemplateData(_)
            | Token::Comma
            | Token::Colon
            | Token::Assign
            | Token::VariableEnd
            | Token::BlockEnd
            | Token::BracketClose
            | Token::ParenClose
            | Token::BraceClose => {}
            _ if is_literal(&token) => {}
            _ => operators += 1,
        }
        if operators > OPERATORS_MAX || branches > BRANCHES_MAX {
            let message = if branches > BRANCHES_MAX {
                format!("the template has more than {BRANCHES_MAX} `elif` branches")
            } else {
                format!("the expression has more than {OPERATORS_MAX} operators")
            };
            return Err(TemplateError::new(message, range(span))
                .with_help("split it: give parts of it a name with `{% set name = … %}`"));
        }
    }
    Ok(())
}

pub(crate) fn syntax_error(cause: &minijinja::Error, source: &str) -> TemplateError {
    let span = cause.range().filter(|span| source.get(span.clone()).is_some()).unwrap_or(0..source.len());
    let detail = cause.detail().map_or_else(|| cause.kind().to_string(), str::to_owned);
    if let Some(name) = detail.strip_prefix("unknown statement ") {
        let error = TemplateError::new(format!("there is no statement `{name}`"), span);
        return match help_for_liquid(name) {
            Some(help) => error.with_help(help),
            None => error,
        };
    }
    // Inside `if` the parser expects its own words, and points at the one that it found.
    let word = source.get(span.clone()).unwrap_or_default();
    match help_for_liquid(word) {
        Some(help) => TemplateError::new(format!("there is no statement `{word}`"), span).with_help(help),
        None => TemplateError::new(detail, span),
    }
}

/// What to write in place of a statement of Liquid.
pub(crate) fn help_for_liquid(statement: &str) -> Option<&'static str> {
    STATEMENTS_OF_LIQUID.iter().find(|(liquid, _)| *liquid == statement).map(|(_, help)| *help)
}

/// Statements of Liquid, the template language of other engines, with what Jinja has for them.
const STATEMENTS_OF_LIQUID: &[(&str, &str)] = &[
    ("assign", "write `{% set name = value %}`"),
    ("elsif", "write `{% elif condition %}`"),
    ("unless", "write `{% if not condition %}`"),
    ("endunless", "write `{% endif %}`"),
    ("case", "write `{% if value == 'a' %}` … `{% elif value == 'b' %}`"),
    ("when", "write `{% elif value == 'b' %}`"),
    ("endcase", "write `{% endif %}`"),
    ("capture", "write `{% set name %}` … `{% endset %}`"),
    ("endcapture", "write `{% endset %}`"),
    ("comment", "write `{# … #}`"),
    ("endcomment", "write `{# … #}`"),
    ("increment", "write `{% set count = count + 1 %}`"),
    ("tablerow", "write `{% for item in list %}`"),
    ("render", "templates of other files cannot be included; insert the text with `{{ … }}`"),
    ("include", "templates of other files cannot be included; insert the text with `{{ … }}`"),
];
