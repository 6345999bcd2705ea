//! Shell scripts that take values without ever containing them.
//!
//!   exec ──split──▶ text and `{{ }}` ──scan──▶ constant script, and the words of each command
//!                                    ──rules─▶ values that a program would read as code
//!
//! Each `{{ }}` becomes a reference to a variable of its own, quoted for its context, and the value is passed in the
//! environment. A script is refused at parse time when a reference would still be read as code, or when its context
//! allows none.
//!
//! **Invariant:** `script()` does not depend on any value. The scanner may refuse a harmless script; it
//! never guesses.

mod error;
mod rules;
mod scan;
mod split;
mod word;

use std::ops::Range;

pub use error::{ShellError, ShellErrorKind};

use crate::Template;
use crate::error::RenderError;
use crate::limits;
use crate::limits::{VARIABLE_BYTES_MAX, VARIABLES_BYTES_MAX};
use crate::reads::TemplateRead;
use escrow_expr::Scope;

/// The prefix of the variables that carry values.
pub const VARIABLE_PREFIX: &str = "ESCROW_VALUE_";

/// A script for `/bin/sh -c`, and the values it refers to.
#[derive(Debug)]
pub struct ShellScript {
    script: String,
    values: Vec<Insertion>,
    reads: Vec<TemplateRead>,
}

#[derive(Debug)]
struct Insertion {
    variable: String,
    written: String,
    value: Template,
}

impl ShellScript {
    pub fn parse(source: &str) -> Result<ShellScript, Vec<ShellError>> {
        if source.len() > limits::SOURCE_BYTES_MAX {
            return Err(vec![ShellError::too_long(source.len())]);
        }
        let pieces = split::split(source).map_err(|error| vec![error])?;
        let mut errors = Vec::new();
        let mut templates = Vec::new();
        let mut reads = Vec::new();
        for inner in split::insertions(&pieces) {
            match Template::parse_expression(&source[inner.clone()]) {
                Ok(template) => {
                    reads.extend(template.reads().iter().map(|read| moved(read, inner.start)));
                    templates.push(Some(template));
                }
                Err(error) => {
                    errors.push(ShellError::template(error.moved(inner.start)));
                    templates.push(None);
                }
            }
        }
        if templates.is_empty() {
            // Without values nothing can be injected, so the script is passed on unscanned.
            return Ok(ShellScript { script: split::text_of(source, &pieces), values: Vec::new(), reads });
        }
        let scanned = scan::scan(source, &pieces);
        errors.extend(scanned.errors);
        errors.extend(rules::check(&scanned.commands, &scanned.value_spans));
        if !errors.is_empty() {
            errors.sort_by_key(|error| error.span.start);
            errors.dedup_by_key(|error| error.span.clone());
            return Err(errors);
        }
        let mut values = Vec::new();
        for (number, index) in scanned.used.iter().enumerate() {
            if let Some(value) = templates.get_mut(*index).and_then(Option::take) {
                let written = split::insertions(&pieces).nth(*index).unwrap_or_default();
                values.push(Insertion {
                    variable: variable(number),
                    written: source[written].trim().to_owned(),
                    value,
                });
            }
        }
        Ok(ShellScript { script: scanned.script, values, reads })
    }

    /// Whether it refers to any value.
    pub fn has_values(&self) -> bool {
        !self.values.is_empty()
    }

    /// The script, which does not depend on any value.
    pub fn script(&self) -> &str {
        &self.script
    }

    /// The values as environment variables, by the names that the script refers to.
    pub fn render(&self, scope: &dyn Scope) -> Result<Vec<(String, String)>, RenderError> {
        let mut total = 0;
        let mut variables = Vec::with_capacity(self.values.len());
        for inserted in &self.values {
            let text = inserted.value.render(scope)?;
            let expression = || inserted.written.clone();
            if text.contains('\0') {
                return Err(RenderError::Nul { expression: expression() });
            }
            total += text.len();
            let limit =
                if text.len() > VARIABLE_BYTES_MAX { VARIABLE_BYTES_MAX } else { VARIABLES_BYTES_MAX };
            if text.len() > VARIABLE_BYTES_MAX || total > VARIABLES_BYTES_MAX {
                return Err(RenderError::TooLarge {
                    expression: expression(),
                    bytes: total.max(text.len()),
                    limit,
                });
            }
            variables.push((inserted.variable.clone(), text));
        }
        Ok(variables)
    }

    /// Every free name of every `{{ }}`, with its span in the original source.
    pub fn reads(&self) -> &[TemplateRead] {
        &self.reads
    }
}

/// Whether a program, by its name or path, reads a script as `sh` does.
pub fn is_posix_shell(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    ["ash", "bash", "dash", "ksh", "mksh", "sh"].contains(&name)
}

fn variable(number: usize) -> String {
    format!("{VARIABLE_PREFIX}{}", number + 1)
}

fn moved(read: &TemplateRead, offset: usize) -> TemplateRead {
    TemplateRead { span: move_range(&read.span, offset), ..read.clone() }
}

fn move_range(range: &Range<usize>, offset: usize) -> Range<usize> {
    range.start + offset..range.end + offset
}
