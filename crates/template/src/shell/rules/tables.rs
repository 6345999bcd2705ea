//! The programs and variables that the rules know by name.

/// Programs that read a script from `-c`, a file, or their input.
pub(super) const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "pdksh", "rbash", "sh", "tcsh", "yash", "zsh"];

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
    "hash",
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

/// Those of them that read code from their input.
pub(super) const INPUT_EVALUATORS: &[&str] = &["at", "batch", "crontab", "parallel"];

/// A command that runs the rest of its arguments as a command.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Options with an argument of their own.
    pub(super) takes: &'static [&'static str],
    /// Options whose argument is code.
    pub(super) code: &'static [&'static str],
    /// How many operands precede the command.
    pub(super) operands: usize,
    /// `NAME=value` may precede the command.
    pub(super) assigns: bool,
    /// It has subcommands, and some of them run a command elsewhere.
    pub(super) is_container: bool,
}

const fn plain(name: &'static str, takes: &'static [&'static str]) -> Wrapper {
    Wrapper { name, takes, code: &[], operands: 0, assigns: false, is_container: false }
}

const fn container(name: &'static str) -> Wrapper {
    Wrapper { is_container: true, ..plain(name, &[]) }
}

pub(super) const WRAPPERS: &[Wrapper] = &[
    plain("builtin", &[]),
    plain("busybox", &[]),
    Wrapper { operands: 1, ..plain("chroot", &[]) },
    plain("command", &[]),
    plain("coproc", &[]),
    plain("doas", &["-C", "-u"]),
    container("docker"),
    Wrapper {
        code: &["-S", "--split-string"],
        assigns: true,
        ..plain("env", &["-C", "-u", "--chdir", "--unset"])
    },
    plain("exec", &["-a"]),
    Wrapper { code: &["-c", "--command"], operands: 1, ..plain("flock", &["-E", "-w", "--timeout"]) },
    Wrapper { code: &["--eval-command", "-ex", "-iex"], ..container("gdb") },
    Wrapper { operands: 1, ..plain("gosu", &[]) },
    plain("ionice", &["-c", "-n", "-p"]),
    container("kubectl"),
    plain("ltrace", &["-e", "-o", "-p"]),
    plain("nice", &["-n"]),
    plain("nohup", &[]),
    container("nsenter"),
    container("pkexec"),
    container("podman"),
    container("setpriv"),
    plain("setsid", &[]),
    plain("stdbuf", &["-e", "-i", "-o"]),
    plain("strace", &["-E", "-e", "-o", "-p", "-s"]),
    Wrapper { operands: 1, ..plain("su-exec", &[]) },
    Wrapper { assigns: true, ..plain("sudo", &["-C", "-D", "-R", "-T", "-U", "-g", "-h", "-p", "-u"]) },
    container("systemd-run"),
    plain("time", &["-f", "-o"]),
    Wrapper { operands: 1, ..plain("timeout", &["-k", "-s", "--kill-after", "--signal"]) },
    plain("unbuffer", &[]),
    container("unshare"),
    container("valgrind"),
    plain("xargs", &["-E", "-I", "-L", "-P", "-a", "-d", "-n", "-s"]),
];

pub(super) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == program)
}

/// Other commands with options whose argument is given to a shell.
pub(super) const CODE_OPTIONS: &[(&str, &[&str])] = &[
    ("Rscript", &["-e"]),
    ("emacs", &["--eval", "--execute"]),
    ("erl", &["-eval", "-run"]),
    ("ex", &["-c"]),
    ("nix-shell", &["--command", "--run"]),
    ("nvim", &["-c", "--cmd"]),
    ("rsync", &["-e", "--rsh"]),
    ("runuser", &["-c", "--command"]),
    ("script", &["-c", "--command"]),
    ("sg", &["-c"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("su", &["-c", "--command"]),
    ("tar", &["--checkpoint-action", "--to-command", "--use-compress-program"]),
    ("vi", &["-c", "--cmd"]),
    ("vim", &["-c", "--cmd"]),
];

/// Options of `git` itself with an argument of their own, besides those with code.
pub(super) const GIT_TAKES: &[&str] = &["--attr-source", "--git-dir", "--namespace", "--work-tree", "-C"];

/// Options of `git` itself whose argument is configuration, which names programs in many places (`alias.x`, `core.pager`,
/// `core.sshCommand`, `diff.external` …), or a directory with programs.
pub(super) const GIT_CODE_OPTIONS: &[&str] = &["--config-env", "--exec-path", "-c"];

/// The same for its subcommands.
pub(super) const GIT_SUBCOMMAND_CODE_OPTIONS: &[(&str, &[&str])] = &[
    ("archive", &["--exec"]),
    ("clone", &["--config", "--upload-pack", "-c", "-u"]),
    ("difftool", &["--extcmd", "-x"]),
    ("fetch", &["--upload-pack"]),
    (
        "filter-branch",
        &[
            "--commit-filter",
            "--env-filter",
            "--index-filter",
            "--msg-filter",
            "--parent-filter",
            "--setup",
            "--tag-name-filter",
            "--tree-filter",
        ],
    ),
    ("grep", &["--open-files-in-pager", "-O"]),
    ("ls-remote", &["--exec", "--upload-pack"]),
    ("pull", &["--upload-pack"]),
    ("push", &["--exec", "--receive-pack"]),
    ("rebase", &["--exec", "-x"]),
];

/// Variables whose value some shell expands or computes, commands included, or that common programs give to one.
pub(super) const EVALUATED: &[&str] = &[
    "BASHPID",
    "BASH_ARGV0",
    "BASH_ENV",
    "BASH_SUBSHELL",
    "BROWSER",
    "EDITOR",
    "ENV",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH_COMMAND",
    "HISTCMD",
    "LD_PRELOAD",
    "LESSCLOSE",
    "LESSOPEN",
    "LINENO",
    "MAILCHECK",
    "MANPAGER",
    "NODE_OPTIONS",
    "OPTERR",
    "OPTIND",
    "PAGER",
    "PERL5OPT",
    "PPID",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS3",
    "PS4",
    "RANDOM",
    "RSYNC_RSH",
    "RUBYOPT",
    "SECONDS",
    "SRANDOM",
    "UID",
    "VISUAL",
];

/// Commands that assign, one `NAME=value` per argument.
pub(super) const ASSIGNERS: &[&str] = &["export", "local", "readonly"];

#[cfg(test)]
mod unit_tests {
    use super::{
        ASSIGNERS, CODE_OPTIONS, EVALUATED, EVALUATORS, GIT_CODE_OPTIONS, GIT_SUBCOMMAND_CODE_OPTIONS,
        GIT_TAKES, INPUT_EVALUATORS, SHELLS, WRAPPERS,
    };

    #[test]
    fn tables_are_sorted_and_names_are_unique() {
        for table in [SHELLS, EVALUATORS, INPUT_EVALUATORS, EVALUATED, ASSIGNERS, GIT_TAKES, GIT_CODE_OPTIONS]
        {
            assert!(table.is_sorted_by(|a, b| a < b), "{table:?}");
        }
        assert!(WRAPPERS.is_sorted_by(|a, b| a.name < b.name));
        assert!(CODE_OPTIONS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(GIT_SUBCOMMAND_CODE_OPTIONS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(INPUT_EVALUATORS.iter().all(|name| EVALUATORS.contains(name)));
    }
}
