//! Checks `shell` against the `exec` that it interprets.

use escrow_model::Field;
use escrow_template::{check_arguments, check_fed_script, is_posix_shell, survey_script};
use indexmap::IndexMap;
use serde_json::Value;

use super::Decoder;
use crate::diagnostic::Problem;
use crate::yaml::{Node, span_within};

impl Decoder<'_> {
    pub(super) fn shell_program(&mut self, check: &Node, fields: &IndexMap<String, Field>) {
        let (Some(entry), Some(Field::Plain(shell))) = (check.entry("shell"), fields.get("shell")) else {
            return;
        };
        match fields.get("exec") {
            Some(Field::Argv(_)) => self.found().push(
                Problem::new("W0211", entry.key_span.clone(), "`shell` has no effect")
                    .label("`exec` is a list: no shell is involved"),
            ),
            Some(Field::Shell(script)) if script.has_values() && !takes_references(shell) => {
                self.found().push(
                    Problem::new(
                        "E0119",
                        entry.value.span.clone(),
                        "`exec` has templates, which need a POSIX shell",
                    )
                    .label("values are passed as `\"${NAME}\"`, which this program may read differently")
                    .help("write `shell: bash`, or pass the values through `env:` or `stdin`"),
                );
            }
            Some(_) | None => {}
        }
    }

    /// Reports the first pipeline whose left side can fail unnoticed.
    pub(super) fn lost_status(&mut self, check: &Node, fields: &IndexMap<String, Field>) {
        let is_sh = match fields.get("shell") {
            None => true,
            Some(Field::Plain(shell)) => shell == "sh",
            Some(_) => false,
        };
        let (Some(node), Some(Field::Shell(script))) = (check.get("exec"), fields.get("exec")) else {
            return;
        };
        if !is_sh {
            return;
        }
        if let Some(place) = survey_script(script.source()).lost_statuses.into_iter().next() {
            let span = span_within(self.sources.text, node, &place);
            self.found().push(
                Problem::new("W0232", span, "a failure on the left of this pipe goes unnoticed")
                    .label("`sh` takes the status of the last command alone"),
            );
        }
    }

    /// A value in `stdin` must not be read as code either.
    pub(super) fn values_as_input(&mut self, check: &Node, fields: &IndexMap<String, Field>) {
        let (Some(entry), Some(Field::Text(stdin))) = (check.entry("stdin"), fields.get("stdin")) else {
            return;
        };
        if stdin.is_constant() {
            return;
        }
        let problems = match fields.get("exec") {
            Some(Field::Shell(script)) => check_fed_script(script.source()),
            Some(Field::Argv(words)) => {
                let sources: Vec<&str> = words.iter().map(|word| word.source()).collect();
                let known = check_arguments(&sources, false);
                let fed = check_arguments(&sources, true);
                fed.into_iter().filter(|one| !known.contains(one)).map(|(_, error)| error).collect()
            }
            Some(_) | None => Vec::new(),
        };
        if let Some(error) = problems.into_iter().next() {
            self.found().push(
                Problem::new("E0119", entry.value.span.clone(), "`stdin` cannot be given safely")
                    .label(error.message)
                    .help(error.help),
            );
        }
    }
}

/// Whether the program reads a script with references as `sh` does.
fn takes_references(shell: &Value) -> bool {
    match shell {
        Value::Array(words) => words.first().and_then(Value::as_str).is_some_and(is_posix_shell),
        _ => true,
    }
}
