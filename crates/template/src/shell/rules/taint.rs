//! Which variables of a script may have a value in them.
//!
//! The answer is too large rather than too small: assignments count in any order, whether or not they are executed, and
//! `read` counts as reading a value wherever it is.

use std::collections::{BTreeMap, BTreeSet};

use super::tables::{ASSIGNERS, NAMERS, NUMBERS};
use super::targets::targets;
use super::{NESTING_MAX, names_before_equals, prints_environment, takes_code};
use crate::shell::VARIABLE_PREFIX;
use crate::shell::scan::{COUNTING, Scanned, identifiers, scan_text};
use crate::shell::word::{Command, UNKNOWN, Word, is_name};

/// Stands for the output of a `$(…)`, which may repeat what the command finds on its input.
pub(in crate::shell) const SUBSTITUTION: &str = "$(…)";

/// Stands for what `xargs` puts into the arguments of a command.
pub(super) const GIVEN: &str = "xargs";

/// Stands for the name of a file that `find` puts into the arguments of a command. It counts as what a command printed.
pub(super) const FOUND: &str = "find";

/// How often all assignments are looked at. After that every variable that is assigned counts as having a value, so that
/// a long chain of variables in reverse order takes no quadratic time.
const PASSES_MAX: usize = 50;

/// The literal texts that a script assigns to a variable.
#[derive(Default)]
struct Literals {
    texts: BTreeSet<String>,
    /// It may have another text as well.
    is_open: bool,
}

/// What a word may be.
#[derive(Default)]
pub(super) struct Texts {
    pub(super) texts: Vec<String>,
    /// It is one of these texts.
    pub(super) is_all: bool,
}

#[derive(Default)]
pub(super) struct Taint {
    names: BTreeSet<String>,
    /// The variables that may have what a command printed. Where a script gets values, that may be one: through a file.
    printed: BTreeSet<String>,
    /// The variables from which arithmetic gets at a value: it computes a variable that holds the name of another.
    indirect: BTreeSet<String>,
    /// The variables that are assigned numbers alone.
    numbers: BTreeSet<String>,
    /// What is known of the variables that have literal texts; the parameters are `@`.
    literals: BTreeMap<String, Literals>,
    /// Commands of the script may read input that has values.
    pub(super) is_fed: bool,
    /// Nothing is known, and nothing counts as an option or as empty.
    is_unaware: bool,
    /// The script has a function with the name of a program that prints numbers.
    replaces_counting: bool,
}

impl Taint {
    /// `inherited` are variables that have values from outside, and `printed` those that have what a command printed; `@`
    /// stands for the parameters.
    pub(super) fn of(scanned: &Scanned, is_fed: bool, inherited: &[String], printed: &[String]) -> Taint {
        let with_traps = with_traps(scanned);
        let scanned = with_traps.as_ref().unwrap_or(scanned);
        let mut taint = Taint::of_all(scanned, is_fed, inherited);
        // The name of a file may be a value as well.
        let from_files = assignments(scanned).filter(|(_, word, _)| word.may_be_files());
        let mut inherited = [inherited, printed].concat();
        inherited.extend(from_files.map(|(name, _, _)| name.to_owned()));
        let functions: BTreeSet<&str> = scanned.functions.iter().map(String::as_str).collect();
        let names_files = |command: &Command| {
            let words = command.called();
            let program = words.first().and_then(Word::program).unwrap_or_default();
            let is_call = || program == "set" || functions.contains(program);
            words.iter().skip(1).any(Word::may_be_files) && is_call()
        };
        if scanned.commands.iter().any(names_files) {
            inherited.push("@".to_owned());
        }
        taint.printed = Taint::of_all(scanned, true, &inherited).names;
        taint
    }

    fn of_all(scanned: &Scanned, is_fed: bool, inherited: &[String]) -> Taint {
        let has_values = is_fed || !inherited.is_empty() || !scanned.value_spans.is_empty();
        // What `printenv` prints is a value like the variable.
        let prints = has_values && scanned.commands.iter().any(prints_environment);
        let is_fed = is_fed || scanned.feeds || prints;
        let names = inherited.iter().cloned().collect();
        let replaces_counting =
            scanned.functions.iter().any(|name| COUNTING.contains(&name.as_str()) || name.contains(UNKNOWN));
        let mut taint = Taint { names, is_fed, replaces_counting, ..Taint::default() };
        for command in &scanned.commands {
            taint.names.extend(read_by(command));
        }
        let functions: BTreeSet<&str> = scanned.functions.iter().map(String::as_str).collect();
        taint.find_literals(scanned, &functions, inherited);
        if has_values && are_called_from_elsewhere(scanned) {
            taint.names.insert("@".to_owned());
        }
        for _ in 0..PASSES_MAX {
            let before = taint.names.len();
            for flow in &scanned.flows {
                if flow.has_value || flow.from.iter().any(|name| taint.holds(name)) {
                    taint.names.insert(flow.to.clone());
                }
            }
            for command in &scanned.commands {
                taint.assigned_by(command, &functions);
            }
            if !taint.names.is_empty() {
                // `[[ $x =~ … ]]` assigns what it finds.
                taint.names.insert("BASH_REMATCH".to_owned());
            }
            if taint.names.len() == before {
                taint.follow_names(scanned, &functions);
                taint.find_numbers(scanned);
                return taint;
            }
        }
        taint.names.extend(scanned.flows.iter().map(|flow| flow.to.clone()));
        for command in &scanned.commands {
            taint.names.extend(command.assignments.iter().chain(&command.words).filter_map(assigned));
        }
        taint.names.insert("@".to_owned());
        taint.indirect.clone_from(&taint.names);
        taint
    }

    /// Whether arithmetic that computes a variable may read a value as code.
    pub(super) fn is_computed(&self, name: &str) -> bool {
        self.holds(name) || self.indirect.contains(name) || is_parameter(name) && self.indirect.contains("@")
    }

    /// Whether a variable has a number at all times.
    pub(super) fn is_number(&self, name: &str) -> bool {
        self.numbers.contains(name) || matches!(name, "#" | "?" | "!" | "$")
    }

    /// Whether an expansion of untold text may be an option: `o=-c; sh "$o"`. It is not where the script assigns the
    /// variable nothing but other texts. A value is an option only where the script mixes it with literal ones: that a
    /// value which begins with `-` can be read as an option is documented.
    pub(super) fn may_be_option(&self, word: &Word) -> bool {
        if self.is_unaware {
            return false;
        }
        if word.may_be_several() && word.text.starts_with(['{', '-']) {
            return true;
        }
        let prefix = word.literal_prefix();
        let is_computed = prefix.len() < word.text.len() && (prefix.is_empty() || prefix.starts_with('-'));
        if !is_computed || word.text.contains(['/', '=']) {
            return false;
        }
        let is_mixed = |name: &String| {
            let known = self.literals.get(if is_parameter(name) { "@" } else { name });
            known.is_some_and(|known| known.texts.iter().any(|text| text.starts_with(['-', '+'])))
        };
        if self.is_tainted(word) {
            return word.names.iter().any(is_mixed);
        }
        let known = self.known(word);
        let is_operand = |text: &String| {
            let is_split = word.may_vanish && text.contains([' ', '\t', '\n', '*', '?', '[']);
            !text.is_empty() && !text.starts_with(['-', '+']) && !text.contains('=') && !is_split
        };
        !known.is_some_and(|known| !known.is_open && known.texts.iter().all(is_operand))
    }

    /// The literal texts that a `$name`, a `"$name"` or a `dir/$name` may have, as far as the script assigns them.
    pub(super) fn texts(&self, word: &Word) -> Texts {
        if self.is_located(word) && word.text.chars().count() == 1 {
            return Texts { texts: word.located.clone(), is_all: true };
        }
        let Some(known) = self.known_within(word) else { return Texts::default() };
        let placed = known.texts.iter().map(|text| word.text.replace(UNKNOWN, text));
        let (texts, unknown): (Vec<String>, Vec<String>) = placed.partition(|text| !text.contains(UNKNOWN));
        // The shell puts the names of files for a pattern in a variable without quotes.
        let is_pattern = |text: &String| word.may_vanish && text.contains(['*', '?', '[']);
        let is_all = !known.is_open
            && !texts.is_empty()
            && unknown.is_empty()
            && !texts.iter().any(is_pattern)
            && !self.is_tainted(word);
        Texts { texts, is_all }
    }

    /// Whether a text at the end of a word may be empty: it is nothing but expansions, which the script does not assign
    /// literal texts alone.
    pub(super) fn may_be_empty(&self, word: &Word, text: &str) -> bool {
        if self.is_unaware {
            return false;
        }
        let is_known = self
            .known_within(word)
            .is_some_and(|known| !known.is_open && known.texts.iter().all(|text| !text.trim().is_empty()));
        !text.is_empty() && text.chars().all(|c| c == UNKNOWN) && (!is_known || self.is_tainted(word))
    }

    /// Whether a word may be no word at all: an expansion without quotes that may be empty.
    pub(super) fn may_be_absent(&self, word: &Word) -> bool {
        word.may_vanish && !word.quoted && self.may_be_empty(word, &word.text)
    }

    /// What is known of the only variable in a word.
    fn known_within(&self, word: &Word) -> Option<&Literals> {
        match word.names.as_slice() {
            [name] if !word.transforms && word.text.matches(UNKNOWN).count() == 1 => {
                self.literals.get(if is_parameter(name) { "@" } else { name })
            }
            _ => None,
        }
    }

    /// What is known of the variable in `$name` and `"$name"`.
    fn known(&self, word: &Word) -> Option<&Literals> {
        self.known_within(word).filter(|_| word.text.chars().all(|c| c == UNKNOWN))
    }

    /// Gives the parameters literal texts besides their values.
    pub(super) fn add_parameters(&mut self, words: &[Word]) {
        let parameters = self.literals.entry("@".to_owned()).or_default();
        parameters.texts.extend(words.iter().map(|word| word.text.clone()));
        parameters.is_open = true;
    }

    fn find_literals(&mut self, scanned: &Scanned, functions: &BTreeSet<&str>, inherited: &[String]) {
        for (name, word, text) in assignments(scanned) {
            let is_settled = self.is_settled(word) && !word.located.is_empty();
            let known = self.literals.entry(name.to_owned()).or_default();
            if is_settled && !word.text.contains("+=") {
                known.texts.extend(word.located.iter().cloned());
                continue;
            }
            let is_appended = word.text.contains("+=");
            let is_expanded = word.may_be_files() || word.may_be_several();
            known.is_open |= text.contains(UNKNOWN) || is_appended || is_expanded;
            known.texts.insert(text.to_owned());
        }
        let mut open: Vec<String> = inherited.to_vec();
        open.extend(scanned.flows.iter().filter(|flow| flow.text.is_none()).map(|flow| flow.to.clone()));
        open.extend(scanned.computed.iter().flat_map(|computed| computed.assigns.clone()));
        for command in &scanned.commands {
            open.extend(read_by(command));
            let words = command.called();
            let program = words.first().and_then(Word::program).unwrap_or_default();
            let arguments = words.get(1..).unwrap_or_default();
            if NAMERS.contains(&program) && !ASSIGNERS.contains(&program) {
                open.extend(arguments.iter().flat_map(|word| identifiers(&word.text)));
            }
            if program == "set" || functions.contains(program) {
                self.add_parameters(arguments);
            }
        }
        for name in open {
            self.literals.entry(name).or_default().is_open = true;
        }
    }

    /// Follows `x={{ … }}; y=x; echo $((y))`.
    fn follow_names(&mut self, scanned: &Scanned, functions: &BTreeSet<&str>) {
        self.indirect.clone_from(&self.names);
        for _ in 0..PASSES_MAX {
            let before = self.indirect.len();
            for (name, word, text) in assignments(scanned) {
                let mentions = |indirect: &BTreeSet<String>| {
                    let literal = identifiers(text);
                    literal.iter().chain(&word.names).any(|name| indirect.contains(name))
                };
                if !self.indirect.contains(name) && mentions(&self.indirect) && !self.is_count(word) {
                    self.indirect.insert(name.to_owned());
                }
            }
            for command in &scanned.commands {
                let words = command.called();
                let program = words.first().and_then(Word::program).unwrap_or_default();
                let mentions =
                    |word: &Word| identifiers(&word.text).iter().any(|name| self.indirect.contains(name));
                if !words.iter().skip(1).any(mentions) {
                    continue;
                }
                if program == "set" || functions.contains(program) {
                    self.indirect.insert("@".to_owned());
                }
                if matches!(program, "print" | "printf") {
                    self.indirect.extend(target_names(program, &words[1..]));
                }
            }
            if self.indirect.len() == before {
                return;
            }
        }
        self.indirect.extend(assignments(scanned).map(|(name, _, _)| name.to_owned()));
    }

    /// Variables that are assigned literal numbers, other such variables, or the result of arithmetic, and nothing else.
    fn find_numbers(&mut self, scanned: &Scanned) {
        let mut refused: BTreeSet<String> = self.names.clone();
        refused.extend(scanned.flows.iter().filter(|flow| flow.text.is_none()).map(|flow| flow.to.clone()));
        for command in &scanned.commands {
            let names_a_variable =
                command.words.windows(2).filter(|pair| matches!(pair[0].text.as_str(), "-v" | "-p"));
            refused.extend(names_a_variable.map(|pair| pair[1].text.clone()));
        }
        let mut assigned: BTreeMap<&str, Vec<(&Word, &str)>> = BTreeMap::new();
        for (name, word, text) in assignments(scanned) {
            assigned.entry(name).or_default().push((word, text));
        }
        for name in scanned.computed.iter().flat_map(|computed| &computed.assigns) {
            assigned.entry(name).or_default();
        }
        for name in NUMBERS {
            assigned.entry(name).or_default();
        }
        for _ in 0..PASSES_MAX {
            let before = self.numbers.len();
            for (name, words) in &assigned {
                let is_number = !refused.contains(*name)
                    && words.iter().all(|(word, text)| {
                        let digits = text.strip_prefix('-').unwrap_or(text);
                        self.is_count(word)
                            || !word.transforms
                                && word.all_values.is_empty()
                                && digits.chars().all(|c| c.is_ascii_digit() || c == UNKNOWN)
                                && word.names.iter().all(|name| self.is_number(name))
                    });
                if is_number {
                    self.numbers.insert((*name).to_owned());
                }
            }
            if self.numbers.len() == before {
                return;
            }
        }
    }

    /// The taint of a program that is started without a shell.
    pub(super) fn inherited(variables: &[String]) -> Taint {
        Taint { names: variables.iter().cloned().collect(), ..Taint::default() }
    }

    /// Knows of no variable at all, for a survey.
    pub(super) fn unaware() -> Taint {
        Taint { is_unaware: true, ..Taint::default() }
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// Whether a variable may have a value. All parameters count as one.
    pub(super) fn holds(&self, name: &str) -> bool {
        name == GIVEN
            || name.starts_with(VARIABLE_PREFIX)
            || (name == SUBSTITUTION && self.is_fed)
            || self.names.contains(name)
            || (is_parameter(name) && self.names.contains("@"))
    }

    /// Whether an expansion in the word may have a value.
    pub(super) fn reaches(&self, word: &Word) -> bool {
        (word.substitutes && self.is_fed) || word.names.iter().any(|name| self.holds(name))
    }

    /// The variables that may have what a command printed.
    pub(super) fn printed_names(&self) -> impl Iterator<Item = &str> {
        self.printed.iter().map(String::as_str)
    }

    /// Whether an expansion in the word may have what a command printed, other than a number.
    pub(super) fn is_printed(&self, word: &Word) -> bool {
        let is_number = word.counts && word.text.matches(UNKNOWN).count() == 1 && !self.replaces_counting;
        let holds = |name: &String| {
            name == FOUND || self.printed.contains(name) || is_parameter(name) && self.printed.contains("@")
        };
        !self.is_unaware && !is_number && (word.substitutes || word.names.iter().any(holds))
    }

    /// Whether a word is the path of a program that the script names: `"$(command -v python3)"`.
    pub(super) fn is_located(&self, word: &Word) -> bool {
        !word.located.is_empty() && word.text.matches(UNKNOWN).count() == 1 && !self.replaces_counting
    }

    /// Whether a word assigns a number, whatever values are in the commands that print it: `n=$(wc -l < {{ … }})`.
    fn is_count(&self, word: &Word) -> bool {
        word.assigns_count() && !self.replaces_counting
    }

    /// Whether a word assigns a number or the path of a known program.
    fn is_settled(&self, word: &Word) -> bool {
        (word.assigns_count() || word.assigns_location()) && !self.replaces_counting
    }

    fn is_tainted(&self, word: &Word) -> bool {
        !word.all_values.is_empty() || self.reaches(word)
    }

    fn assigned_by(&mut self, command: &Command, functions: &BTreeSet<&str>) {
        let words = command.called();
        let program = words.first().and_then(Word::program).unwrap_or_default();
        for (name, word) in assigned_words(command) {
            if self.is_tainted(word) && !self.is_settled(word) {
                self.names.insert(name.to_owned());
            }
        }
        // `sudo NAME={{ … }} sh -c '…'`, `docker run -e NAME={{ … }} image sh -c '…'`
        let given: Vec<String> = words
            .iter()
            .filter(|word| word.text.contains('=') && self.is_tainted(word))
            .flat_map(|word| names_before_equals(word).map(str::to_owned))
            .collect();
        if !given.is_empty() && command.words.iter().any(|word| word.program().is_some_and(takes_code)) {
            self.names.extend(given);
        }
        if command.words.iter().any(|word| self.is_tainted(word)) {
            // The shell keeps the last argument, and the arguments of functions.
            self.names.extend(["_", "BASH_ARGV"].map(str::to_owned));
            if matches!(program, "cd" | "pushd" | "popd") {
                self.names.extend(["DIRSTACK", "OLDPWD", "PWD"].map(str::to_owned));
            }
        }
        // A name that is not known before the script runs may be that of a function.
        let is_unknown = words.first().is_some_and(|word| word.program().is_none());
        let is_call = program == "set" || functions.contains(program) || is_unknown && !functions.is_empty();
        if is_call && words.iter().skip(1).any(|word| self.is_tainted(word)) {
            self.names.insert("@".to_owned());
        }
        if matches!(program, "compgen" | "print" | "printf" | "set")
            && words.iter().any(|word| self.is_tainted(word))
        {
            self.names.extend(target_names(program, &words[1..]));
        }
    }
}

/// The script together with the actions of its traps, which run in the same shell and share its functions and variables.
/// `None` when it has none.
fn with_traps(scanned: &Scanned) -> Option<Scanned> {
    let mut all: Option<Scanned> = None;
    let mut actions: Vec<String> = scanned.commands.iter().filter_map(trap_action).collect();
    let mut depth = 0;
    while !actions.is_empty() && depth < NESTING_MAX {
        let mut inner = Vec::new();
        for action in actions {
            let found = scan_text(&action, 0);
            inner.extend(found.commands.iter().filter_map(trap_action));
            let all = all.get_or_insert_with(|| scanned.for_taint());
            all.commands.extend(found.commands);
            all.names.extend(found.names);
            all.flows.extend(found.flows);
            all.computed.extend(found.computed);
            all.functions.extend(found.functions);
            all.feeds |= found.feeds;
        }
        actions = inner;
        depth += 1;
    }
    all
}

/// The action of `trap ACTION SIGNAL…`. What stands for an expansion in it is no name.
fn trap_action(command: &Command) -> Option<String> {
    let (name, arguments) = command.called().split_first()?;
    let action = arguments.iter().find(|word| !word.text.starts_with('-'))?;
    (name.program() == Some("trap")).then(|| action.text.clone())
}

/// Whether functions of the script may be called by other commands than its own: by a shell that it starts, or for a
/// command that is not found.
fn are_called_from_elsewhere(scanned: &Scanned) -> bool {
    let exports = |command: &Command| {
        let program = command.called().first().and_then(Word::program).unwrap_or_default();
        let has = |letter: char, sign: char| {
            command.words.iter().skip(1).any(|word| {
                word.text.starts_with(sign) && word.text.contains(letter) || word.text.contains(UNKNOWN)
            })
        };
        match program {
            "declare" | "export" | "typeset" => has('f', '-'),
            "set" => has('a', '-') || command.words.iter().any(|word| word.text == "allexport"),
            _ => false,
        }
    };
    let is_handler = |name: &String| name.starts_with("command_not_found_handle");
    !scanned.functions.is_empty()
        && (scanned.functions.iter().any(is_handler) || scanned.commands.iter().any(exports))
}

fn is_parameter(name: &str) -> bool {
    matches!(name, "@" | "*" | "_" | "OPTARG") || name.chars().all(|c| c.is_ascii_digit())
}

/// Every assignment of a word: the variable, the word, and the part of its text that is assigned.
fn assignments(scanned: &Scanned) -> impl Iterator<Item = (&str, &Word, &str)> {
    let by_commands = scanned.commands.iter().flat_map(assigned_words);
    let by_commands = by_commands.map(|(name, word)| (name, word, word.assigned_text()));
    let by_flows = scanned
        .flows
        .iter()
        .filter_map(|flow| flow.text.as_ref().map(|word| (flow.to.as_str(), word, word.text.as_str())));
    by_commands.chain(by_flows)
}

/// The words of a command that assign, each with its variable.
pub(super) fn assigned_words(command: &Command) -> impl Iterator<Item = (&str, &Word)> {
    const OTHERS: &[&str] = &["declare", "env", "float", "integer", "nameref", "typeset"];
    let words = command.called();
    let program = words.first().and_then(Word::program).unwrap_or_default();
    let assigns = ASSIGNERS.contains(&program) || OTHERS.contains(&program);
    let words = command.assignments.iter().chain(words.iter().skip(1).filter(move |_| assigns));
    words.filter_map(|word| word.assigned().map(|name| (name, word)))
}

/// The names of the variables that a command assigns.
fn target_names(program: &str, arguments: &[Word]) -> impl Iterator<Item = String> {
    let name_of = |word: &Word| word.text.split('[').next().unwrap_or_default().to_owned();
    targets(program, arguments).into_iter().map(move |word| name_of(&word))
}

fn assigned(word: &Word) -> Option<String> {
    word.assigned().map(str::to_owned)
}

/// The variables that a command reads from its input. A command whose name is not known may be `read`.
fn read_by(command: &Command) -> Vec<String> {
    let Some((first, arguments)) = command.called().split_first() else { return Vec::new() };
    let Some(program) = first.program() else {
        return arguments.iter().filter(|word| is_name(&word.text)).map(|word| word.text.clone()).collect();
    };
    if !matches!(program, "read" | "mapfile" | "readarray" | "getopts") {
        return Vec::new();
    }
    let defaults = ["REPLY", "MAPFILE", "OPTARG"].map(str::to_owned);
    let names = target_names(program, arguments).filter(|name| !name.starts_with('-'));
    names.chain(defaults).collect()
}
