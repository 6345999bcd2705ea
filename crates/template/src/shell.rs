//! Shell scripts with values in them, such that no value is ever a part of the script.
//!
//!   exec ──split──▶ text and `{{ }}` ──scan──▶ constant script, and what each command is given
//!                                    ──rules─▶ places where a value would be read as code
//!
//! Each `{{ }}` becomes a reference to a variable of its own, written to suit the quoting where it
//! stands; the value travels in the environment. Where a reference would be read as code after all, or
//! where none can be written, the script is refused when it is read.
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
use crate::fault::TemplateFault;
use crate::limits;
use crate::limits::{VARIABLE_BYTES_MAX, VARIABLES_BYTES_MAX};
use crate::reads::Read;
use escrow_expr::Scope;

/// Every value's variable begins with this.
pub const VARIABLE_PREFIX: &str = "ESCROW_VALUE_";

/// A script for `/bin/sh -c`, and the values it is to be given.
#[derive(Debug)]
pub struct ShellScript {
    script: String,
    values: Vec<Inserted>,
    reads: Vec<Read>,
}

#[derive(Debug)]
struct Inserted {
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
            // Nothing is inserted, so nothing can be inserted wrongly: the shell may have its own say.
            return Ok(ShellScript { script: split::text_of(source, &pieces), values: Vec::new(), reads });
        }
        let scanned = scan::scan(source, &pieces);
        errors.extend(scanned.errors);
        errors.extend(rules::judge(&scanned.commands, &scanned.places));
        if !errors.is_empty() {
            errors.sort_by_key(|error| error.span.start);
            errors.dedup_by_key(|error| error.span.clone());
            return Err(errors);
        }
        let mut values = Vec::new();
        for (number, place) in scanned.used.iter().enumerate() {
            if let Some(value) = templates.get_mut(*place).and_then(Option::take) {
                let written = split::insertions(&pieces).nth(*place).unwrap_or_default();
                values.push(Inserted {
                    variable: variable(number),
                    written: source[written].trim().to_owned(),
                    value,
                });
            }
        }
        Ok(ShellScript { script: scanned.script, values, reads })
    }

    /// The script: the same whatever the values are.
    pub fn script(&self) -> &str {
        &self.script
    }

    /// The values, as the variables that the script refers to.
    pub fn render(&self, scope: &dyn Scope) -> Result<Vec<(String, String)>, TemplateFault> {
        let mut total = 0;
        let mut variables = Vec::with_capacity(self.values.len());
        for inserted in &self.values {
            let text = inserted.value.render(scope)?;
            let expression = || inserted.written.clone();
            if text.contains('\0') {
                return Err(TemplateFault::Nul { expression: expression() });
            }
            total += text.len();
            let limit =
                if text.len() > VARIABLE_BYTES_MAX { VARIABLE_BYTES_MAX } else { VARIABLES_BYTES_MAX };
            if text.len() > VARIABLE_BYTES_MAX || total > VARIABLES_BYTES_MAX {
                return Err(TemplateFault::TooLarge {
                    expression: expression(),
                    bytes: total.max(text.len()),
                    limit,
                });
            }
            variables.push((inserted.variable.clone(), text));
        }
        Ok(variables)
    }

    /// Every free name of every `{{ }}`, with its span in the script as it was written.
    pub fn reads(&self) -> &[Read] {
        &self.reads
    }
}

fn variable(number: usize) -> String {
    format!("{VARIABLE_PREFIX}{}", number + 1)
}

fn moved(read: &Read, offset: usize) -> Read {
    Read { span: move_range(&read.span, offset), ..read.clone() }
}

fn move_range(range: &Range<usize>, offset: usize) -> Range<usize> {
    range.start + offset..range.end + offset
}
