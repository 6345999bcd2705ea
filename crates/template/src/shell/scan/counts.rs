//! Substitutions that print a number, whatever values their commands have: `$(wc -l < f)`, `$(grep -c x f || true)`.

use crate::shell::CONTEXT;
use crate::shell::word::{Command, UNKNOWN, Word};

/// The programs that `counts` and `located` know. A function of the script with such a name is another program.
pub(in crate::shell) const COUNTING: &[&str] =
    &["command", "date", "grep", "id", "jq", "nproc", "tr", "true", "wc", "which"];

/// Whether the commands of a `$(…)` print nothing but a number. What is piped on counts only through what reads it.
pub(super) fn counts(commands: &[Command]) -> bool {
    let printing = |index: usize| {
        let command = &commands[index];
        let before = index.checked_sub(1).map(|before| &commands[before]);
        match command.words.first().map(|word| word.text.as_str()) {
            Some("tr") => {
                deletes(&command.words) && before.is_some_and(|one| one.is_piped && prints_number(one))
            }
            _ => prints_number(command),
        }
    };
    let is_silent = |command: &Command| matches!(command.words.as_slice(), [word] if matches!(word.text.as_str(), ":" | "true"));
    let mut prints = false;
    for (index, command) in commands.iter().enumerate() {
        let says_errors = command.writes.iter().any(|to| to.text != "/dev/null");
        if command.words.is_empty() || !command.assignments.is_empty() || says_errors {
            return false;
        }
        if !command.is_piped && !is_silent(command) {
            if !printing(index) {
                return false;
            }
            prints = true;
        }
    }
    prints
}

/// The programs whose paths the commands of a `$(…)` print, where they print nothing else:
/// `$(command -v python3 || which python)`.
pub(super) fn located(commands: &[Command]) -> Vec<String> {
    let mut found = Vec::new();
    for command in commands {
        let says_errors = command.writes.iter().any(|to| to.text != "/dev/null");
        if !command.assignments.is_empty() || says_errors || command.is_piped {
            return Vec::new();
        }
        let name = match command.words.as_slice() {
            [silent] if matches!(silent.text.as_str(), ":" | "true") => continue,
            [command, option, name] if command.text == "command" && option.text == "-v" => name,
            [which, name] if which.text == "which" => name,
            _ => return Vec::new(),
        };
        if name.text.contains(UNKNOWN) || name.may_be_files() || name.may_be_several() {
            return Vec::new();
        }
        found.push(name.text.clone());
    }
    found
}

fn prints_number(command: &Command) -> bool {
    let Some((name, arguments)) = command.words.split_first() else { return false };
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    match (name.text.as_str(), texts.as_slice()) {
        // With the name of a file, `wc` prints it.
        ("wc", [option]) => matches!(*option, "-c" | "-l" | "-m" | "-w"),
        ("date", [format]) => *format == "+%s",
        ("id", [option]) => *option == "-u",
        ("nproc", []) => true,
        ("grep", _) => counts_lines(arguments),
        ("jq", _) => prints_length(arguments),
        _ => false,
    }
}

/// `grep -c PATTERN`, with one file at most: with several it prints their names.
fn counts_lines(arguments: &[Word]) -> bool {
    let is_option = |word: &&Word| word.text.starts_with('-') && word.text.len() > 1;
    let options = arguments.iter().take_while(is_option).count();
    let (options, operands) = arguments.split_at(options);
    let ends_options = options.last().is_some_and(|word| word.text == "--");
    let is_known = |word: &Word| {
        word.text == "--" || word.text.chars().skip(1).all(|letter| "cEFivwxs".contains(letter))
    };
    let is_operand = |word: &Word| {
        let is_one = !word.may_vanish && !word.may_be_files() && !word.may_be_several();
        is_one && (ends_options || !word.text.starts_with([UNKNOWN, '-']))
    };
    options.iter().any(|word| word.text.contains('c'))
        && options.iter().all(is_known)
        && (1..=2).contains(&operands.len())
        && operands.iter().all(is_operand)
}

/// `jq '… | length' FILE`: the last filter prints a number, whatever the ones before it do.
fn prints_length(arguments: &[Word]) -> bool {
    let is_option = |word: &&Word| word.text.starts_with('-');
    let options = arguments.iter().take_while(is_option).count();
    let (options, operands) = arguments.split_at(options);
    let is_known = |word: &Word| word.text.chars().skip(1).all(|letter| "Rcenrs".contains(letter));
    let is_length = |filter: &Word| {
        let last = filter.text.rsplit('|').next().unwrap_or_default();
        last.trim() == "length" && !filter.text.contains(['#', UNKNOWN])
    };
    // A value could be an option. What Escrow names is the path of a file.
    let is_operand = |word: &Word| {
        let is_path = word.names.len() == 1 && word.names[0] == CONTEXT && !word.transforms;
        !word.text.starts_with(['-', UNKNOWN]) && !word.may_vanish || is_path
    };
    options.iter().all(is_known) && operands.first().is_some_and(is_length) && operands.iter().all(is_operand)
}

/// `tr -d ' '`
fn deletes(words: &[Word]) -> bool {
    matches!(words, [_, option, set] if option.text == "-d" && !set.text.contains(UNKNOWN))
}
