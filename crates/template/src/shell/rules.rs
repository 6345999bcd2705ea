//! Finds values that a program would read as code. A value that is safe from the shell is not safe from `eval`.
//!
//! **Invariant:** a rule only refuses; no rule allows what the scanner refused. The rules err on the side of refusing:
//! they do not follow data through pipes and files. In a script that holds values nothing may read code from its input,
//! whether or not a value can get there. A program that is not in the tables is an ordinary program, which gets its
//! arguments byte for byte.

mod interpreters;
mod programs;
mod shells;
mod tables;
mod taint;
mod targets;
mod wrappers;

use std::ops::Range;

use super::CONTEXT;
use super::error::{ShellError, ShellErrorKind};
use super::scan::{Scanned, identifiers};
use super::word::{Command, UNKNOWN, Word, is_name};
use crate::steering::is_evaluated;
use interpreters::interpreter;
use tables::{
    ASSIGNERS, CODE_OPTIONS, COMMAND_READERS, DECLARERS, EVALUATORS, PLUS_COMMANDS, RUNS_NOTHING,
    SHELL_STARTERS, is_shell, wrapper,
};
pub(super) use taint::SUBSTITUTION;
use taint::Taint;
pub(super) use wrappers::{shell_code_options, unwrapped};

/// How deeply literal scripts within scripts are looked into.
const NESTING_MAX: usize = 4;

/// How many commands may run each other: `env nice timeout 5 …`.
const WRAPPING_MAX: usize = 32;

/// How many shells with code may be among the arguments of one command. Each has the words behind it as parameters.
const SCRIPTS_MAX: usize = 16;

/// How many words are looked at in all. A word is seen again by each command that wraps it.
const WORDS_MAX: usize = 4_000_000;

/// The variables that shells themselves expand or run, whatever is in them.
const RUN_BY_SHELLS: &[&str] = &["BASH_ENV", "ENV", "PROMPT_COMMAND", "PS0", "PS1", "PS2", "PS4"];

const QUOTES: &str = "write it within quotes: `\"$name\"`";

/// What a script is given besides the values in its text.
#[derive(Clone, Default)]
pub(super) struct Given<'a> {
    /// Values in its standard input.
    pub(super) input: bool,
    /// The variables of its environment that have values.
    pub(super) variables: &'a [String],
    /// It may get at them by names that it puts together.
    pub(super) lists_names: bool,
    /// The playbook gives it no value; it reads what Escrow gives every command.
    pub(super) is_handed_alone: bool,
}

/// What a script may compute. bash, ksh and zsh run the commands in a variable that they compute, and each of them may
/// be `/bin/sh`. So the rules are the same for every shell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arithmetic {
    /// Numbers alone: what a command printed may have come from a value, through a file for instance.
    Numbers,
    /// Anything but a variable that has a value: the script gets none.
    Free,
}

pub(super) fn check(scanned: &Scanned, given: &Given<'_>) -> Vec<ShellError> {
    let taint = Taint::of(scanned, given.input, given.variables, &[]);
    let has_values = !scanned.value_spans.is_empty() || given.input;
    // Values that the environment alone has get into a command's input only through an expansion, or by being printed.
    let reads_variables = scanned.names.iter().any(|name| given.variables.contains(name))
        || reads_context(scanned)
        || given.lists_names
        || scanned
            .commands
            .iter()
            .any(|command| prints_environment(command) || names_one(command, given.variables));
    let input = if has_values || reads_variables { Input::Anything } else { Input::Literal };
    let mut checker = Checker {
        arithmetic: Arithmetic::of(input),
        trusts_heredocs: given.is_handed_alone,
        ..Checker::new(&scanned.value_spans, taint)
    };
    checker.script(scanned, input);
    checker.errors
}

pub(super) fn is_interpreter(program: &str) -> bool {
    interpreter(program).is_some()
}

/// The arguments of a program that is started without a shell. Its standard input is what the playbook says.
pub(super) fn check_arguments(
    command: &Command,
    value_spans: &[Range<usize>],
    input_has_values: bool,
    variables: &[String],
) -> Vec<ShellError> {
    let mut checker = Checker::new(value_spans, Taint::inherited(variables));
    checker.taint.is_fed = input_has_values;
    if value_spans.is_empty() && !input_has_values {
        // Whether code in the arguments gets values is seen from the variables that it reads.
        checker.arithmetic = Arithmetic::Free;
    }
    checker.reads_given_input_alone(command);
    checker.errors
}

impl Arithmetic {
    fn of(input: Input) -> Arithmetic {
        match input {
            Input::Anything => Arithmetic::Numbers,
            Input::Literal => Arithmetic::Free,
        }
    }
}

struct Checker<'a> {
    value_spans: &'a [Range<usize>],
    taint: Taint,
    arithmetic: Arithmetic,
    nesting: usize,
    /// A here-document without expansions is code of the author's. In a script that the playbook gives values it counts
    /// as any other input.
    trusts_heredocs: bool,
    /// The command that is looked at has an input of its own, which may hold a value.
    is_fed: bool,
    /// The commands around the one that is looked at.
    wrapping: usize,
    /// The words that were looked at.
    seen: usize,
    errors: Vec<ShellError>,
}

impl<'a> Checker<'a> {
    fn new(value_spans: &'a [Range<usize>], taint: Taint) -> Checker<'a> {
        Checker {
            value_spans,
            taint,
            arithmetic: Arithmetic::Numbers,
            nesting: 0,
            trusts_heredocs: false,
            is_fed: false,
            wrapping: 0,
            seen: 0,
            errors: Vec::new(),
        }
    }
}

impl Checker<'_> {
    fn script(&mut self, scanned: &Scanned, input: Input) {
        for command in &scanned.commands {
            let input = if self.trusts_heredocs && command.reads_literal { Input::Literal } else { input };
            self.is_fed = (command.is_fed || scanned.feeds || self.taint.is_fed) && input == Input::Anything;
            self.command(command, input);
        }
        for computed in &scanned.computed {
            self.compute(&computed.names, &computed.span);
        }
        self.targets(scanned);
        if self.taint.names().next().is_some() || self.arithmetic == Arithmetic::Numbers {
            // `declare -i n=x` computes `x`.
            for word in scanned
                .commands
                .iter()
                .filter(|command| self.gives_attributes(command))
                .filter_map(|command| command.called().first())
                .cloned()
                .collect::<Vec<_>>()
            {
                let message = "a variable that is declared with an attribute may compute what it is assigned";
                self.refuse(word.span.clone(), ShellErrorKind::Arithmetic, Some(message.to_owned()), None);
            }
        }
        if scanned.commands.iter().any(|command| self.gives_attributes(command)) {
            for word in scanned.commands.iter().flat_map(|command| &command.assignments) {
                self.refuse_word(
                    word,
                    "a variable that was declared with `-i` or `-n` computes what it is assigned",
                );
            }
        }
    }

    /// Whether the command is like `declare -i x`, after which `x=…` is arithmetic.
    fn gives_attributes(&self, command: &Command) -> bool {
        let words = command.called();
        let program = words.first().and_then(Word::program).unwrap_or_default();
        if matches!(program, "float" | "integer" | "nameref") && words.len() > 1 {
            return true;
        }
        let declares = ASSIGNERS.contains(&program) || matches!(program, "declare" | "typeset");
        let assigns_text = words.iter().any(|word| word.text.contains('=') && is_unknown(word));
        let names_one = |word: &Word| {
            // `declare -a a="$x"` reads what it assigns as a list of words.
            let is_given = |letters: &[char]| word.text.starts_with('-') && word.text.contains(letters);
            // A word that may be anything is refused as the name of a variable.
            let is_known = || self.arithmetic == Arithmetic::Free || self.taint.texts(word).is_all;
            is_given(&['i', 'n'])
                || is_given(&['A', 'E', 'F', 'a']) && assigns_text
                || self.taint.may_be_option(word) && is_known()
        };
        declares && words.iter().skip(1).any(names_one)
    }

    /// Refuses arithmetic that would read a value as code.
    fn compute(&mut self, names: &[String], span: &Range<usize>) {
        let refused = names.iter().find(|name| self.taint.is_computed(name));
        let unknown = || names.iter().find(|name| !self.taint.is_number(name));
        let message = match (refused, self.arithmetic) {
            (Some(name), Arithmetic::Free | Arithmetic::Numbers) => {
                format!("`{name}` has a value, which arithmetic would read as code")
            }
            (None, Arithmetic::Free) => return,
            (None, Arithmetic::Numbers) => match unknown() {
                Some(name) => format!("`{name}` may be no number, and arithmetic would read it as code"),
                None => return,
            },
        };
        let help = "compute in the template (`{{ n + 1 }}`), with variables that are assigned numbers alone, or with `expr`";
        let error = ShellError::new(ShellErrorKind::Arithmetic, span.clone());
        self.errors.push(error.saying(message).helping(help));
    }

    /// Operands that name variables: `read a[x]` computes `x`.
    fn names(&mut self, words: &[Word]) {
        for word in words {
            // The bracket in `export TEXT=[a]` is data.
            if let Some((_, subscript)) = word.text.split_once('[').filter(|(name, _)| !name.contains('=')) {
                let subscript = &subscript[..subscript.rfind(']').unwrap_or(subscript.len())];
                if matches!(subscript, "@" | "*") {
                    continue;
                }
                let mut names = identifiers(subscript);
                if subscript.contains(UNKNOWN) {
                    names.extend_from_slice(&word.names);
                }
                self.compute(&names, &word.span);
            }
        }
    }

    fn reads_given_input_alone(&mut self, command: &Command) {
        let input = if self.taint.is_fed { Input::Anything } else { Input::Literal };
        self.is_fed = self.taint.is_fed;
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

    /// Whether the shell may make several words of one that has a value: an expansion without quotes. A `{{ }}` alone is
    /// always one word.
    fn splits(&self, word: &Word) -> bool {
        let in_substitution = word.all_values.len() > word.values.len();
        word.may_vanish && (self.taint.reaches(word) || in_substitution)
    }

    /// Refuses words of a program that the shell may make several of: one of these could be an option with code, or a
    /// command.
    fn refuse_split(&mut self, program: &str, words: &[Word]) {
        for word in words.iter().filter(|word| self.splits(word)).cloned().collect::<Vec<_>>() {
            let message =
                format!("without quotes this is several words, and `{program}` could take one for code");
            self.refuse_tainted(&word, ShellErrorKind::Program, &message, Some(QUOTES));
        }
    }

    /// The same for what a command printed.
    fn refuse_split_output(&mut self, program: &str, words: &[Word]) {
        for word in words.iter().filter(|word| word.may_vanish) {
            let message = format!(
                "what a command printed is several words without quotes, and `{program}` could take one for a command"
            );
            self.refuse_printed(word, &message, QUOTES);
        }
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

    fn refuse_too_many(&mut self, name: &Word) {
        let message = "too many commands run each other here".to_owned();
        let help = Some("write fewer commands into one, or keep them in a file and run that");
        self.refuse(name.span.clone(), ShellErrorKind::Program, Some(message), help);
    }

    /// Refuses what a command printed as the code of an interpreter. `sed "s/a/$(…)/"` is common, and `jq` starts nothing.
    fn refuse_code_of_output(&mut self, word: &Word, program: &str) {
        if !["gsed", "jq", "sed"].contains(&program) {
            let message = format!("`{program}` would read what a command printed as code");
            self.refuse_printed(
                word,
                &message,
                "keep the code in a file, or give it what was printed as an argument",
            );
        }
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
            if let Some(name) = evaluated_in(word) {
                self.refuse_word(word, &format!("programs read the value of `{name}` as code"));
                if RUN_BY_SHELLS.contains(&name) {
                    let message =
                        format!("shells run what is in `{name}`, and that may be what a command printed");
                    self.refuse_printed(word, &message, "write it out");
                }
            }
        }
        for word in &command.duplicated {
            let message = "bash expands the name of a file behind `>&` a second time, as code";
            let help = "write `> FILE 2>&1`";
            self.refuse_tainted(word, ShellErrorKind::Program, message, Some(help));
            self.refuse_printed(word, &format!("{message}, and that may be what a command printed"), help);
        }
        // `a[ x ]=1` is an assignment with blanks in its subscript.
        if let Some((_, subscript)) = command.words.first().and_then(Word::subscripted)
            && !command.words[0].text.contains(']')
        {
            let mut names = identifiers(subscript);
            for word in &command.words {
                names.extend(identifiers(&word.text));
                names.extend_from_slice(&word.names);
                self.refuse_tainted(word, ShellErrorKind::Arithmetic, "a subscript is read as code", None);
            }
            let span = command.words[0].span.clone();
            if names.iter().any(|name| self.taint.is_computed(name)) {
                self.compute(&names, &span);
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
                self.refuse_too_many(name);
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
            return self.unknown_program(name, arguments, input);
        };
        if takes_code(program) {
            for word in arguments.iter().filter(|word| word.may_be_several()) {
                self.refuse_code(word, program, Some("write the words out, without braces"));
                self.refuse_code_of_output(word, program);
            }
        }
        if let Some(wrapper) = wrapper(program) {
            return self.wrapped(name, wrapper, arguments, input);
        }
        if is_shell(program) {
            return self.shell(name, arguments, input);
        }
        self.interpreters_behind(name, program, arguments, input);
        if EVALUATORS.contains(&program) {
            self.evaluator(name, program, arguments, input);
        }
        if let Some((_, options)) = CODE_OPTIONS.iter().find(|(known, _)| *known == program) {
            self.script_option(program, options, arguments, input);
        }
        if let Some(interpreter) = interpreter(program) {
            self.interpreter(name, interpreter, arguments, input);
        }
        let has_command = |options: &[&str]| {
            arguments.iter().any(|word| options.iter().any(|option| selects(&word.text, option)))
        };
        // `./script` is a program of the author's.
        if SHELL_STARTERS.contains(&program)
            && !is_relative_path(name)
            && !has_command(&["--command", "--run", "-c"])
            && !arguments.iter().any(only_tells)
        {
            self.refuse_input(name, program, input);
        }
        if COMMAND_READERS.contains(&program) && !arguments.iter().any(only_tells) {
            self.refuse_input(name, program, input);
        }
        if PLUS_COMMANDS.contains(&program) {
            for word in arguments.iter().filter(|word| word.text.starts_with(['+', UNKNOWN])) {
                self.refuse_code(word, program, Some("write `--` and a directory before it: `-- ./{{ … }}`"));
            }
        }
        match DECLARERS.contains(&program) {
            true => self.names(arguments),
            false => self.names(&targets::targets(program, arguments)),
        }
        self.target_words(program, arguments);
        if CODE_OPTIONS.iter().any(|(known, _)| *known == program) || matches!(program, "find" | "git") {
            let ends_options = arguments.iter().position(|word| word.text == "--").unwrap_or(arguments.len());
            self.refuse_split(program, &arguments[..ends_options]);
        }
        if DECLARERS.contains(&program) {
            // Some shells split `export NAME=$value`, and all do behind `command`.
            self.refuse_split(program, arguments);
            if self.wrapping > 1 {
                self.refuse_split_output(program, arguments);
            }
        }
        match program {
            "capsh" => self.capsh(name, arguments, input),
            "su" => self.su(name, arguments, input),
            "tar" => self.tar(arguments),
            "printf" => self.printf(arguments),
            "[" | "test" => self.test(arguments),
            "find" => self.find(arguments, input),
            "git" => self.git(arguments, input),
            name if ASSIGNERS.contains(&name) => self.assigner(name, arguments),
            _ => {}
        }
    }

    /// A shell or another interpreter that an ordinary program is told to run: `entr sh -c '…'`, `tini sh`.
    fn interpreters_behind(&mut self, name: &Word, program: &str, arguments: &[Word], input: Input) {
        let is_ordinary = !takes_code(program) && !RUNS_NOTHING.contains(&program);
        let mut scripts = 0;
        for (index, word) in arguments.iter().enumerate() {
            let Some(behind) = word.program() else { continue };
            let rest = &arguments[index + 1..];
            if is_shell(behind) {
                if let Some(at) = self.code_after_option(word, rest) {
                    scripts += 1;
                    if scripts > SCRIPTS_MAX {
                        return self.refuse_too_many(word);
                    }
                    self.literal_script(&rest[at], &rest[at + 1..], input);
                }
            } else if let Some(interpreter) = interpreter(behind).filter(|_| is_ordinary) {
                self.option(behind, interpreter.code, rest, Some(interpreter.instead));
            } else {
                continue;
            }
            if is_ordinary && self.is_fed && !is_relative_path(name) {
                return self.run(&arguments[index..], input);
            }
        }
    }

    /// A program that is known only when the script runs. It counts as every program that the script assigns to the
    /// variable literally; where that is not all that it may be, it counts as an interpreter of anything.
    fn unknown_program(&mut self, name: &Word, arguments: &[Word], input: Input) {
        // `run=eval; "$run" {{ … }}`
        let known = self.taint.texts(name);
        // `"${PYTHON:-python3}"` is the program that the operator names, or this one.
        let is_default = name.fallback.is_some() && !name.may_vanish && name.text.chars().count() == 1;
        for text in known.texts.iter().chain(name.fallback.as_ref().filter(|_| is_default)) {
            let parts = if name.may_vanish { text.split_whitespace().collect() } else { vec![text.as_str()] };
            let literal = |text: &str| Word {
                text: text.to_owned(),
                bare: text.len(),
                span: name.span.clone(),
                ..Word::default()
            };
            let words: Vec<Word> = parts.into_iter().map(literal).chain(arguments.iter().cloned()).collect();
            self.run(&words, input);
        }
        if known.is_all {
            return;
        }
        let is_of_author = is_relative_path(name) && !(self.is_tainted(name) && name.text.ends_with(UNKNOWN));
        if !is_of_author {
            let message = "the program is not known before it runs, and could read the value as code";
            let help = "write the name of the program, or assign the variable literally in the script: `tool=gcc; \"$tool\" {{ … }}`";
            for word in arguments {
                self.refuse_tainted(word, ShellErrorKind::Program, message, Some(help));
            }
            // A variable of the operator's may be a compiler; an array and a pattern are a command line.
            if name.transforms && !is_default || name.may_be_files() || name.may_be_several() {
                let called = "a program that is not known before it runs";
                return self.refuse_input(name, called, input);
            }
        }
        self.shell(name, arguments, input);
    }

    /// A value may be part of a path, but not a bare command name, which could be `eval`. The same is true of what a
    /// command printed, except for a directory within quotes: `"$(go env GOPATH)/bin/tool"`.
    fn name(&mut self, word: &Word) -> bool {
        let is_path = word.literal_prefix().contains('/') && !word.substitutes;
        let is_refused = !is_path && self.is_tainted(word);
        if is_refused {
            let message = "a value cannot be the name of a command";
            self.refuse_tainted(word, ShellErrorKind::Command, message, None);
        }
        let is_in_directory = !word.may_vanish && word.text.contains('/');
        if !is_path && !is_in_directory && !self.taint.is_located(word) {
            let message = "what a command printed cannot be a command in a script that holds values";
            let help =
                "write the name of the program, or a directory before it, within quotes: `\"$dir/program\"`";
            self.refuse_printed(word, message, help);
        }
        !is_refused
    }
}

/// Whether the rules know a program that may take code, or run another.
fn takes_code(program: &str) -> bool {
    is_shell(program)
        || wrapper(program).is_some()
        || interpreter(program).is_some()
        || EVALUATORS.contains(&program)
        || CODE_OPTIONS.iter().any(|(known, _)| *known == program)
        || matches!(program, "find" | "git")
}

/// The variable that programs read as code and that a word assigns: `CC=…`, `--env=CC=…`, `-eCC=…`.
fn evaluated_in(word: &Word) -> Option<&str> {
    names_before_equals(word).find(|name| is_evaluated(name))
}

/// Every name that a word may assign, by itself or as the argument of an option.
fn names_before_equals(word: &Word) -> impl Iterator<Item = &str> {
    let literal = word.literal_prefix();
    literal.match_indices('=').flat_map(move |(at, _)| {
        // `A+=…` appends, and `BASH_FUNC_f%%=…` is a function.
        let before = literal[..at].trim_end_matches(['+', '%', '(', ')']);
        let is_part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let begin = before.len() - before.bytes().rev().take_while(is_part).count();
        let name = &before[begin..];
        // The letter of an option may stand directly before the name.
        let behind_letter = name.get(1..).filter(|_| before.starts_with('-') && begin == 1);
        [Some(name), behind_letter].into_iter().flatten().filter(|name| is_name(name))
    })
}

/// What a command may find on its standard input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Input {
    /// It may hold a value.
    Anything,
    /// Nothing, or what the author wrote.
    Literal,
}

/// Whether commands of the script may print what is in the file `$ESCROW_CONTEXT`.
fn reads_context(scanned: &Scanned) -> bool {
    scanned.names.iter().any(|name| name == CONTEXT)
        || scanned.commands.iter().any(|command| names_one(command, &[CONTEXT.to_owned()]))
}

/// Whether the command has the name of one of these variables in its words, as in `python3 -c 'os.getenv("NAME")'`.
fn names_one(command: &Command, variables: &[String]) -> bool {
    let words = command.words.iter().chain(&command.assignments);
    let mentions = |word: &Word| identifiers(&word.text).iter().any(|name| variables.contains(name));
    !variables.is_empty() && words.into_iter().any(mentions)
}

/// Whether the command prints variables without an expansion.
fn prints_environment(command: &Command) -> bool {
    let words = command.called();
    let program = words.first().and_then(Word::program).unwrap_or_default();
    match program {
        "printenv" => true,
        // The variables of a process as a file, and those of `awk`, Python and others.
        _ if command.words.iter().any(|word| word.text.to_ascii_lowercase().contains("environ")) => true,
        "env" | "set" | "export" | "declare" | "typeset" => words.len() == 1 || words[1].text == "-p",
        _ => false,
    }
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
    is_input_name(&word.text)
}

fn is_input_name(name: &str) -> bool {
    name == "-" || name.starts_with("/dev/") && name != "/dev/null" || name.starts_with("/proc/")
}

/// Names of files that stand for the standard input, or for another open file.
const INPUT_NAMES: &[&str] = &["/dev/fd/", "/dev/stdin", "/proc/"];

/// Whether a program is in a directory of the author's: `./scripts/{{ … }}.sh`.
fn is_relative_path(name: &Word) -> bool {
    let prefix = name.literal_prefix();
    prefix.contains('/') && !prefix.starts_with(['/', '~']) && !name.may_be_files() && !name.may_be_several()
}

/// Whether a word is known only when the script runs, as in `$SHELL -c …`.
fn is_unknown(word: &Word) -> bool {
    word.text.contains(UNKNOWN)
}

/// Whether a word is the option, has it at the end of a cluster (`-ne`), carries its argument (`-e…`, `--eval=…`), or
/// abbreviates it (`--ev`).
fn selects(text: &str, option: &str) -> bool {
    if abbreviates(text, option) {
        return true;
    }
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

/// Whether a word is the beginning of a long option (`--to-comm`), as most programs accept it. What stands behind a value
/// is not known: `--to{{ … }}` and `--{{ … }}` may be any option that begins so.
fn abbreviates(text: &str, option: &str) -> bool {
    let is_long = option.len() > 2 && option.starts_with('-');
    if !is_long || !text.starts_with('-') {
        return false;
    }
    let end = text.find(['=', UNKNOWN]).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    let letters = name.trim_start_matches('-').len();
    let is_open = rest.starts_with(UNKNOWN);
    // `-e` and `-ev` are the beginning of `-eval`, but a single letter is mostly an option of its own.
    let least = match (is_open, option.starts_with("--")) {
        (true, _) => 0,
        (false, true) => 1,
        (false, false) => 2,
    };
    let begins = option.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    begins && letters >= least && (name.starts_with("--") || !option.starts_with("--"))
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

    #[test]
    fn a_long_option_is_found_by_each_of_its_beginnings() {
        for text in ["--e", "--ev", "--eval", "--ev=1", "--ev\u{fffc}", "--\u{fffc}"] {
            assert!(selects(text, "--eval"), "{text}");
        }
        for text in ["-ev", "-eva=1"] {
            assert!(selects(text, "-eval"), "{text}");
        }
        for text in ["--", "-", "--x", "--evalu", "-ev"] {
            assert!(!selects(text, "--eval"), "{text}");
        }
    }
}
