//! Which arguments are programs. A value that is safe from the shell is not safe from `eval`.
//!
//! **Invariant:** a rule refuses; no rule allows what the scanner refused. What these tables do not know
//! is an ordinary program, which gets its arguments byte for byte.

use std::ops::Range;

use super::error::{ShellError, ShellErrorKind};
use super::word::{Command, UNKNOWN, Word};

pub(super) fn judge(commands: &[Command], places: &[Range<usize>]) -> Vec<ShellError> {
    let mut judge = Judge { places, errors: Vec::new() };
    for command in commands {
        judge.command(command);
    }
    if commands.iter().any(gives_attributes) {
        for word in commands.iter().flat_map(|command| &command.assignments) {
            judge.refuse_word(
                word,
                "a variable that was declared with `-i` or `-n` computes what it is assigned",
            );
        }
    }
    judge.errors
}

/// Programs that read a script from `-c`, a file, or their input.
const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "mksh", "rbash", "sh", "zsh"];

/// Commands all of whose arguments may be read as code by a shell.
const EVALUATORS: &[&str] = &[
    ".",
    "alias",
    "at",
    "batch",
    "bind",
    "compgen",
    "complete",
    "crontab",
    "declare",
    "enable",
    "eval",
    "fc",
    "getopts",
    "gmake",
    "let",
    "make",
    "mapfile",
    "parallel",
    "read",
    "readarray",
    "rsh",
    "source",
    "ssh",
    "trap",
    "typeset",
    "unset",
    "watch",
];

/// Commands that run the rest of their arguments as a command.
const WRAPPERS: &[&str] = &[
    "builtin", "busybox", "chroot", "command", "doas", "docker", "env", "exec", "find", "flock", "gdb",
    "ionice", "kubectl", "nice", "nohup", "nsenter", "podman", "setsid", "stdbuf", "strace", "sudo", "time",
    "timeout", "unshare", "xargs",
];

/// Commands that give the argument of `-c` to a shell.
const SHELL_OPTION: &[&str] = &["flock", "runuser", "script", "su"];

/// Variables whose value some shell expands or computes, commands included.
const EVALUATED: &[&str] = &[
    "BASHPID",
    "BASH_ARGV0",
    "BASH_ENV",
    "BASH_SUBSHELL",
    "ENV",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "HISTCMD",
    "LINENO",
    "MAILCHECK",
    "OPTERR",
    "OPTIND",
    "PPID",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
    "UID",
];

/// Commands that assign, one `NAME=value` per argument.
const ASSIGNERS: &[&str] = &["export", "local", "readonly"];

/// A program that takes code of its own language.
struct Interpreter {
    /// The name, which a version may follow.
    name: &'static str,
    /// Options whose argument is code.
    code: &'static [&'static str],
    /// Other options with arguments of their own, and how many.
    takes: &'static [(&'static str, usize)],
    first_operand: Operand,
    instead: &'static str,
}

#[derive(PartialEq, Eq)]
enum Operand {
    Code,
    /// A file; without one, the input is code.
    File,
}

const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        name: "python",
        code: &["-c"],
        takes: &[("-m", 1), ("-W", 1), ("-X", 1)],
        first_operand: Operand::File,
        instead: "read it from `sys.argv`: `python3 -c '…' {{ … }}`",
    },
    Interpreter {
        name: "perl",
        code: &["-e", "-E"],
        takes: &[("-I", 1)],
        first_operand: Operand::File,
        instead: "read it from `@ARGV`: `perl -e '…' {{ … }}`",
    },
    Interpreter {
        name: "ruby",
        code: &["-e"],
        takes: &[("-I", 1), ("-r", 1)],
        first_operand: Operand::File,
        instead: "read it from `ARGV`: `ruby -e '…' {{ … }}`",
    },
    Interpreter {
        name: "node",
        code: &["-e", "-p", "--eval", "--print"],
        takes: &[("-r", 1)],
        first_operand: Operand::File,
        instead: "read it from `process.argv`: `node -e '…' {{ … }}`",
    },
    Interpreter {
        name: "bun",
        code: &["-e", "--eval"],
        takes: &[],
        first_operand: Operand::File,
        instead: "read it from `process.argv`",
    },
    Interpreter {
        name: "deno",
        code: &["eval"],
        takes: &[],
        first_operand: Operand::File,
        instead: "read it from `Deno.args`",
    },
    Interpreter {
        name: "php",
        code: &["-r"],
        takes: &[],
        first_operand: Operand::File,
        instead: "read it from `$argv`: `php -r '…' {{ … }}`",
    },
    Interpreter {
        name: "lua",
        code: &["-e"],
        takes: &[("-l", 1)],
        first_operand: Operand::File,
        instead: "read it from `arg`",
    },
    Interpreter {
        name: "osascript",
        code: &["-e"],
        takes: &[("-l", 1)],
        first_operand: Operand::File,
        instead: "read it from the arguments of `run`",
    },
    Interpreter {
        name: "awk",
        code: &["-e", "--source"],
        takes: &[("-v", 1), ("-F", 1), ("-f", 1)],
        first_operand: Operand::Code,
        instead: "give it a name: `awk -v name={{ … }} '…'`",
    },
    Interpreter {
        name: "gawk",
        code: &["-e", "--source"],
        takes: &[("-v", 1), ("-F", 1), ("-f", 1)],
        first_operand: Operand::Code,
        instead: "give it a name: `gawk -v name={{ … }} '…'`",
    },
    Interpreter {
        name: "mawk",
        code: &[],
        takes: &[("-v", 1), ("-F", 1), ("-f", 1)],
        first_operand: Operand::Code,
        instead: "give it a name: `mawk -v name={{ … }} '…'`",
    },
    Interpreter {
        name: "sed",
        code: &["-e", "--expression"],
        takes: &[("-f", 1), ("-l", 1)],
        first_operand: Operand::Code,
        instead: "replace in the template (`{{ text | replace('a', 'b') }}`), or use `awk -v`",
    },
    Interpreter {
        name: "gsed",
        code: &["-e", "--expression"],
        takes: &[("-f", 1), ("-l", 1)],
        first_operand: Operand::Code,
        instead: "replace in the template (`{{ text | replace('a', 'b') }}`), or use `awk -v`",
    },
    Interpreter {
        name: "jq",
        code: &[],
        takes: &[
            ("--arg", 2),
            ("--argjson", 2),
            ("--slurpfile", 2),
            ("--rawfile", 2),
            ("--indent", 1),
            ("-f", 1),
            ("--from-file", 1),
            ("-L", 1),
        ],
        first_operand: Operand::Code,
        instead: "give it a name: `jq --arg name {{ … }} '…'`",
    },
];

fn interpreter(program: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|interpreter| {
        program
            .strip_prefix(interpreter.name)
            .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-'))
    })
}

fn is_one_of(word: &Word, names: &[&str]) -> bool {
    word.program().is_some_and(|program| names.contains(&program))
}

/// `declare -i x`: from then on `x=…` computes.
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

struct Judge<'a> {
    places: &'a [Range<usize>],
    errors: Vec<ShellError>,
}

impl Judge<'_> {
    fn refuse(&mut self, place: usize, kind: ShellErrorKind, message: Option<String>, help: Option<&str>) {
        let mut error = ShellError::new(kind, self.places[place].clone());
        if let Some(message) = message {
            error = error.saying(message);
        }
        if let Some(help) = help {
            error = error.helping(help);
        }
        self.errors.push(error);
    }

    fn refuse_word(&mut self, word: &Word, message: &str) {
        for place in &word.all_values {
            self.refuse(*place, ShellErrorKind::Program, Some(message.to_owned()), None);
        }
    }

    fn refuse_code(&mut self, word: &Word, program: &str, instead: Option<&str>) {
        for place in &word.all_values {
            let message = format!("`{program}` would read the value as code");
            self.refuse(*place, ShellErrorKind::Program, Some(message), instead);
        }
    }

    fn refuse_input(&mut self, command: &Command, program: &str) {
        for place in command.stdin.iter().chain(&command.piped) {
            let message = format!("`{program}` would read the value as code from its input");
            self.refuse(*place, ShellErrorKind::Program, Some(message), None);
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
                    // What follows is the shell's, its `$0` among it.
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

    /// Only a path is sure to name a program: a word alone may be `eval`.
    fn name(&mut self, word: &Word) {
        for (place, at) in &word.values {
            if !word.text[..*at].contains('/') {
                self.refuse(*place, ShellErrorKind::Command, None, None);
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

    /// The argument of an option: the next word, or the rest of the option's own.
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

    /// In some shells `printf -v name` assigns, and an index in the name is computed.
    fn printf(&mut self, arguments: &[Word]) {
        self.option("printf", &["-v"], arguments, None);
        let format = arguments.iter().find(|word| !is_option(word) || word.begins_with_value());
        if let Some(word) = format {
            for (place, _) in &word.values {
                let message = "the first argument of `printf` is a pattern".to_owned();
                self.refuse(
                    *place,
                    ShellErrorKind::Program,
                    Some(message),
                    Some("write `printf '%s\\n' {{ … }}`"),
                );
            }
        }
    }

    /// In some shells `-v name` computes an index in the name.
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

/// A name that is only known when the script runs, as in `$SHELL -c …`.
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
    use super::{
        ASSIGNERS, EVALUATED, EVALUATORS, INTERPRETERS, SHELL_OPTION, SHELLS, WRAPPERS, interpreter, selects,
    };

    #[test]
    fn tables_are_sorted_and_names_are_unique() {
        for table in [SHELLS, EVALUATORS, WRAPPERS, SHELL_OPTION, EVALUATED, ASSIGNERS] {
            assert!(table.is_sorted_by(|a, b| a < b), "{table:?}");
        }
        let mut names: Vec<_> = INTERPRETERS.iter().map(|interpreter| interpreter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), INTERPRETERS.len());
    }

    #[test]
    fn interpreters_are_known_with_their_version() {
        assert_eq!(interpreter("python3.12").map(|found| found.name), Some("python"));
        assert!(interpreter("pythonista").is_none());
    }

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
