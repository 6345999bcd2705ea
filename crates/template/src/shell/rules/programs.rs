//! Programs that take code, or that run other programs: which of their words must not hold values.

use super::interpreters::{Interpreter, Operands, interpreter};
use super::tables::{
    EVALUATORS, GIT_CODE_OPTIONS, GIT_SUBCOMMAND_CODE_OPTIONS, GIT_TAKES, INPUT_EVALUATORS, SHELLS, wrapper,
};
use super::taint::Taint;
use super::{Checker, Input, NESTING_MAX, is_input, is_option, is_unknown, only_tells, selects};
use crate::shell::error::{ShellError, ShellErrorKind};
use crate::shell::scan::scan_text;
use crate::shell::word::{UNKNOWN, Word};

impl Checker<'_> {
    /// A shell, or a program that is not known before it runs.
    pub(super) fn shell(&mut self, name: &Word, arguments: &[Word], input: Input) {
        let program = name.program().unwrap_or("a program that is not known before it runs");
        let is_known = name.program().is_some();
        if arguments.iter().any(|word| matches!(word.text.as_str(), "--version" | "--help")) {
            return;
        }
        let mut from_option = false;
        let mut from_input = false;
        let mut ends_options = false;
        let mut operand = None;
        let mut rest = arguments.iter().enumerate();
        while let Some((index, word)) = rest.next() {
            if word.text == "--" {
                ends_options = true;
                continue;
            }
            if is_option(word) && !ends_options {
                if word.text.ends_with(['o', 'O']) || matches!(word.text.as_str(), "--rcfile" | "--init-file")
                {
                    // `-euo pipefail`
                    if let Some((_, setting)) = rest.next() {
                        self.refuse_code(setting, program, None);
                    }
                }
                let is_cluster = !word.text.starts_with("--");
                from_option |= is_cluster && word.text.contains('c');
                from_input |= is_cluster && word.text.contains('s');
                if is_known {
                    self.refuse_code(word, program, None);
                }
                continue;
            }
            operand = Some((index, word));
            break;
        }
        const INSTEAD: &str = "give it to the script: `sh -c 'echo \"$1\"' sh {{ … }}`";
        match operand {
            Some((index, code)) if from_option => {
                self.refuse_code(code, program, Some(INSTEAD));
                self.literal_script(code, &arguments[index + 1..], input);
            }
            // `-s -- ARGUMENT…`
            Some(_) if is_known && from_input && ends_options => self.refuse_input(name, program, input),
            Some((_, file)) if is_known => {
                if self.begins_tainted(file) || (file.substitutes && self.is_tainted(file)) {
                    self.refuse_code(file, program, Some(INSTEAD));
                }
                if from_input || is_input(file) || file.may_vanish {
                    self.refuse_input(name, program, input);
                }
            }
            Some((_, file)) if from_input || is_input(file) => self.refuse_input(name, program, input),
            Some(_) => {}
            // A program in a directory of the author's is no shell.
            None if name.literal_prefix().contains('/') && !is_known => {}
            None => self.refuse_input(name, program, input),
        }
    }

    /// `-c CODE` of a shell that stands among the arguments of another program.
    pub(super) fn code_after_option(&mut self, shell: &Word, arguments: &[Word]) {
        let mut words = arguments.iter();
        let mut is_code = false;
        while let Some(word) = words.next() {
            if is_option(word) {
                is_code |= !word.text.starts_with("--") && word.text.contains('c');
                if word.text.ends_with(['o', 'O']) {
                    words.next();
                }
            } else {
                if is_code {
                    self.refuse_code(word, shell.program().unwrap_or("sh"), None);
                }
                return;
            }
        }
    }

    /// Literal code of a shell. Values may be in its parameters, its variables and its input.
    pub(super) fn literal_script(&mut self, code: &Word, arguments: &[Word], input: Input) {
        let has_parameters = arguments.iter().any(|word| self.is_tainted(word));
        if code.text.contains(UNKNOWN) {
            if has_parameters {
                let message =
                    "what this code does with its arguments is not known before it runs, and one has a value";
                let help = Some("write the code out in single quotes: `sh -c 'echo \"$1\"' sh {{ … }}`");
                self.refuse(code.span.clone(), ShellErrorKind::Program, Some(message.to_owned()), help);
            }
            return;
        }
        let is_fed = input == Input::Anything && (self.taint.is_fed || !self.value_spans.is_empty());
        let mut inherited: Vec<String> = self.taint.names().map(str::to_owned).collect();
        if has_parameters {
            inherited.push("@".to_owned());
        }
        if inherited.is_empty() && !is_fed {
            return;
        }
        if self.nesting >= NESTING_MAX {
            let message = "code is nested too deeply in code, and a value can reach it".to_owned();
            return self.refuse(code.span.clone(), ShellErrorKind::Program, Some(message), None);
        }
        let scanned = scan_text(&code.text, 0);
        let taint = Taint::of(&scanned, is_fed, &inherited);
        let mut inner = Checker {
            nesting: self.nesting + 1,
            wrapping: self.wrapping,
            seen: self.seen,
            errors: scanned.errors.clone(),
            ..Checker::new(&[], taint)
        };
        if input == Input::Anything {
            inner.script(&scanned);
        } else {
            for command in &scanned.commands {
                inner.command(command, input);
            }
        }
        self.seen = inner.seen;
        if let Some(found) = inner.errors.into_iter().next() {
            self.errors.push(ShellError { span: code.span.clone(), ..found });
        }
    }

    /// Commands whose arguments are code.
    pub(super) fn evaluator(&mut self, name: &Word, program: &str, arguments: &[Word], input: Input) {
        const ALWAYS: &[&str] = &["alias", "eval", "let"];
        let callback = || arguments.iter().any(|word| word.text.starts_with("-C"));
        let is_refused = ALWAYS.contains(&program)
            || program == "hash" && arguments.iter().any(|word| word.text.starts_with("-p"))
            || matches!(program, "mapfile" | "readarray") && callback();
        if is_refused && !arguments.is_empty() && input == Input::Anything {
            let message = format!("`{program}` cannot be used in a script that holds values");
            let help = "write the command itself; values are already complete words";
            if !arguments.iter().any(|word| self.is_tainted(word)) {
                self.refuse(name.span.clone(), ShellErrorKind::Program, Some(message), Some(help));
            }
        }
        arguments.iter().for_each(|word| self.refuse_code(word, program, None));
        let operands: Vec<&Word> = arguments.iter().filter(|word| !is_option(word)).collect();
        match program {
            "ssh" | "rsh" => {
                // Without a command, the remote shell reads its input.
                match operands.split_first() {
                    Some((_, [])) | None => self.refuse_input(name, program, input),
                    Some((_, remote)) => {
                        let text: Vec<&str> = remote.iter().map(|word| word.text.as_str()).collect();
                        let joined =
                            Word { text: text.join(" "), span: name.span.clone(), ..Word::default() };
                        self.literal_script(&joined, &[], input);
                    }
                }
            }
            "trap" => {
                if let Some(action) = operands.first() {
                    self.literal_script(action, &[], input);
                }
            }
            _ if INPUT_EVALUATORS.contains(&program) => {
                let reads = operands.is_empty() || operands.iter().any(|word| is_input(word));
                if reads || matches!(program, "at" | "batch" | "parallel") {
                    self.refuse_input(name, program, input);
                }
            }
            _ => {
                if operands.iter().any(|word| is_input(word)) {
                    self.refuse_input(name, program, input);
                }
            }
        }
    }

    /// An option whose argument is given to a shell.
    pub(super) fn script_option(
        &mut self,
        program: &str,
        options: &[&str],
        arguments: &[Word],
        input: Input,
    ) {
        self.option(program, options, arguments, None);
        for pair in arguments.windows(2) {
            if options.iter().any(|option| selects(&pair[0].text, option)) {
                self.literal_script(&pair[1], &[], input);
            }
        }
    }

    /// Refuses values in the argument of an option: the next word, or the rest of the option's own word.
    pub(super) fn option(
        &mut self,
        program: &str,
        options: &[&str],
        arguments: &[Word],
        instead: Option<&str>,
    ) -> bool {
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

    /// A program that takes code of its own language.
    pub(super) fn interpreter(
        &mut self,
        name: &Word,
        interpreter: &Interpreter,
        arguments: &[Word],
        input: Input,
    ) {
        let program = name.program().unwrap_or(interpreter.name);
        let reads_no_code = arguments.first().is_some_and(only_tells);
        let input = if reads_no_code { Input::Literal } else { input };
        let instead = Some(interpreter.instead);
        let mut has_code = false;
        let mut operands = Vec::new();
        let mut ends_options = false;
        let mut index = 0;
        while let Some(word) = arguments.get(index) {
            index += 1;
            if ends_options {
                operands.push(word);
                continue;
            }
            if word.text == "--" {
                ends_options = true;
                continue;
            }
            if interpreter.code.iter().any(|option| selects(&word.text, option)) {
                has_code = true;
                self.refuse_code(word, program, instead);
                let is_joined = word.text.contains('=') && word.text.starts_with("--");
                if let Some(code) = arguments.get(index).filter(|_| !is_joined) {
                    self.refuse_code(code, program, instead);
                    index += 1;
                }
                // Python hands on everything behind its code.
                ends_options |= interpreter.operands == Operands::FileThenArguments && !interpreter.permutes;
                continue;
            }
            if let Some((option, count)) = interpreter.takes.iter().find(|(option, _)| word.text == *option) {
                if matches!(*option, "-f" | "--file" | "--from-file" | "-m") {
                    has_code = true;
                    let file = arguments.get(index);
                    if file.is_some_and(is_input) {
                        self.refuse_input(name, program, input);
                    }
                }
                index += count;
                continue;
            }
            if is_option(word) && !word.text.starts_with(UNKNOWN) {
                continue;
            }
            // A word that begins with a value may be an option with code in it.
            if self.begins_tainted(word) && (operands.is_empty() && !has_code || interpreter.permutes) {
                let help = format!("write `--` before it, or: {}", interpreter.instead);
                let message = format!("`{program}` could take the value for an option with code");
                let is_argument = interpreter.operands == Operands::FileThenArguments && !operands.is_empty();
                if !is_argument {
                    self.refuse_tainted(word, ShellErrorKind::Program, &message, Some(&help));
                }
            }
            operands.push(word);
            if interpreter.operands == Operands::FileThenArguments && !has_code {
                ends_options = true;
            }
        }
        match interpreter.operands {
            Operands::CodeThenFiles => match operands.first() {
                Some(code) if !has_code => self.refuse_code(code, program, instead),
                Some(_) | None => {}
            },
            Operands::FileThenArguments => match operands.first() {
                _ if has_code => {}
                None => self.refuse_input(name, program, input),
                Some(file) if is_input(file) || file.may_vanish => self.refuse_input(name, program, input),
                Some(file) if file.substitutes && self.is_tainted(file) => {
                    self.refuse_code(file, program, instead)
                }
                Some(_) => {}
            },
            Operands::DatabaseThenCode => {
                for code in operands.iter().skip(1) {
                    self.refuse_code(code, program, instead);
                }
                if !has_code && operands.len() < 2 {
                    self.refuse_input(name, program, input);
                }
            }
            Operands::Database => {
                if !has_code {
                    self.refuse_input(name, program, input);
                }
            }
        }
    }

    /// In some shells `printf -v name` assigns, and an index in the name is arithmetic.
    pub(super) fn printf(&mut self, arguments: &[Word]) {
        self.option("printf", &["-v"], arguments, None);
        let format = arguments.iter().find(|word| !is_option(word) || self.begins_tainted(word));
        if let Some(word) = format.cloned() {
            let help = Some("write `printf '%s\\n' {{ … }}`");
            for (value, _) in &word.values {
                let message = "the first argument of `printf` is a pattern".to_owned();
                self.refuse(self.value_spans[*value].clone(), ShellErrorKind::Program, Some(message), help);
            }
        }
    }

    /// In some shells an index in the name of `-v name` is arithmetic.
    pub(super) fn test(&mut self, arguments: &[Word]) {
        for pair in arguments.windows(2) {
            let [operator, operand] = pair else { continue };
            if matches!(operator.text.as_str(), "-v" | "-R") {
                self.refuse_word(operand, "`-v` reads its operand as code");
            } else if operator.begins_with_value() {
                self.refuse_word(operand, "`test` would take the first of these values for an operator");
            }
        }
    }

    pub(super) fn assigner(&mut self, program: &str, arguments: &[Word]) {
        for word in arguments {
            if word.assigned().is_none() {
                self.refuse_code(word, program, Some("write the name: `export NAME={{ … }}`"));
            }
        }
    }

    /// `find … -exec COMMAND`.
    pub(super) fn find(&mut self, arguments: &[Word], input: Input) {
        let mut rest = arguments;
        while let Some(begin) =
            rest.iter().position(|word| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"))
        {
            let command = &rest[begin + 1..];
            let end = command.iter().position(|word| matches!(word.text.as_str(), ";" | "+"));
            let end = end.unwrap_or(command.len());
            self.run(&command[..end], input);
            rest = &command[end..];
        }
    }

    /// `git` runs what its configuration names, and some subcommands run what they are given.
    pub(super) fn git(&mut self, arguments: &[Word], input: Input) {
        const INSTEAD: Option<&str> =
            Some("write the setting out, without a value: names go into `GIT_AUTHOR_NAME={{ … }}`");
        let mut runs_alias = false;
        let mut at = 0;
        while let Some(word) = arguments.get(at).filter(|word| is_option(word)) {
            at += 1;
            if let Some(option) = GIT_CODE_OPTIONS.iter().find(|option| selects(&word.text, option)) {
                self.refuse_code(word, "git", INSTEAD);
                let code = arguments.get(at).filter(|_| word.text == **option);
                if let Some(code) = code {
                    self.refuse_code(code, "git", INSTEAD);
                    at += 1;
                }
                let setting = code.unwrap_or(word);
                runs_alias |= setting.text.contains("alias.") && setting.text.contains('!');
            } else if GIT_TAKES.contains(&word.text.as_str()) {
                at += 1;
            }
        }
        let Some((subcommand, rest)) = arguments.get(at..).and_then(<[Word]>::split_first) else { return };
        if runs_alias {
            // The alias is a script, and these are its parameters.
            rest.iter().for_each(|word| self.refuse_code(word, "git", INSTEAD));
        }
        let name = subcommand.text.as_str();
        if let Some((_, options)) = GIT_SUBCOMMAND_CODE_OPTIONS.iter().find(|(known, _)| *known == name) {
            self.script_option("git", options, rest, input);
        }
        let first = rest.iter().position(|word| matches!(word.text.as_str(), "run" | "foreach"));
        match (name, first) {
            ("bisect", Some(run)) => self.run(&rest[run + 1..], input),
            ("submodule", Some(foreach)) => {
                rest[foreach + 1..].iter().for_each(|word| self.refuse_code(word, "git", None));
            }
            (_, _) => {}
        }
    }

    /// `xargs` puts its input into the arguments, and with `-I` into the middle of them.
    pub(super) fn xargs(&mut self, options: &[Word], command: &[Word], input: Input) {
        let Some(name) = command.first() else { return };
        let mut replaced = None;
        for (index, word) in options.iter().enumerate() {
            if let Some(rest) = word.text.strip_prefix("-I") {
                let next = options.get(index + 1).map(|next| next.text.clone()).unwrap_or_default();
                replaced = Some(if rest.is_empty() { next } else { rest.to_owned() });
            } else if word.text.starts_with("-i") || word.text.starts_with("--replace") {
                replaced = Some("{}".to_owned());
            }
        }
        let is_replaced = |word: &Word| {
            replaced.as_ref().is_some_and(|mark| !mark.is_empty() && word.text.contains(mark.as_str()))
        };
        let program = name.program().unwrap_or_default();
        let takes_code = SHELLS.contains(&program)
            || interpreter(program).is_some()
            || EVALUATORS.contains(&program)
            || wrapper(program).is_some()
            || is_unknown(name)
            || is_replaced(name);
        if takes_code && input == Input::Anything {
            // The literal words must settle what is run before any input follows.
            let literal: Vec<Word> = command.iter().filter(|word| !is_replaced(word)).cloned().collect();
            let has_replaced_code = command.len() != literal.len();
            let settled = self.settles_code(&literal);
            if has_replaced_code || !settled {
                self.refuse_input(name, "xargs", input);
            }
        }
        self.run(command, Input::Literal);
    }

    /// Whether these words name a program and all the code that it runs.
    pub(super) fn settles_code(&self, words: &[Word]) -> bool {
        let Some((name, arguments)) = words.split_first() else { return false };
        let Some(program) = name.program() else { return false };
        if SHELLS.contains(&program) {
            // `sh -c CODE NAME`, or a file.
            let is_code = arguments.iter().any(|word| is_option(word) && word.text.contains('c'));
            let operands = arguments.iter().filter(|word| !is_option(word)).count();
            return operands >= if is_code { 2 } else { 1 };
        }
        if let Some(interpreter) = interpreter(program) {
            return !interpreter.permutes && arguments.iter().any(|word| !is_option(word));
        }
        if let Some(wrapper) = wrapper(program) {
            let command = arguments.iter().position(|word| !is_option(word) && word.assigned().is_none());
            return wrapper.takes.iter().all(|option| arguments.iter().all(|word| word.text != *option))
                && command.is_some_and(|at| self.settles_code(&arguments[at..]));
        }
        !EVALUATORS.contains(&program)
    }
}
