//! What a command printed may be a value that went through a file. In a script that holds values the shell makes no code
//! of it: no command, no name of a variable, no operator and no code of a shell or another interpreter, however deep. It
//! may be an operand and an option of programs.

use escrow_template::ShellScript;

/// `€` is a value.
#[track_caller]
fn check(refused: &[&str], accepted: &[&str]) {
    let errors = |source: &str| ShellScript::parse(&source.replace('€', "{{ inputs.x }}")).err();
    let passed: Vec<_> = refused.iter().filter(|source| errors(source).is_none()).collect();
    let stopped: Vec<_> =
        accepted.iter().filter_map(|source| Some((source, errors(source)?.remove(0).message))).collect();
    assert!(passed.is_empty() && stopped.is_empty(), "accepted: {passed:#?}\nrefused: {stopped:#?}");
}

#[test]
fn output_is_no_name_of_a_variable() {
    check(
        &[
            "echo € > f; x=$(cat f); declare \"$x=1\"",
            "echo € > f; x=$(cat f); declare \"$x\"",
            "echo € > f; x=$(cat f); typeset \"$x=1\"",
            "echo € > f; x=$(cat f); g() { local \"$x=1\"; }; g",
            "echo € > f; x=$(cat f); readonly \"$x=1\"",
            "echo € > f; x=$(cat f); export \"$x=1\"",
            "echo € > f; x=$(cat f); export \"$x\"",
            "echo € > f; export $(cat f)",
            "echo € > f; x=$(cat f); printf -v \"$x\" 1",
            "echo € > f; x=$(cat f); read \"$x\" < g",
            "echo € > f; x=$(cat f); unset \"$x\"",
            "echo € > f; unset \"$(cat f)\"",
            "echo € > f; unset -v \"$(cat f)\"",
            "echo € > f; x=$(cat f); test -v \"$x\"",
            "echo € > f; x=$(cat f); o=-v; [ $o \"$x\" ]",
            "echo € > f; x=$(cat f); wait -p \"$x\"",
            "echo € > f; x=$(cat f); mapfile \"$x\" < g",
            "echo € > f; x=$(cat f); getopts a \"$x\"",
            "echo € > f; x=$(cat f); echo \"${!x}\"",
            "echo € > f; x=$(cat f); declare -n r=\"$x\"; echo \"$r\"",
            "echo € > f; x=$(cat f); declare -a r=\"$x\"",
            "echo € > f; x=$(cat f); nameref r=\"$x\"",
            "cat > f <<E\n€\nE\ndeclare -n r=\"$(cat f)\"",
            "cat > f <<E\n€\nE\ndeclare -i r=\"$(cat f)\"",
            "echo € > f; x=$(cat f); exec {a[x]}>/dev/null",
            "echo € > f; x=$(cat f); exec {a[$x]}>/dev/null",
            "echo € > f; compgen -W \"$(cat f)\"",
            "for PS4 in $(cat f); do set -x; :; done; echo €",
            "echo € > f; : \"${PS4:=$(cat f)}\"; set -x",
        ],
        &[
            "for v in A B; do unset \"$v\"; export \"$v=1\"; done; echo €",
            "export SHA=$(git rev-parse HEAD); ./deploy €",
            "unset TOKEN; echo €",
            "g() { local name=\"$1\"; echo \"$name\"; }; g €",
            "declare -a names=(a b); echo \"${names[@]}\" €",
            "declare -F cleanup > /dev/null && cleanup; echo €",
            "exec {fd}> log; echo € >&\"$fd\"",
        ],
    );
}

#[test]
fn output_is_no_command() {
    check(
        &[
            "echo € > f; $(cat f)",
            "echo € > f; `cat f`",
            "echo € > f; x=$(cat f); $x",
            "echo € > f; x=$(cat f); \"$x\"",
            "echo € > f; a=($(cat f)); \"${a[@]}\"",
            "echo € > f; set -- $(cat f); \"$@\"",
            "echo € > f; $(cat f)/bin/tool",
            "echo € > f; env $(cat f) ./run",
            "echo € > f; exec $(cat f)",
            "echo € > f; command $(cat f)",
            "echo € > f; sudo \"$(cat f)\"",
            "echo € > f; timeout $(cat f) ls",
            "echo € > f; nice -n $(cat f) ls",
            "echo € > f; command export N=$(cat f)",
            "touch -- €; find . -exec {} ';'",
            "command() { cat f; }; p=$(command -v ls); \"$p\"; echo €",
        ],
        &[
            "\"$(go env GOPATH)/bin/golangci-lint\" run; echo €",
            "dir=$(cd \"$(dirname \"$0\")\" && pwd); \"$dir/run.sh\" €",
            "PY=$(command -v python3 || command -v python); \"$PY\" --version; echo €",
            "PY=$(command -v python3); \"$PY\" report.py €",
            "\"${PYTHON:-python3}\" app.py; echo €",
            "timeout \"$(cat limit)\" ./run; echo €",
            "nice -n $(nproc) ./run; echo €",
        ],
    );
    // The variable counts as the program that it names.
    check(&["p=$(command -v env); \"$p\" €", "p=$(which sh); echo € | \"$p\""], &[]);
}

#[test]
fn output_is_no_code_of_an_interpreter() {
    check(
        &[
            "echo € > f; python3 -c \"$(cat f)\"",
            "echo € > f; x=$(cat f); perl -e \"$x\"",
            "echo € > f; awk \"$(cat f)\" g",
            "echo € > f; node --eval=\"$(cat f)\"",
            "echo € > f; psql -c \"select '$(cat f)'\"",
            "echo € > f; sh \"$(echo -c)\" \"$(cat f)\"",
            "echo € > f; x=$(cat f); o=-c; python3 \"$o\" \"$x\"",
            "echo € > f; x=$(cat f); sh {-c,\"$x\"}",
            "echo € > f; ssh host \"echo $(cat f)\"",
            "echo € > f; watch \"echo $(cat f)\"",
            "echo € > f; su -c \"echo $(cat f)\"",
            "echo € > f; split --filter=\"$(cat f)\" g",
            "echo € > f; tar --to-command \"$(cat f)\" -xf a.tar",
        ],
        &[
            "node -e 'console.log(process.argv[1])' \"$(cat f)\"; echo €",
            "awk -v sha=\"$(git rev-parse HEAD)\" '{ print sha }' f; echo €",
            "awk -v n=$(nproc) 'BEGIN { print n }'; echo €",
            "sed \"s/@SHA@/$(git rev-parse HEAD)/\" in > out; echo €",
            "make -j$(nproc) VERSION=$(git describe); echo €",
            "java -jar \"$(ls build/*.jar | head -1)\"; echo €",
            "docker run --rm -v $(pwd):/src node:20 npm test; echo €",
            "curl -fsS \"$URL\" \"$(cat other)\"; echo €",
            "python3 \"$(dirname \"$0\")/app.py\" €",
        ],
    );
}

#[test]
fn the_literal_code_of_a_shell_is_held_to_the_same_rules() {
    check(
        &[
            "echo € > f; export V=\"$(cat f)\"; bash -c '[ $V = a ]'",
            "echo € > f; bash -c '[ $1 = a ]' bash \"$(cat f)\"",
            "echo € > f; bash -c 'declare \"$1=1\"' bash \"$(cat f)\"",
            "echo € > f; bash -c 'bash -c \"[ \\$1 = a ]\" bash \"$1\"' bash \"$(cat f)\"",
            "echo € > f; x=$(cat f); docker run -e V=\"$x\" img bash -c '$V'",
            "touch -- €; find . -exec bash -c '[ $1 = a ]' bash {} \\;",
            "touch -- €; find . -exec bash -c 'declare \"$1=1\"' bash {} \\;",
            // A program that is not known runs the shell among its arguments.
            "entr bash -c '[ $1 = a ]' bash €",
            "entr sh -c '$1' sh €",
            "entr bash -c '[ $1 = a ]' bash \"$(cat f)\"; echo €",
            // The variables that a command gives to another.
            "sudo CMD=€ sh -c '$CMD'",
            "docker run -e CMD=€ img sh -c '$CMD'",
            "docker run -eCMD=€ img sh -c '$CMD'",
            "timeout 5 env CMD=€ sh -c '$CMD'",
            "systemd-run -E CMD=€ sh -c '$CMD'",
            "find . -exec env CMD=€ sh -c '$CMD' ';'",
            "kubectl run p --env=CMD=€ --image=i -- sh -c '$CMD'",
        ],
        &[
            "bash -c 'set -e; npm ci; npm test -- \"$1\"' bash €",
            "entr sh -c 'echo \"$1\"' sh €",
            "sudo NAME=€ sh -c 'echo \"$NAME\"'",
            "touch -- €; find . -exec sh -c 'wc -c \"$1\"' sh {} \\;",
            "find . -name '*.py' -exec python3 {} ';'; echo €",
        ],
    );
}

/// A substitution reads the input of the command that it belongs to, also from within a here-document.
#[test]
fn no_interpreter_reads_code_from_a_process_substitution() {
    check(
        &[
            "echo € | cat <<G\n$(bash <(cat))\nG\n",
            "echo € | cat <<G\n$(x=$(cat); sh -c \"$x\")\nG\n",
            "echo € > f; bash <(cat f)",
            "echo € > f; . <(cat f)",
            "echo € > f; python3 <(cat f)",
            "echo € > f; awk -f <(cat f) g",
            "echo € > f; sed -f <(cat f) g",
        ],
        &["cat <<G\n$(date +%F) €\nG\n", "echo € | cat - header; diff <(sort f) <(sort g)"],
    );
}

/// A word that may be an option does not hide the one behind it.
#[test]
fn an_option_is_found_behind_a_word_that_may_be_one() {
    check(
        &[
            "find \"$d\" -exec € ';'",
            "find . \"$d\" -exec env € ';'",
            "find \"$d\" -name a -exec sh -c € ';'",
            "python3 \"$a\" -c €",
            "perl \"$a\" -e €",
            "capsh \"$a\" -- -c €",
            "git \"$a\" log -c €",
        ],
        &["find \"$d\" -name € -exec cp {} out/ ';'", "python3 \"$script\" --title €"],
    );
}

#[test]
fn shells_are_known_with_their_version_and_functions_in_the_environment_as_code() {
    check(
        &[
            "ksh93 -c €",
            "bash-5.2 -c €",
            "zsh5 -c €",
            "posh -c €",
            "echo € | bash5",
            "env 'BASH_FUNC_f%%=() { €; }' bash -c f",
            "env 'BASH_FUNC_f()=() { €; }' bash -c f",
        ],
        &["./push €", "refresh-5 -c €"],
    );
}

/// At first, `$_` is the path of the shell.
#[test]
fn code_that_is_not_known_reads_no_values() {
    check(
        &[
            "echo € | sh -c \"$_\"",
            "echo € | sh -c \"$CODE\"",
            "sh -c \"$CODE\" < €",
            "f() { sh -c \"$1\"; }; echo € | f sh",
        ],
        &["sh -c \"$CODE\"; echo €"],
    );
}

#[test]
fn the_help_shows_the_safe_form() {
    let help = |source: &str| ShellScript::parse(source).expect_err(source).remove(0).help;
    let trap = help("d=$(mktemp -d); trap \"rm -rf $d\" EXIT; echo {{ x }}");
    assert!(trap.contains("trap 'rm -rf \"$dir\"' EXIT"), "{trap}");
    assert!(help("trap \"rm -rf {{ x }}\" EXIT").contains("single quotes"));
    assert!(help("export $(cat .env); echo {{ x }}").contains("set -a; . ./file"));
    assert!(help("x={{ x }}; timeout $x ls").contains("within quotes"));
    assert!(help("echo >& {{ x }}").contains("> FILE 2>&1"));
}
