//! Programs that take code, or that run other programs: which of their words must not hold values.

use super::interpreters::{FLAGS, Interpreter, Operands, interpreter};
use super::tables::{
    EVALUATORS, GIT_CODE_OPTIONS, GIT_DATA_OPTIONS, GIT_RUNNERS, GIT_STARTERS, GIT_SUBCOMMAND_CODE_OPTIONS,
    GIT_TAKES, INPUT_EVALUATORS, PRINTED_EVALUATORS, PYTHON_HARMLESS, PYTHON_RUNNERS, SHELL_RUNNERS,
    UNCLUSTERED, is_harmless_setting, is_shell, wrapper,
};
use super::taint::{FOUND, GIVEN};
use super::{
    Arithmetic, Checker, INPUT_NAMES, Input, QUOTES, abbreviates, is_input, is_input_name, is_option,
    is_unknown, only_tells, selects,
};
use crate::shell::error::ShellErrorKind;
use crate::shell::word::{UNKNOWN, Word};

impl Checker<'_> {
    /// Commands whose arguments are code.
    pub(super) fn evaluator(&mut self, name: &Word, program: &str, arguments: &[Word], input: Input) {
        const ALWAYS: &[&str] = &["alias", "eval", "fc", "let"];
        let callback = || arguments.iter().any(|word| word.text.starts_with("-C"));
        let is_refused = ALWAYS.contains(&program)
            || program == "hash" && arguments.iter().any(|word| word.text.starts_with("-p"))
            || matches!(program, "mapfile" | "readarray") && callback()
            // What is put into the history is run from there: `history -s …; fc -s`.
            || program == "history" && arguments.iter().any(|word| is_option(word) && word.text.contains(['n', 'p', 'r', 's']));
        let does_nothing = arguments.is_empty() && program != "fc";
        if is_refused && !does_nothing && input == Input::Anything {
            let message = format!("`{program}` cannot be used in a script that holds values");
            let help = "write the command itself; values are already complete words";
            if !arguments.iter().any(|word| self.is_tainted(word)) {
                self.refuse(name.span.clone(), ShellErrorKind::Program, Some(message), Some(help));
            }
        }
        const EXPANDED: &str = "write it in single quotes, so that it is expanded when the trap runs: `trap 'rm -rf \"$dir\"' EXIT`";
        const ASSIGNED: &str =
            "assign it, and write the trap in single quotes: `dir={{ … }}; trap 'rm -rf \"$dir\"' EXIT`";
        let instead = (program == "trap").then_some(ASSIGNED);
        arguments.iter().for_each(|word| self.refuse_code(word, program, instead));
        if PRINTED_EVALUATORS.contains(&program) {
            let message = format!("`{program}` could read what a command printed as code");
            let help = "write it out, or give it to the command as its input";
            arguments.iter().for_each(|word| self.refuse_printed(word, &message, help));
        }
        let operands: Vec<&Word> = arguments.iter().filter(|word| !is_option(word)).collect();
        match program {
            "ssh" | "rsh" => {
                // Without a command, the remote shell reads its input.
                match operands.split_first() {
                    Some((_, [])) | None => self.refuse_input(name, program, input),
                    Some((_, remote)) => {
                        let text: Vec<&str> = remote.iter().map(|word| word.text.as_str()).collect();
                        for word in remote {
                            let help = "give it to the command as its input: `… | ssh host 'read -r x; …'`";
                            self.refuse_printed_code(word, help);
                        }
                        let joined =
                            Word { text: text.join(" "), span: name.span.clone(), ..Word::default() };
                        self.literal_script(&joined, &[], input);
                    }
                }
            }
            "trap" => {
                if let Some(action) = operands.first() {
                    match is_unknown(action) {
                        true => self.refuse_printed_code(action, EXPANDED),
                        false => self.literal_script(action, &[], input),
                    }
                }
            }
            _ if INPUT_EVALUATORS.contains(&program) => {
                let reads = operands.is_empty() || operands.iter().any(|word| is_input(word));
                if reads || matches!(program, "at" | "batch" | "parallel") {
                    self.refuse_input(name, program, input);
                }
            }
            _ => {
                let reads = |word: &Word| {
                    let file = ["-f", "--file"].iter().find_map(|option| joined_file(word, option));
                    is_input(word) || word.reads_process || is_option(word) && file.is_some_and(is_input_name)
                };
                if arguments.iter().any(reads) {
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
        if !SHELL_RUNNERS.contains(&program) {
            return;
        }
        for word in arguments.iter().filter(|word| word.text.contains('=')) {
            if self.is_written(word, options) {
                self.refuse_printed_code(word, "write it out");
            }
        }
        for pair in arguments.windows(2) {
            if self.is_written(&pair[0], options)
                || self.taint.may_be_option(&pair[0]) && !is_unknown(&pair[1])
            {
                self.literal_script(&pair[1], &[], input);
            }
        }
    }

    /// Whether a word is one of these options, or a variable that the script assigns one.
    fn is_written(&self, word: &Word, options: &[&str]) -> bool {
        let is_one = |text: &str| options.iter().any(|option| selects(text, option));
        is_one(&word.text) || is_unknown(word) && self.taint.texts(word).texts.iter().any(|text| is_one(text))
    }

    /// Refuses values in the argument of an option: the next word, or the rest of the option's own word.
    pub(super) fn option(
        &mut self,
        program: &str,
        options: &[&str],
        arguments: &[Word],
        instead: Option<&str>,
    ) -> bool {
        if options.is_empty() {
            return false;
        }
        let ends_options = arguments.iter().position(|word| word.text == "--").unwrap_or(arguments.len());
        for pair in arguments[..ends_options].windows(2) {
            if self.taint.may_be_option(&pair[0]) {
                self.refuse_behind_option(program, &pair[1..]);
            }
        }
        self.written_option(program, options, arguments, instead)
    }

    /// The same for options that are written out.
    fn written_option(
        &mut self,
        program: &str,
        options: &[&str],
        arguments: &[Word],
        instead: Option<&str>,
    ) -> bool {
        let mut found = false;
        for (index, word) in arguments.iter().enumerate() {
            for option in options {
                let is_single = option.len() == 2 && UNCLUSTERED.contains(&program);
                let is_selected =
                    if is_single { word.text.starts_with(option) } else { selects(&word.text, option) };
                if !is_selected {
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
        let is_python = matches!(interpreter.name, "python" | "pypy");
        let mut has_code = false;
        // A word before this one may be an option.
        let mut has_open = false;
        let mut operands = Vec::new();
        // How many operands may be arguments of options, because an argument may be empty: `awk -F{{ … }} '…'`.
        let mut shifts = 0;
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
            if operands.is_empty() && interpreter.subcommands.contains(&word.text.as_str()) {
                continue;
            }
            if interpreter.interactive.iter().any(|option| selects(&word.text, option)) {
                self.refuse_input(name, program, input);
            }
            if self.taint.may_be_option(word)
                && (operands.is_empty() || interpreter.permutes)
                && let Some(next) = arguments.get(index)
            {
                self.refuse_behind_option(program, std::slice::from_ref(next));
                self.refuse_code_of_output(next, program);
                if !has_open {
                    // Where the word is an option, a later one may be the one with code.
                    self.written_option(program, interpreter.code, &arguments[index..], instead);
                    self.written_option(program, interpreter.loads, &arguments[index..], instead);
                }
                has_open = true;
                if PYTHON_RUNNERS.contains(&next.text.as_str()) {
                    arguments[index..].iter().for_each(|word| self.refuse_code(word, program, instead));
                }
            }
            if is_option(word) && self.taint.may_be_empty(word, word.text.get(2..).unwrap_or_default()) {
                shifts += 1;
            }
            if let Some(option) = interpreter.loads.iter().find(|option| is_given(&word.text, option)) {
                self.refuse_code(word, program, None);
                let is_alone = word.text == *option || abbreviates(&word.text, option);
                if is_alone && !word.text.contains('=') {
                    if let Some(module) = arguments.get(index) {
                        self.refuse_code(module, program, None);
                    }
                    index += 1;
                }
                continue;
            }
            if (operands.is_empty() && !has_code) || interpreter.permutes {
                self.refuse_split(program, std::slice::from_ref(word));
            }
            // `-vname={{ … }}`, `--set=name={{ … }}`
            let is_joined = |(option, _): &(&str, usize)| {
                word.text
                    .strip_prefix(option)
                    .is_some_and(|rest| rest.starts_with('=') || option.len() == 2 && !rest.is_empty())
            };
            if interpreter.data.iter().any(is_joined) {
                continue;
            }
            if let Some((_, count)) = interpreter.data.iter().find(|(option, _)| word.text == *option) {
                let given = arguments.iter().skip(index).take(*count);
                self.refuse_split(program, &given.clone().cloned().collect::<Vec<_>>());
                shifts += given.filter(|word| self.taint.may_be_absent(word)).count();
                index += count;
                continue;
            }
            if let Some(option) = interpreter.files.iter().find(|option| is_given(&word.text, option)) {
                has_code |= *option != "-init";
                match joined_file(word, option) {
                    Some(file) => {
                        let file = Word { text: file.to_owned(), ..word.clone() };
                        self.program_file(name, program, &file, input);
                    }
                    None => {
                        if let Some(file) = arguments.get(index) {
                            self.program_file(name, program, file, input);
                        }
                        index += 1;
                    }
                }
                continue;
            }
            if is_python && let Some(module) = module(word, arguments.get(index)) {
                self.module(name, &module, &arguments[index..], input);
                if word.text.ends_with('m') {
                    index += 1;
                }
                has_code = true;
                ends_options = true;
                continue;
            }
            if interpreter.code.iter().any(|option| selects(&word.text, option)) {
                has_code = true;
                self.refuse_code(word, program, instead);
                self.refuse_code_of_output(word, program);
                let is_joined = word.text.contains('=') && word.text.starts_with("--");
                if let Some(code) = arguments.get(index).filter(|_| !is_joined) {
                    self.refuse_code(code, program, instead);
                    self.refuse_code_of_output(code, program);
                    index += 1;
                }
                // Python hands on everything behind its code.
                ends_options |= interpreter.operands == Operands::FileThenArguments && !interpreter.permutes;
                continue;
            }
            if is_option(word) && !word.text.starts_with(UNKNOWN) {
                // The option is none of those that take data.
                self.refuse_code(word, program, instead);
                let next_is_setting =
                    || arguments.get(index).is_some_and(|next| next.literal_prefix().contains('='));
                // `m4 -D NAME=value`. Of the short options of some interpreters nothing is known.
                let may_have_argument = !word.text.contains('=')
                    && (word.text.starts_with("--") || interpreter.is_strange || next_is_setting());
                if may_have_argument
                    && !FLAGS.contains(&word.text.as_str())
                    && let Some(next) = arguments.get(index).filter(|next| !is_option(next))
                {
                    let message = format!("`{program}` could take the value for the argument of an option");
                    let help = format!("write `--` before it, or: {}", interpreter.instead);
                    self.refuse_tainted(next, ShellErrorKind::Program, &message, Some(&help));
                }
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
        if interpreter.name == "perl" && opens_operands(arguments) {
            // `<>` opens its operands as `open` with two arguments does: one that ends with a `|` is a command.
            let help = Some("give it as the input: `perl -ne '…' < {{ … }}`");
            for word in &operands {
                self.refuse_tainted(
                    word,
                    ShellErrorKind::Program,
                    "`perl` would run a value that ends with `|`",
                    help,
                );
            }
        }
        match interpreter.operands {
            Operands::CodeThenFiles if has_code => {}
            Operands::CodeThenFiles => {
                for code in operands.iter().take(shifts + 1) {
                    self.refuse_code(code, program, instead);
                    self.refuse_code_of_output(code, program);
                }
            }
            Operands::FileThenArguments if has_code => {}
            Operands::FileThenArguments => {
                if operands.len() <= shifts {
                    self.refuse_input(name, program, input);
                }
                for (at, file) in operands.iter().take(shifts + 1).enumerate() {
                    if is_input(file) || file.may_vanish || file.reads_process {
                        self.refuse_input(name, program, input);
                    // `data:text/javascript,…` is code, too.
                    } else if at > 0 && self.begins_tainted(file)
                        || file.substitutes
                        || file.text.starts_with("data:")
                    {
                        self.refuse_code(file, program, instead);
                    }
                }
            }
            Operands::Files => {
                for file in &operands {
                    self.program_file(name, program, file, input);
                }
                if operands.len() <= shifts {
                    self.refuse_input(name, program, input);
                }
            }
            Operands::DatabaseThenCode => {
                for code in operands.iter().skip(1) {
                    self.refuse_code(code, program, instead);
                    self.refuse_code_of_output(code, program);
                    if INPUT_NAMES.iter().any(|name| code.text.contains(name)) {
                        self.refuse_input(name, program, input);
                    }
                }
                if !has_code && operands.len() < 2 + shifts {
                    self.refuse_input(name, program, input);
                }
            }
            Operands::Database => {
                if interpreter.name.starts_with("mongo") {
                    operands.iter().skip(1).for_each(|file| self.program_file(name, program, file, input));
                }
                if !has_code || shifts > 0 {
                    self.refuse_input(name, program, input);
                }
            }
        }
    }

    /// In some shells `printf -v name` assigns, and an index in the name is arithmetic.
    pub(super) fn printf(&mut self, arguments: &[Word]) {
        // Its options end at the pattern; `-v` has an argument of its own. `- %s` is a pattern.
        let is_known = |word: &Word| {
            word.text.starts_with("-v") || word.text.starts_with(['-', '+']) && is_unknown(word)
        };
        let mut options = 0;
        while let Some(word) = arguments.get(options)
            && (is_known(word) || self.taint.may_be_option(word) || self.begins_tainted(word))
        {
            options += if word.text == "-v" { 2 } else { 1 };
        }
        self.option("printf", &["-v"], &arguments[..arguments.len().min(options + 1)], None);
        for word in arguments.iter().take(options).filter(|word| is_known(word)) {
            self.refuse_word(word, "`printf` could take this for an option with code");
        }
        for pair in arguments[..arguments.len().min(options + 1)].windows(2) {
            if self.taint.may_be_option(&pair[0]) {
                self.refuse_code_of_output(&pair[1], "printf");
            }
        }
        let ends_options = arguments.iter().position(|word| word.text == "--");
        let begin = ends_options.map_or(0, |at| at + 1);
        let mut behind = arguments[begin..].iter();
        let format = behind.find(|word| begin > 0 || !is_known(word) || self.begins_tainted(word));
        if format.is_some_and(|format| format.text.contains("%n")) {
            // bash assigns how much it has printed to the variable that the argument names.
            behind.for_each(|word| {
                self.refuse_word(word, "`%n` takes its argument for the name of a variable")
            });
        }
        if let Some(word) = format.cloned() {
            let help = Some("write `printf '%s\\n' {{ … }}`");
            if word.values.is_empty() && self.begins_tainted(&word) {
                self.refuse_word(&word, "`printf` could take this for an option with code");
            } else if word.text.starts_with(UNKNOWN) && ends_options.is_none() {
                self.refuse_printed(
                    &word,
                    "`printf` could take what a command printed for an option with code",
                    "write `printf '%s\\n' \"$(…)\"`",
                );
            }
            for (value, _) in &word.values {
                let message = "the first argument of `printf` is a pattern".to_owned();
                self.refuse(self.value_spans[*value].clone(), ShellErrorKind::Program, Some(message), help);
            }
        }
    }

    /// Refuses what a command printed, in a script that gets values.
    pub(super) fn refuse_printed(&mut self, word: &Word, message: &str, help: &str) {
        if self.arithmetic == Arithmetic::Numbers && !self.is_tainted(word) && self.taint.is_printed(word) {
            self.refuse(word.span.clone(), ShellErrorKind::Program, Some(message.to_owned()), Some(help));
        }
    }

    /// In some shells an index in the name of `-v name` is arithmetic.
    pub(super) fn test(&mut self, arguments: &[Word]) {
        for word in arguments.iter().filter(|word| word.may_vanish) {
            if self.splits(word) {
                let message = "`test` could take parts of this for operators";
                self.refuse_tainted(word, ShellErrorKind::Program, message, Some(QUOTES));
            } else {
                self.refuse_printed(
                    word,
                    "`test` could take parts of what a command printed for operators",
                    "write it within quotes: `[ \"$(…)\" = … ]`, `[ \"$name\" = … ]`",
                );
            }
        }
        for word in arguments.iter().filter(|word| word.may_be_files() && word.text.starts_with(['*', '?'])) {
            if self.arithmetic == Arithmetic::Numbers {
                let message = "`test` could take the names of files for operators".to_owned();
                let help = Some("write a directory before it: `./*`");
                self.refuse(word.span.clone(), ShellErrorKind::Program, Some(message), help);
            }
        }
        for pair in arguments.windows(2) {
            let [operator, operand] = pair else { continue };
            if matches!(operator.text.as_str(), "-v" | "-R") || self.taint.may_be_option(operator) {
                self.refuse_word(operand, "`-v` reads its operand as code");
                self.names(std::slice::from_ref(operand));
            } else if self.begins_tainted(operator) {
                self.refuse_word(operand, "`test` would take the first of these values for an operator");
            }
            let is_open = self.taint.may_be_option(operator)
                || operator.text.starts_with(UNKNOWN)
                    && (self.is_tainted(operator) || self.taint.is_printed(operator));
            if matches!(operator.text.as_str(), "-v" | "-R") || is_open {
                let message = "`-v` reads its operand as code, and that may be what a command printed";
                self.refuse_printed(operand, message, "write the name out");
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

    /// `find … -exec COMMAND`. What stands for `{}` is a value where a value chose the files. Within other text it is
    /// code wherever that text is, so there it counts in every script that holds values.
    pub(super) fn find(&mut self, arguments: &[Word], input: Input) {
        let begins = |word: &Word| {
            matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir")
                || self.taint.may_be_option(word)
        };
        let places: Vec<bool> = arguments.iter().map(begins).collect();
        let reads_names = arguments.iter().any(|word| word.text.starts_with("-files0"));
        let mut is_command = false;
        let mut is_chosen = reads_names && input == Input::Anything;
        for (word, begins) in arguments.iter().zip(&places) {
            is_command = (is_command || *begins) && !matches!(word.text.as_str(), ";" | "+");
            is_chosen |= !is_command && self.is_tainted(word);
        }
        let may_hold_values = is_chosen
            || !self.value_spans.is_empty()
            || input == Input::Anything
            || self.taint.names().next().is_some();
        const STARTS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];
        let mut at = 0;
        let mut has_open = false;
        while let Some(begin) = (at..arguments.len()).find(|at| places[*at]) {
            at = begin + 1;
            let is_written = self.is_written(&arguments[begin], STARTS);
            // Of several words that may be `-exec` the first stands for all, and no word is looked at twice.
            if has_open && !is_written {
                continue;
            }
            let command = &arguments[at..];
            let end = command.iter().position(|word| {
                let ends = matches!(word.text.as_str(), ";" | "+");
                // What follows a word that may be `-exec` can hold the real one.
                ends || !is_written && STARTS.contains(&word.text.as_str())
            });
            let end = end.unwrap_or(command.len());
            at += if is_written { end } else { 0 };
            has_open = !is_written;
            let mut words = command[..end].to_vec();
            // Such a word is mostly an operand, and so is what a command printed behind it.
            let is_operand = |name: &Word| is_unknown(name) || name.text.starts_with('-');
            let has_values = words.iter().any(|word| self.is_tainted(word));
            if !is_written && !has_values && words.first().is_none_or(is_operand) {
                continue;
            }
            for at in 0..words.len() {
                let is_argument = words[at].text == "{}" && (at == 0 || !is_option(&words[at - 1]));
                if words[at].text.contains("{}") && may_hold_values {
                    // Other names of files may have come from a value as well, as what a command printed may.
                    let is_value = is_chosen || !is_argument;
                    words[at].forget("{}");
                    words[at].names.push(if is_value { GIVEN } else { FOUND }.to_owned());
                    words[at].may_vanish |= reads_names;
                    words[at].has_brace = false;
                }
            }
            self.run(&words, input);
        }
    }

    /// `git` runs what its configuration names, and some subcommands run what they are given.
    pub(super) fn git(&mut self, arguments: &[Word], input: Input) {
        const INSTEAD: Option<&str> =
            Some("write the setting out, without a value: names go into `GIT_AUTHOR_NAME={{ … }}`");
        let mut runs_alias = false;
        let mut has_open = false;
        let mut at = 0;
        while let Some(word) =
            arguments.get(at).filter(|word| is_option(word) || self.taint.may_be_option(word))
        {
            at += 1;
            if self.taint.may_be_option(word) {
                if !has_open {
                    self.refuse_behind_option("git", &arguments[at..]);
                    self.written_option("git", GIT_CODE_OPTIONS, &arguments[at..], INSTEAD);
                }
                has_open = true;
                continue;
            }
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
        if self.begins_tainted(subcommand) {
            self.refuse_word(subcommand, "`git` could take the value for an option or an alias with code");
        }
        if subcommand.text == "config" {
            self.git_config(rest);
        }
        if runs_alias {
            // The alias is a script, and these are its parameters.
            rest.iter().for_each(|word| self.refuse_code(word, "git", INSTEAD));
        }
        let name = subcommand.text.as_str();
        match GIT_STARTERS.iter().find(|(known, _)| *known == name) {
            Some((_, options)) => {
                self.script_option("git", GIT_SUBCOMMAND_CODE_OPTIONS, rest, input);
                self.script_option("git", options, rest, input);
            }
            // Whether another subcommand has such an option is not known.
            None => {
                self.written_option("git", GIT_SUBCOMMAND_CODE_OPTIONS, rest, None);
            }
        }
        if GIT_RUNNERS.contains(&name) {
            rest.iter().for_each(|word| self.refuse_code(word, "git", None));
        }
        let ends_options = rest.iter().position(|word| word.text == "--").unwrap_or(rest.len());
        for word in &rest[..ends_options] {
            let (option, argument) = word.text.split_once('=').unwrap_or((&word.text, ""));
            let is_data = !argument.is_empty() && GIT_DATA_OPTIONS.contains(&option);
            if word.text.starts_with("--") && !is_data {
                let help = "write it as the next word, behind an option that takes data, or behind `--`";
                self.refuse_code(word, "git", Some(help));
            }
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

    /// `git config KEY VALUE`: many settings name a program.
    fn git_config(&mut self, arguments: &[Word]) {
        const READS: &[&str] =
            &["--get", "--get-all", "--get-regexp", "--list", "--unset", "-l", "get", "list", "unset"];
        if arguments.iter().any(|word| READS.contains(&word.text.as_str())) {
            return;
        }
        let operand = arguments.iter().find(|word| !is_option(word) && word.text != "set");
        if operand.is_some_and(|key| is_harmless_setting(&key.text)) {
            return;
        }
        for word in arguments {
            self.refuse_code(word, "git config", Some("settings such as `user.name` may have a value"));
        }
    }

    /// The file from which an interpreter reads its code.
    fn program_file(&mut self, name: &Word, program: &str, file: &Word, input: Input) {
        if is_input_name(&file.text) || file.reads_process {
            self.refuse_input(name, program, input);
        }
        if file.substitutes || self.begins_tainted(file) {
            self.refuse_code(file, program, None);
        }
    }

    /// `python3 -m MODULE`: some modules run their arguments, and a module that is not known may read code from its input.
    fn module(&mut self, name: &Word, module: &str, arguments: &[Word], input: Input) {
        let program = name.program().unwrap_or("python3");
        if PYTHON_RUNNERS.contains(&module) || module.contains(UNKNOWN) {
            arguments.iter().for_each(|word| self.refuse_code(word, program, None));
        }
        if !PYTHON_HARMLESS.contains(&module) {
            let called = format!("{program} -m {module}").replace(UNKNOWN, "…");
            self.refuse_input(name, &called, input);
        }
    }

    /// `capsh -- ARGUMENT…` starts a shell with these arguments.
    pub(super) fn capsh(&mut self, name: &Word, arguments: &[Word], input: Input) {
        for word in arguments.iter().filter(|word| word.text.starts_with("--shell")) {
            self.refuse_code(word, "capsh", None);
        }
        let begins = |word: &Word| {
            matches!(word.text.as_str(), "--" | "==" | "-+" | "=+") || self.taint.may_be_option(word)
        };
        let places: Vec<usize> = (0..arguments.len()).filter(|at| begins(&arguments[*at])).collect();
        for at in places {
            let shell = Word { text: "bash".to_owned(), span: name.span.clone(), ..Word::default() };
            self.shell(&shell, &arguments[at + 1..], input);
        }
    }

    /// `su USER ARGUMENT…` starts a shell with these arguments.
    pub(super) fn su(&mut self, name: &Word, arguments: &[Word], input: Input) {
        let has_code =
            arguments.iter().any(|word| selects(&word.text, "-c") || word.text.starts_with("--command"));
        if !has_code && !arguments.iter().any(only_tells) {
            self.refuse_input(name, "su", input);
        }
        let operands = arguments.iter().filter(|word| !is_option(word)).skip(1);
        operands.for_each(|word| self.refuse_code(word, "su", None));
    }

    /// The first word of `tar` is a cluster of options, with or without a dash.
    pub(super) fn tar(&mut self, arguments: &[Word]) {
        let has_code = |word: &Word| !is_option(word) && word.text.contains(['I', 'F', UNKNOWN]);
        if arguments.first().is_some_and(has_code) {
            arguments.iter().for_each(|word| self.refuse_code(word, "tar", None));
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
        // A mark that is not known may be anywhere.
        let is_replaced = |word: &Word| {
            replaced.as_ref().is_some_and(|mark| {
                !mark.is_empty() && (word.text.contains(mark.as_str()) || mark.contains(UNKNOWN))
            })
        };
        let program = name.program().unwrap_or_default();
        let takes_code = is_shell(program)
            || interpreter(program).is_some()
            || EVALUATORS.contains(&program)
            || wrapper(program).is_some()
            || is_unknown(name)
            || is_replaced(name);
        let mut is_refused = false;
        if takes_code && input == Input::Anything {
            // The literal words must settle what is run before any input follows.
            let literal: Vec<Word> = command.iter().filter(|word| !is_replaced(word)).cloned().collect();
            let has_replaced_code = command.len() != literal.len();
            let settled = self.settles_code(&literal);
            is_refused = has_replaced_code || !settled;
            if is_refused {
                self.refuse_input(name, "xargs", input);
            }
        }
        if input == Input::Literal || is_refused {
            return self.run(command, Input::Literal);
        }
        // The rules of the program hold as if a value stood where the input is put.
        let mut words: Vec<Word> = command.to_vec();
        let mut is_put = false;
        for word in &mut words {
            if let Some(mark) =
                replaced.as_ref().filter(|mark| !mark.is_empty() && word.text.contains(mark.as_str()))
            {
                word.forget(mark.as_str());
                word.names.push(GIVEN.to_owned());
                is_put = true;
            }
        }
        if !is_put {
            let span = name.span.clone();
            let text = UNKNOWN.to_string();
            words.push(Word {
                text,
                span,
                names: vec![GIVEN.to_owned()],
                may_vanish: true,
                ..Word::default()
            });
        }
        self.run(&words, Input::Literal);
    }

    /// Whether these words name a program and all the code that it runs.
    pub(super) fn settles_code(&self, words: &[Word]) -> bool {
        let Some((name, arguments)) = words.split_first() else { return false };
        let Some(program) = name.program() else { return false };
        if is_shell(program) {
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

/// Whether the program of a `perl` reads the files that its operands name: with `-n`, `-p`, `-a` or `-F`, or by `<>`.
fn opens_operands(arguments: &[Word]) -> bool {
    let ends_options = arguments.iter().position(|word| word.text == "--").unwrap_or(arguments.len());
    let options = arguments[..ends_options].iter().filter_map(|word| word.text.strip_prefix('-'));
    // Letters behind one that takes the rest of the word are no options.
    let reads = |cluster: &str| {
        let is_option = |c: &char| !matches!(c, 'D' | 'E' | 'I' | 'M' | 'V' | 'd' | 'e' | 'i' | 'm' | 'x');
        cluster.chars().take_while(is_option).any(|c| matches!(c, 'F' | 'a' | 'n' | 'p' | UNKNOWN))
    };
    // `<<>>` opens files alone.
    let diamond = |word: &Word| {
        let code = word.text.replace("<<>>", "");
        ["<>", "<ARGV>", "readline", "eof()"].iter().any(|operator| code.contains(operator))
    };
    options.filter(|cluster| !cluster.starts_with('-')).any(reads) || arguments.iter().any(diamond)
}

/// Whether a word is the option, alone, abbreviated, or with its argument joined to it.
fn is_given(text: &str, option: &str) -> bool {
    if option.starts_with("--") {
        return selects(text, option);
    }
    text.starts_with(option) || abbreviates(text, option)
}

/// The file in `-fFILE` and `--file=FILE`.
fn joined_file<'a>(word: &'a Word, option: &str) -> Option<&'a str> {
    if option.len() > 2 {
        let (_, file) = word.text.split_once('=')?;
        return Some(file);
    }
    word.text.strip_prefix(option).filter(|file| !file.is_empty())
}

/// The module in `-m MODULE`, `-mMODULE` and `-um MODULE`.
fn module(word: &Word, next: Option<&Word>) -> Option<String> {
    let cluster = word.text.strip_prefix('-').filter(|cluster| !cluster.starts_with('-'))?;
    let at = cluster.find('m').filter(|at| cluster[..*at].chars().all(|c| !matches!(c, 'c' | 'W' | 'X')))?;
    Some(match &cluster[at + 1..] {
        "" => next.map(|word| word.text.clone()).unwrap_or_default(),
        joined => joined.to_owned(),
    })
}
