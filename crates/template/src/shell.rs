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
mod survey;
mod word;

pub use survey::{Survey, SurveyedCommand, SurveyedWrite, survey_arguments, survey_script};

use rules::Given;
use split::Piece;
use word::{Command, UNKNOWN, Word};

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;

pub use error::{ShellError, ShellErrorKind};

use crate::Template;
use crate::error::RenderError;
use crate::limits;
use crate::limits::{VARIABLE_BYTES_MAX, VARIABLES_BYTES_MAX};
use crate::reads::TemplateRead;
use crate::steering::is_evaluated;
use escrow_expr::Scope;

/// The prefix of the variables that carry values.
pub const VARIABLE_PREFIX: &str = "ESCROW_VALUE_";

/// The variables that Escrow itself gives a command and whose contents others wrote. They are values in every script.
const HANDED_VALUES: &[&str] = &["ESCROW_ITEM"];

/// The variable that names the file with all outputs. It is no value, but what a command prints from the file is one.
const CONTEXT: &str = "ESCROW_CONTEXT";

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
        let handed = handed_values(&scan::identifiers(source));
        errors.extend(rules::check(&scanned, &Given { variables: &handed, ..Given::default() }));
        errors.extend(scanned.errors);
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

    /// The variables that the script refers to, each with the expression that gives its value.
    pub fn expressions(&self) -> impl Iterator<Item = (&str, &str)> {
        self.values.iter().map(|inserted| (inserted.variable.as_str(), inserted.written.as_str()))
    }

    /// Every free name of every `{{ }}`, with its span in the original source.
    pub fn reads(&self) -> &[TemplateRead] {
        &self.reads
    }
}

/// Whether a script whose standard input has values keeps to the same rules: nothing in it may read code from there.
pub fn check_fed_script(source: &str) -> Vec<ShellError> {
    let Ok(pieces) = split::split(source) else { return Vec::new() };
    let handed = handed_values(&scan::identifiers(source));
    let given = Given { input: true, variables: &handed, ..Given::default() };
    rules::check(&scan::scan(source, &pieces), &given)
}

/// What is wrong with a script whose environment has values in these variables, besides `$ESCROW_ITEM` and what commands
/// print from `$ESCROW_CONTEXT`. A script that has none of them is left to the shell.
pub fn check_script(source: &str, variables: &[String]) -> Vec<ShellError> {
    let Ok(pieces) = split::split(source) else { return Vec::new() };
    let has_values = split::insertions(&pieces).next().is_some();
    let identifiers = scan::identifiers(source);
    let handed = handed_values(&identifiers);
    let names: BTreeSet<String> = identifiers.into_iter().collect();
    let mentions_context = names.contains(CONTEXT);
    // `${!CM*}` lists the names that begin so.
    let lists_names = source.contains("${!") && !variables.is_empty();
    let is_read = lists_names
        || variables.iter().any(|variable| names.contains(variable))
        || ["declare", "env", "export", "printenv", "set", "typeset"]
            .iter()
            .any(|name| names.contains(*name));
    let has_variables = !variables.is_empty() && is_read || !handed.is_empty();
    if !has_values && !has_variables && !mentions_context {
        return Vec::new();
    }
    let scanned = scan::scan(source, &pieces);
    let all = [variables, &handed].concat();
    let is_handed_alone = !has_values && variables.is_empty();
    let given = Given { variables: &all, input: false, lists_names, is_handed_alone };
    let mut errors = rules::check(&scanned, &given);
    if has_values || has_variables {
        errors.extend(scanned.errors);
    }
    errors.sort_by_key(|error| error.span.start);
    errors.dedup_by_key(|error| error.span.clone());
    errors
}

/// Whether programs read the value of a variable as code: `BASH_ENV`, `LD_PRELOAD`, `GIT_SSH_COMMAND` and so on.
pub fn is_read_as_code(variable: &str) -> bool {
    is_evaluated(variable)
}

/// What is wrong with the words of a program that is started without a shell: each problem with the index of its word.
/// A value in them must not be read as code, nor one in the program's standard input.
pub fn check_arguments(sources: &[&str], input_has_values: bool) -> Vec<(usize, ShellError)> {
    check_arguments_with(sources, input_has_values, &[])
}

/// The same for a program whose environment has values in these variables, which literal code in its arguments may run.
pub fn check_arguments_with(
    sources: &[&str],
    input_has_values: bool,
    variables: &[String],
) -> Vec<(usize, ShellError)> {
    let mut command = Command::default();
    let mut value_spans = Vec::new();
    let mut offset = 0;
    let mut begins = Vec::new();
    for source in sources {
        begins.push(offset);
        let mut word = Word { span: offset..offset + source.len(), ..Word::default() };
        match split::split(source) {
            Ok(pieces) => {
                for piece in pieces {
                    match piece {
                        Piece::Text(range) => source[range].chars().for_each(|c| word.push(c)),
                        Piece::Value { outer, .. } => {
                            word.push_value(value_spans.len());
                            word.all_values.push(value_spans.len());
                            value_spans.push(move_range(&outer, offset));
                        }
                    }
                }
            }
            // Statements of a template: what they print is not known.
            Err(_) => {
                word.text.push(UNKNOWN);
                word.values.push((value_spans.len(), 0));
                word.all_values.push(value_spans.len());
                value_spans.push(word.span.clone());
            }
        }
        offset += source.len() + 1;
        command.words.push(word);
    }
    let identifiers: Vec<String> = sources.iter().flat_map(|source| scan::identifiers(source)).collect();
    let variables = [variables, &handed_values(&identifiers)].concat();
    let mentions_context = identifiers.iter().any(|name| name == CONTEXT);
    if value_spans.is_empty() && !input_has_values && variables.is_empty() && !mentions_context {
        return Vec::new();
    }
    let mut errors = rules::check_arguments(&command, &value_spans, input_has_values, &variables);
    errors.dedup_by_key(|error| error.span.clone());
    let placed = errors.into_iter().map(|mut error| {
        let index = begins.iter().rposition(|begin| *begin <= error.span.start).unwrap_or(0);
        error.span = error.span.start - begins[index]..error.span.end - begins[index];
        (index, error)
    });
    placed.collect()
}

/// A template in which `{#` is text and begins no comment: `${#a[@]}` is shell.
pub fn without_comments(source: &str) -> Cow<'_, str> {
    if !source.contains("{#") {
        return Cow::Borrowed(source);
    }
    let Ok(pieces) = split::split(source) else { return Cow::Borrowed(source) };
    let mut text = String::with_capacity(source.len());
    for piece in pieces {
        match piece {
            Piece::Text(range) => text.push_str(&source[range].replace("{#", "{{ '{#' }}")),
            Piece::Value { outer, .. } => text.push_str(&source[outer]),
        }
    }
    Cow::Owned(text)
}

/// Whether a program, by its name or path, is an interpreter of another language than that of a shell.
pub fn is_other_interpreter(program: &str) -> bool {
    rules::is_interpreter(program.rsplit('/').next().unwrap_or(program))
}

/// The variables with values that Escrow gives every command, as far as a script mentions them.
fn handed_values(identifiers: &[String]) -> Vec<String> {
    let is_mentioned = |name: &&&str| identifiers.iter().any(|one| one == **name);
    HANDED_VALUES.iter().filter(is_mentioned).map(|name| (*name).to_owned()).collect()
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
