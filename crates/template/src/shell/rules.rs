//! Finds values that a program would read as code. A value that is safe from the shell is not safe from `eval`.
//!
//! **Invariant:** a rule only refuses; no rule allows what the scanner refused. The rules err on the side of refusing:
//! they do not follow data through pipes and files. In a script that holds values nothing may read code from its input,
//! whether or not a value can get there. A program that is not in the tables is an ordinary program, which gets its
//! arguments byte for byte.

mod interpreters;
mod tables;
mod taint;

use std::ops::Range;

use super::error::{ShellError, ShellErrorKind};
use super::scan::{Scanned, scan_text};
use super::word::{Command, UNKNOWN, Word};
use interpreters::{Interpreter, Operands, interpreter};
use tables::{ASSIGNERS, CODE_OPTIONS, EVALUATED, EVALUATORS, INPUT_EVALUATORS, SHELLS, Wrapper, wrapper};
pub(super) use taint::SUBSTITUTION;
use taint::Taint;

/// How deeply literal scripts within scripts are looked into.
const NESTING_MAX: usize = 4;

/// How many commands may run each other: `env nice timeout 5 …`.
const WRAPPING_MAX: usize = 32;

/// How many words are looked at in all. A word is seen again by each command that wraps it.
const WORDS_MAX: usize = 4_000_000;

/// What a script is given.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Given {
    /// Values in its own text.
    Values,
    /// Values in its standard input, too.
    ValuesAsInput,
}

pub(super) fn check(scanned: &Scanned, given: Given) -> Vec<ShellError> {
    let taint = Taint::of(scanned, given == Given::ValuesAsInput, &[]);
    let mut checker = Checker::new(&scanned.value_spans, taint);
    checker.script(scanned);
    checker.errors
}

/// The arguments of a program that is started without a shell. Its standard input is what the playbook says.
pub(super) fn check_arguments(
    command: &Command,
    value_spans: &[Range<usize>],
    input_has_values: bool,
) -> Vec<ShellError> {
    let mut checker = Checker::new(value_spans, Taint::default());
    checker.taint.is_fed = input_has_values;
    checker.reads_given_input_alone(command);
    checker.errors
}

struct Checker<'a> {
    value_spans: &'a [Range<usize>],
    taint: Taint,
    nesting: usize,
    /// The commands around the one that is looked at.
    wrapping: usize,
    /// The words that were looked at.
    seen: usize,
    errors: Vec<ShellError>,
}

impl<'a> Checker<'a> {
    fn new(value_spans: &'a [Range<usize>], taint: Taint) -> Checker<'a> {
        Checker { value_spans, taint, nesting: 0, wrapping: 0, seen: 0, errors: Vec::new() }
    }
}

impl Checker<'_> {
    fn script(&mut self, scanned: &Scanned) {
        for command in &scanned.commands {
            self.command(command, Input::Anything);
        }
        for computed in &scanned.computed {
            if let Some(name) = computed.names.iter().find(|name| self.taint.holds(name)) {
                let message = format!("`{name}` has a value, which arithmetic would read as code");
                let error = ShellError::new(ShellErrorKind::Arithmetic, computed.span.clone());
                self.errors.push(error.saying(message));
            }
        }
        if self.taint.names().next().is_some() {
            // `declare -i n=x` computes `x`.
            for word in scanned
                .commands
                .iter()
                .filter(|command| gives_attributes(command))
                .filter_map(|command| command.words.first())
            {
                let message = "a variable that is declared with an attribute may compute what it is assigned";
                self.refuse(word.span.clone(), ShellErrorKind::Arithmetic, Some(message.to_owned()), None);
            }
        }
        if scanned.commands.iter().any(gives_attributes) {
            for word in scanned.commands.iter().flat_map(|command| &command.assignments) {
                self.refuse_word(
                    word,
                    "a variable that was declared with `-i` or `-n` computes what it is assigned",
                );
            }
        }
    }

    fn reads_given_input_alone(&mut self, command: &Command) {
        let input = if self.taint.is_fed { Input::Anything } else { Input::Literal };
        self.command(command, input);
    }

    /// Whether a value may be in what the word expands to.
    fn is_tainted(&self, word: &Word) -> bool {
        !word.all_values.is_empty() || self.taint.reaches(word)
    }

    /// Whether the word may begin with a value, and so be an option or a name.
    fn begins_tainted(&self, word: &Word) -> bool {
        word.text.starts_with(UNKNOWN) && self.is_tainted(word)
    }

    fn refuse(
        &mut self,
        span: Range<usize>,
        kind: ShellErrorKind,
        message: Option<String>,
        help: Option<&str>,
    ) {
        let mut error = ShellError::new(kind, span);
        if let Some(message) = message {
            error = error.saying(message);
        }
        if let Some(help) = help {
            error = error.helping(help);
        }
        self.errors.push(error);
    }

    /// Refuses a word that may hold a value: at each value, or at the word that expands a variable with one.
    fn refuse_tainted(&mut self, word: &Word, kind: ShellErrorKind, message: &str, help: Option<&str>) {
        if word.all_values.is_empty() && self.taint.reaches(word) {
            let message = format!("{message} (a variable here has a value)");
            self.refuse(word.span.clone(), kind, Some(message), help);
        }
        for value in word.all_values.clone() {
            self.refuse(self.value_spans[value].clone(), kind, Some(message.to_owned()), help);
        }
    }

    fn refuse_word(&mut self, word: &Word, message: &str) {
        self.refuse_tainted(word, ShellErrorKind::Program, message, None);
    }

    fn refuse_code(&mut self, word: &Word, program: &str, instead: Option<&str>) {
        let message = format!("`{program}` would read the value as code");
        self.refuse_tainted(word, ShellErrorKind::Program, &message, instead);
    }

    /// Refuses a program that takes code from its input.
    fn refuse_input(&mut self, word: &Word, program: &str, input: Input) {
        if input == Input::Literal {
            return;
        }
        let message = format!("`{program}` reads code from its input, and this script holds values");
        let help = "keep the code in a file, or write it out and give it the values as arguments: `sh -c 'echo \"$1\"' sh {{ … }}`";
        self.refuse(word.span.clone(), ShellErrorKind::Program, Some(message), Some(help));
    }

    fn command(&mut self, command: &Command, input: Input) {
        for word in command.assignments.iter().chain(&command.words) {
            if let Some((name, _)) = word.text.split_once('=')
                && EVALUATED.contains(&name)
            {
                self.refuse_word(word, &format!("programs read the value of `{name}` as code"));
            }
        }
        self.run(&command.words, input);
    }

    /// A command by its words, if they are not too many.
    fn run(&mut self, words: &[Word], input: Input) {
        let Some(name) = words.first() else { return };
        let had_enough = self.seen > WORDS_MAX;
        self.seen += words.len();
        if self.wrapping >= WRAPPING_MAX || self.seen > WORDS_MAX {
            if !had_enough {
                let message = "too many commands run each other here".to_owned();
                let help = Some("write fewer commands into one, or keep them in a file and run that");
                self.refuse(name.span.clone(), ShellErrorKind::Program, Some(message), help);
            }
            return;
        }
        self.wrapping += 1;
        self.run_words(words, input);
        self.wrapping -= 1;
    }

    /// The name of a program, and its arguments.
    fn run_words(&mut self, words: &[Word], input: Input) {
        let Some((name, arguments)) = words.split_first() else { return };
        if !self.name(name) {
            return;
        }
        // Where the variable is empty, the next word is the name of the command: `$SUDO {{ … }}`.
        if name.may_vanish && !name.quoted && name.text.chars().all(|c| c == UNKNOWN) {
            match arguments.first() {
                Some(next) if self.begins_tainted(next) => {
                    let message = "the value would be the name of a command if the word before it is empty";
                    let help = Some("quote that word, so that it stays one: `\"$NAME\" {{ … }}`");
                    self.refuse_tainted(next, ShellErrorKind::Command, message, help);
                }
                Some(_) | None => self.run(arguments, input),
            }
        }
        let Some(program) = name.program() else {
            return self.shell(name, arguments, input);
        };
        if let Some(wrapper) = wrapper(program) {
            return self.wrapped(program, wrapper, arguments, input);
        }
        if SHELLS.contains(&program) {
            return self.shell(name, arguments, input);
        }
        // A shell that an ordinary program is told to run: `entr sh -c '…'`.
        for (index, word) in arguments.iter().enumerate() {
            if word.program().is_some_and(|program| SHELLS.contains(&program)) {
                self.code_after_option(word, &arguments[index + 1..]);
            }
        }
        if EVALUATORS.contains(&program) {
            self.evaluator(name, program, arguments, input);
        }
        if let Some((_, options)) = CODE_OPTIONS.iter().find(|(known, _)| *known == program) {
            self.script_option(program, options, arguments, input);
        }
        if let Some(interpreter) = interpreter(program) {
            self.interpreter(name, interpreter, arguments, input);
        }
        match program {
            "printf" => self.printf(arguments),
            "[" | "test" => self.test(arguments),
            "find" => self.find(arguments, input),
            name if ASSIGNERS.contains(&name) => self.assigner(name, arguments),
            _ => {}
        }
    }

    /// A value may be part of a path, but not a bare command name, which could be `eval`.
    fn name(&mut self, word: &Word) -> bool {
        let is_path = word.literal_prefix().contains('/') && !word.substitutes;
        let is_refused = !is_path && self.is_tainted(word);
        if is_refused {
            let message = "a value cannot be the name of a command";
            self.refuse_tainted(word, ShellErrorKind::Command, message, None);
        }
        !is_refused
    }

    /// `env`, `sudo`, `xargs` and the like: the command begins behind their own options and operands.
    fn wrapped(&mut self, program: &str, wrapper: &Wrapper, arguments: &[Word], input: Input) {
        if program == "command"
            && arguments.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"))
        {
            return;
        }
        self.script_option(program, wrapper.code, arguments, input);
        let mut operands = wrapper.operands;
        let mut at = 0;
        while let Some(word) = arguments.get(at) {
            if word.text == "--" {
                at += 1;
                continue;
            }
            if is_option(word) {
                let takes = wrapper.takes.contains(&word.text.as_str());
                if !takes && word.text.starts_with(UNKNOWN) {
                    break;
                }
                at += if takes { 2 } else { 1 };
                continue;
            }
            if word.assigned().is_some() && wrapper.assigns {
                at += 1;
                continue;
            }
            if operands > 0 {
                operands -= 1;
                at += 1;
                continue;
            }
            break;
        }
        let rest = arguments.get(at..).unwrap_or_default();
        if program == "xargs" {
            return self.xargs(&arguments[..at.min(arguments.len())], rest, input);
        }
        if wrapper.is_container {
            // Which of its words is the command depends on its subcommand: each may be.
            let is_interactive = arguments.iter().any(|word| {
                word.text == "--interactive"
                    || word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('i')
            });
            let input = if is_interactive { input } else { Input::Literal };
            for (index, word) in arguments.iter().enumerate() {
                let is_program = word.program().is_some_and(|program| {
                    SHELLS.contains(&program) || interpreter(program).is_some() || wrapper_is_pure(program)
                });
                if is_program {
                    self.run(&arguments[index..], input);
                }
            }
            return;
        }
        self.run(rest, input);
    }

    /// A shell, or a program that is not known before it runs.
    fn shell(&mut self, name: &Word, arguments: &[Word], input: Input) {
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
    fn code_after_option(&mut self, shell: &Word, arguments: &[Word]) {
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
    fn literal_script(&mut self, code: &Word, arguments: &[Word], input: Input) {
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
    fn evaluator(&mut self, name: &Word, program: &str, arguments: &[Word], input: Input) {
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
    fn script_option(&mut self, program: &str, options: &[&str], arguments: &[Word], input: Input) {
        self.option(program, options, arguments, None);
        for pair in arguments.windows(2) {
            if options.iter().any(|option| selects(&pair[0].text, option)) {
                self.literal_script(&pair[1], &[], input);
            }
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

    /// A program that takes code of its own language.
    fn interpreter(&mut self, name: &Word, interpreter: &Interpreter, arguments: &[Word], input: Input) {
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
    fn printf(&mut self, arguments: &[Word]) {
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
    fn test(&mut self, arguments: &[Word]) {
        for pair in arguments.windows(2) {
            let [operator, operand] = pair else { continue };
            if matches!(operator.text.as_str(), "-v" | "-R") {
                self.refuse_word(operand, "`-v` reads its operand as code");
            } else if operator.begins_with_value() {
                self.refuse_word(operand, "`test` would take the first of these values for an operator");
            }
        }
    }

    fn assigner(&mut self, program: &str, arguments: &[Word]) {
        for word in arguments {
            if word.assigned().is_none() {
                self.refuse_code(word, program, Some("write the name: `export NAME={{ … }}`"));
            }
        }
    }

    /// `find … -exec COMMAND`.
    fn find(&mut self, arguments: &[Word], input: Input) {
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

    /// `xargs` puts its input into the arguments, and with `-I` into the middle of them.
    fn xargs(&mut self, options: &[Word], command: &[Word], input: Input) {
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
    fn settles_code(&self, words: &[Word]) -> bool {
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

/// The command in a command: itself, or what it wraps (`sudo`, `xargs`, `find -exec` …).
pub(super) fn unwrapped(mut words: &[Word]) -> &[Word] {
    while let Some(inner) = within(words) {
        words = inner;
    }
    words
}

/// The command that a command runs, if it is known to.
fn within(words: &[Word]) -> Option<&[Word]> {
    let program = words.first().and_then(Word::program)?;
    let arguments = &words[1..];
    if program == "find" {
        let begins = arguments.iter().position(|word| matches!(word.text.as_str(), "-exec" | "-execdir"));
        return begins.map(|at| &arguments[at + 1..]);
    }
    let wrapper = wrapper(program)?;
    if wrapper.is_container {
        return None;
    }
    let mut operands = wrapper.operands;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        if is_option(word) {
            at += if wrapper.takes.contains(&word.text.as_str()) { 2 } else { 1 };
        } else if word.assigned().is_some() && wrapper.assigns {
            at += 1;
        } else if operands > 0 {
            operands -= 1;
            at += 1;
        } else {
            return Some(&arguments[at..]);
        }
    }
    None
}

/// What a command may find on its standard input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    /// It may hold a value.
    Anything,
    /// Nothing, or what the author wrote.
    Literal,
}

/// Whether the command is like `declare -i x`, after which `x=…` is arithmetic.
fn gives_attributes(command: &Command) -> bool {
    let declares = command
        .words
        .first()
        .and_then(Word::program)
        .is_some_and(|program| ASSIGNERS.contains(&program) || matches!(program, "declare" | "typeset"));
    declares
        && command
            .words
            .iter()
            .any(|word| word.text.starts_with('-') && word.text.contains(['i', 'n', 'A', 'a']))
}

fn wrapper_is_pure(program: &str) -> bool {
    wrapper(program).is_some_and(|wrapper| !wrapper.is_container)
}

/// Whether an option makes an interpreter do something else than run code from its input.
fn only_tells(word: &Word) -> bool {
    matches!(word.text.as_str(), "--version" | "-V" | "-v" | "--help" | "-h" | "--test" | "--run")
}

fn is_option(word: &Word) -> bool {
    word.text.starts_with(['-', '+']) && word.text.len() > 1
}

/// Whether a file name stands for the standard input, or for another open file.
fn is_input(word: &Word) -> bool {
    word.text == "-"
        || word.text.starts_with("/dev/") && word.text != "/dev/null"
        || word.text.starts_with("/proc/")
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
