//! Programs that take code of their own language, and where they take it from.

/// A program that takes code of its own language. A value may be the argument of an option only if the option is in `data`.
pub(super) struct Interpreter {
    /// The name, which a version may follow.
    pub(super) name: &'static str,
    /// Options whose argument is code.
    pub(super) code: &'static [&'static str],
    /// Options whose argument is a file with code.
    pub(super) files: &'static [&'static str],
    /// Options whose arguments are data, and how many.
    pub(super) data: &'static [(&'static str, usize)],
    /// Options whose argument is loaded and run before the code, changes how it is run, or names a program.
    pub(super) loads: &'static [&'static str],
    /// Options after which the program reads code from its input as well.
    pub(super) interactive: &'static [&'static str],
    /// Words before the file: `deno run FILE`.
    pub(super) subcommands: &'static [&'static str],
    pub(super) operands: Operands,
    /// Options count behind the code or behind operands, up to `--`.
    pub(super) permutes: bool,
    /// Not all of its short options are known: the word behind any of them may be its argument.
    pub(super) is_strange: bool,
    pub(super) instead: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// `awk CODE FILE…`
    CodeThenFiles,
    /// `python3 FILE ARGUMENT…`. Without a file, the program reads code from its input.
    FileThenArguments,
    /// `m4 FILE…`, each with code. Without a file, the program reads it from its input.
    Files,
    /// `sqlite3 DATABASE CODE`. Without code, the program reads it from its input.
    DatabaseThenCode,
    /// `psql DATABASE`. Without a code option, the program reads code from its input.
    Database,
}

/// An interpreter of files, without options of its own.
const fn files(name: &'static str, code: &'static [&'static str], instead: &'static str) -> Interpreter {
    Interpreter {
        name,
        code,
        files: &[],
        data: &[],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        is_strange: false,
        instead,
    }
}

/// An interpreter of which no more is known than how it takes code.
const fn other(name: &'static str, code: &'static [&'static str]) -> Interpreter {
    Interpreter {
        is_strange: true,
        ..files(name, code, "keep the code in a file, and give the value to it as an argument")
    }
}

const fn python(name: &'static str) -> Interpreter {
    Interpreter {
        loads: &["-W", "-X"],
        interactive: &["-i"],
        permutes: false,
        ..files(name, &["-c"], "read it from `sys.argv`: `python3 -c '…' {{ … }}`")
    }
}

const fn awk(name: &'static str) -> Interpreter {
    Interpreter {
        files: &["--exec", "--file", "-E", "-f"],
        data: &[("--assign", 1), ("--field-separator", 1), ("-F", 1), ("-v", 1)],
        loads: &["--include", "--load", "-W", "-i", "-l"],
        operands: Operands::CodeThenFiles,
        permutes: false,
        ..files(name, &["--source", "-e"], "give it a name: `awk -v name={{ … }} '…'`")
    }
}

const fn sed(name: &'static str) -> Interpreter {
    Interpreter {
        files: &["--file", "-f"],
        data: &[("--line-length", 1), ("-l", 1)],
        operands: Operands::CodeThenFiles,
        ..files(
            name,
            &["--expression", "-e"],
            "replace in the template (`{{ text | replace('a', 'b') }}`), or use `awk -v`",
        )
    }
}

const fn mysql(name: &'static str) -> Interpreter {
    Interpreter {
        data: &[
            ("--database", 1),
            ("--host", 1),
            ("--port", 1),
            ("--user", 1),
            ("-D", 1),
            ("-P", 1),
            ("-h", 1),
            ("-u", 1),
        ],
        loads: &["--defaults-extra-file", "--defaults-file", "--init-command", "--pager", "--plugin-dir"],
        operands: Operands::Database,
        ..files(
            name,
            &["--execute", "-e"],
            "SQL has no safe way to insert a value here: use a program that binds parameters",
        )
    }
}

const fn mongo(name: &'static str) -> Interpreter {
    Interpreter {
        operands: Operands::Database,
        ..files(name, &["--eval"], "use a program that binds parameters")
    }
}

pub(super) const INTERPRETERS: &[Interpreter] = &[
    python("python"),
    python("pypy"),
    Interpreter {
        loads: &["-I", "-M", "-m"],
        ..files("perl", &["-E", "-e"], "read it from `@ARGV`: `perl -e '…' -- {{ … }}`")
    },
    Interpreter {
        loads: &["-C", "-E", "-I", "-X", "-r", "-x"],
        ..files("ruby", &["-e"], "read it from `ARGV`: `ruby -e '…' -- {{ … }}`")
    },
    Interpreter {
        data: &[
            ("--max-old-space-size", 1),
            ("--stack-trace-limit", 1),
            ("--test-concurrency", 1),
            ("--test-name-pattern", 1),
            ("--test-shard", 1),
            ("--test-skip-pattern", 1),
            ("--test-timeout", 1),
            ("--title", 1),
        ],
        loads: &[
            "--conditions",
            "--env-file",
            "--env-file-if-exists",
            "--experimental-loader",
            "--import",
            "--loader",
            "--require",
            "-C",
            "-r",
        ],
        interactive: &["--interactive", "-i"],
        ..files(
            "node",
            &["--eval", "--print", "-e", "-p"],
            "read it from `process.argv`: `node -e '…' -- {{ … }}`",
        )
    },
    Interpreter {
        loads: &["--config", "--cwd", "--env-file", "--import", "--preload", "--require", "-c", "-r"],
        subcommands: &["run", "test", "x"],
        ..files("bun", &["--eval", "--print", "-e", "-p"], "read it from `process.argv`")
    },
    Interpreter {
        loads: &["--cert", "--config", "--env-file", "--import", "--import-map", "--preload", "-c"],
        subcommands: &["bench", "check", "compile", "install", "repl", "run", "serve", "test"],
        permutes: false,
        ..files("deno", &["eval", "--eval"], "read it from `Deno.args`")
    },
    Interpreter {
        files: &["--file", "--process-file", "-F", "-f"],
        loads: &[
            "--define",
            "--docroot",
            "--php-ini",
            "--server",
            "--zend-extension",
            "-S",
            "-c",
            "-d",
            "-t",
            "-z",
        ],
        interactive: &["-a"],
        ..files("php", &["-B", "-E", "-R", "-r"], "read it from `$argv`: `php -r '…' -- {{ … }}`")
    },
    Interpreter { loads: &["-l"], interactive: &["-i"], ..files("lua", &["-e"], "read it from `arg`") },
    Interpreter {
        loads: &["-j", "-l"],
        interactive: &["-i"],
        ..files("luajit", &["-e"], "read it from `arg`")
    },
    Interpreter { data: &[("-l", 1)], ..files("osascript", &["-e"], "read it from the arguments of `run`") },
    awk("awk"),
    awk("gawk"),
    awk("mawk"),
    awk("nawk"),
    awk("goawk"),
    sed("sed"),
    sed("gsed"),
    Interpreter {
        files: &["--from-file", "-f"],
        data: &[("--arg", 2), ("--argjson", 2), ("--indent", 1), ("--rawfile", 2), ("--slurpfile", 2)],
        loads: &["--library-path", "-L"],
        operands: Operands::CodeThenFiles,
        permutes: false,
        ..files("jq", &[], "give it a name: `jq --arg name {{ … }} '…'`")
    },
    Interpreter {
        files: &["--file", "-f"],
        operands: Operands::Files,
        ..files("dc", &["--expression", "-e"], "pass a number with `-e` literally; `dc` runs commands")
    },
    Interpreter {
        files: &["-f", "-init"],
        operands: Operands::DatabaseThenCode,
        ..files("duckdb", &["-c", "-cmd", "-s"], "read it with `getenv` or as a parameter")
    },
    Interpreter {
        loads: &["--erl", "--require", "-S", "-pa", "-pr", "-pz", "-r"],
        ..files("elixir", &["--eval", "--rpc-eval", "-e"], "read it from `System.argv()`")
    },
    Interpreter { files: &["-b", "-f"], ..files("expect", &["-c"], "read it from `$argv`") },
    Interpreter {
        loads: &["--classpath", "--configscript", "-cp"],
        ..files("groovy", &["-e"], "read it from `args`")
    },
    Interpreter {
        loads: &[
            "--home",
            "--load",
            "--machine-file",
            "--module",
            "--project",
            "--sysimage",
            "-H",
            "-J",
            "-L",
            "-m",
        ],
        interactive: &["-i"],
        ..files("julia", &["--eval", "--print", "-E", "-e"], "read it from `ARGS`")
    },
    mysql("mariadb"),
    mongo("mongo"),
    mongo("mongosh"),
    mysql("mysql"),
    Interpreter {
        files: &["--file", "-f"],
        data: &[
            ("--dbname", 1),
            ("--field-separator", 1),
            ("--host", 1),
            ("--port", 1),
            ("--set", 1),
            ("--username", 1),
            ("--variable", 1),
            ("-F", 1),
            ("-U", 1),
            ("-d", 1),
            ("-h", 1),
            ("-p", 1),
            ("-v", 1),
        ],
        loads: &["--log-file", "--output", "-L", "-o"],
        operands: Operands::Database,
        ..files(
            "psql",
            &["--command", "-c"],
            "bind it: `psql -v name={{ … }} -f query.sql`, where the file has `:'name'`",
        )
    },
    Interpreter {
        files: &["-File", "-f"],
        loads: &["-ConfigurationFile", "-PSConsoleFile", "-SettingsFile", "-WorkingDirectory", "-wd"],
        ..files(
            "pwsh",
            &["-Command", "-CommandWithArgs", "-EncodedCommand", "-c", "-cwa", "-e", "-ec"],
            "read it from `$args`",
        )
    },
    Interpreter {
        files: &["-init"],
        data: &[("-newline", 1), ("-nullvalue", 1), ("-separator", 1)],
        operands: Operands::DatabaseThenCode,
        ..files("sqlite3", &["-cmd"], "use a program that binds parameters")
    },
    files("tclsh", &["-c"], "read it from `$argv`"),
    files("wish", &["-c"], "read it from `$argv`"),
    Interpreter {
        operands: Operands::Files,
        is_strange: true,
        loads: &["--define", "--include", "--pushdef", "--undefine", "-D", "-I", "-U", "-p", "-t"],
        ..files("m4", &[], "`m4` runs commands: replace in the template (`{{ text | replace('a', 'b') }}`)")
    },
    Interpreter {
        files: &["--file", "-f"],
        loads: &["--debugger", "--gui", "-d", "-g"],
        ..other("R", &["-e"])
    },
    other("Rscript", &["-e"]),
    other("bpython", &["-c"]),
    other("clisp", &["-x"]),
    other("clojure", &["--eval", "-e"]),
    Interpreter {
        loads: &["-args_file", "-boot", "-config", "-pa", "-pz"],
        ..other("erl", &["-eval", "-run", "-s"])
    },
    other("ghc", &["-e"]),
    Interpreter { operands: Operands::Files, ..other("ghci", &["-e"]) },
    Interpreter { files: &["-c"], operands: Operands::Files, ..other("gnuplot", &["-e"]) },
    other("guile", &["-c", "-e"]),
    other("iex", &["--eval", "-e"]),
    other("ipython", &["-c"]),
    other("irb", &["-e"]),
    Interpreter { loads: &["--startup"], operands: Operands::Files, ..other("jshell", &["--execution"]) },
    other("kotlin", &["-e"]),
    other("nu", &["--commands", "--execute", "-c", "-e"]),
    other("ocaml", &["-e"]),
    other("octave", &["--eval"]),
    other("racket", &["--eval", "-e"]),
    other("raku", &["-e"]),
    other("runghc", &["-e"]),
    other("sbcl", &["--eval", "--load"]),
    other("scala", &["-e"]),
    other("swift", &["-e"]),
    other("ts-node", &["--eval", "--print", "-e", "-p"]),
    other("tsx", &["--eval", "--print", "-e", "-p"]),
    other("xonsh", &["-c"]),
    other("zx", &["--eval", "-e"]),
];

/// Long options of interpreters that have no argument, so that the word behind them is an operand.
pub(super) const FLAGS: &[&str] = &[
    "--ascii-output",
    "--bignum",
    "--characters-as-bytes",
    "--color-output",
    "--compact-output",
    "--csv",
    "--debug",
    "--echo-all",
    "--echo-errors",
    "--echo-queries",
    "--enable-source-maps",
    "--exit-status",
    "--expanded",
    "--follow-symlinks",
    "--html",
    "--in-place",
    "--join-output",
    "--jsonargs",
    "--lint",
    "--monochrome-output",
    "--no-align",
    "--no-password",
    "--no-psqlrc",
    "--non-decimal-data",
    "--null-data",
    "--null-input",
    "--password",
    "--posix",
    "--quiet",
    "--raw-input",
    "--raw-output",
    "--re-interval",
    "--regexp-extended",
    "--sandbox",
    "--separate",
    "--seq",
    "--silent",
    "--single-transaction",
    "--slurp",
    "--sort-keys",
    "--stream",
    "--tab",
    "--traditional",
    "--tuples-only",
    "--unbuffered",
    "--zero-terminated",
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
    use super::{FLAGS, INTERPRETERS, interpreter};

    #[test]
    fn names_are_unique() {
        let mut names: Vec<_> = INTERPRETERS.iter().map(|interpreter| interpreter.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), INTERPRETERS.len());
        assert!(FLAGS.is_sorted_by(|one, next| one < next));
    }

    #[test]
    fn interpreters_are_known_with_their_version() {
        assert_eq!(interpreter("python3.12").map(|found| found.name), Some("python"));
        assert!(interpreter("pythonista").is_none());
    }
}
