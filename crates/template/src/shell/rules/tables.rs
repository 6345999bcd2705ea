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
    "jobs",
    "let",
    "make",
    "mapfile",
    "parallel",
    "read",
    "readarray",
    "rsh",
    "screen",
    "sem",
    "socat",
    "source",
    "ssh",
    "tmux",
    "trap",
    "typeset",
    "unset",
    "wait",
    "watch",
];

/// Those of them that read code from their input.
pub(super) const INPUT_EVALUATORS: &[&str] = &["at", "batch", "crontab", "parallel", "sem"];

/// Editors and clients whose commands, which they read from their input, can start programs.
pub(super) const COMMAND_READERS: &[&str] =
    &["ed", "ex", "ftp", "gdb", "nvim", "red", "sftp", "vi", "view", "vim", "vimdiff"];

/// Commands to which a word `+…` is a command of their own.
pub(super) const PLUS_COMMANDS: &[&str] =
    &["ex", "gvim", "less", "more", "nvim", "vi", "view", "vim", "vimdiff"];

/// Variables that shells set, always to a number.
pub(super) const NUMBERS: &[&str] = &[
    "BASHPID",
    "COLUMNS",
    "EPOCHSECONDS",
    "EUID",
    "HISTCMD",
    "LINENO",
    "LINES",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
    "UID",
];

/// Commands whose operands are names of variables, with subscripts that are computed.
pub(super) const NAMERS: &[&str] = &[
    "declare",
    "export",
    "getopts",
    "local",
    "mapfile",
    "printf",
    "read",
    "readarray",
    "readonly",
    "typeset",
    "unset",
    "wait",
];

/// Modules of Python that run the code in their arguments.
pub(super) const PYTHON_RUNNERS: &[&str] =
    &["cProfile", "code", "pdb", "profile", "runpy", "timeit", "trace"];

/// Settings of git whose value starts no program. A pattern ends with `*`.
pub(super) const GIT_HARMLESS: &[&str] = &[
    "advice.*",
    "color.*",
    "commit.gpgsign",
    "core.autocrlf",
    "core.filemode",
    "core.quotepath",
    "fetch.prune",
    "init.defaultbranch",
    "pull.rebase",
    "push.default",
    "tag.gpgsign",
    "user.email",
    "user.name",
    "user.signingkey",
];

pub(super) fn is_harmless_setting(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    GIT_HARMLESS.iter().any(|known| match known.strip_suffix('*') {
        Some(beginning) => key.starts_with(beginning),
        None => key == *known,
    })
}

/// A command that runs the rest of its arguments as a command.
#[derive(Clone, Copy)]
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// The command begins behind one of these words: `uv run`. Empty when it needs none.
    pub(super) subcommands: &'static [&'static str],
    /// Options with an argument of their own.
    pub(super) takes: &'static [&'static str],
    /// Options whose argument is code.
    pub(super) code: &'static [&'static str],
    /// How many operands precede the command, at least and at most.
    pub(super) operands: (usize, usize),
    /// `NAME=value` may precede the command.
    pub(super) assigns: bool,
    pub(super) options: WrapperOptions,
    /// Without a command it starts a shell, which reads its input.
    pub(super) starts_shell: bool,
    /// It has other subcommands, and some of them run a command elsewhere.
    pub(super) is_container: bool,
}

/// What is known of the options of a wrapper.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WrapperOptions {
    /// An option that is not in `takes` has no argument.
    Known,
    /// A long option that is not in `takes` may have an argument, so the word behind it may be the command, or may not.
    Open,
    /// The command begins directly behind `--`.
    EndedByDashes,
}

const fn plain(name: &'static str, takes: &'static [&'static str]) -> Wrapper {
    Wrapper {
        name,
        subcommands: &[],
        takes,
        code: &[],
        operands: (0, 0),
        assigns: false,
        options: WrapperOptions::Known,
        starts_shell: false,
        is_container: false,
    }
}

const fn open(name: &'static str, takes: &'static [&'static str]) -> Wrapper {
    Wrapper { options: WrapperOptions::Open, ..plain(name, takes) }
}

const fn container(name: &'static str) -> Wrapper {
    Wrapper { is_container: true, ..plain(name, &[]) }
}

const fn runner(
    name: &'static str,
    subcommands: &'static [&'static str],
    takes: &'static [&'static str],
) -> Wrapper {
    Wrapper { subcommands, ..open(name, takes) }
}

const fn shell(wrapper: Wrapper) -> Wrapper {
    Wrapper { starts_shell: true, ..wrapper }
}

/// Options of `docker run`, `docker exec` and their like with an argument.
const CONTAINER_TAKES: &[&str] = &[
    "--add-host",
    "--cap-add",
    "--cap-drop",
    "--cpus",
    "--device",
    "--dns",
    "--entrypoint",
    "--env",
    "--env-file",
    "--file",
    "--gpus",
    "--hostname",
    "--ipc",
    "--label",
    "--memory",
    "--mount",
    "--name",
    "--net",
    "--network",
    "--pid",
    "--platform",
    "--publish",
    "--pull",
    "--restart",
    "--security-opt",
    "--shm-size",
    "--tmpfs",
    "--ulimit",
    "--user",
    "--userns",
    "--volume",
    "--volumes-from",
    "--workdir",
    "-a",
    "-c",
    "-e",
    "-f",
    "-h",
    "-l",
    "-m",
    "-p",
    "-u",
    "-v",
    "-w",
];

const KUBECTL_TAKES: &[&str] = &[
    "--cluster",
    "--container",
    "--context",
    "--filename",
    "--image",
    "--kubeconfig",
    "--namespace",
    "--user",
    "-c",
    "-f",
    "-n",
];

pub(super) const WRAPPERS: &[Wrapper] = &[
    plain("builtin", &[]),
    runner("bundle", &["exec"], &[]),
    open("bunx", &[]),
    plain("busybox", &[]),
    Wrapper { operands: (0, usize::MAX), ..open("bwrap", &[]) },
    plain("catchsegv", &[]),
    shell(Wrapper { operands: (1, 1), ..open("chroot", &[]) }),
    Wrapper { operands: (0, 1), ..plain("chrt", &["-D", "-P", "-T", "-p"]) },
    plain("command", &[]),
    runner("conda", &["run"], &["--name", "--prefix", "-n", "-p"]),
    plain("coproc", &[]),
    Wrapper { ..open("dbus-run-session", &["--config-file", "--dbus-daemon"]) },
    shell(plain("doas", &["-C", "-u"])),
    Wrapper {
        subcommands: &["create", "exec", "run"],
        operands: (1, 1),
        takes: CONTAINER_TAKES,
        options: WrapperOptions::Open,
        ..container("docker")
    },
    Wrapper {
        code: &["-S", "--split-string"],
        assigns: true,
        ..plain("env", &["-C", "-u", "--chdir", "--unset"])
    },
    plain("exec", &["-a"]),
    shell(open("fakechroot", &[])),
    shell(open("fakeroot", &["--faked", "--lib", "-b", "-f", "-i", "-l", "-s"])),
    shell(open("firejail", &[])),
    Wrapper { code: &["-c", "--command"], operands: (1, 1), ..plain("flock", &["-E", "-w", "--timeout"]) },
    Wrapper {
        code: &[
            "--command",
            "--eval-command",
            "--init-command",
            "--init-eval-command",
            "-command",
            "-eval-command",
            "-ex",
            "-iex",
            "-init-command",
            "-init-eval-command",
            "-ix",
            "-x",
        ],
        ..container("gdb")
    },
    Wrapper { operands: (1, 1), ..plain("gosu", &[]) },
    runner("hatch", &["run"], &["-e"]),
    shell(open("i386", &[])),
    plain("ionice", &["-c", "-n", "-p"]),
    Wrapper {
        subcommands: &["debug", "exec", "run"],
        operands: (1, 1),
        takes: KUBECTL_TAKES,
        options: WrapperOptions::EndedByDashes,
        ..container("kubectl")
    },
    shell(open("linux32", &[])),
    shell(open("linux64", &[])),
    plain("ltrace", &["-e", "-o", "-p"]),
    plain("nice", &["-n"]),
    plain("nohup", &[]),
    Wrapper { code: &["--call", "-c"], ..runner("npm", &["exec", "x"], &["--package", "--workspace", "-w"]) },
    Wrapper { code: &["--call", "-c"], ..open("npx", &["--package", "--workspace", "-p", "-w"]) },
    shell(open("nsenter", &["--setgid", "--setuid", "--target", "-G", "-N", "-S", "-t"])),
    open("numactl", &["-C", "-N", "-m", "-p"]),
    runner("pdm", &["run"], &[]),
    runner("pipenv", &["run"], &[]),
    runner("pipx", &["run"], &["--spec"]),
    shell(open("pkexec", &["--user", "-u"])),
    Wrapper { code: &["--shell-mode", "-c"], ..runner("pnpm", &["dlx", "exec"], &["--filter"]) },
    Wrapper {
        subcommands: &["create", "exec", "run"],
        operands: (1, 1),
        takes: CONTAINER_TAKES,
        options: WrapperOptions::Open,
        ..container("podman")
    },
    runner("poetry", &["run"], &["--directory", "-C"]),
    open("prlimit", &["--pid", "-p"]),
    shell(open("proot", &["-R", "-S", "-b", "-i", "-m", "-q", "-r", "-v", "-w"])),
    shell(Wrapper {
        code: &["--command", "--session-command", "-c"],
        operands: (0, 1),
        ..open("runuser", &["--group", "--shell", "--supp-group", "--user", "-G", "-g", "-s", "-u"])
    }),
    Wrapper { operands: (1, 1), ..runner("rustup", &["run"], &[]) },
    shell(Wrapper { operands: (0, 1), ..open("setarch", &[]) }),
    open("setpriv", &["--groups", "--regid", "--reuid"]),
    plain("setsid", &[]),
    open("sshpass", &["-P", "-d", "-f", "-p"]),
    plain("stdbuf", &["-e", "-i", "-o"]),
    Wrapper {
        code: &["--output", "-o"],
        ..plain("strace", &["-E", "-P", "-a", "-b", "-e", "-o", "-p", "-s", "-u"])
    },
    Wrapper { operands: (1, 1), ..plain("su-exec", &[]) },
    shell(Wrapper {
        assigns: true,
        ..plain(
            "sudo",
            &[
                "--chdir",
                "--chroot",
                "--close-from",
                "--group",
                "--host",
                "--prompt",
                "--user",
                "-C",
                "-D",
                "-R",
                "-T",
                "-U",
                "-g",
                "-h",
                "-p",
                "-u",
            ],
        )
    }),
    shell(open(
        "systemd-run",
        &[
            "--description",
            "--gid",
            "--host",
            "--machine",
            "--nice",
            "--property",
            "--setenv",
            "--slice",
            "--uid",
            "--unit",
            "--working-directory",
            "-E",
            "-H",
            "-M",
            "-p",
            "-u",
        ],
    )),
    Wrapper { operands: (1, 1), ..open("taskset", &[]) },
    plain("time", &["-f", "-o"]),
    Wrapper { operands: (1, 1), ..plain("timeout", &["-k", "-s", "--kill-after", "--signal"]) },
    plain("unbuffer", &[]),
    shell(open("unshare", &["--root", "--setgid", "--setuid", "--wd", "-G", "-R", "-S", "-w"])),
    runner("uv", &["run"], &["--directory", "--extra", "--group", "--project", "--python", "--with", "-p"]),
    open("uvx", &["--from", "--python", "--with", "-p"]),
    open("valgrind", &[]),
    shell(open("x86_64", &[])),
    plain("xargs", &["-E", "-I", "-L", "-P", "-a", "-d", "-n", "-s"]),
    open(
        "xvfb-run",
        &["--auth-file", "--error-file", "--server-args", "--server-num", "-e", "-f", "-n", "-p", "-s", "-w"],
    ),
    runner("yarn", &["dlx", "exec"], &[]),
];

pub(super) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    WRAPPERS.iter().find(|wrapper| wrapper.name == program)
}

/// Other commands with options whose argument is given to a shell, or starts a program in another way.
pub(super) const CODE_OPTIONS: &[(&str, &[&str])] = &[
    ("Rscript", &["-e"]),
    ("cpio", &["--rsh-command"]),
    (
        "emacs",
        &[
            "--eval",
            "--execute",
            "--funcall",
            "--load",
            "--script",
            "-eval",
            "-execute",
            "-f",
            "-funcall",
            "-l",
            "-load",
            "-x",
        ],
    ),
    ("erl", &["-eval", "-run", "-s"]),
    ("ex", &["--cmd", "-S", "-c"]),
    ("gcc", &["-wrapper"]),
    ("go", &["--exec", "--toolexec", "--vettool", "-exec", "-toolexec", "-vettool"]),
    ("install", &["--strip-program"]),
    ("man", &["--html", "--pager", "--preprocessor", "-H", "-P"]),
    ("nc", &["--exec", "--sh-exec", "-c", "-e"]),
    ("ncat", &["--exec", "--lua-exec", "--sh-exec", "-c", "-e"]),
    ("nix-shell", &["--command", "--run"]),
    ("nvim", &["--cmd", "-S", "-c"]),
    ("rsync", &["--remote-option", "--rsh", "--rsync-path", "-M", "-e"]),
    ("scp", &["-D", "-F", "-S", "-o"]),
    ("script", &["-c", "--command"]),
    ("sftp", &["-D", "-F", "-S", "-b", "-o"]),
    ("sg", &["-c"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("ssh-keygen", &["-D"]),
    ("su", &["-c", "--command", "--session-command"]),
    (
        "tar",
        &[
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
            "-F",
            "-I",
        ],
    ),
    ("vi", &["--cmd", "-S", "-c"]),
    ("view", &["--cmd", "-S", "-c"]),
    ("vim", &["--cmd", "-S", "-c"]),
    ("wget", &["--execute", "--use-askpass", "-e"]),
    ("zip", &["--unzip-command", "-TT"]),
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

/// Commands that assign, one `NAME=value` per argument.
pub(super) const ASSIGNERS: &[&str] = &["export", "local", "readonly"];

#[cfg(test)]
mod unit_tests {
    use super::{
        ASSIGNERS, CODE_OPTIONS, COMMAND_READERS, EVALUATORS, GIT_CODE_OPTIONS, GIT_HARMLESS,
        GIT_SUBCOMMAND_CODE_OPTIONS, GIT_TAKES, INPUT_EVALUATORS, NAMERS, NUMBERS, PLUS_COMMANDS,
        PYTHON_RUNNERS, SHELLS, WRAPPERS,
    };

    #[test]
    fn tables_are_sorted_and_names_are_unique() {
        for table in [
            SHELLS,
            EVALUATORS,
            INPUT_EVALUATORS,
            ASSIGNERS,
            GIT_TAKES,
            GIT_CODE_OPTIONS,
            COMMAND_READERS,
            PLUS_COMMANDS,
            NUMBERS,
            NAMERS,
            PYTHON_RUNNERS,
            GIT_HARMLESS,
        ] {
            assert!(table.is_sorted_by(|a, b| a < b), "{table:?}");
        }
        assert!(WRAPPERS.is_sorted_by(|a, b| a.name < b.name));
        assert!(CODE_OPTIONS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(GIT_SUBCOMMAND_CODE_OPTIONS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(INPUT_EVALUATORS.iter().all(|name| EVALUATORS.contains(name)));
    }
}
