//! The programs and variables that the rules know by name.

/// Programs that read a script from `-c`, a file, or their input.
pub(super) const SHELLS: &[&str] = &["ash", "bash", "dash", "fish", "ksh", "mksh", "rbash", "sh", "zsh"];

/// Commands all of whose arguments may be read as code by a shell.
pub(super) const EVALUATORS: &[&str] = &[
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
pub(super) const WRAPPERS: &[&str] = &[
    "builtin", "busybox", "chroot", "command", "doas", "docker", "env", "exec", "find", "flock", "gdb",
    "ionice", "kubectl", "nice", "nohup", "nsenter", "podman", "setsid", "stdbuf", "strace", "sudo", "time",
    "timeout", "unshare", "xargs",
];

/// Commands that give the argument of `-c` to a shell.
pub(super) const SHELL_OPTION: &[&str] = &["flock", "runuser", "script", "su"];

/// Variables whose value some shell expands or computes, commands included.
pub(super) const EVALUATED: &[&str] = &[
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
pub(super) const ASSIGNERS: &[&str] = &["export", "local", "readonly"];

/// A program that takes code of its own language.
pub(super) struct Interpreter {
    /// The name, which a version may follow.
    pub(super) name: &'static str,
    /// Options whose argument is code.
    pub(super) code: &'static [&'static str],
    /// Other options with arguments of their own, and how many.
    pub(super) takes: &'static [(&'static str, usize)],
    pub(super) first_operand: Operand,
    pub(super) instead: &'static str,
}

#[derive(PartialEq, Eq)]
pub(super) enum Operand {
    Code,
    /// A file. Without one, the program reads code from its input.
    File,
}

pub(super) const INTERPRETERS: &[Interpreter] = &[
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

pub(super) fn interpreter(program: &str) -> Option<&'static Interpreter> {
    INTERPRETERS.iter().find(|interpreter| {
        program
            .strip_prefix(interpreter.name)
            .is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-'))
    })
}

#[cfg(test)]
mod unit_tests {
    use super::{
        ASSIGNERS, EVALUATED, EVALUATORS, INTERPRETERS, SHELL_OPTION, SHELLS, WRAPPERS, interpreter,
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
}
