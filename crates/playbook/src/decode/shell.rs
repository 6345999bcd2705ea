//! Checks `shell` against the `exec` that it interprets.

use escrow_model::{Field, Text};
use escrow_template::{
    PathStep, check_arguments, check_arguments_with, check_fed_script, check_script, is_other_interpreter,
    is_posix_shell, is_read_as_code, survey_script,
};
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

    /// A shell that is given code of its own, such as `[sh, -c, 'eval "$0"']`, must not run the script as data.
    pub(super) fn shell_with_code(&mut self, check: &Node, fields: &IndexMap<String, Field>) {
        let (Some(entry), Some(Field::Plain(Value::Array(words)))) =
            (check.entry("shell"), fields.get("shell"))
        else {
            return;
        };
        let Some(Field::Shell(script)) = fields.get("exec") else { return };
        let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
        let option = words
            .iter()
            .position(|word| word.starts_with('-') && !word.starts_with("--") && word.contains('c'));
        let has_code = option.is_some_and(|at| words[at + 1..].iter().any(|word| !word.starts_with('-')));
        if !script.has_values() || !has_code {
            return;
        }
        let with_script: Vec<&str> = words.iter().copied().chain(["{{ script }}"]).collect();
        if let Some((_, error)) = check_arguments(&with_script, false).into_iter().next() {
            self.found().push(
                Problem::new(
                    "E0119",
                    entry.value.span.clone(),
                    "this shell cannot run a script with values safely",
                )
                .label(error.message)
                .help("write `shell: bash`, or the options of the shell alone: `[bash, -euc]`"),
            );
        }
    }

    /// What the shell of a check and the variables that `env` gives it add to the rules for `exec` and `reconcile`.
    pub(super) fn values_in_environment(
        &mut self,
        check: &Node,
        env: &IndexMap<String, Text>,
        fields: &IndexMap<String, Field>,
        reconcile_exec: Option<&Field>,
    ) {
        self.variables_with_code(check.get("env").map(|node| &**node), env);
        let mut variables: Vec<String> =
            env.iter().filter(|(_, text)| !text.is_constant()).map(|(name, _)| name.clone()).collect();
        variables.extend(self.variables.iter().filter(|name| !env.contains_key(*name)).cloned());
        // A script of another language is not for these rules.
        let is_foreign = match (fields.get("shell"), fields.get("exec")) {
            (Some(Field::Plain(Value::Array(words))), Some(Field::Shell(_))) => {
                words.first().and_then(Value::as_str).is_some_and(is_other_interpreter)
            }
            _ => false,
        };
        if let (Some(node), Some(exec), false) = (check.get("exec"), fields.get("exec"), is_foreign) {
            self.variables_in_command("exec", node, exec, &variables);
        }
        let reconcile = check.get("reconcile");
        let node =
            reconcile.and_then(|node| if node.map().is_some() { node.get("exec") } else { Some(node) });
        if let (Some(node), Some(reconcile)) = (node, reconcile_exec) {
            self.variables_in_command("reconcile", node, reconcile, &variables);
        }
    }

    /// What these variables, whose contents are values, add to the rules for a command.
    fn variables_in_command(&mut self, key: &str, node: &Node, command: &Field, variables: &[String]) {
        let title = format!("`{key}` cannot be run safely");
        match command {
            Field::Shell(script) => {
                for error in check_script(script.source(), variables) {
                    let span = span_within(self.sources.text, node, &error.span);
                    let problem = Problem::new("E0119", span, title.clone()).label(error.message);
                    self.found().push(problem.help(error.help));
                }
            }
            Field::Argv(words) => {
                let sources: Vec<&str> = words.iter().map(|word| word.source()).collect();
                let known = check_arguments(&sources, false);
                let problems = check_arguments_with(&sources, false, variables);
                for (_, error) in problems.into_iter().filter(|one| !known.contains(one)) {
                    let problem = Problem::new("E0119", node.span.clone(), title.clone());
                    self.found().push(problem.label(error.message).help(error.help));
                }
            }
            _ => {}
        }
    }

    /// A value must not be in a variable that programs read as code.
    pub(super) fn variables_with_code(&mut self, node: Option<&Node>, env: &IndexMap<String, Text>) {
        let Some(node) = node else { return };
        for (name, _) in env.iter().filter(|(name, text)| is_read_as_code(name) && !is_of_operator(text)) {
            let Some(entry) = node.entry(name) else { continue };
            let span = entry.value.span.clone();
            self.found().push(
                Problem::new("E0119", span, format!("`{name}` cannot be given a value safely"))
                    .label("programs read this variable as code, or load what it names")
                    .help("write it out, or give the value to the program as an argument"),
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

/// Whether a text has no values but variables of the operator's that programs read as code as well: `bin:{{ env.PATH }}`.
/// No command can hand such a variable on, and no playbook can give it a value.
fn is_of_operator(text: &Text) -> bool {
    text.is_constant()
        || text.reads().iter().all(|read| {
            let variable = match read.path.first() {
                Some(PathStep::Member(name)) => Some(name),
                Some(PathStep::Item(_)) | None => None,
            };
            read.name == "env" && variable.is_some_and(|name| is_read_as_code(name))
        })
}

/// Whether the program reads a script with references as `sh` does.
fn takes_references(shell: &Value) -> bool {
    match shell {
        Value::Array(words) => words.first().and_then(Value::as_str).is_some_and(is_posix_shell),
        _ => true,
    }
}
