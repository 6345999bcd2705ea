//! Scripts run by a real `/bin/sh`: every value arrives byte for byte in every context, and has no side effect.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use escrow_expr::JsonScope;
use escrow_template::ShellScript;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use serde_json::{Value, json};

/// A context for one value: the shell text around `@`, which prints the value and a NUL; and how the shell itself
/// changes the value (`$(…)` cuts trailing newlines).
const CONTEXTS: &[(&str, Change)] = &[
    ("printf '%s\\0' @\n", Change::None),
    ("printf '%s\\0' \"@\"\n", Change::None),
    ("printf '%s\\0' '@'\n", Change::None),
    ("printf '%s\\0' ''@''\n", Change::None),
    ("v=@; printf '%s\\0' \"$v\"\n", Change::None),
    ("v=\"@\" sh -c 'printf \"%s\\\\0\" \"$v\"'\n", Change::None),
    ("v='@'\nprintf '%s\\0' \"$v\"\n", Change::None),
    ("export W=@; printf '%s\\0' \"${W}\"\n", Change::None),
    ("printf '%s\\0' \"$(printf '%s' @)\"\n", Change::CutNewlines),
    ("printf '%s\\0' \"$(printf '%s' \"@\")\"\n", Change::CutNewlines),
    ("printf '%s\\0' \"$(printf '%s' '@')\" # it's a comment: @ `\n", Change::CutNewlines),
    ("printf '%s\\0' \"$(printf '%s' \"$(printf '%s' \"@\")\" | cat)\"\n", Change::CutNewlines),
    ("printf '%s\\0' \"$(cat <<EOF\n@\nEOF\n)\"\n", Change::CutNewlines),
    ("printf '%s\\0' \"$(cat <<-EOF\n\t$(printf '%s' @)\n\tEOF\n)\"\n", Change::CutNewlines),
    ("{ cat <<A; printf '\\0'; } | head -c -2 | { cat; printf '\\0'; }\n@\nA\n", Change::None),
    ("printf '%s' @ | cat; printf '\\0'\n", Change::None),
    ("(printf '%s\\0' @)\n", Change::None),
    ("{ printf '%s\\0' @; }\n", Change::None),
    ("if [ @ = @ ]; then printf '%s\\0' '@'; fi\n", Change::None),
    ("[ -n x@ ] && printf '%s\\0' @ || echo no\n", Change::None),
    ("for w in @; do printf '%s\\0' \"$w\"; done\n", Change::None),
    ("for w in '@'; do printf '%s\\0' \"$w\"; done\n", Change::None),
    ("case @ in @) printf '%s\\0' @;; *) echo no;; esac\n", Change::None),
    ("printf '%s\\0' \"$(case @ in '@') printf '%s' \"@\";; esac)\"\n", Change::CutNewlines),
    ("set -- a @ b; printf '%s\\0' \"$2\"\n", Change::None),
    ("f() { printf '%s\\0' \"$1\"; }; f @\n", Change::None),
    ("f() (\n  printf '%s\\0' \"$1\" # it's\n)\nf \"@\"\n", Change::None),
    ("sh -c 'printf \"%s\\\\0\" \"$1\"' sh @\n", Change::None),
    ("env V=@ sh -c 'printf \"%s\\\\0\" \"$V\"'\n", Change::None),
    ("printf '%s\\0' \\\n  @\n", Change::None),
    ("echo \"${HOME:-it}\" ${#HOME} $(( (1) + 2 )) `date +%s` >/dev/null; printf '%s\\0' @\n", Change::None),
    ("echo don\\'t \\\" \\$x \\\\ >/dev/null; printf '%s\\0' '@'\n", Change::None),
    ("echo \"a \\\" b \\` c ' d\" >/dev/null; printf '%s\\0' \"@\"\n", Change::None),
    ("cat <<'EOF' >/dev/null\nit's \" ` $( ${\nEOF\nprintf '%s\\0' @\n", Change::None),
    ("cat <<A <<'B' >/dev/null\n\" ' @\nA\n` $(\nB\nprintf '%s\\0' \"@\"\n", Change::None),
    ("while :; do printf '%s\\0' @; break; done\n", Change::None),
    ("! false && printf '%s\\0' @\n", Change::None),
    ("printf '%s\\0' @ 2>/dev/null &\nwait\n", Change::None),
    ("sh -c 'cat \"$1\"' sh /dev/null >/dev/null; printf '%s\\0' @ >&1\n", Change::None),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    None,
    CutNewlines,
}

const HOSTILE: &[&str] = &[
    "",
    " ",
    "a b",
    "  two  spaces  ",
    "\n",
    "a\nb\n\n",
    "'",
    "\"",
    "`",
    "\\",
    "\\\\",
    "$",
    "$$",
    "$HOME",
    "${HOME}",
    "$(touch CANARY)",
    "`touch CANARY`",
    "; touch CANARY",
    "| touch CANARY",
    "& touch CANARY &",
    "\ntouch CANARY\n",
    "'; touch CANARY; '",
    "\"; touch CANARY; \"",
    "'\"; touch CANARY; \"'",
    "\\'; touch CANARY; #",
    "$((1+1))",
    "a[$(touch CANARY)]",
    "x[`touch CANARY`]=1",
    "EOF\ntouch CANARY\n",
    "A\ntouch CANARY\nA",
    "B\nEOF\n)\"; touch CANARY",
    "* ? [a-z] ~ {a,b}",
    "*",
    "~root",
    "-n",
    "--help",
    "-e",
    "=",
    "!",
    "!!",
    "(",
    ")",
    "$(",
    "${",
    "$((",
    "<<EOF",
    "#",
    "# c",
    "%s%n%d",
    "\u{1b}[31m",
    "\u{7f}\u{1}",
    "héllo wörld",
    "日本語",
    "🦀 \u{200d}",
    "\r\n",
    "\t",
    "a=b",
    "esac",
    ";;",
    "}}",
    "{{ x }}",
    "{% if x %}",
    "${ESCROW_VALUE_1}",
    "$ESCROW_VALUE_2",
    "\\$(touch CANARY)",
    "\\\"$(touch CANARY)\\\"",
    "&&",
    "||",
    "\u{0085}\u{2028}",
];

/// An empty directory in which scripts run, and in which no file may appear.
struct Sandbox {
    directory: PathBuf,
}

impl Sandbox {
    fn new(name: &str) -> Sandbox {
        let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&directory);
        std::fs::create_dir_all(&directory).expect("the target directory is writable");
        Sandbox { directory }
    }

    /// Runs a script and returns its output, split at NULs.
    fn run(&self, shell: &str, script: &ShellScript, scope: &Value) -> Vec<String> {
        let output = self.start(shell, script, scope);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(errors.is_empty(), "{shell}: {errors}\nin\n{}", script.script());
        let appeared: Vec<_> = std::fs::read_dir(&self.directory).expect("the sandbox is there").collect();
        assert!(appeared.is_empty(), "{shell}: {appeared:?} appeared after\n{}", script.script());
        let printed = String::from_utf8(output.stdout).expect("values are UTF-8");
        printed.split_terminator('\0').map(str::to_owned).collect()
    }

    fn start(&self, shell: &str, script: &ShellScript, scope: &Value) -> Output {
        Command::new(shell)
            .arg0("sh")
            .args(["-c", script.script()])
            .envs(script.render(&JsonScope(scope)).expect("every value is given"))
            .env("CANARY", "CANARY")
            .current_dir(&self.directory)
            .stdin(Stdio::null())
            .output()
            .expect("the shell starts")
    }
}

/// `/bin/sh`, and bash, which is `/bin/sh` on some systems.
fn shells() -> impl Iterator<Item = &'static str> {
    ["/bin/sh", "/bin/bash"].into_iter().filter(|shell| Path::new(shell).exists())
}

/// Inserts each value into its context, runs everything as one script, and compares the output.
fn check(sandbox: &Sandbox, uses: &[(usize, String)]) {
    let mut source = String::new();
    let mut values = Vec::new();
    let mut expected = Vec::new();
    for (index, (context, value)) in uses.iter().enumerate() {
        let (text, change) = CONTEXTS[*context];
        source.push_str(&text.replace('@', &format!("{{{{ values[{index}] }}}}")));
        values.push(value.clone());
        expected.push(match change {
            Change::None => value.clone(),
            Change::CutNewlines => value.trim_end_matches('\n').to_owned(),
        });
    }
    let script = ShellScript::parse(&source).unwrap_or_else(|errors| panic!("{errors:#?}\nin\n{source}"));
    for shell in shells() {
        let printed = sandbox.run(shell, &script, &json!({ "values": values }));
        assert_eq!(printed, expected, "{shell}: {}", script.script());
    }
}

#[test]
fn hostile_values_arrive_in_every_context_byte_for_byte() {
    let sandbox = Sandbox::new("every_context");
    for value in HOSTILE {
        let value = value.replace("CANARY", "\"$CANARY\" canary ../canary");
        let uses: Vec<_> = (0..CONTEXTS.len()).map(|context| (context, value.clone())).collect();
        check(&sandbox, &uses);
    }
    assert!(!sandbox.directory.join("../canary").exists());
}

#[test]
fn random_values_arrive_in_random_scripts_byte_for_byte() {
    let sandbox = Sandbox::new("random_scripts");
    let value = prop_oneof![
        proptest::sample::select(HOSTILE).prop_map(|value| value.replace("CANARY", "canary")),
        "[ -~\\n\\t]{0,40}",
        "(['\"`$\\\\(){};&|<>*?#!~\\n -]|[a-z]){0,24}",
        "\\PC{0,20}",
    ];
    let uses = proptest::collection::vec((0..CONTEXTS.len(), value), 1..12);
    // The seed is fixed, so that a failure is reproducible.
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 150, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    runner
        .run(&uses, |uses| {
            check(&sandbox, &uses);
            Ok(())
        })
        .unwrap();
}

/// Fragments for random scripts. Many combinations are refused or are not valid scripts; those that are accepted must
/// not let a value act.
#[test]
fn no_value_acts_in_an_accepted_script() {
    const WHOLE: &[&str] = &[
        "echo @",
        " '@'",
        " \"@\"",
        " $(echo @)",
        " \"$(echo '@')\"",
        " <<E\n@\nE\n",
        " x@",
        "\n",
        "; ",
        " | ",
        " && ",
        "# @\n",
        "x=@ ",
        "case @ in @) echo @;; esac",
        "if true; then echo @; fi",
        "for i in @; do echo \"$i\"; done",
        " > /dev/null",
        "cat <<-E\n\t\"@\n\tE\n",
        "(echo @)",
        "{ echo @; }",
        " ${x:-a}",
        " $((1+2))",
        " `echo a`",
        " \\\n",
        "f() { echo @; }",
        "x=",
        "eval ",
    ];
    const LOOSE: &[&str] = &[
        "'", "\"", "\\", "$", "$(", ")", "(", "`", "${x:-", "}", "{ ", "<<E\n", "\nE\n", "<<'E'\n", "#",
        "$((", "))", "$'", "[[ ", " ]]", "esac", ";;", "in", "case ", "do", "=(", "@", "$$", "\\'", "\\\"",
    ];
    let sandbox = Sandbox::new("whatever");
    let attack = json!({"attack": "x'\"`touch canary`$(touch canary)\n;touch canary\nE\n touch canary #"});
    let piece = prop_oneof![8 => proptest::sample::select(WHOLE), 1 => proptest::sample::select(LOOSE)];
    let pieces = proptest::collection::vec(piece, 1..10);
    let mut runner = TestRunner::new_with_rng(
        Config { cases: 900, failure_persistence: None, ..Config::default() },
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    );
    let accepted = std::cell::Cell::new(0);
    runner
        .run(&pieces, |pieces| {
            let source = pieces.concat().replace('@', "{{ attack }}");
            let Ok(script) = ShellScript::parse(&source) else { return Ok(()) };
            accepted.set(accepted.get() + 1);
            for shell in shells() {
                sandbox.start(shell, &script, &attack);
                let canary = sandbox.directory.join("canary");
                prop_assert!(!canary.exists(), "{shell}: a value acted in\n{}", script.script());
            }
            Ok(())
        })
        .unwrap();
    assert!(accepted.get() > 250, "only {} scripts were accepted", accepted.get());
}
