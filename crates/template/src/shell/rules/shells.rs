//! Shells within scripts: where their code is, and what it may hold.

use super::taint::Taint;
use super::{
    Arithmetic, Checker, Input, NESTING_MAX, is_input, is_option, prints_environment, reads_context,
};
use crate::shell::CONTEXT;
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
                from_option |= is_cluster && word.text.contains(['c', UNKNOWN]);
                from_input |= is_cluster && word.text.contains('s');
                if is_known {
                    self.refuse_code(word, program, None);
                }
                continue;
            }
            // `o=-c; sh "$o" {{ … }}`
            if !ends_options && self.taint.may_be_option(word) {
                self.refuse_behind_option(program, &arguments[index + 1..]);
                if let Some(code) = arguments.get(index + 1) {
                    self.refuse_code_of_output(code, program);
                }
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
                if from_input || is_input(file) || file.may_vanish || file.reads_process {
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

    /// Refuses a value that is the first operand behind a word that may be an option with code.
    pub(super) fn refuse_behind_option(&mut self, program: &str, arguments: &[Word]) {
        let is_operand = |word: &&Word| !is_option(word) && !self.taint.may_be_option(word);
        if let Some(code) = arguments.iter().find(is_operand) {
            let message = format!("`{program}` could take the word before this for an option with code");
            let help = Some("write the option out, or `--` before the first operand");
            self.refuse_tainted(code, ShellErrorKind::Program, &message, help);
        }
    }

    /// Where the code is of a shell that stands among the arguments of another program: `-c CODE`.
    pub(super) fn code_after_option(&mut self, shell: &Word, arguments: &[Word]) -> Option<usize> {
        let mut words = arguments.iter().enumerate();
        let mut is_code = false;
        while let Some((index, word)) = words.next() {
            if is_option(word) {
                is_code |= !word.text.starts_with("--") && word.text.contains(['c', UNKNOWN]);
                if word.text.ends_with(['o', 'O']) {
                    words.next();
                }
            } else if self.taint.may_be_option(word) {
                is_code = true;
            } else if is_code {
                self.refuse_code(word, shell.program().unwrap_or("sh"), None);
                return Some(index);
            } else {
                return None;
            }
        }
        None
    }

    /// Refuses what a command printed as the code of a shell.
    pub(super) fn refuse_printed_code(&mut self, code: &Word, help: &str) {
        let message = "what a command printed would be code, and this script holds values";
        self.refuse_printed(code, message, help);
    }

    /// Literal code of a shell. Values may be in its parameters, its variables and its input.
    pub(super) fn literal_script(&mut self, code: &Word, arguments: &[Word], input: Input) {
        let has_parameters = arguments.iter().any(|word| self.is_tainted(word));
        if code.text.contains(UNKNOWN) {
            let help = "give it to the code as an argument: `sh -c 'echo \"$1\"' sh \"$(…)\"`";
            self.refuse_printed_code(code, help);
            // It may be a program that reads its input: `… | sh -c "$_"`.
            let known = self.taint.texts(code).texts;
            if self.is_fed && known.is_empty() {
                self.refuse_input(code, "code that is not known before it runs", input);
            }
            for text in known {
                self.literal_script(
                    &Word { text, span: code.span.clone(), ..Word::default() },
                    arguments,
                    input,
                );
            }
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
        let mut printed: Vec<String> = self.taint.printed_names().map(str::to_owned).collect();
        if arguments.iter().any(|word| self.taint.is_printed(word)) {
            printed.push("@".to_owned());
        }
        let mentions_context = code.text.contains(CONTEXT);
        if inherited.is_empty() && !is_fed && self.arithmetic == Arithmetic::Free && !mentions_context {
            return;
        }
        if self.nesting >= NESTING_MAX {
            let message = "code is nested too deeply in code, and a value can reach it".to_owned();
            return self.refuse(code.span.clone(), ShellErrorKind::Program, Some(message), None);
        }
        let scanned = scan_text(&code.text, 0);
        let mut taint = Taint::of(&scanned, is_fed, &inherited, &printed);
        taint.add_parameters(arguments);
        // Values of the environment get into the input of a command only where the code expands or prints them.
        let expands = scanned.names.iter().any(|name| inherited.contains(name))
            || reads_context(&scanned)
            || scanned.commands.iter().any(prints_environment);
        let input = if has_parameters || expands { Input::Anything } else { input };
        let mut inner = Checker {
            nesting: self.nesting + 1,
            // What a command printed is no more harmless here than around this code.
            arithmetic: match self.arithmetic {
                Arithmetic::Numbers => Arithmetic::Numbers,
                Arithmetic::Free => Arithmetic::of(input),
            },
            wrapping: self.wrapping,
            seen: self.seen,
            errors: scanned.errors.clone(),
            ..Checker::new(&[], taint)
        };
        inner.script(&scanned, input);
        self.seen = inner.seen;
        if let Some(found) = inner.errors.into_iter().next() {
            self.errors.push(ShellError { span: code.span.clone(), ..found });
        }
    }
}
