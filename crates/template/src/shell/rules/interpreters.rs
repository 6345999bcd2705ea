//! Programs that take code of their own language, and where they take it from.

/// A program that takes code of its own language.
pub(super) struct Interpreter {
    /// The name, which a version may follow.
    pub(super) name: &'static str,
    /// Options whose argument is code.
    pub(super) code: &'static [&'static str],
    /// Other options with arguments of their own, and how many.
    pub(super) takes: &'static [(&'static str, usize)],
    /// Options whose argument is loaded and run before the code, or names a program.
    pub(super) loads: &'static [&'static str],
    /// Options after which the program reads code from its input as well.
    pub(super) interactive: &'static [&'static str],
    /// Words before the file: `deno run FILE`.
    pub(super) subcommands: &'static [&'static str],
    pub(super) operands: Operands,
    /// Options count behind the code or behind operands, up to `--`.
    pub(super) permutes: bool,
    pub(super) instead: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// `awk CODE FILE…`
    CodeThenFiles,
    /// `python3 FILE ARGUMENT…`. Without a file, the program reads code from its input.
    FileThenArguments,
    /// `sqlite3 DATABASE CODE`. Without code, the program reads it from its input.
    DatabaseThenCode,
    /// `psql DATABASE`. Without a code option, the program reads code from its input.
    Database,
}

pub(super) const INTERPRETERS: &[Interpreter] = &[
    Interpreter {
        name: "python",
        code: &["-c"],
        takes: &[("-m", 1), ("-W", 1), ("-X", 1)],
        loads: &[],
        interactive: &["-i"],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: false,
        instead: "read it from `sys.argv`: `python3 -c '…' {{ … }}`",
    },
    Interpreter {
        name: "pypy",
        code: &["-c"],
        takes: &[("-m", 1), ("-W", 1), ("-X", 1)],
        loads: &[],
        interactive: &["-i"],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: false,
        instead: "read it from `sys.argv`: `pypy3 -c '…' {{ … }}`",
    },
    Interpreter {
        name: "perl",
        code: &["-e", "-E"],
        takes: &[("-I", 1)],
        loads: &["-M", "-m"],
        interactive: &[],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `@ARGV`: `perl -e '…' -- {{ … }}`",
    },
    Interpreter {
        name: "ruby",
        code: &["-e"],
        takes: &[("-I", 1)],
        loads: &["-r"],
        interactive: &[],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `ARGV`: `ruby -e '…' -- {{ … }}`",
    },
    Interpreter {
        name: "node",
        code: &["-e", "-p", "--eval", "--print"],
        takes: &[],
        loads: &["--experimental-loader", "--import", "--loader", "--require", "-r"],
        interactive: &["--interactive", "-i"],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `process.argv`: `node -e '…' -- {{ … }}`",
    },
    Interpreter {
        name: "bun",
        code: &["-e", "--eval", "-p", "--print"],
        takes: &[],
        loads: &["--import", "--preload", "--require", "-r"],
        interactive: &[],
        subcommands: &["run", "test", "x"],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `process.argv`",
    },
    Interpreter {
        name: "deno",
        code: &["eval", "--eval"],
        takes: &[],
        loads: &["--import", "--preload"],
        interactive: &[],
        subcommands: &["bench", "check", "compile", "install", "repl", "run", "serve", "test"],
        operands: Operands::FileThenArguments,
        permutes: false,
        instead: "read it from `Deno.args`",
    },
    Interpreter {
        name: "php",
        code: &["-r", "-B", "-R", "-E"],
        takes: &[],
        loads: &["-d"],
        interactive: &["-a"],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `$argv`: `php -r '…' -- {{ … }}`",
    },
    Interpreter {
        name: "lua",
        code: &["-e"],
        takes: &[],
        loads: &["-l"],
        interactive: &["-i"],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `arg`",
    },
    Interpreter {
        name: "osascript",
        code: &["-e"],
        takes: &[("-l", 1)],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from the arguments of `run`",
    },
    Interpreter {
        name: "awk",
        code: &["-e", "--source"],
        takes: &[("-v", 1), ("-F", 1), ("-f", 1), ("--file", 1)],
        loads: &["--include", "--load", "-i", "-l"],
        interactive: &[],
        subcommands: &[],
        operands: Operands::CodeThenFiles,
        permutes: false,
        instead: "give it a name: `awk -v name={{ … }} '…'`",
    },
    Interpreter {
        name: "gawk",
        code: &["-e", "--source"],
        takes: &[("-v", 1), ("-F", 1), ("-f", 1), ("--file", 1)],
        loads: &["--include", "--load", "-i", "-l"],
        interactive: &[],
        subcommands: &[],
        operands: Operands::CodeThenFiles,
        permutes: false,
        instead: "give it a name: `gawk -v name={{ … }} '…'`",
    },
    Interpreter {
        name: "mawk",
        code: &[],
        takes: &[("-v", 1), ("-F", 1), ("-f", 1), ("--file", 1)],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::CodeThenFiles,
        permutes: false,
        instead: "give it a name: `mawk -v name={{ … }} '…'`",
    },
    Interpreter {
        name: "sed",
        code: &["-e", "--expression"],
        takes: &[("-f", 1), ("--file", 1), ("-l", 1)],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::CodeThenFiles,
        permutes: true,
        instead: "replace in the template (`{{ text | replace('a', 'b') }}`), or use `awk -v`",
    },
    Interpreter {
        name: "gsed",
        code: &["-e", "--expression"],
        takes: &[("-f", 1), ("--file", 1), ("-l", 1)],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::CodeThenFiles,
        permutes: true,
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
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::CodeThenFiles,
        permutes: false,
        instead: "give it a name: `jq --arg name {{ … }} '…'`",
    },
    Interpreter {
        name: "dc",
        code: &["-e", "--expression"],
        takes: &[("-f", 1)],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "pass a number with `-e` literally; `dc` runs commands",
    },
    Interpreter {
        name: "duckdb",
        code: &["-c", "-s"],
        takes: &[],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::DatabaseThenCode,
        permutes: true,
        instead: "read it with `getenv` or as a parameter",
    },
    Interpreter {
        name: "elixir",
        code: &["-e", "--eval"],
        takes: &[],
        loads: &["--require", "-r"],
        interactive: &[],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `System.argv()`",
    },
    Interpreter {
        name: "expect",
        code: &["-c"],
        takes: &[("-f", 1)],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `$argv`",
    },
    Interpreter {
        name: "groovy",
        code: &["-e"],
        takes: &[],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `args`",
    },
    Interpreter {
        name: "julia",
        code: &["-e", "-E"],
        takes: &[],
        loads: &["--load", "-L"],
        interactive: &["-i"],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `ARGS`",
    },
    Interpreter {
        name: "mariadb",
        code: &["-e", "--execute"],
        takes: &[("-u", 1), ("-h", 1), ("-P", 1), ("-D", 1)],
        loads: &["--init-command", "--pager"],
        interactive: &[],
        subcommands: &[],
        operands: Operands::Database,
        permutes: true,
        instead: "SQL has no safe way to insert a value here: use a program that binds parameters",
    },
    Interpreter {
        name: "mongo",
        code: &["--eval"],
        takes: &[],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::Database,
        permutes: true,
        instead: "use a program that binds parameters",
    },
    Interpreter {
        name: "mongosh",
        code: &["--eval"],
        takes: &[],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::Database,
        permutes: true,
        instead: "use a program that binds parameters",
    },
    Interpreter {
        name: "mysql",
        code: &["-e", "--execute"],
        takes: &[("-u", 1), ("-h", 1), ("-P", 1), ("-D", 1)],
        loads: &["--init-command", "--pager"],
        interactive: &[],
        subcommands: &[],
        operands: Operands::Database,
        permutes: true,
        instead: "SQL has no safe way to insert a value here: use a program that binds parameters",
    },
    Interpreter {
        name: "psql",
        code: &["-c", "--command"],
        takes: &[("-v", 1), ("-d", 1), ("-h", 1), ("-p", 1), ("-U", 1), ("-f", 1), ("--file", 1)],
        loads: &["--output", "-o"],
        interactive: &[],
        subcommands: &[],
        operands: Operands::Database,
        permutes: true,
        instead: "bind it: `psql -v name={{ … }} -f query.sql`, where the file has `:'name'`",
    },
    Interpreter {
        name: "pwsh",
        code: &["-c", "-Command", "-EncodedCommand"],
        takes: &[("-File", 1), ("-f", 1)],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `$args`",
    },
    Interpreter {
        name: "sqlite3",
        code: &["-cmd"],
        takes: &[("-init", 1), ("-separator", 1)],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::DatabaseThenCode,
        permutes: true,
        instead: "use a program that binds parameters",
    },
    Interpreter {
        name: "tclsh",
        code: &["-c"],
        takes: &[],
        loads: &[],
        interactive: &[],
        subcommands: &[],
        operands: Operands::FileThenArguments,
        permutes: true,
        instead: "read it from `$argv`",
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
    use super::{INTERPRETERS, interpreter};

    #[test]
    fn names_are_unique() {
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
