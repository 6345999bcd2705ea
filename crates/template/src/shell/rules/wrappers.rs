//! Commands that run another command: where it begins, and which of its words it is.

use super::interpreters::interpreter;
use super::tables::{CODE_OPTIONS, Wrapper, WrapperOptions, is_shell, wrapper};
use super::taint::Taint;
use super::{Checker, Input, abbreviates, is_option, only_tells};
use crate::shell::error::ShellErrorKind;
use crate::shell::word::{UNKNOWN, Word};

impl Checker<'_> {
    /// `env`, `sudo`, `xargs` and the like: the command begins behind their own options and operands.
    pub(super) fn wrapped(&mut self, name: &Word, wrapper: &Wrapper, arguments: &[Word], input: Input) {
        let program = wrapper.name;
        if program == "command"
            && arguments.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"))
        {
            return;
        }
        self.script_option(program, wrapper.code, arguments, input);
        if wrapper.is_container {
            self.container_variables(program, arguments);
        }
        if program == "gdb" && !arguments.iter().any(|word| word.text.trim_start_matches('-') == "batch") {
            self.refuse_input(name, program, input);
        }
        let behind = match arguments.iter().position(|word| wrapper.subcommands.contains(&word.text.as_str()))
        {
            Some(at) => at + 1,
            None if wrapper.subcommands.is_empty() && program != "gdb" => 0,
            None => {
                self.refuse_split(program, arguments);
                return self.contained(wrapper, arguments, input);
            }
        };
        let places = places(wrapper, &arguments[behind..], &self.taint);
        let own = &arguments[..places.first().map_or(arguments.len(), |place| behind + place)];
        self.refuse_split(program, own);
        if !wrapper.is_container {
            self.refuse_split_output(program, own);
        }
        if program == "xargs" {
            for at in places {
                self.xargs(&arguments[..at], &arguments[at..], input);
            }
            return;
        }
        if places.is_empty() && wrapper.starts_shell && !arguments.iter().any(only_tells) {
            self.refuse_input(name, program, input);
        }
        if wrapper.is_container {
            self.contained(wrapper, arguments, input);
        }
        let input = if wrapper.is_container && !is_interactive(arguments) { Input::Literal } else { input };
        let entrypoint = entrypoint(arguments);
        for place in places {
            let words = &arguments[behind + place..];
            self.run(words, input);
            if let Some(entrypoint) = &entrypoint {
                let words: Vec<Word> = std::iter::once(entrypoint).chain(words).cloned().collect();
                self.run(&words, input);
            }
        }
    }

    /// `docker run -e {{ … }}`: the value would choose which variable is set.
    fn container_variables(&mut self, program: &str, arguments: &[Word]) {
        for (index, word) in arguments.iter().enumerate() {
            let next = arguments.get(index + 1).filter(|_| matches!(word.text.as_str(), "-e" | "--env"));
            let joined = word.text.strip_prefix("--env=").or_else(|| word.text.strip_prefix("-e"));
            let names_it = next.is_some_and(|next| self.begins_tainted(next));
            if names_it || joined.is_some_and(|rest| rest.starts_with(UNKNOWN)) {
                let message = format!("`{program}` would set the variable that the value names");
                let help = Some("write the name: `-e NAME={{ … }}`");
                for word in [Some(word), next].into_iter().flatten() {
                    self.refuse_tainted(word, ShellErrorKind::Program, &message, help);
                }
            }
        }
    }

    /// A program with many subcommands: which of its words is a command is not known, so each may be.
    fn contained(&mut self, wrapper: &Wrapper, arguments: &[Word], input: Input) {
        if !wrapper.is_container {
            return;
        }
        let input = if is_interactive(arguments) { input } else { Input::Literal };
        for (index, word) in arguments.iter().enumerate() {
            let is_program = word.program().is_some_and(|program| {
                is_shell(program) || interpreter(program).is_some() || wrapper_is_pure(program)
            });
            if is_program && !wrapper.subcommands.contains(&word.text.as_str()) {
                self.run(&arguments[index..], input);
            }
        }
    }
}

/// Where the command of a wrapper may begin. There are several places where an option may or may not have an argument.
fn places(wrapper: &Wrapper, arguments: &[Word], taint: &Taint) -> Vec<usize> {
    let names_user = |word: &Word| word.text.starts_with("-u") || word.text.starts_with("--user");
    let (least, most) = match wrapper.name {
        "runuser" if arguments.iter().any(names_user) => (0, 0),
        _ => wrapper.operands,
    };
    let mut found = Vec::new();
    // How many operands were there, at least and at most.
    let (mut low, mut high) = (0, 0);
    let mut ends_options = false;
    let mut may_be_argument = false;
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        at += 1;
        if word.text == "--" && !ends_options {
            if wrapper.options == WrapperOptions::EndedByDashes || most == usize::MAX {
                return vec![at].into_iter().filter(|at| *at < arguments.len()).collect();
            }
            ends_options = true;
            may_be_argument = false;
            continue;
        }
        if is_option(word) && !ends_options {
            if takes_next(wrapper, &word.text) {
                // `-u $user ls`: where the variable is empty, the next word is the argument.
                may_be_argument = arguments.get(at).is_some_and(|next| taint.may_be_absent(next));
                at += 1;
            } else if taint.may_be_empty(word, joined(wrapper, &word.text)) {
                // The same for `-u{{ … }} ls`.
                may_be_argument = true;
            } else {
                // A long option that is not known may have an argument, or none.
                may_be_argument = word.text.starts_with("--") && !word.text.contains('=') && !is_flag(word);
            }
            continue;
        }
        // The wrapper sees no quotes: `env "A=1"` assigns.
        if wrapper.assigns && word.literal_prefix().contains('=') {
            continue;
        }
        if low <= most && high >= least {
            found.push(at - 1);
        }
        // An expansion may be an option, with or without an argument, or an assignment.
        let is_open = taint.may_be_option(word) && (!ends_options || wrapper.assigns);
        if !may_be_argument && !is_open {
            low += 1;
        }
        high += 1;
        may_be_argument = is_open && !ends_options;
        if low > most {
            break;
        }
        // Behind its operands a wrapper has no more options.
        let is_settled = least == most && low == most && high == most;
        if is_settled && wrapper.options != WrapperOptions::EndedByDashes && at < arguments.len() {
            found.extend(
                Some(at + usize::from(arguments[at].text == "--")).filter(|at| *at < arguments.len()),
            );
            break;
        }
    }
    found
}

/// Whether the argument of an option is the next word. Long options may be abbreviated, and the last letter of a cluster
/// may take one: `sudo -nu root`.
fn takes_next(wrapper: &Wrapper, text: &str) -> bool {
    if wrapper.takes.contains(&text) {
        return true;
    }
    if text.starts_with("--") {
        return !text.contains('=')
            && !FLAGS.contains(&text)
            && wrapper.takes.iter().any(|option| option.starts_with("--") && abbreviates(text, option));
    }
    let letters = text.trim_start_matches('-');
    let takes = |letter: char| wrapper.takes.iter().any(|option| *option == format!("-{letter}"));
    letters.char_indices().find(|(_, letter)| takes(*letter)).is_some_and(|(at, _)| at + 1 == letters.len())
}

/// What is joined to a short option that takes an argument.
fn joined<'a>(wrapper: &Wrapper, text: &'a str) -> &'a str {
    let takes = |letter: char| wrapper.takes.iter().any(|option| *option == format!("-{letter}"));
    let found = text.char_indices().skip(1).find(|(_, letter)| takes(*letter));
    found.filter(|_| !text.starts_with("--")).map_or("", |(at, letter)| &text[at + letter.len_utf8()..])
}

/// Options that have no argument in any wrapper.
const FLAGS: &[&str] = &[
    "--background",
    "--detach",
    "--foreground",
    "--frozen",
    "--help",
    "--ignore-environment",
    "--init",
    "--interactive",
    "--locked",
    "--login",
    "--no-install",
    "--no-run-if-empty",
    "--non-interactive",
    "--null",
    "--pipe",
    "--preserve-env",
    "--preserve-status",
    "--privileged",
    "--pty",
    "--quiet",
    "--read-only",
    "--rm",
    "--scope",
    "--shell",
    "--tty",
    "--user",
    "--verbose",
    "--version",
    "--wait",
    "--yes",
];

fn is_flag(word: &Word) -> bool {
    // `--user` has an argument in many wrappers, which name it in `takes`; in others it has none.
    FLAGS.contains(&word.text.as_str())
}

fn is_interactive(arguments: &[Word]) -> bool {
    arguments.iter().any(|word| {
        word.text == "--interactive"
            || word.text.starts_with('-') && !word.text.starts_with("--") && word.text.contains('i')
    })
}

/// The program that `--entrypoint` puts before the words behind an image.
fn entrypoint(arguments: &[Word]) -> Option<Word> {
    let at = arguments.iter().position(|word| word.text.starts_with("--entrypoint"))?;
    let word = arguments.get(at)?;
    match word.text.split_once('=') {
        Some((_, program)) => Some(Word { text: program.to_owned(), ..word.clone() }),
        None => arguments.get(at + 1).cloned(),
    }
}

/// How many commands within commands a survey follows.
const WRAPPED_MAX: usize = 64;

/// A command and every command that it is known to run: `sudo`, `xargs`, `find -exec`, `uv run`, `docker run` and the
/// like wrap others. Where an option may or may not have an argument, each place where the command may begin counts.
pub(in crate::shell) fn unwrapped(words: &[Word]) -> Vec<&[Word]> {
    let mut found = vec![words];
    let mut at = 0;
    while let Some(words) = found.get(at).copied() {
        at += 1;
        let room = WRAPPED_MAX.saturating_sub(found.len());
        found.extend(within(words).into_iter().take(room));
    }
    found
}

/// The commands that a command runs, as far as is known.
fn within(words: &[Word]) -> Vec<&[Word]> {
    let Some((program, arguments)) = words.split_first() else { return Vec::new() };
    let Some(program) = program.program() else { return Vec::new() };
    if program == "find" {
        let begins = arguments
            .iter()
            .enumerate()
            .filter(|(_, word)| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir"));
        return begins.map(|(at, _)| &arguments[at + 1..]).collect();
    }
    let Some(wrapper) = wrapper(program) else { return Vec::new() };
    let behind = match wrapper.subcommands {
        [] => 0,
        known => match arguments.iter().position(|word| known.contains(&word.text.as_str())) {
            Some(at) => at + 1,
            None => return Vec::new(),
        },
    };
    let arguments = &arguments[behind..];
    places(wrapper, arguments, &Taint::unaware()).into_iter().map(|at| &arguments[at..]).collect()
}

/// The options of a program whose argument is a script for a shell.
pub(in crate::shell) fn shell_code_options(program: &str) -> &'static [&'static str] {
    const SCRIPTED: &[&str] = &["nix-shell", "script", "sg", "su"];
    if program == "gdb" || program == "strace" {
        return &[];
    }
    if let Some(wrapper) = wrapper(program) {
        return wrapper.code;
    }
    let known = CODE_OPTIONS.iter().find(|(name, _)| *name == program && SCRIPTED.contains(name));
    known.map_or(&[], |(_, options)| options)
}

fn wrapper_is_pure(program: &str) -> bool {
    wrapper(program).is_some_and(|wrapper| !wrapper.is_container)
}
