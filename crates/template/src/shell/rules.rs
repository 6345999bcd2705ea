//! Finds values in arguments that are programs. A value that is safe from the shell is not safe from `eval`.
//!
//! **Invariant:** a rule only refuses; no rule allows what the scanner refused. A program that is not in the tables is
//! an ordinary program, which gets its arguments byte for byte.

mod tables;

use std::ops::Range;

use super::error::{ShellError, ShellErrorKind};
use super::word::{Command, UNKNOWN, Word};
use tables::{
    ASSIGNERS, EVALUATED, EVALUATORS, Interpreter, Operand, SHELL_OPTION, SHELLS, WRAPPERS, interpreter,
};

pub(super) fn check(commands: &[Command], value_spans: &[Range<usize>]) -> Vec<ShellError> {
    let mut checker = Checker { value_spans, errors: Vec::new() };
    for command in commands {
        checker.command(command);
    }
    if commands.iter().any(gives_attributes) {
        for word in commands.iter().flat_map(|command| &command.assignments) {
            checker.refuse_word(
                word,
                "a variable that was declared with `-i` or `-n` computes what it is assigned",
            );
        }
    }
    checker.errors
}

fn is_one_of(word: &Word, names: &[&str]) -> bool {
    word.program().is_some_and(|program| names.contains(&program))
}

/// Whether the command is like `declare -i x`, after which `x=…` is arithmetic.
fn gives_attributes(command: &Command) -> bool {
    let declares = command
        .words
        .first()
        .is_some_and(|word| is_one_of(word, ASSIGNERS) || is_one_of(word, &["declare", "typeset"]));
    declares
        && command
            .words
            .iter()
            .any(|word| word.text.starts_with('-') && word.text.contains(['i', 'n', 'A', 'a']))
}

struct Checker<'a> {
    value_spans: &'a [Range<usize>],
    errors: Vec<ShellError>,
}

impl Checker<'_> {
    fn refuse(&mut self, value: usize, kind: ShellErrorKind, message: Option<String>, help: Option<&str>) {
        let mut error = ShellError::new(kind, self.value_spans[value].clone());
        if let Some(message) = message {
            error = error.saying(message);
        }
        if let Some(help) = help {
            error = error.helping(help);
        }
        self.errors.push(error);
    }

    fn refuse_word(&mut self, word: &Word, message: &str) {
        for value in &word.all_values {
            self.refuse(*value, ShellErrorKind::Program, Some(message.to_owned()), None);
        }
    }

    fn refuse_code(&mut self, word: &Word, program: &str, instead: Option<&str>) {
        for value in &word.all_values {
            let message = format!("`{program}` would read the value as code");
            self.refuse(*value, ShellErrorKind::Program, Some(message), instead);
        }
    }

    fn refuse_input(&mut self, command: &Command, program: &str) {
        for value in command.stdin.iter().chain(&command.piped) {
            let message = format!("`{program}` would read the value as code from its input");
            self.refuse(*value, ShellErrorKind::Program, Some(message), None);
        }
    }

    fn command(&mut self, command: &Command) {
        for word in command.assignments.iter().chain(&command.words) {
            if let Some((name, _)) = word.text.split_once('=')
                && EVALUATED.contains(&name)
            {
                self.refuse_word(word, &format!("a shell reads the value of `{name}` as code"));
            }
        }
        let Some(first) = command.words.first() else { return };
        self.name(first);
        let wraps = is_one_of(first, WRAPPERS);
        for (index, word) in command.words.iter().enumerate() {
            let arguments = &command.words[index + 1..];
            let runs = index == 0 || wraps;
            if is_one_of(word, SHELLS) || (runs && is_unknown(word)) {
                self.shell(word, arguments, command, runs);
                if runs && word.program().is_some() {
                    // The remaining words belong to the shell's script, starting with its `$0`.
                    return;
                }
            }
            let Some(program) = word.program().filter(|_| runs) else { continue };
            if EVALUATORS.contains(&program) {
                arguments.iter().for_each(|word| self.refuse_code(word, program, None));
                self.refuse_evaluated_input(program, command);
            }
            if SHELL_OPTION.contains(&program) {
                self.option(program, &["-c", "--command"], arguments, None);
            }
            if let Some(interpreter) = interpreter(program) {
                self.interpreter(program, interpreter, arguments, command);
            }
            match program {
                "builtin" | "command" => {
                    if let Some(name) = arguments.iter().find(|word| !is_option(word)) {
                        self.name(name);
                    }
                }
                "env" => {
                    self.option("env", &["-S", "--split-string"], arguments, None);
                }
                "printf" => self.printf(arguments),
                "[" | "test" => self.test(arguments),
                "xargs" => self.xargs(arguments, command),
                name if ASSIGNERS.contains(&name) => self.assigner(name, arguments),
                _ => {}
            }
        }
    }

    /// A value may be part of a path, but not a bare command name, which could be `eval`.
    fn name(&mut self, word: &Word) {
        for (value, at) in &word.values {
            if !word.text[..*at].contains('/') {
                self.refuse(*value, ShellErrorKind::Command, None, None);
            }
        }
    }

    fn shell(&mut self, shell: &Word, arguments: &[Word], command: &Command, runs: bool) {
        let program = shell.program().unwrap_or("a program that is not known before it runs");
        let is_known = shell.program().is_some();
        let mut from_option = false;
        let mut has_operand = false;
        let mut from_input = false;
        let mut arguments = arguments.iter();
        while let Some(word) = arguments.next() {
            if word.text == "--" {
                continue;
            }
            if is_option(word) {
                if word.text.ends_with(['o', 'O']) || matches!(word.text.as_str(), "--rcfile" | "--init-file")
                {
                    // `-euo pipefail`
                    if let Some(setting) = arguments.next() {
                        self.refuse_code(setting, program, None);
                    }
                }
                from_option |= !word.text.starts_with("--") && word.text.contains('c');
                if is_known && runs {
                    self.refuse_code(word, program, None);
                }
                from_input |= word.text.contains('s') && !word.text.starts_with("--");
                continue;
            }
            has_operand = true;
            if from_option || (is_known && runs && word.begins_with_value()) {
                self.refuse_code(
                    word,
                    program,
                    Some("give it to the script: `sh -c 'echo \"$1\"' sh {{ … }}`"),
                );
            }
            break;
        }
        if (from_input || !has_operand) && is_known && runs {
            self.refuse_input(command, program);
        }
    }

    fn refuse_evaluated_input(&mut self, program: &str, command: &Command) {
        const FROM_INPUT: &[&str] = &["at", "batch", "crontab", "parallel", "rsh", "ssh"];
        if FROM_INPUT.contains(&program) {
            self.refuse_input(command, program);
        }
    }

    /// Refuses values in the argument of an option: the next word, or the rest of the option's own word.
    fn option(&mut self, program: &str, options: &[&str], arguments: &[Word], instead: Option<&str>) -> bool {
        let mut found = false;
        for (index, word) in arguments.iter().enumerate() {
            for option in options {
                if !selects(&word.text, option) {
                    continue;
                }
                found = true;
                self.refuse_code(word, program, instead);
                if let Some(code) = arguments.get(index + 1) {
                    self.refuse_code(code, program, instead);
                }
            }
        }
        found
    }

    fn interpreter(
        &mut self,
        program: &str,
        interpreter: &Interpreter,
        arguments: &[Word],
        command: &Command,
    ) {
        let instead = Some(interpreter.instead);
        let has_code = self.option(program, interpreter.code, arguments, instead);
        let mut rest = arguments.iter();
        let mut operand = None;
        while let Some(word) = rest.next() {
            let takes = interpreter.takes.iter().find(|(option, _)| word.text == *option);
            if let Some((option, count)) = takes {
                if matches!(*option, "-f" | "--from-file" | "-m") {
                    return;
                }
                rest.by_ref().take(*count).for_each(drop);
            } else if !is_option(word) {
                operand = Some(word);
                break;
            }
        }
        match (&interpreter.first_operand, operand) {
            _ if has_code => {}
            (Operand::Code, Some(word)) => self.refuse_code(word, program, instead),
            (Operand::Code, None) | (Operand::File, Some(_)) => {}
            (Operand::File, None) => self.refuse_input(command, program),
        }
    }

    /// In some shells `printf -v name` assigns, and an index in the name is arithmetic.
    fn printf(&mut self, arguments: &[Word]) {
        self.option("printf", &["-v"], arguments, None);
        let format = arguments.iter().find(|word| !is_option(word) || word.begins_with_value());
        if let Some(word) = format {
            for (value, _) in &word.values {
                let message = "the first argument of `printf` is a pattern".to_owned();
                self.refuse(
                    *value,
                    ShellErrorKind::Program,
                    Some(message),
                    Some("write `printf '%s\\n' {{ … }}`"),
                );
            }
        }
    }

    /// In some shells an index in the name of `-v name` is arithmetic.
    fn test(&mut self, arguments: &[Word]) {
        for pair in arguments.windows(2) {
            let [operator, operand] = pair else { continue };
            if matches!(operator.text.as_str(), "-v" | "-R") || operator.begins_with_value() {
                let message = "`test` would take the first of these values for an operator";
                let message =
                    if operator.begins_with_value() { message } else { "`-v` reads its operand as code" };
                self.refuse_word(operand, message);
            }
        }
    }

    fn assigner(&mut self, program: &str, arguments: &[Word]) {
        for word in arguments {
            let assigns = word.assigned().is_some();
            if !assigns {
                self.refuse_code(word, program, Some("write the name: `export NAME={{ … }}`"));
            }
        }
    }

    /// `xargs` puts its input into the arguments, and with `-I` into the middle of a script.
    fn xargs(&mut self, arguments: &[Word], command: &Command) {
        let Some(shell) = arguments.iter().position(|word| is_one_of(word, SHELLS)) else { return };
        let replaces = arguments[..shell].iter().any(|word| {
            word.text.starts_with("-I") || word.text.starts_with("-i") || word.text.starts_with("--replace")
        });
        let has_script = arguments[shell + 1..].iter().any(|word| !is_option(word));
        if replaces || !has_script {
            self.refuse_input(command, "xargs");
        }
    }
}

fn is_option(word: &Word) -> bool {
    word.text.starts_with(['-', '+']) && word.text.len() > 1
}

/// Whether a word is known only when the script runs, as in `$SHELL -c …`.
fn is_unknown(word: &Word) -> bool {
    word.text.contains(UNKNOWN)
}

/// Whether a word is the option, has it at the end of a cluster (`-ne`), or carries its argument
/// (`-e…`, `--eval=…`).
fn selects(text: &str, option: &str) -> bool {
    if let Some(rest) = text.strip_prefix(option) {
        return rest.is_empty()
            || !option.starts_with("--") && option.starts_with('-')
            || rest.starts_with('=');
    }
    match (option.strip_prefix('-'), text.strip_prefix('-')) {
        (Some(letter), Some(cluster)) if letter.len() == 1 && !cluster.starts_with('-') => {
            let flags: String = cluster.chars().take_while(char::is_ascii_alphanumeric).collect();
            flags.contains(letter)
        }
        _ => false,
    }
}

#[cfg(test)]
mod unit_tests {
    use super::selects;

    #[test]
    fn options_are_found_alone_in_clusters_and_with_their_argument() {
        for text in ["-e", "-ne", "-pie", "-eprint"] {
            assert!(selects(text, "-e"), "{text}");
        }
        for text in ["--eval", "--eval=1"] {
            assert!(selects(text, "--eval"), "{text}");
        }
        for text in ["-n", "--expression", "e", "--evaluate"] {
            assert!(!selects(text, "-e") && !selects(text, "--eval"), "{text}");
        }
    }
}
