//! The programs and variables that the rules know by name.

/// Programs that read a script from `-c`, a file, or their input.
const SHELLS: &[&str] = &[
    "ash", "bash", "csh", "dash", "fish", "ksh", "lksh", "mksh", "oksh", "osh", "pdksh", "posh", "rbash",
    "rksh", "sh", "tcsh", "yash", "zsh",
];

/// Whether a program is a shell, with or without its version: `bash-5.2`, `ksh93`.
pub(super) fn is_shell(program: &str) -> bool {
    let name = program.strip_suffix("-static").unwrap_or(program);
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | '-' | '_'));
    SHELLS.contains(&name)
}

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
    "history",
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

/// Those of them whose arguments shells run, also where a command printed them. The arguments of others are names of
/// variables, which have a rule of their own, or of files and targets.
pub(super) const PRINTED_EVALUATORS: &[&str] = &[
    "bind", "compgen", "complete", "enable", "hash", "history", "jobs", "parallel", "screen", "sem", "tmux",
    "watch",
];

/// Those of them that read code from their input.
pub(super) const INPUT_EVALUATORS: &[&str] = &["at", "batch", "crontab", "parallel", "sem"];

/// Programs that start a shell, which reads their input, unless an option gives them a command.
pub(super) const SHELL_STARTERS: &[&str] = &["login", "newgrp", "nix-shell", "script", "sg"];

/// Editors and clients whose commands, which they read from their input, can start programs.
pub(super) const COMMAND_READERS: &[&str] =
    &["ed", "ex", "ftp", "gdb", "lftp", "lldb", "nvim", "red", "sftp", "vi", "view", "vim", "vimdiff"];

/// Commands to which a word `+…` is a command of their own.
pub(super) const PLUS_COMMANDS: &[&str] =
    &["ex", "gvim", "less", "more", "nvim", "vi", "view", "vim", "vimdiff"];

/// Programs that run no other program, so that the name of an interpreter among their arguments is data.
pub(super) const RUNS_NOTHING: &[&str] = &[
    "[",
    "ag",
    "apk",
    "apt",
    "apt-get",
    "basename",
    "brew",
    "cat",
    "chmod",
    "chown",
    "cp",
    "curl",
    "cut",
    "diff",
    "dirname",
    "dnf",
    "echo",
    "egrep",
    "expr",
    "false",
    "fgrep",
    "file",
    "gem",
    "gh",
    "grep",
    "head",
    "jobs",
    "kill",
    "ln",
    "ls",
    "mkdir",
    "mv",
    "pacman",
    "pgrep",
    "pip",
    "pip3",
    "pkill",
    "printf",
    "ps",
    "readlink",
    "rg",
    "rm",
    "sha256sum",
    "sort",
    "stat",
    "systemctl",
    "tail",
    "tee",
    "test",
    "touch",
    "tr",
    "true",
    "type",
    "uniq",
    "wc",
    "wget",
    "which",
    "yum",
    "zypper",
];

/// Variables of shells with the attribute of an integer: whatever assigns them is computed.
pub(super) const INTEGERS: &[&str] = &[
    "BASHPID",
    "BASH_SUBSHELL",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "HISTCMD",
    "LINENO",
    "MAILCHECK",
    "OPTERR",
    "OPTIND",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SRANDOM",
    "UID",
];

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

/// Commands whose operands are variables that they declare or remove, with or without `=value`.
pub(super) const DECLARERS: &[&str] =
    &["declare", "export", "float", "integer", "local", "nameref", "readonly", "typeset", "unset"];

/// Modules of Python that run the code in their arguments, or the file that one of them names.
pub(super) const PYTHON_RUNNERS: &[&str] = &[
    "IPython", "cProfile", "code", "coverage", "debugpy", "doctest", "idlelib", "ipdb", "pdb", "profile",
    "pudb", "runpy", "timeit", "trace",
];

/// Modules of Python that read no code from their input. Any other module may: it is a program that is not known.
pub(super) const PYTHON_HARMLESS: &[&str] = &[
    "ast",
    "base64",
    "black",
    "build",
    "calendar",
    "compileall",
    "dis",
    "ensurepip",
    "flake8",
    "gzip",
    "http.server",
    "isort",
    "json",
    "json.tool",
    "mimetypes",
    "mkdocs",
    "mypy",
    "pip",
    "pipx",
    "platform",
    "poetry",
    "py_compile",
    "pylint",
    "pyright",
    "pytest",
    "ruff",
    "site",
    "sphinx",
    "sysconfig",
    "tabnanny",
    "tarfile",
    "tokenize",
    "tox",
    "twine",
    "unittest",
    "uuid",
    "uv",
    "venv",
    "virtualenv",
    "yamllint",
    "zipfile",
];

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

/// Where the options of a wrapper end. A long option that is not in `takes` may have an argument, so the word behind it
/// may be the command, or may not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WrapperOptions {
    /// At the command.
    EndedByCommand,
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
        options: WrapperOptions::EndedByCommand,
        starts_shell: false,
        is_container: false,
    }
}

const fn container(name: &'static str) -> Wrapper {
    Wrapper { is_container: true, ..plain(name, &[]) }
}

const fn runner(
    name: &'static str,
    subcommands: &'static [&'static str],
    takes: &'static [&'static str],
) -> Wrapper {
    Wrapper { subcommands, ..plain(name, takes) }
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
    plain("aa-exec", &["--namespace", "--profile", "-n", "-p"]),
    runner("asdf", &["exec"], &[]),
    runner("aws-vault", &["exec"], &[]),
    plain("builtin", &[]),
    runner("bundle", &["exec"], &[]),
    plain("bunx", &[]),
    plain("busybox", &[]),
    Wrapper { operands: (0, usize::MAX), ..plain("bwrap", &[]) },
    plain("caffeinate", &["-t", "-w"]),
    plain("catatonit", &[]),
    plain("catchsegv", &[]),
    plain("cgexec", &["-g"]),
    plain("choom", &["-n", "-p"]),
    plain(
        "chpst",
        &[
            "-/", "-b", "-c", "-d", "-e", "-f", "-l", "-L", "-m", "-n", "-o", "-p", "-r", "-s", "-t", "-u",
            "-U",
        ],
    ),
    shell(Wrapper { operands: (1, 1), ..plain("chroot", &[]) }),
    Wrapper { operands: (0, 1), ..plain("chrt", &["-D", "-P", "-T", "-p"]) },
    Wrapper { code: &["--toolchain", "-C", "-P"], ..runner("cmake", &["env", "time"], &[]) },
    plain("command", &[]),
    runner("conda", &["run"], &["--name", "--prefix", "-n", "-p"]),
    plain("coproc", &[]),
    plain("cpulimit", &["-e", "-l", "-p"]),
    Wrapper { ..plain("dbus-run-session", &["--config-file", "--dbus-daemon"]) },
    runner("devbox", &["run"], &[]),
    Wrapper { operands: (1, 1), ..runner("direnv", &["exec"], &[]) },
    shell(plain("doas", &["-C", "-a", "-u"])),
    Wrapper {
        subcommands: &["create", "exec", "run"],
        operands: (1, 1),
        takes: CONTAINER_TAKES,
        ..container("docker")
    },
    runner("doppler", &["run"], &["--config", "--project", "-c", "-p"]),
    plain("dumb-init", &["--rewrite", "-r"]),
    plain("eatmydata", &[]),
    Wrapper {
        code: &["-S", "--split-string"],
        assigns: true,
        ..plain("env", &["--argv0", "--chdir", "--unset", "-C", "-a", "-u"])
    },
    Wrapper { operands: (1, 1), ..plain("envdir", &[]) },
    plain("exec", &["-a"]),
    shell(plain("fakechroot", &[])),
    shell(plain("fakeroot", &["--faked", "--lib", "-b", "-f", "-i", "-l", "-s"])),
    Wrapper { operands: (1, 1), ..plain("faketime", &["-f"]) },
    shell(plain("firejail", &[])),
    Wrapper {
        code: &["-c", "--command"],
        operands: (1, 1),
        ..plain("flock", &["--conflict-exit-code", "--timeout", "--wait", "-E", "-w"])
    },
    runner("fnm", &["exec"], &["--using"]),
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
    plain("gtime", &["--format", "--output", "-f", "-o"]),
    runner("hatch", &["run"], &["-e"]),
    plain("heaptrack", &["-o", "-p"]),
    shell(plain("i386", &[])),
    runner("infisical", &["run"], &["--env", "--path"]),
    plain("ionice", &["--class", "--classdata", "--pid", "-P", "-c", "-n", "-p", "-u"]),
    Wrapper { operands: (1, 1), ..runner("ip", &["exec"], &[]) },
    Wrapper {
        code: &["--kubeconfig"],
        subcommands: &["debug", "exec", "run"],
        operands: (1, 1),
        takes: KUBECTL_TAKES,
        options: WrapperOptions::EndedByDashes,
        ..container("kubectl")
    },
    Wrapper { operands: (0, usize::MAX), ..plain("ld-linux-x86-64.so.2", &[]) },
    shell(plain("linux32", &[])),
    shell(plain("linux64", &[])),
    plain("ltrace", &["-A", "-D", "-F", "-a", "-e", "-l", "-n", "-o", "-p", "-s", "-u", "-w", "-x"]),
    runner("mise", &["exec", "x"], &["-C", "-j"]),
    plain("mpirun", &["--host", "-H", "-n", "-np"]),
    plain("nice", &["--adjustment", "-n"]),
    runner("nodenv", &["exec"], &[]),
    plain("nohup", &[]),
    Wrapper {
        code: &["--call", "--node-options", "--script-shell", "-c"],
        ..runner("npm", &["exec", "x"], &["--package", "--workspace", "-w"])
    },
    Wrapper { code: &["--call", "-c"], ..plain("npx", &["--package", "--workspace", "-p", "-w"]) },
    shell(plain("nsenter", &["--setgid", "--setuid", "--target", "-G", "-N", "-S", "-t"])),
    plain("numactl", &["-C", "-N", "-m", "-p"]),
    Wrapper { operands: (0, 1), ..runner("nvm", &["exec"], &[]) },
    runner("op", &["run"], &["--env-file"]),
    runner("pdm", &["run"], &[]),
    runner("perf", &["record", "stat", "trace"], &["-C", "-F", "-a", "-c", "-e", "-o", "-p", "-r", "-t"]),
    runner("pipenv", &["run"], &[]),
    runner("pipx", &["run"], &["--spec"]),
    runner("pixi", &["exec", "run"], &["--environment", "-e"]),
    shell(plain("pkexec", &["--user", "-u"])),
    Wrapper {
        code: &["--node-options", "--script-shell", "--shell-mode", "-c"],
        ..runner("pnpm", &["dlx", "exec"], &["--filter"])
    },
    Wrapper {
        subcommands: &["create", "exec", "run"],
        operands: (1, 1),
        takes: CONTAINER_TAKES,
        ..container("podman")
    },
    runner("poetry", &["run"], &["--directory", "-C"]),
    plain("prlimit", &["--pid", "-p"]),
    shell(plain("proot", &["-R", "-S", "-b", "-i", "-m", "-q", "-r", "-v", "-w"])),
    plain("proxychains", &["-f"]),
    plain("proxychains4", &["-f"]),
    runner("pyenv", &["exec"], &[]),
    runner("rbenv", &["exec"], &[]),
    plain("rlwrap", &["-C", "-D", "-H", "-O", "-P", "-S", "-b", "-f", "-g", "-l", "-q", "-s", "-t", "-z"]),
    Wrapper { operands: (0, 1), ..runner("rr", &["record"], &["-o"]) },
    plain("runcon", &["-c", "-l", "-r", "-t", "-u"]),
    shell(Wrapper {
        code: &["--command", "--session-command", "--shell", "-c", "-s"],
        operands: (0, 1),
        ..plain("runuser", &["--group", "--shell", "--supp-group", "--user", "-G", "-g", "-s", "-u"])
    }),
    Wrapper { operands: (1, 1), ..runner("rustup", &["run"], &[]) },
    runner("rye", &["run"], &[]),
    Wrapper { operands: (1, 1), ..plain("s6-setuidgid", &[]) },
    shell(plain("schroot", &["--chroot", "--directory", "--user", "-c", "-d", "-u"])),
    shell(Wrapper { operands: (0, 1), ..plain("setarch", &[]) }),
    plain("setpriv", &["--groups", "--regid", "--reuid"]),
    plain("setsid", &[]),
    Wrapper { operands: (1, 1), ..plain("setuidgid", &[]) },
    plain("softlimit", &["-a", "-c", "-d", "-f", "-l", "-m", "-o", "-p", "-r", "-s", "-t"]),
    plain("srun", &["-N", "-c", "-n", "-p", "-t"]),
    plain("ssh-agent", &["-E", "-P", "-a", "-t"]),
    plain("sshpass", &["-P", "-d", "-f", "-p"]),
    plain("stdbuf", &["--error", "--input", "--output", "-e", "-i", "-o"]),
    Wrapper {
        code: &["--env", "--output", "-E", "-o"],
        ..plain(
            "strace",
            &["-E", "-I", "-O", "-P", "-S", "-U", "-X", "-a", "-b", "-e", "-o", "-p", "-s", "-u"],
        )
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
                "--role",
                "--type",
                "--user",
                "-C",
                "-D",
                "-R",
                "-T",
                "-U",
                "-g",
                "-h",
                "-p",
                "-r",
                "-t",
                "-u",
            ],
        )
    }),
    plain("systemd-cat", &["--identifier", "--priority", "-p", "-t"]),
    plain("systemd-inhibit", &["--mode", "--what", "--who", "--why"]),
    shell(Wrapper {
        code: &["--setenv", "-E"],
        ..plain(
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
        )
    }),
    Wrapper { operands: (1, 1), ..plain("taskset", &[]) },
    plain("time", &["--format", "--output", "-f", "-o"]),
    Wrapper { operands: (1, 1), ..plain("timeout", &["-k", "-s", "--kill-after", "--signal"]) },
    plain("tini", &["-e", "-p"]),
    plain("tini-static", &["-e", "-p"]),
    shell(runner("toolbox", &["run"], &["--container", "-c"])),
    plain("torify", &[]),
    plain("torsocks", &[]),
    plain("unbuffer", &[]),
    shell(plain("unshare", &["--root", "--setgid", "--setuid", "--wd", "-G", "-R", "-S", "-w"])),
    runner("uv", &["run"], &["--directory", "--extra", "--group", "--project", "--python", "--with", "-p"]),
    plain("uvx", &["--from", "--python", "--with", "-p"]),
    plain("valgrind", &[]),
    runner("volta", &["run"], &["--node", "--npm"]),
    shell(plain("x86_64", &[])),
    plain(
        "xargs",
        &[
            "--arg-file",
            "--delimiter",
            "--max-args",
            "--max-chars",
            "--max-procs",
            "--process-slot-var",
            "-E",
            "-I",
            "-L",
            "-P",
            "-a",
            "-d",
            "-n",
            "-s",
        ],
    ),
    plain(
        "xvfb-run",
        &["--auth-file", "--error-file", "--server-args", "--server-num", "-e", "-f", "-n", "-p", "-s", "-w"],
    ),
    runner("yarn", &["dlx", "exec"], &[]),
];

pub(super) fn wrapper(program: &str) -> Option<&'static Wrapper> {
    // The loader is a program too: `/lib64/ld-linux-x86-64.so.2 /bin/sh`.
    let is_loader = program.starts_with("ld-") && program.contains(".so") || program == "ld.so";
    let program = if is_loader { "ld-linux-x86-64.so.2" } else { program };
    WRAPPERS.iter().find(|wrapper| wrapper.name == program)
}

/// Other commands with options whose argument is given to a shell, starts a program in another way, or names code that is
/// loaded.
pub(super) const CODE_OPTIONS: &[(&str, &[&str])] = &[
    ("ag", &["--pager"]),
    ("ansible", &["--args", "--extra-vars", "--module-path", "-M", "-a", "-e"]),
    ("ansible-playbook", &["--extra-vars", "--module-path", "-M", "-e"]),
    ("apt", &["--option", "-c", "-o"]),
    ("apt-get", &["--config-file", "--option", "-c", "-o"]),
    ("bat", &["--config-file", "--pager"]),
    ("bazel", &["--bazelrc", "--run_under"]),
    ("bsdtar", &["--use-compress-program"]),
    ("c++", COMPILER_OPTIONS),
    ("cargo", &["--config"]),
    ("cc", COMPILER_OPTIONS),
    ("chsh", &["--shell", "-s"]),
    ("clang", COMPILER_OPTIONS),
    ("clang++", COMPILER_OPTIONS),
    ("cpio", &["--rsh-command"]),
    ("ctest", &["--script", "--script-new-process", "-S", "-SP"]),
    ("curl", &["--config", "--engine", "-K"]),
    ("delta", &["--pager"]),
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
    ("ex", &["--cmd", "-S", "-c"]),
    ("fd", &["--exec", "--exec-batch", "-X", "-x"]),
    ("fdfind", &["--exec", "--exec-batch", "-X", "-x"]),
    ("g++", COMPILER_OPTIONS),
    ("gcc", COMPILER_OPTIONS),
    ("go", &["--exec", "--toolexec", "--vettool", "-exec", "-toolexec", "-vettool"]),
    (
        "gpg",
        &[
            "--agent-program",
            "--dirmngr-program",
            "--exec-path",
            "--homedir",
            "--keyboxd-program",
            "--options",
            "--photo-viewer",
        ],
    ),
    ("gradle", &["--init-script", "-I"]),
    ("gtar", TAR_OPTIONS),
    ("gvim", &["--cmd", "-S", "-c"]),
    ("install", &["--strip-program"]),
    (
        "java",
        &[
            "--class-path",
            "--module-path",
            "-agentlib",
            "-agentpath",
            "-classpath",
            "-cp",
            "-jar",
            "-javaagent",
        ],
    ),
    ("lftp", &["-c", "-e", "-f"]),
    (
        "lldb",
        &["--one-line", "--one-line-before-file", "--source", "--source-before-file", "-O", "-S", "-o", "-s"],
    ),
    ("man", &["--html", "--pager", "--preprocessor", "-H", "-P"]),
    ("nc", &["--exec", "--sh-exec", "-c", "-e"]),
    ("ncat", &["--exec", "--lua-exec", "--sh-exec", "-c", "-e"]),
    ("nix-shell", &["--command", "--run"]),
    ("nvim", &["--cmd", "-S", "-c"]),
    ("openssl", &["-config", "-engine", "-pre", "-post", "-provider", "-provider-path"]),
    ("pytest", &["--override-ini", "--plugin", "-c", "-p"]),
    ("rg", &["--hostname-bin", "--pre"]),
    ("rsync", &["--remote-option", "--rsh", "--rsync-path", "-M", "-e"]),
    ("rustc", &["--codegen", "-C", "-Z"]),
    ("scp", &["-D", "-F", "-S", "-o"]),
    ("script", &["--command", "-c"]),
    ("sftp", &["-D", "-F", "-S", "-b", "-o"]),
    ("sg", &["-c"]),
    ("sort", &["--compress-program"]),
    ("split", &["--filter"]),
    ("ssh-add", &["-S", "-e", "-s"]),
    ("ssh-keygen", &["-D", "-w"]),
    ("su", &["--command", "--session-command", "--shell", "-c", "-s"]),
    ("tar", TAR_OPTIONS),
    ("useradd", &["--shell", "-s"]),
    ("usermod", &["--shell", "-s"]),
    ("vi", &["--cmd", "-S", "-c"]),
    ("view", &["--cmd", "-S", "-c"]),
    ("vim", &["--cmd", "-S", "-c"]),
    ("wget", &["--config", "--execute", "--use-askpass", "-e"]),
    ("zip", &["--unzip-command", "-TT"]),
];

/// Programs whose options with code give it to a shell. The code of others is a language of their own, or the name of a
/// file.
pub(super) const SHELL_RUNNERS: &[&str] = &[
    "cpio",
    "env",
    "fd",
    "fdfind",
    "flock",
    "git",
    "go",
    "gtar",
    "man",
    "nc",
    "ncat",
    "nix-shell",
    "npm",
    "npx",
    "pnpm",
    "rsync",
    "runuser",
    "script",
    "sg",
    "split",
    "su",
    "tar",
    "zip",
];

/// Programs whose short options are not joined to clusters: `-DCMAKE_C_FLAGS=…` is one option.
pub(super) const UNCLUSTERED: &[&str] =
    &["c++", "cc", "clang", "clang++", "cmake", "g++", "gcc", "go", "java", "openssl", "rustc"];

const COMPILER_OPTIONS: &[&str] =
    &["--specs", "-B", "-Xclang", "-fplugin", "-fuse-ld", "-load", "-specs", "-wrapper"];

const TAR_OPTIONS: &[&str] = &[
    "--checkpoint-action",
    "--info-script",
    "--new-volume-script",
    "--rmt-command",
    "--rsh-command",
    "--to-command",
    "--use-compress-program",
    "-F",
    "-I",
];

/// Options of `git` itself with an argument of their own, besides those with code.
pub(super) const GIT_TAKES: &[&str] = &["--attr-source", "--namespace", "-C"];

/// Options of `git` itself whose argument is configuration, which names programs in many places (`alias.x`, `core.pager`,
/// `core.sshCommand`, `diff.external` …), or a directory with programs or with configuration.
pub(super) const GIT_CODE_OPTIONS: &[&str] =
    &["--config-env", "--exec-path", "--git-dir", "--work-tree", "-c"];

/// Options of subcommands whose argument starts a program, or names one, configuration or hooks.
pub(super) const GIT_SUBCOMMAND_CODE_OPTIONS: &[&str] = &[
    "--access-hook",
    "--browser",
    "--cc-cmd",
    "--config",
    "--exec",
    "--extcmd",
    "--gui-tool",
    "--header-cmd",
    "--httpd",
    "--open-files-in-pager",
    "--receive-pack",
    "--sendmail-cmd",
    "--smtp-server",
    "--strategy",
    "--template",
    "--to-cmd",
    "--tool",
    "--upload-pack",
];

/// Subcommands that are known to have such options, with those that mean something else in other subcommands.
pub(super) const GIT_STARTERS: &[(&str, &[&str])] = &[
    ("archive", &[]),
    ("clone", &["-c", "-u"]),
    ("daemon", &[]),
    ("difftool", &["-t", "-x"]),
    ("fetch", &[]),
    ("fetch-pack", &[]),
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
    (
        "filter-repo",
        &[
            "--blob-callback",
            "--commit-callback",
            "--email-callback",
            "--filename-callback",
            "--message-callback",
            "--name-callback",
            "--refname-callback",
            "--reset-callback",
            "--tag-callback",
        ],
    ),
    ("grep", &["-O"]),
    ("instaweb", &["-b", "-d"]),
    ("ls-remote", &[]),
    ("merge", &["-s"]),
    ("mergetool", &["-t"]),
    ("pull", &["-s"]),
    ("push", &[]),
    ("rebase", &["-s", "-x"]),
    ("send-email", &[]),
    ("send-pack", &[]),
];

/// Subcommands all of whose operands are code, or name a program that is run.
pub(super) const GIT_RUNNERS: &[&str] =
    &["credential", "for-each-repo", "hook", "remote-ext", "remote-fd", "shell", "web--browse"];

/// Long options of subcommands that take data after a `=`. A value in any other is refused: it may be code.
pub(super) const GIT_DATA_OPTIONS: &[&str] = &[
    "--abbrev",
    "--after",
    "--author",
    "--before",
    "--branch",
    "--branches",
    "--cc",
    "--chain-reply-to",
    "--cleanup",
    "--color",
    "--committer",
    "--contains",
    "--date",
    "--deepen",
    "--depth",
    "--diff-filter",
    "--encoding",
    "--exclude",
    "--file",
    "--filter",
    "--find-object",
    "--fixup",
    "--format",
    "--from",
    "--glob",
    "--grep",
    "--in-reply-to",
    "--include",
    "--initial-branch",
    "--jobs",
    "--local-user",
    "--match",
    "--max-age",
    "--max-count",
    "--max-depth",
    "--max-parents",
    "--merged",
    "--message",
    "--min-age",
    "--min-parents",
    "--no-contains",
    "--no-merged",
    "--notes",
    "--onto",
    "--origin",
    "--orphan",
    "--output",
    "--pathspec-from-file",
    "--points-at",
    "--prefix",
    "--pretty",
    "--push-option",
    "--reedit-message",
    "--ref",
    "--reference",
    "--relative",
    "--remote",
    "--remotes",
    "--reroll-count",
    "--reuse-message",
    "--server-option",
    "--set-upstream-to",
    "--shallow-exclude",
    "--shallow-since",
    "--since",
    "--skip",
    "--sort",
    "--source",
    "--squash",
    "--start-number",
    "--stat",
    "--strategy-option",
    "--subject",
    "--subject-prefix",
    "--tags",
    "--to",
    "--track",
    "--trailer",
    "--unified",
    "--until",
    "--word-diff-regex",
];

/// Commands that assign, one `NAME=value` per argument.
pub(super) const ASSIGNERS: &[&str] = &["export", "local", "readonly"];

#[cfg(test)]
mod unit_tests {
    use super::{
        ASSIGNERS, CODE_OPTIONS, COMMAND_READERS, DECLARERS, EVALUATORS, GIT_CODE_OPTIONS, GIT_DATA_OPTIONS,
        GIT_HARMLESS, GIT_RUNNERS, GIT_STARTERS, GIT_SUBCOMMAND_CODE_OPTIONS, GIT_TAKES, INPUT_EVALUATORS,
        INTEGERS, NAMERS, NUMBERS, PLUS_COMMANDS, PRINTED_EVALUATORS, PYTHON_HARMLESS, PYTHON_RUNNERS,
        RUNS_NOTHING, SHELL_RUNNERS, SHELL_STARTERS, SHELLS, UNCLUSTERED, WRAPPERS,
    };

    #[test]
    fn tables_are_sorted_and_names_are_unique() {
        for table in [
            SHELLS,
            EVALUATORS,
            INPUT_EVALUATORS,
            PRINTED_EVALUATORS,
            ASSIGNERS,
            GIT_TAKES,
            GIT_CODE_OPTIONS,
            COMMAND_READERS,
            PLUS_COMMANDS,
            RUNS_NOTHING,
            INTEGERS,
            NUMBERS,
            NAMERS,
            DECLARERS,
            PYTHON_RUNNERS,
            PYTHON_HARMLESS,
            SHELL_STARTERS,
            SHELL_RUNNERS,
            UNCLUSTERED,
            GIT_HARMLESS,
            GIT_SUBCOMMAND_CODE_OPTIONS,
            GIT_RUNNERS,
            GIT_DATA_OPTIONS,
        ] {
            assert!(table.is_sorted_by(|a, b| a < b), "{table:?}");
        }
        assert!(WRAPPERS.is_sorted_by(|a, b| a.name < b.name));
        assert!(CODE_OPTIONS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(GIT_STARTERS.is_sorted_by(|a, b| a.0 < b.0));
        assert!(INPUT_EVALUATORS.iter().all(|name| EVALUATORS.contains(name)));
    }
}
