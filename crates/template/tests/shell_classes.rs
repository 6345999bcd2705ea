//! Classes of places where a value became code although each program involved was known: abbreviated options, names of
//! programs that are computed, functions that are called from elsewhere, `{}` of `find`, input that a module reads, and
//! options and variables that load code. Beside each class stand the forms that stay accepted.

use escrow_template::{
    ShellScript, check_arguments, check_arguments_with, check_fed_script, check_script, is_read_as_code,
};

/// `€` is a value.
#[track_caller]
fn check(refused: &[&str], accepted: &[&str]) {
    let errors = |source: &str| ShellScript::parse(&source.replace('€', "{{ inputs.x }}")).err();
    let passed: Vec<_> = refused.iter().filter(|source| errors(source).is_none()).collect();
    let stopped: Vec<_> =
        accepted.iter().filter_map(|source| Some((source, errors(source)?.remove(0).message))).collect();
    assert!(passed.is_empty() && stopped.is_empty(), "accepted: {passed:#?}\nrefused: {stopped:#?}");
}

/// Scripts whose environment has a value in `N`.
#[track_caller]
fn check_environment(refused: &[&str], accepted: &[&str]) {
    let variables = ["N".to_owned()];
    let errors = |source: &str| check_script(source, &variables);
    let passed: Vec<_> = refused.iter().filter(|source| errors(source).is_empty()).collect();
    let stopped: Vec<_> = accepted
        .iter()
        .filter_map(|source| Some((source, errors(source).first()?.message.clone())))
        .collect();
    assert!(passed.is_empty() && stopped.is_empty(), "accepted: {passed:#?}\nrefused: {stopped:#?}");
}

/// A program with its arguments, and whether its standard input has a value.
#[track_caller]
fn check_list(words: &[&str], is_fed: bool) {
    let words: Vec<String> = words.iter().map(|word| word.replace('€', "{{ inputs.x }}")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(!check_arguments(&words, is_fed).is_empty(), "accepted: {words:?}");
}

#[test]
fn an_abbreviated_option_counts_as_the_one_that_takes_code() {
    check(
        &[
            "tar --to-comm €",
            "tar --to-comm=€ -xf a",
            "tar --checkpoint-act € -cf a b",
            "tar --use-compress € -cf a b",
            "tar --use=€ -cf a b",
            "tar --to€ -xf a",
            "tar --€ -xf a",
            "split --filt € f",
            "split --filt=€ f",
            "sort --compress-prog € f",
            "env --split=€",
            "env --split €",
            "sed --expr=€ f",
            "sed --expr € f",
            "sed --fil=€ f",
            "script --comm € f",
            "git clone --upload € url",
            "git clone --conf € url",
            "git rebase --exe € main",
            "git grep --open-files=€ x",
            "git --exec=€ log",
            "wget --exec=€ url",
            "wget --use-askp=€ url",
            "man --pag=€ ls",
            "rsync --rs € a b:",
            "psql --comm €",
            "mysql --exec=€",
            "pwsh -comm €",
            "pwsh -Com €",
            "pwsh -enc €",
            "gdb -ev € p",
            // An abbreviated option of a program that runs another has its argument, too.
            "timeout --sig KILL 5 €",
            "timeout -vs KILL 5 €",
            "timeout --kill 1 5 €",
            "env --chd / €",
            "nice --adj 5 €",
            "nice --adjustment 5 €",
            "sudo -nu root €",
            "env -iu A €",
            "strace -I 1 €",
            "sudo -r role €",
            "setsid --unknown x €",
        ],
        &[
            "tar --create --file a.tar €",
            "tar --exclude=€ -czf a.tgz dir",
            "tar --directory € -xf a.tgz",
            "sort --key=€ f",
            "split --lines=€ f",
            "wget --output-document=€ url",
            "timeout --signal=KILL 5 ls €",
            "timeout --signal KILL 5 ls €",
            "sudo -nu root ls €",
            "sudo --non-interactive ls €",
            "env --ignore-environment NAME=€ ./run",
            "nice -n 5 ls €",
            "xargs --no-run-if-empty rm -- < list; echo €",
            "git commit --message €",
            "git log --grep=€ --since=€",
            "git clone --depth 1 --branch € url",
        ],
    );
    check_list(&["tar", "--to-comm=€", "-xf", "a.tar"], false);
    check_list(&["tar", "--to-comm", "€", "-xf", "a.tar"], false);
    check_environment(&["tar --to-comm=\"$N\" -xf a", "split --filt \"$N\" f"], &["tar -cf a \"$N\""]);
}

#[test]
fn a_program_that_is_not_known_before_it_runs_gets_no_values() {
    check(
        &[
            "a=(sh -c); \"${a[@]}\" €",
            "cmd=(env); cmd+=(-S); \"${cmd[@]}\" €",
            "cmd[0]=sh; cmd[1]=-c; \"${cmd[@]}\" €",
            "cmd[0]=sh; \"${cmd[0]}\" €",
            "cmd[0]=sh; $cmd €",
            "a=(sh); echo € | \"${a[@]}\"",
            "a=(python3); echo € | \"${a[@]}\" -m code",
            "{sh,-c} €",
            "{env,bash} -c €",
            "{env,-S} €",
            "env {sh,-c} €",
            "sh {-c,-e} €",
            "python3 {-c,€}",
            "/bin/s[h] -c €",
            "/bin/das? -c €",
            "/bin/e*v €",
            "\"/bin/\"en[v] €",
            "r=/bin/s[h]; $r €",
            "for r in {sh,env}; do \"$r\" €; done",
            "for r in /bin/en?; do \"$r\" €; done",
            "d=/usr/bin; \"$d/env\" €",
            "p=env; \"/usr/bin/$p\" €",
            "\"$(command -v env)\" €",
            "${RUN:-sh -c} €",
            "\"${RUN:-env}\" €",
            "\"$SHELL\" €",
            "\"$0\" €",
            "\"$CC\" €",
            "$SUDO rm €",
            "x=sh; x=$(which x); \"$x\" €",
            "/usr/bin/$tool €",
            "./tools/€ €",
        ],
        &[
            "cc=gcc; \"$cc\" €",
            "run='timeout 5'; $run ./run €",
            "\"$dir/run.sh\" -c €",
            "\"$HOME/bin/deploy\" €",
            "./scripts/€.sh --dry-run €",
            "./tools/€ --version",
            "cp {a,b}.txt €",
            "mkdir -p €/{a,b}",
            "ls *.txt €",
            "[ -n € ] && { echo €; }",
            "find . -name € -print",
            "args=(-v); ./run \"${args[@]}\" €",
        ],
    );
    check_environment(
        &["a=(sh -c); \"${a[@]}\" \"$N\"", "{sh,-c} \"$N\"", "/bin/s[h] -c \"$N\"", "\"${RUN:-env}\" \"$N\""],
        &["a=(./run); echo \"$N\"", "\"$dir/run.sh\" \"$N\""],
    );
}

/// Where the argument of an option is empty, the next word is the argument, and the value behind it is the command or the
/// code. Found by the generated compositions.
#[test]
fn an_argument_that_may_be_empty_shifts_the_words_behind_it() {
    check(
        &[
            "sudo -u€ ls €",
            "sudo -u $user ls €",
            "x=€; sudo -u $x ls €",
            "nice -n€ ls €",
            "timeout -s€ 5 5 €",
            "env -u \"$a\"\"$b\" A=1 €",
            "awk -F€ '{print $1}' €",
            "awk -F $sep '{print $1}' €",
            "awk -F\"$sep\" '{print $1}' €",
            "echo € | python3 -W\"$w\" probe.py",
            "echo € | psql -v\"$v\" -f query.sql",
        ],
        &[
            "sudo -u \"$user\" ls €",
            "sudo -uroot ls €",
            "user=me; sudo -u $user ls €",
            "awk -F€ '{print $1}' file",
            "sep=:; awk -F\"$sep\" '{print $1}' €",
            "awk -F € '{print $1}' €",
        ],
    );
}

#[test]
fn functions_are_followed_to_where_they_are_called() {
    check(
        &[
            "f() { sh -c \"$1\"; }; trap 'f \"$v\"' EXIT; v=€",
            "f() { sh -c \"$1\"; }; trap 'f \"$v\"' ERR; v=€; false",
            "f() { sh -c \"$x\"; }; trap 'x=$v; f' EXIT; v=€",
            "f() { sh -c \"$1\"; }; trap 'trap \"f \\\"\\$v\\\"\" EXIT' ERR; v=€; false",
            "f() { sh -c \"$1\"; }; export -f f; bash -c 'f \"$1\"' bash €",
            "f() { sh -c \"$1\"; }; declare -fx f; bash -c 'f \"$1\"' bash €",
            "set -a; f() { sh -c \"$1\"; }; bash -c 'f \"$1\"' bash €",
            "f() { sh -c \"$1\"; }; r=f; \"$r\" €",
            "f() { sh -c \"$1\"; }; r=f; $r €",
            "command_not_found_handle() { sh -c \"$2\"; }; nosuch €",
            "f() { sh -c \"$1\"; }; export -f f; echo € | xargs -n1 bash -c 'f \"$1\"' bash",
        ],
        &[
            "f() { echo \"$1\"; }; trap 'f \"$v\"' EXIT; v=€",
            "f() { echo \"$1\"; }; export -f f; bash -c 'f \"$1\"' bash €",
            "f() { sh -c \"$1\"; }; f date; echo €",
            "trap 'rm -rf work' EXIT; cp € work/",
        ],
    );
    check_environment(
        &[
            "f() { sh -c \"$1\"; }; export -f f; bash -c 'f \"$N\"'",
            "f() { sh -c \"$1\"; }; trap 'f \"$N\"' EXIT",
        ],
        &[],
    );
}

#[test]
fn what_find_puts_for_its_braces_is_a_value_where_a_value_chose_it() {
    check(
        &[
            "find € -exec {} ';'",
            "find € -exec sh {} ';'",
            "find . -name € -exec {} +",
            "find . -name € -exec env {} +",
            "find d -name € -exec sh -c 'cat {}' ';'",
            "find d -exec sh -c 'cat {}' ';'; echo €",
            "find d -exec sh -c {} ';'; echo €",
            "find d -exec python3 -c 'print(\"{}\")' ';'; echo €",
            "x=€; find \"$x\" -execdir {} \\;",
            "echo € | find -files0-from - -exec {} ';'",
            "find d -newer € -exec awk -f {} ';'",
            "fd -x € .",
        ],
        &[
            "find € -name '*.tmp' -exec rm -- {} +",
            "find € -type f -exec sh -c 'wc -c \"$1\"' sh {} ';'",
            "find . -name '*.py' -exec python3 {} ';'; echo €",
            "find . -name € -exec cp {} out/ ';'",
        ],
    );
    check_list(&["find", "-files0-from", "-", "-exec", "{}", ";"], true);
    check_list(&["find", "€", "-exec", "{}", ";"], false);
    check_list(&["find", "d", "-name", "€", "-exec", "sh", "-c", "cat {}", ";"], false);
}

#[test]
fn no_module_and_no_new_shell_reads_code_from_an_input_with_values() {
    for words in [
        &["script", "-q", "/dev/null"][..],
        &["python3", "-m", "code"],
        &["python3", "-mcode"],
        &["python3", "-m", "pdb", "f.py"],
        &["python3", "-m", "asyncio"],
        &["python3", "-m", "unheard_of"],
        &["newgrp", "staff"],
        &["m4"],
        &["irb"],
        &["R", "--no-save"],
        &["bpython"],
    ] {
        check_list(words, true);
        assert!(check_arguments(words, false).is_empty(), "{words:?}");
        assert!(!check_fed_script(&words.join(" ")).is_empty(), "{words:?}");
    }
    check(
        &[
            "echo € | script -q /dev/null",
            "echo € | python3 -m pdb f.py",
            "echo € | python3 -m code",
            "echo € | python3 -q -m unheard_of",
            "echo € | m4",
        ],
        &[
            "echo € | python3 -m json.tool",
            "python3 -mjson.tool €",
            "python3 -m pytest -k €",
            "script -q -c 'ls' /dev/null; echo €",
            "./script €",
        ],
    );
    assert!(check_arguments(&["python3", "-m", "json.tool"], true).is_empty());
    assert!(check_arguments(&["python3", "-m", "mine.report", "{{ x }}"], false).is_empty());
}

#[test]
fn options_that_load_code_or_start_a_program_take_no_value() {
    check(
        &[
            "strace -E € ls",
            "strace -E LD_PRELOAD=€ ls",
            "systemd-run -E € ls",
            "systemd-run --setenv=€ ls",
            "docker run -e € img",
            "docker run -eBASH_ENV=€ img",
            "docker run --env=BASH_ENV=€ img",
            "su -s €",
            "su --shell=€ me",
            "runuser -s € me",
            "runuser --shell=€ me",
            "awk -f € f",
            "awk -f€ f",
            "awk --file=€ f",
            "gawk -i € f",
            "gawk -E € f",
            "gawk --exec=€ f",
            "sed -f € f",
            "sed -f€ f",
            "sed -n --file=€ f",
            "jq -f € f",
            "jq -L € . f",
            "jq -L€ . f",
            "jq . -L € f",
            "jq --from-file=€ f",
            "perl -I€ f",
            "perl -I € f",
            "perl -x€ f",
            "perl -d:€ f",
            "ruby -I€ f",
            "ruby -I € f",
            "ruby -r € f",
            "ruby -C€ f",
            "node --env-file=€ f",
            "node --env-file-if-exists=€ f",
            "node --import=€ f",
            "node --loader=€ f",
            "node --loader € f",
            "node --openssl-config=€ f",
            "node --unheard-of=€ f",
            "node --unheard-of € f",
            "node -C € f",
            "python3 -W€ f",
            "python3 -X € f",
            "python3 € a",
            "python3 -u €",
            "ruby €",
            "php -c € f",
            "php -z € f",
            "psql -f €",
            "psql --file=€",
            "sqlite3 -init € db 'select 1'",
            "sqlite3 -unheard € db 'select 1'",
            "lua -l € f",
            "tclsh €",
            "m4 €",
            "git fetch-pack --upload-pack=€ url",
            "git fetch-pack --exec=€ url",
            "git send-pack --receive-pack=€ url",
            "git daemon --access-hook=€",
            "git send-email --sendmail-cmd=€ p",
            "git send-email --to-cmd=€ p",
            "git send-email --cc-cmd € p",
            "git send-email --smtp-server=€ p",
            "git instaweb --httpd=€",
            "git instaweb --browser=€",
            "git remote-ext origin €",
            "git remote-ext €",
            "git shell -c €",
            "git init --template=€",
            "git clone --template € url",
            "git difftool --tool=€",
            "git mergetool -t €",
            "git filter-repo --message-callback €",
            "git for-each-repo --config=€ status",
            "git hook run €",
            "git --git-dir=€ status",
            "git log --unheard-of=€",
            "git -c€ log",
            "git merge -s€ x",
            "rg --pre € x",
            "rg --pre=€ x",
            "cargo --config € build",
            "cargo build --config=€",
            "npm --script-shell=€ test",
            "pytest -p € t",
            "cmake -P €",
            "java -javaagent:€ M",
            "java -jar €",
            "gcc -fplugin=€ f.c",
            "gcc -B€ f.c",
            "gpg --agent-program=€ -d f",
            "curl -K €",
            "curl --config=€",
            "ssh-add -s €",
            "chsh -s €",
            "openssl engine -pre €",
            "R -e €",
            "octave --eval €",
            "ghc -e €",
        ],
        &[
            "awk -v name=€ '{print name}' f",
            "awk -vname=€ '{print name}' f",
            "awk -F€ '{print $1}' f",
            "awk '{print}' €",
            "sed -n '1,20p' -- €",
            "sed -f script.sed -- €",
            "jq -f filter.jq €",
            "jq -r .name €",
            "jq --raw-output .name €",
            "jq --arg id € '.[$id]' f",
            "perl -Ilib script.pl €",
            "ruby -Ilib -rjson script.rb €",
            "node --test --test-name-pattern=€",
            "node --enable-source-maps app.js €",
            "node --env-file=.env app.js €",
            "python3 -W error app.py €",
            "python3 scripts/€.py --dry-run",
            "psql -v name=€ -f query.sql",
            "psql --set=name=€ --file=query.sql",
            "strace -f ls €",
            "docker run -e NAME=€ img",
            "git commit --author=€ --date=€ -m€",
            "git log --format=%H -1 -- €",
            "git log --format=€",
            "git diff --stat €",
            "git checkout -b €",
            "git -C € status",
            "git worktree add €",
            "cargo test --package €",
            "java -jar app.jar €",
            "gcc -o € main.c",
            "curl -fsS -o € https://example.org/",
        ],
    );
}

#[test]
fn variables_that_programs_read_as_code_take_no_value() {
    const NAMES: &[&str] = &[
        "ARFLAGS",
        "AS",
        "ASFLAGS",
        "BUN_OPTIONS",
        "CFLAGS",
        "CLAUDE_CONFIG_DIR",
        "CODEX_HOME",
        "CPPFLAGS",
        "CXXFLAGS",
        "DOTNET_STARTUP_HOOKS",
        "ELIXIR_ERL_OPTIONS",
        "EMACSLOADPATH",
        "ERL_FLAGS",
        "FC",
        "HOME",
        "JQ_LIBRARY_PATH",
        "JULIA_LOAD_PATH",
        "LD",
        "LDFLAGS",
        "LDLIBS",
        "LEX",
        "LFLAGS",
        "LOADLIBES",
        "PSModulePath",
        "RM",
        "R_PROFILE_USER",
        "TCLLIBPATH",
        "VIMRUNTIME",
        "XDG_CONFIG_DIRS",
        "XDG_CONFIG_HOME",
        "YACC",
        "YFLAGS",
        "CORECLR_PROFILER_PATH",
        "GIT_DIR",
        "SBT_OPTS",
        "MY_TOOL_EDITOR",
        "SOME_TOOL_OPTIONS",
    ];
    for name in NAMES {
        assert!(is_read_as_code(name), "{name}");
        for script in [format!("{name}={{{{ x }}}} make"), format!("export {name}={{{{ x }}}}; make")] {
            assert!(ShellScript::parse(&script).is_err(), "{script}");
        }
    }
    check(
        &["CFLAGS=€ make", "HOME=€ git status", "env HOME=€ git status", "sudo CFLAGS=€ make"],
        &["NAME=€ make", "VERSION=€ ./run", "home=€; echo \"$home\"", "HOME=\"$PWD\" git status; echo €"],
    );
    assert!(!check_arguments(&["env", "CFLAGS={{ x }}", "make"], false).is_empty());
    assert!(!check_arguments_with(&["tar", "--to-comm", "{{ x }}"], false, &["N".to_owned()]).is_empty());
}

/// The shell computes what its integer variables are assigned, and other variables are code for programs. Each way of
/// assigning one counts.
#[test]
fn no_way_of_assigning_gives_a_value_to_a_variable_that_shells_compute() {
    check(
        &[
            "for SECONDS in €; do echo; done",
            "for OPTIND in €; do echo; done",
            "for RANDOM in 1 €; do echo; done",
            "for HISTCMD in €; do echo; done",
            "for LINENO in €; do echo; done",
            "for PS4 in €; do set -x; :; done",
            "select SECONDS in €; do break; done",
            "f() { for SECONDS; do :; done; }; f €",
            "bash -c 'for SECONDS in \"$1\"; do :; done' b €",
            "printf -v RANDOM %s €",
            "printf -v 'RANDOM' %s €",
            "printf -vRANDOM %s €",
            "printf -v 'RANDOM[0]' %s €",
            "command printf -v RANDOM %s €",
            "mapfile -t RANDOM <<E\n€\nE",
            "readarray RANDOM <<E\n€\nE",
            "IFS= read -rd '' OPTIND rest <<E\n€\nE",
            "read -r RANDOM rest < <(echo €)",
            "echo € | while read -r OPTIND rest; do :; done",
            "echo € | read SECONDS",
            "read -a RANDOM <<E\n€\nE",
            "read -aRANDOM <<E\n€\nE",
            "command read RANDOM <<E\n€\nE",
            "r=read; $r RANDOM <<E\n€\nE",
            "v=RANDOM; read \"$v\" <<E\n€\nE",
            "v=RAND; read \"${v}OM\" <<E\n€\nE",
            "read \"$name\" <<E\n€\nE",
            "getopts a RANDOM €",
            "wait -p RANDOM; echo €",
            "x=€; unset OPTIND; : \"${OPTIND:=$x}\"",
            "x=€; OPTIND=(\"$x\")",
            // What a command prints may have been a value: it lay in a file.
            "echo € > f; SECONDS=$(cat f)",
            "echo € > f; declare OPTIND=$(cat f)",
            "echo € > f; n=OPTIND; declare \"$n=$(cat f)\"",
            "echo € > f; unset OPTIND; : \"${OPTIND=$(cat f)}\"",
            "echo € > f; OPTIND=(\"$(cat f)\")",
            "echo € > f; builtin declare -i n=$(cat f)",
            "echo € > f; integer n=$(cat f)",
            "set -A RANDOM €",
        ],
        &[
            "SECONDS=0; ./run €; echo \"$SECONDS s\"",
            "OPTIND=1; while getopts ab: o; do echo \"$o\"; done; echo €",
            "while IFS=, read -r a b c; do echo \"$a\"; done < f; echo €",
            "read -p PATH -t 5 x < f; echo €",
            "mapfile -t lines < f; echo €",
            "for CC in gcc clang; do echo \"$CC\"; done; echo €",
            "for name in €; do echo \"$name\"; done",
            "printf -v text %s €; echo \"$text\"",
            // A bracket in a text begins no subscript.
            "printf '[{\"id\": %s}]' €",
            "read -p '[y/n] ' answer; echo €",
            "export TEXT='[x] done' NAME=€",
        ],
    );
    check_list(&["bash", "-c", "for SECONDS in \"$1\"; do :; done", "b", "€"], false);
    check_environment(
        &["for SECONDS in \"$N\"; do :; done", "read SECONDS <<< \"$N\""],
        &["SECONDS=0; echo \"$N\""],
    );
}

#[test]
fn a_command_that_assigns_counts_behind_builtin_and_by_a_name_that_is_not_known() {
    check(
        &[
            "command read x <<E\n€\nE\nsh -c \"$x\"",
            "builtin read x <<E\n€\nE\nsh -c \"$x\"",
            "r=read; \"$r\" x <<E\n€\nE\nsh -c \"$x\"",
            "read -ax <<E\n€\nE\nsh -c \"$x\"",
            "printf -vx %s €; sh -c \"$x\"",
            "command printf -v x %s €; sh -c \"$x\"",
            "command export x=€; sh -c \"$x\"",
        ],
        &["command read x < f; sh -c \"$y\"; echo €"],
    );
}

#[test]
fn nothing_is_run_from_the_history_of_a_script_with_values() {
    check(
        &[
            "history -s €; fc -s",
            "set -o history; history -s €; fc -s",
            "history -p €",
            "echo € > f; history -r f; fc -s",
            "echo € > f; history -r f",
            "fc -s; echo €",
            "fc; echo €",
        ],
        &["history | tail -1; echo €", "history -c; echo €"],
    );
}

/// bash, ksh and zsh may be `sh`, and run the commands in a variable that they compute. What a command printed may have
/// been a value, which came through a file.
#[test]
fn arithmetic_is_confined_to_numbers_in_every_shell() {
    check(
        &[
            "printf %s € > f; n=$(cat f); echo $((n + 1))",
            "echo € > f; echo $(( $(cat f) + 1 ))",
            "echo € > f; sh -c 'n=$(cat f); echo $((n))'; echo €",
            "n=$(wc -l €); echo $((n + 1))",
            "n=$(wc -l < € 2>&1); echo $((n + 1))",
            "n=$(wc -l < f; cat €); echo $((n + 1))",
            "n=$(wc -l < f || cat €); echo $((n + 1))",
            "n=$(wc -l < f | cat €); echo $((n + 1))",
            "n=$(wc -l < f)$(cat €); echo $((n + 1))",
            "n=$(wc -l < f)€; echo $((n + 1))",
            "n=$(wc -l < f); n=$(cat €); echo $((n + 1))",
            "wc() { cat; }; n=$(echo € | wc -l); echo $((n + 1))",
            "n=$(grep -c € f); echo $((n + 1))",
            "n=$(grep -c x f €); echo $((n + 1))",
            "n=$(grep -rc x .); echo $((n + 1)) €",
            "n=$(echo € | wc -l | tr -d \"$x\"); echo $((n))",
        ],
        &[
            "n=$(wc -l < f); echo $((n + 1)) €",
            "n=$(wc -l < €); echo $((n + 1))",
            "n=$(cat f | wc -l | tr -d ' '); echo $((n * 2)) €",
            "n=$(grep -c x f || true); echo $((n + 1)) €",
            "n=$(grep -c -- € f); echo $((n + 1))",
            "start=$(date +%s); ./run €; end=$(date +%s); echo $((end - start))",
            "n=$(cat f); echo \"$(expr \"$n\" + 1)\" €",
            "n=$(cat f); [ \"$n\" -gt 3 ] && echo €",
        ],
    );
    check_environment(&["echo \"$N\" > f; n=$(cat f); echo $((n + 1))"], &["n=$(cat f); echo $((n + 1))"]);
}

/// `<>` of perl opens its operands as `open` with two arguments does, and so runs one that ends with a `|`.
#[test]
fn no_value_names_a_file_that_perl_opens_by_itself() {
    check(
        &[
            "perl -pe 's/a/b/' -- €",
            "perl -ne print -- ./€",
            "perl -lane 'print $F[0]' -- €",
            "perl -i.bak -pe 's/a/b/' -- €",
            "perl -F: -e 'print $F[0]' -- €",
            "perl -0777 -ne print -- €",
            "perl -n script.pl €",
            "perl -e 'while (<>) { print }' -- €",
            "perl -e 'print <ARGV>' -- €",
            "grep -l x f | xargs perl -pi -e 's/a/b/'; echo €",
        ],
        &[
            "perl -pe 's/a/b/' < €",
            "perl -e 'while (<<>>) { print }' -- €",
            "perl -e 'print sort { $a <=> $b } @ARGV' -- €",
            "perl -i script.pl €",
            "perl -Mstrict -we 'print shift' -- €",
        ],
    );
    check_list(&["perl", "-ne", "print", "--", "€"], false);
}

#[test]
fn an_option_of_an_interpreter_with_its_argument_in_the_next_word_takes_no_value() {
    check(
        &[
            "m4 -D X=€ f",
            "m4 -DX=€ f",
            "m4 --define X=€ f",
            "m4 -I dir/€ f",
            "m4 -Z x€ f",
            "ruby -C dir/€ f.rb",
            "php -F € f",
            "php -t dir/€ f",
            "mawk -W exec=€ f",
            "julia -m x€ f",
            "R -d x€",
            "clisp -i dir/€ f",
            "racket -t dir/€ f",
            "guile -l dir/€ f",
            "ts-node -r dir/€ f.ts",
            "nu -e €",
            "gnuplot a.gp €",
            "dc a.dc €",
            "mongosh db €",
        ],
        &["m4 -D X=1 f > €", "python3 -u ./scripts/€.py", "node -r ./setup.js app.js €", "ts-node app.ts €"],
    );
}

/// A program that is not known may run the interpreter that its arguments name.
#[test]
fn an_interpreter_behind_any_other_program_reads_no_code_from_a_value() {
    const BEHIND: &[&str] = &[
        "dumb-init sh",
        "tini -- sh",
        "tini -g -- sh",
        "eatmydata sh",
        "perf stat sh",
        "perf record -o out bash",
        "ip netns exec x sh",
        "mise exec -- sh",
        "mise x node@20 -- node",
        "direnv exec . sh",
        "bwrap --ro-bind / / sh",
        "bwrap --unshare-all --dev-bind / / -- bash -s",
        "ld-linux-x86-64.so.2 /bin/sh",
        "/lib/ld-linux-aarch64.so.1 /bin/sh",
        "/lib/ld-musl-x86_64.so.1 /bin/sh",
        "unheard-of sh",
        "unheard-of --flag /bin/bash",
        "unheard-of python3 -",
        "env unheard-of sh",
        "timeout 5 unheard-of -x -- perl",
    ];
    for behind in BEHIND {
        let words: Vec<&str> = behind.split(' ').collect();
        check_list(&words, true);
        check(
            &[&format!("echo € | {behind}"), &format!("{behind} < €"), &format!("{{ {behind}; }} < €")],
            &[],
        );
        assert!(!check_fed_script(behind).is_empty(), "{behind}");
    }
    check(
        &[
            "unheard-of python3 -c €",
            "tini -- python3 -c €",
            "tini -- €",
            "dumb-init €",
            "perf stat €",
            "ip netns exec x €",
        ],
        &[
            "echo € | unheard-of sh script.sh",
            "echo € | ./run --lang python3",
            "echo € | grep -c python3",
            "apt-get install -y python3 bash; echo €",
            "unheard-of install bash; echo €",
            "which python3 sh; command -v node; echo €",
            "ls | tee sh; echo €",
            "ip addr show; perf stat ls €",
            "tini -- ./run €",
        ],
    );
}
