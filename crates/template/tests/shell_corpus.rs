//! The assertions of the fuzz targets for shell scripts, on seeds and their mutations.

#[path = "../fuzz/oracle.rs"]
mod oracle;

use escrow_expr::JsonScope;
use escrow_template::{ShellScript, check_arguments, check_fed_script, survey_arguments, survey_script};
use serde_json::json;

#[rustfmt::skip]
const SEEDS: &[&str] = &[
    "echo {{ x }}", "echo '{{ x }}' \"{{ x }}\"", "cat <<E\n{{ x }}\nE\n", "cat <<-'E'\n\t{{ x }}\n\tE\n",
    "echo $(echo {{ x }})", "echo `{{ x }}`", "echo $(({{ x }}))", "echo ${a:-{{ x }}}", "case {{ x }} in a) b;; esac",
    "f() { {{ x }}; }", "a=({{ x }})", "[[ {{ x }} ]]", "$'{{ x }}'", "# {{ x }}", "echo {{ '}}' }}",
    "{% raw %}{{ x }}{% endraw %}", "{% if x %}", "for {{ x }} in a; do b; done", "sh -c '{{ x }}'",
    "a | b {{ x }} <<A <<B\nA\nB\n", "echo \\{{ x }} ${{ x }} $$ {{ x }}", "echo \"$(cat <<E\n\"{{ x }}\nE\n)\"",
    "echo {{ {'a': {'b': 1}} }}", "{{", "}}", "{{}}", "{{ x }", "<(a {{ x }})", "((a))", "$((a) | b)",
    "case x in (a) b;; esac)", "esac", ";;", "fi }", "done | sh {{ x }}", "2>{{ x }}", "<<", "<<\n", "<<{{ x }}\n",
    "tar --to-comm {{ x }}", "find {{ x }} -exec sh -c 'a {}' ';'", "a=(sh -c); \"${a[@]}\" {{ x }}", "{sh,-c} {{ x }}",
    "f() { sh -c \"$1\"; }; trap 'f \"$v\"' EXIT; v={{ x }}", "git log --grep={{ x }}", "python3 -m a {{ x }}",
    "\u{1F980}{{ x }}\u{301}", "\\", "'", "\"", "`", "$(", "${", "$((",
];

#[test]
fn mutations_of_the_seeds_are_parsed_without_panic() {
    let scope = json!({"x": "value-that-no-script-has"});
    for seed in SEEDS {
        for at in seed.char_indices().map(|(at, _)| at).chain([seed.len()]) {
            // Cut in two, with each half alone, a character left out, and every other seed in between.
            let (before, after) = seed.split_at(at);
            let shorter: String = after.chars().skip(1).collect();
            let mut mutations = vec![before.to_owned(), after.to_owned(), format!("{before}{shorter}")];
            mutations.extend(SEEDS.iter().map(|other| format!("{before}{other}{after}")));
            for source in mutations {
                scan(&source);
                let Ok(script) = ShellScript::parse(&source) else { continue };
                if script.has_values() {
                    let _ = oracle::judge(script.script());
                }
                assert!(!script.script().contains("value-that-no-script-has"));
                let Ok(variables) = script.render(&JsonScope(&scope)) else { continue };
                for (name, _) in variables {
                    assert!(script.script().contains(&format!("${{{name}}}")), "{source}");
                }
            }
        }
    }
}

/// The assertions of the fuzz target for the scanner.
fn scan(source: &str) {
    for error in check_fed_script(source) {
        assert!(source.get(error.span.clone()).is_some(), "{error:?} in {source:?}");
    }
    let survey = survey_script(source);
    let commands = survey.commands.iter().map(|command| &command.span);
    for span in commands.chain(survey.writes.iter().map(|write| &write.span)).chain(&survey.lost_statuses) {
        assert!(source.get(span.clone()).is_some(), "{span:?} in {source:?}");
    }
    let words: Vec<&str> = source.split('\n').collect();
    for (index, error) in check_arguments(&words, true) {
        assert!(words[index].get(error.span.clone()).is_some(), "{error:?} in {words:?}");
    }
    survey_arguments(&words);
}

/// Each took exponential or quadratic time, or all of the stack, before the fuzz target asked for linear time.
#[test]
fn the_time_of_a_scan_grows_with_the_length_of_the_script() {
    let reversed: String = (0..20_000).rev().map(|i| format!("a{}=$a{i}\n", i + 1)).collect();
    for source in [
        "find . -exec ".repeat(40) + "echo {{ x }}",
        "docker xargs ".repeat(2_000) + "echo {{ x }}",
        "find ".to_owned() + &"$a env find ".repeat(500) + "{{ x }}",
        "git ".to_owned() + &"$a ".repeat(20_000) + "{{ x }}",
        "entr sh -c x ".repeat(10_000) + "{{ x }}",
        "env ".repeat(200_000) + "echo {{ x }}",
        "find . -exec ".repeat(20_000) + "echo {{ x }}",
        "echo {{ x }}; ".to_owned() + &"{%if ".repeat(150_000),
        "f() { :; }\n".repeat(30_000) + &"f {{ x }}\n".repeat(10_000),
        reversed + "a0={{ x }}\n",
    ] {
        let _ = ShellScript::parse(&source);
        check_fed_script(&source);
        survey_script(&source);
    }
}

#[test]
fn commands_that_run_each_other_too_deeply_are_refused_and_not_passed_unseen() {
    let deep = "env ".repeat(40) + "eval {{ x }}";
    assert!(ShellScript::parse(&deep).is_err());
    // Five shells within each other; the innermost runs its argument.
    let mut code = r#"eval "$1""#.to_owned();
    for _ in 0..5 {
        let quoted = code.replace('\'', r"'\''");
        code = format!("sh -c '{quoted}' sh \"$1\"");
    }
    let source = code.replacen("sh \"$1\"", "sh {{ x }}", 1);
    let source = match source.rfind("sh \"$1\"") {
        Some(at) => format!("{}sh {{{{ x }}}}", &source[..at]),
        None => source,
    };
    assert!(ShellScript::parse(&source).is_err(), "{source}");
}

#[test]
fn code_that_is_not_known_before_it_runs_gets_no_values_as_arguments() {
    assert!(ShellScript::parse("code='eval \"$1\"'; sh -c \"$code\" sh {{ x }}").is_err());
    assert!(ShellScript::parse("sh -c \"$code\"; echo {{ x }}").is_ok());
}

#[test]
fn the_oracle_finds_values_that_are_code() {
    for script in [
        "\"${ESCROW_VALUE_1}\"",
        "tar --to-comm \"${ESCROW_VALUE_1}\"",
        "split --filt=\"${ESCROW_VALUE_1}\"",
        "\"$a\" \"${ESCROW_VALUE_1}\"",
        "a=\"${ESCROW_VALUE_1}\"; b=$a; eval \"$b\"",
        "sh -c \"${ESCROW_VALUE_1}\"",
    ] {
        assert!(std::panic::catch_unwind(|| oracle::judge(script)).is_err(), "{script}");
    }
    // A quoted name assigns nothing: it is the name of a command, and the value is its argument.
    assert_eq!(oracle::judge(r#"\A=b "${ESCROW_VALUE_1}"; "A"=b "${ESCROW_VALUE_1}""#), Some(()));
    assert_eq!(oracle::judge("echo \"${ESCROW_VALUE_1}\" | sort; ./\"${ESCROW_VALUE_1}\""), Some(()));
}

/// Found by trying what the tables did not know.
#[test]
fn more_programs_and_variables_that_take_code_are_known() {
    for source in [
        "csh -c {{ x }}",
        "tcsh -c {{ x }}",
        "yash -c {{ x }}",
        "ex -c {{ x }} file",
        "Rscript -e {{ x }}",
        "gdb -ex {{ x }}",
        "gosu user sh -c {{ x }}",
        "systemd-run sh -c {{ x }}",
        "sort --compress-program={{ x }} file",
        "split --filter={{ x }} file",
        "split --filter '{{ x }}' file",
        "git -c alias.x={{ x }} x",
        "git -c 'alias.x=!{{ x }}' x",
        "git -c alias.x='!eval' x {{ x }}",
        "git -c core.sshCommand={{ x }} fetch",
        "git -C dir -c core.pager={{ x }} log",
        "git -c core.editor=\"{{ x }}\" commit",
        "git -c core.fsmonitor={{ x }} status",
        "git -c diff.external={{ x }} diff",
        "git -c {{ x }} status",
        "git --config-env=core.pager={{ x }} log",
        "git --config-env core.pager={{ x }} log",
        "git --exec-path={{ x }} log",
        "git clone -c core.sshCommand={{ x }} url",
        "git clone --upload-pack {{ x }} url",
        "git rebase --exec {{ x }} main",
        "git rebase -x {{ x }} main",
        "git submodule foreach {{ x }}",
        "git bisect run sh -c {{ x }}",
        "git filter-branch --tree-filter {{ x }} HEAD",
        "git difftool -x {{ x }}",
        "GIT_SSH_COMMAND={{ x }} git fetch",
        "export EDITOR={{ x }}; git commit",
        "LD_PRELOAD={{ x }} ls",
    ] {
        assert!(ShellScript::parse(source).is_err(), "{source}");
    }
}

/// Found by the fuzz target: the oracle did not know it, and neither did the rules.
#[test]
fn a_value_is_not_the_name_of_a_command_when_the_word_before_it_is_empty() {
    for source in [
        "$SUDO {{ x }}",
        "$a $b {{ x }}",
        "env $a {{ x }}",
        "$(true) {{ x }}",
        "$SUDO eval {{ x }}",
        "$SUDO rm {{ x }}",
    ] {
        assert!(ShellScript::parse(source).is_err(), "{source}");
    }
    for source in
        ["cc=gcc; \"$cc\" {{ x }}", "run='timeout 5'; $run rm {{ x }}", "$SUDO rm file; echo {{ x }}"]
    {
        assert!(ShellScript::parse(source).is_ok(), "{source}");
    }
}
