//! Places where a red team made a value act, and their siblings: each is refused. Beside each group stand the forms that
//! are safe, which stay accepted.

use escrow_template::{ShellScript, check_arguments, check_arguments_with, check_fed_script, check_script};

/// `@` is a value.
fn written(source: &str) -> String {
    source.replace('@', "{{ inputs.x }}")
}

#[track_caller]
fn check(refused: &[&str], accepted: &[&str]) {
    let is_accepted = |source: &&&str| ShellScript::parse(&written(source)).is_ok();
    let passed: Vec<_> = refused.iter().filter(is_accepted).collect();
    let stopped: Vec<_> = accepted
        .iter()
        .filter_map(|source| Some((source, ShellScript::parse(&written(source)).err()?.remove(0).message)))
        .collect();
    assert!(passed.is_empty() && stopped.is_empty(), "accepted: {passed:#?}\nrefused: {stopped:#?}");
}

#[test]
fn what_a_command_printed_may_be_a_value_that_a_file_had_and_is_no_operator() {
    check(
        &[
            "echo @ > f; [ $(cat f) = a ]",
            "echo @ > f; [ x$(cat f) = xa ]",
            "echo @ > f; test $(cat f) = a",
            "echo @ > f; [ `cat f` = a ]",
            "echo @ > f; x=$(cat f); [ $x = a ]",
            "echo @ > f; x=$(cat f); y=$x; [ $y = a ]",
            "echo @ > f; for x in $(cat f); do [ $x = a ]; done",
            "echo @ > f; g() { [ $1 = a ]; }; g $(cat f)",
            "echo @ > f; n=$(sed -n s/n=//p f); [ $n -gt 1 ]",
            "echo @ > f; [[ $(cat f) -eq 1 ]]",
            "echo @ > f; x=$(cat f); [[ $x -eq 1 ]]",
            "echo @ > f; x=$(cat f); [[ 1 -lt $x ]]",
            "echo @ > f; x=$(cat f); [[ -v $x ]]",
            "echo @ > f; x=$(cat f); [ -v \"$x\" ]",
            "echo @ > f; [ @ \"$(cat f)\" ]",
            "echo @ > f; x=$(cat f); y=$(cat g); [ \"$x\" \"$y\" ]",
            "echo @; [ $(jq -r .inputs.x \"$ESCROW_CONTEXT\") = a ]",
            "echo @ > f; printf $(cat f) a b",
            "echo @ > f; printf \"$(cat f)\" a b",
            "echo @ > f; PS4=$(cat f); set -x; ls",
            "echo @ > f; trap \"$(cat f)\" EXIT",
            "echo @ > f; x=$(cat f); sh -c \"$x\"",
            "echo @ > f; bash -c \"echo $(cat f)\"",
            "echo @ > f; sh -c '[ $(cat f) = a ]'",
            "echo @ > f; sh -c \"${CMD:-$(cat f)}\"",
            "echo @ > f; sh -c \"${x-`cat f`}\"",
            "echo @ > f; x=1; sh -c \"${x:+$(cat f)}\"",
            "echo @ > f; : \"${CMD:=$(cat f)}\"; $CMD",
            "echo @ > f; trap \"${y-$(cat f)}\" EXIT",
            "echo @ > f; su -c \"${x:-$(cat f)}\"",
            "echo @ > f; for l in \"${x:-$(cat f)}\"; do sh -c \"$l\"; done",
            "echo @ > f; g() { sh -c \"$1\"; }; g \"${x:-$(cat f)}\"",
            "echo @ > f; [ ${x:-$(cat f)} = a ]",
            "echo @ > f; printf ${y-$(cat f)} a",
            "echo @ > f; a=(\"$(cat f)\"); sh -c \"${a[0]}\"",
            "echo @ > f; a=($(cat f)); [ ${a[@]} = a ]",
            "touch -- @; for f in *; do [ $f = a ]; done",
            "touch -- @; for f in ./*; do [ $f = a ]; done",
            "touch -- @; set -- *; sh -c \"$1\"",
            "touch -- @; [ * = a ]",
        ],
        &[
            "echo @ > f; [ \"$(cat f)\" = a ]",
            "echo @ > f; x=$(cat f); [ \"$x\" = a ]",
            "echo @ > f; [ -n \"$(cat f)\" ]",
            "echo @ > f; echo \"${x:-$(cat f)}\" \"${HOME:-$(pwd)}\"",
            "echo @ > f; [ $(wc -l < f) -gt 3 ]",
            "echo @ > f; n=$(grep -c -- a f); [ $n -gt 3 ]",
            "echo @; [ $? -eq 0 ]",
            "touch -- @; for f in *; do [ \"$f\" = a ]; done",
            "touch -- @; [ -e build/*.whl ]",
            "echo @; [ $# -gt 0 ]",
            "echo @; [ $CI = true ]",
            "echo @; mode=fast; [ $mode = fast ]",
            "echo @; [[ $(git rev-parse HEAD) == a ]]",
            "echo @ > f; printf '%s\\n' \"$(cat f)\"",
            "echo @ > f; printf '%s\\n' $(cat f)",
            "echo @; PATH=$(pwd)/bin:$PATH make",
            "echo @; trap 'rm -f \"$tmp\"' EXIT",
            "x=$(cat f); sh -c 'echo \"$1\"' sh \"$x\" @",
            // No value is near.
            "[ $(cat f) = a ]",
        ],
    );
}

#[test]
fn a_value_in_arithmetic_or_in_a_subscript_is_refused_however_it_gets_there() {
    check(
        &[
            "x=@; a[x]=1",
            "x=@; a[$x]=1",
            "x=@; a[ x ]=1",
            "a[ @ ]=1",
            "x=@; a[x]+=1",
            "x=@; a=([$x]=1)",
            "x=@; a=([x]=1)",
            "f() { a=([$1]=1); }; f @",
            "for x in @; do a[x]=1; done",
            "while read -r x; do a[x]=1; done <<< @",
            "x=@; read a[x] <<< 1",
            "x=@; read 'a[x]' <<< 1",
            "x=@; test -v a[x]",
            "x=@; [ -v a[x] ]",
            "x=@; [[ -v a[x] ]]",
            "x=@; y=x; echo $((y))",
            "x=@; y=x; z=$y; echo $((z))",
            "x=@; for y in x; do echo $((y)); done",
            "x=@; set -- x; echo $(($1))",
            "x=@; f() { echo $(($1)); }; f x",
            "x=@; y=x; [[ y -lt 3 ]]",
            "x=@; [[ x -lt 3 ]]",
            "x=@; y=x; echo ${a:y}",
            "x=@; y=x; echo ${a[y]}",
            "wait -p @ $!",
            "x=@; wait -p \"$x\" $!",
            "printf -v @ a",
            "x=@; printf -v a[x] 1",
            "x=@; printf \"$x\" 1",
            "unset @",
            "x=@; unset a[x]",
            "declare @",
            "local @",
            "export @",
            "readonly @",
            "x=@; declare a[x]=1",
            "mapfile -C @ a",
            "x=@; mapfile -C \"$x\" a",
            "let @",
            "x=@; let y=x",
            "declare -i n=@",
            "x=@; declare -i n=x",
            "x=@; (( x ))",
            "x=@; for ((i = x; i < 3; i++)); do :; done",
            "echo @; select x in a b; do echo $((REPLY)); done",
            "x=@; [ $x ]",
            "x=@; y=@; test \"$x\" \"$y\"",
            "a[0]=1 @",
        ],
        &[
            "a=1; b=$a; echo $((a + b)) @",
            "n=$(wc -l < f); echo $((n + 1)) @",
            "a[0]=@; echo \"${a[0]}\"",
            "a=(1 2); echo ${a[0]} ${#a[*]} @",
            "x=@; echo ${#x} $(( ${#x} + 1 ))",
            "x=@; [ \"$x\" = a ] && [ -n \"$x\" ]",
            "for ((i = 0; i < 3; i++)); do echo $i @; done",
        ],
    );
}

#[test]
fn arithmetic_of_bash_is_confined_to_numbers() {
    let refused = [
        "x=$(cat f); echo $((x)) @",
        "echo $((count)) @",
        "echo $(($1)) @",
        "x=$(cat f); a[x]=1; echo @",
        "x=$(cat f); echo ${s:x} @",
        "x=$(cat f); [[ $x -lt 3 ]]; echo @",
        "y=$(echo x); x=@; echo $((y))",
        "i=a; echo $((i)) @",
        "i=1; read i; echo $((i)) @",
        "x=${y:-1}; echo $((x)) @",
        "i=0; i=$j; echo $((i)) @",
        "echo ${!x} @",
        "for i in $(cat f); do echo $((i)); done; echo @",
    ];
    let accepted = [
        "i=0; i=$((i + 1)); echo $i @",
        "i=0; while (( i < 3 )); do i=$(($i + 1)); done; echo @",
        "for i in 1 2 3; do echo $((i * 2)) @; done",
        "for ((i = 0; i < 3; i++)); do echo ${a[i]} @; done",
        "echo $((RANDOM % 6)) $(( $# + 1 )) $(($? + ${#x})) @",
        "a=(x y); echo ${a[0]} ${#a[*]} ${a[*]} ${!a[*]} @",
        "n=-5; m=$n; echo $((m - n)) ${s:1:3} ${s: -2} @",
        "local n=3; echo $((n)) @",
        "[[ -n $x && $s == foo* ]] && echo @",
        "[[ 3 -lt $# ]] && echo @",
        "echo ${x//[a-z]/_} ${x%%[0-9]*} ${x:-a} @",
    ];
    let errors = |source: &str| check_script(&written(source), &[]);
    let passed: Vec<_> = refused.iter().filter(|source| errors(source).is_empty()).collect();
    let stopped: Vec<_> = accepted
        .iter()
        .filter_map(|source| Some((source, errors(source).first()?.message.clone())))
        .collect();
    assert!(passed.is_empty() && stopped.is_empty(), "accepted: {passed:#?}\nrefused: {stopped:#?}");
    // Without values there is nothing to confine.
    assert!(check_script("x=$(cat f); echo $((x))", &[]).is_empty());
}

#[test]
fn a_value_behind_a_program_that_runs_others_is_not_a_command() {
    check(
        &[
            "time -p @",
            "time -p -- @",
            "time -f %e @",
            "coproc { @; }",
            "coproc @",
            "x=@; coproc N { $x; }",
            "coproc N { eval @; }",
            "coproc N { sh; }; echo @ >&\"${N[1]}\"",
            "jobs -x @",
            "runuser -u me @",
            "runuser -u me -- @",
            "runuser me -c @",
            "setpriv --reuid 1 @",
            "setpriv --no-new-privs @",
            "taskset 1 @",
            "taskset -c 0 @",
            "unshare -r @",
            "prlimit --nofile=10 @",
            "nsenter -t 1 -m @",
            "chrt 1 @",
            "chrt -f 1 @",
            "numactl -N 0 @",
            "systemd-run --user @",
            "systemd-run -p A=1 @",
            "fakeroot @",
            "fakeroot -- @",
            "bwrap --ro-bind / / @",
            "bwrap --ro-bind / / -- @",
            "pkexec @",
            "setarch x86_64 @",
            "setarch -R @",
            "linux64 @",
            "catchsegv @",
            "proot -r . @",
            "firejail --quiet @",
            "dbus-run-session -- @",
            "xvfb-run -a @",
            "kubectl exec pod -- @",
            "kubectl exec -it pod -c main -- sh -c @",
            "docker run --rm img @",
            "docker exec -it box @",
            "docker run --new-option x img @",
            "docker run --entrypoint sh img -c @",
            "docker run --entrypoint=sh img -c @",
            "podman run img @",
            "podman exec box @",
            "uv run @",
            "uv run --with x @",
            "poetry run @",
            "pipenv run @",
            "bundle exec @",
            "npx @",
            "npx -c @",
            "sshpass -p x @",
            "tmux new -d @",
            "screen -dm @",
            "expect -c @",
            "capsh -- -c @",
            "sem @",
            "parallel @",
        ],
        &[
            "time -p ls @",
            "taskset -c 0 ls @",
            "chrt -f 1 ls @",
            "runuser -u me -- ls @",
            "kubectl exec @ -- ls @",
            "docker run --rm -e NAME=@ @ ./run --name @",
            "docker exec box ls @",
            "uv run pytest -k @",
            "poetry run pytest @",
            "npx eslint @",
            "bundle exec rake build @",
            "xvfb-run -a ./test @",
            "systemd-run -p A=1 ls @",
            "bwrap --ro-bind / / -- ls @",
            "unshare -r ls @",
            "setpriv --reuid 1 ls @",
        ],
    );
}

#[test]
fn options_and_variables_with_code_are_known_in_every_spelling() {
    check(
        &[
            "perl -M@ -e 1",
            "perl -m@ f",
            "perl -@ f",
            "node --import=@ f",
            "node --import @ f",
            "node --experimental-loader=@ f",
            "node -r@ f",
            "node -r @ f",
            "node --require=@ f",
            "node --@ f",
            "python3 -@",
            "python3 -I@",
            "python3 -m timeit @",
            "python3 -mtimeit @",
            "python3 -m cProfile @",
            "python3 -m pdb -c @ f",
            "python3 -m @ a",
            "pypy3 -c @",
            "MAKEFLAGS=@ make",
            "GNUMAKEFLAGS=@ make",
            "TAR_OPTIONS=@ tar cf a b",
            "BASH_ENV=@ bash f",
            "ENV=@ sh f",
            "NODE_OPTIONS=@ node f",
            "PERL5OPT=@ perl f",
            "PYTHONSTARTUP=@ python3 f",
            "RUBYOPT=@ ruby f",
            "LD_PRELOAD=@ ls",
            "GIT_SSH_COMMAND=@ git fetch",
            "export PAGER=@",
            "x=@; export EDITOR=\"$x\"",
            "env GIT_CONFIG_VALUE_0=@ git log",
            "psql --output=@ -f q.sql",
            "psql -o@ -f q.sql",
            "psql -o @ -f q.sql",
            "mongo --eval @",
            "mongo --eval=@",
            "mongosh --eval @",
            "deno run @",
            "deno run data:text/javascript,@",
            "deno eval @",
            "deno repl --eval=@",
            "bun -e @",
            "bun run @",
            "ruby -r@ f",
            "php -d@ f",
        ],
        &[
            "perl -MPOSIX -e 'print 1' -- @",
            "node --import ./hook.js f @",
            "node --test --test-name-pattern=@",
            "python3 -m json.tool @",
            "awk -vname=@ '{print name}' f",
            "awk -F@ '{print $1}' f",
            "deno run main.ts @",
            "GIT_AUTHOR_NAME=@ git commit",
            "psql -vname=@ -f q.sql",
        ],
    );
}

#[test]
fn no_program_reads_code_from_input_in_a_script_that_holds_values() {
    check(
        &[
            "echo @ | make -f-",
            "echo @ | make -f -",
            "echo @ | make -f /dev/stdin",
            "echo @ | make --file=-",
            "echo @ | sed -f/dev/stdin f",
            "echo @ | sed --file=- f",
            "echo @ | sed -f - f",
            "echo @ | awk -f- f",
            "echo @ | awk -f/dev/stdin f",
            "echo @ | sqlite3 db '.read /dev/stdin'",
            "echo @ | sqlite3 -init /dev/stdin db 'select 1'",
            "sed -f <(echo @) f",
            "awk -f <(echo @) f",
            "echo @ | xargs timeout 5",
            "echo @ | xargs sh -c '\"$1\"' x",
            "echo @ | xargs find .",
            "echo @ | xargs tar cf a.tar",
            "echo @ | xargs python3",
            "echo @ | xargs -I{} awk {} f",
            "echo @ | ed",
            "echo @ | ex f",
            "echo @ | vim -es f",
            "echo @ | su",
            "echo @ | unshare -r",
            "echo @ | chroot /",
            "echo @ | sudo -s",
            "echo @ | runuser",
            "echo @ | nsenter -t 1 -m",
            "echo @ | python3 -i f",
        ],
        &[
            "echo @ | xargs -n1 echo",
            "echo @ | xargs rm --",
            "echo @ | xargs -I{} cp {} out/",
            "echo @ | xargs git add --",
            "echo @ | sudo tee f",
            "echo @ | sed -f script.sed",
            "make -f build.mk all; echo @",
        ],
    );
}

/// `"$@"` cannot stand in the tables above, where `@` is a value.
#[test]
fn what_xargs_hands_to_all_parameters_is_no_command() {
    assert!(ShellScript::parse("echo {{ x }} | xargs sh -c '\"$@\"' x").is_err());
    assert!(ShellScript::parse("echo {{ x }} | xargs sh -c 'echo \"$@\"' x").is_ok());
    let errors = check_script("echo ${x@P} {{ x }}", &[]);
    assert!(!errors.is_empty());
}

#[test]
fn standard_input_with_values_is_read_by_no_shell_or_interpreter() {
    let refused: &[&[&str]] = &[
        &["python3", "-i", "file"],
        &["su"],
        &["unshare", "-r"],
        &["chroot", "/"],
        &["make", "-f-"],
        &["xargs", "timeout", "5"],
        &["xargs", "find", "."],
        &["sudo", "-s"],
        &["runuser"],
        &["nsenter", "-t", "1"],
        &["ed", "file"],
    ];
    for words in refused {
        assert!(!check_arguments(words, true).is_empty(), "{words:?}");
        assert!(check_arguments(words, false).is_empty(), "{words:?}");
        assert!(!check_fed_script(&words.join(" ")).is_empty(), "{words:?}");
    }
    for words in [&["sudo", "tee", "f"][..], &["unshare", "-r", "cat"], &["xargs", "echo"]] {
        assert!(check_arguments(words, true).is_empty(), "{words:?}");
    }
    assert!(!check_arguments(&["python3", "-{{ x }}"], false).is_empty());
}

#[test]
fn programs_that_start_others_are_known_with_their_options() {
    check(
        &[
            "tar -I @ -cf a b",
            "tar -I@ -cf a b",
            "tar cIf @ a b",
            "tar --use-compress-program=@ -cf a b",
            "scp -o ProxyCommand=@ a b:",
            "sftp -o ProxyCommand=@ b",
            "sftp -oProxyCommand=@ b",
            "vim +@ f",
            "vim -es +@ f",
            "gdb -eval-command=@ p",
            "gdb --eval-command @ p",
            "strace -o @ ls",
            "zip -TT @ a b",
            "git grep -O@ x",
            "emacs -eval @",
            "emacs --batch --eval=@",
            "wget --use-askpass=@ url",
            "rsync --rsync-path=@ a b:",
            "go test -exec @ ./...",
            "go test -exec=@ ./...",
            "man -P @ ls",
            "less +@ f",
            "git config core.pager @",
            "git config alias.x @",
            "git config --global core.sshCommand @",
            "git config @ x",
            "git config @ @",
            "x=@; git \"$x\" y",
        ],
        &[
            "git config user.name @",
            "git config --global user.email @",
            "git config --get @",
            "tar -czf @.tgz dir",
            "tar xf @",
            "scp @ host:",
            "wget -q https://example.org/@",
            "rsync -a @ b/",
            "go test ./... -run @",
            "zip -r out.zip @",
        ],
    );
}

#[test]
fn a_variable_of_the_environment_that_has_a_value_is_followed() {
    let variables = ["CMD".to_owned()];
    let errors = |source: &str| check_script(source, &variables);
    for source in ["$CMD", "\"$CMD\" a", "eval \"$CMD\"", "sh -c \"$CMD\"", "x=$CMD; $x", "echo $((CMD))"] {
        assert!(!errors(source).is_empty(), "{source}");
    }
    for source in [
        "for v in ${!CM*}; do ${!v}; done",
        "for v in ${!CM@}; do [[ ${!v} -eq 1 ]]; done",
        "x=$(python3 -c 'import os; print(os.getenv(\"CMD\"))'); [ $x = a ]",
        "eval \"$(perl -e 'print $ENV{CMD}')\"",
    ] {
        assert!(!errors(source).is_empty(), "{source}");
    }
    for source in ["echo \"$CMD\"", "git commit -m \"$CMD\"", "sh -c 'echo \"$1\"' sh \"$CMD\"", "echo 'a"] {
        let errors = errors(source);
        assert!(source == "echo 'a" || errors.is_empty(), "{source}: {errors:?}");
    }
}

#[test]
fn bash_computes_no_number_from_an_input_with_values() {
    let script = "read -r x; echo $((x + 1))";
    assert!(!check_fed_script(script).is_empty());
    assert!(!check_fed_script("x=$(cat); a[x]=1").is_empty());
    assert!(check_fed_script("read -r x; echo \"$x\"").is_empty());
}

/// Here `€` is a value, because `${@:1}` is shell.
#[track_caller]
fn check_bash(refused: &[&str], accepted: &[&str]) {
    let errors = |source: &str| check_script(&source.replace('€', "{{ inputs.x }}"), &[]);
    let passed: Vec<_> = refused.iter().filter(|source| errors(source).is_empty()).collect();
    let stopped: Vec<_> = accepted
        .iter()
        .filter_map(|source| Some((source, errors(source).first()?.message.clone())))
        .collect();
    assert!(passed.is_empty() && stopped.is_empty(), "accepted: {passed:#?}\nrefused: {stopped:#?}");
}

#[test]
fn parameters_as_a_whole_are_computed_like_any_other_variable() {
    check_bash(
        &[
            "x=€; echo \"${@:$x}\"",
            "x=€; echo \"${*:$x}\"",
            "x=€; echo \"${@:x}\"",
            "x=€; echo \"${@:1:x}\"",
            "set -- €; echo \"${@:$1:1}\"",
            "bash -c 'echo \"${@:$1}\"' sh €",
            "set -- €; echo \"${@@P}\"",
            "set -- €; echo \"${*@P}\"",
            "set -- €; echo \"${1@P}\"",
            "set -- €; echo \"${!@}\"",
        ],
        &[
            "set -- €; echo \"${@:2}\" \"${*:1:2}\" \"${@}\" \"${#}\" \"${#@}\"",
            "set -- €; echo \"${@:-none}\" \"${@#a}\" \"${*%b}\" \"${1:0:3}\"",
            "i=1; set -- €; echo \"${@:i}\" \"${@:$#}\"",
        ],
    );
    assert!(!check_fed_script("read l; echo \"${@:$l}\"").is_empty());
    assert!(!check_fed_script("read l; echo \"${@:l}\"").is_empty());
}

#[test]
fn what_a_shell_keeps_of_its_commands_has_their_values() {
    check_bash(
        &[
            "echo €; sh -c \"$_\"",
            "echo €; $_",
            "shopt -s extdebug; f() { sh -c \"${BASH_ARGV[0]}\"; }; f €",
            "x=€; [[ $x =~ .* ]]; sh -c \"${BASH_REMATCH[0]}\"",
            "cd €; sh -c \"${PWD##*/}\"",
            "cd €; cd /; sh -c \"${OLDPWD##*/}\"",
            "echo €; sh -c \"$ESCROW_VALUE_1\"",
            "echo €; sh -c \"$(printenv ESCROW_VALUE_1)\"",
            "x=€; n=$(set | tail -1); sh -c \"$n\"",
        ],
        &["echo € \"$_\"", "cd €; echo \"$PWD\"", "mkdir -p out; sh \"$PWD/deploy.sh\" €"],
    );
}

#[test]
fn an_option_that_is_not_known_may_be_the_one_with_code() {
    check_bash(
        &[
            "o=-v; [ $o € ]",
            "o=-v; [ \"$o\" € ]",
            "o=-v; test ! \"$o\" €",
            "[ \"$(echo -v)\" € ]",
            "for o in -e -v; do if test $o €; then :; fi; done",
            "o=v; [ -$o € ]",
            "env \"A=1\" \"$(echo €)\" PWNED",
            "env \"A=1\" € PWNED",
            "A=B=1; env \"$A\" € PWNED",
            "env \"$A\" € PWNED",
            "env -- \"$A\" € PWNED",
            "o=-S; env \"$o\" €",
            "o=-v; timeout \"$o\" 5 € PWNED",
            "o=-p; command \"$o\" € PWNED",
            "echo a | { o=-t; xargs \"$o\" € PWNED; }",
            "sh \"$(echo -c)\" €",
            "o=-c; sh \"$o\" €",
            "o=-c; sh -e $o €",
            "o=c; sh -\"$o\" €",
            "o=-x; o=$o; sh \"$o\" €",
            "o=a; read o; sh \"$o\" €",
            "o=a; unset o; o+=-c; sh \"$o\" €",
            "python3 \"$(echo -c)\" €",
            "o=-c; python3 \"$o\" €",
            "o=-m; python3 \"$o\" timeit €",
            "o=-e; perl $o €",
            "o=-e; sed \"$o\" € f",
            "o=-c; git $o € zz",
            "o=-c; git \"$o\" € zz",
            "o=-c; git -C d \"$o\" € zz",
            "o=--upload-pack; git fetch \"$o\" € x",
            "o=-exec; find . $o € PWNED \\;",
            "o=-exec; find . \"$o\" env € PWNED \\;",
            "o=-I; tar $o € -cf a b",
            "o=cfI; tar \"$o\" a € b",
            "f() { tar \"$1\" \"$2\" -cf a b; }; f -I €",
            "sh -c 'tar \"$1\" \"$2\" -cf a b' sh -I €",
            "o=--filter; split $o € f",
            "o=-e; rsync \"$o\" € a b:",
            "o=-v; printf \"$o\" € 1",
            "o=-i; f() { local $o n=€; }; f",
            "entr sh \"$o\" €",
            "o=--; capsh \"$o\" -c €",
            "run=eval; \"$run\" €",
            "run=env; \"$run\" € PWNED",
            "run='timeout 5'; $run € PWNED",
            "for run in cat env; do \"$run\" € PWNED; done",
            "f() { \"$1\" \"$2\"; }; f eval €",
            "m={}; echo € | xargs -I \"$m\" sh -c '{}'",
        ],
        &[
            "[ \"$a\" = € ] && [ -n \"$a\" ]",
            "[ € = \"$a\" ] || test \"$(cat VERSION)\" = €",
            "script=deploy.sh; sh \"$script\" €",
            "sh -- \"$script\" €",
            "sh \"$dir/deploy.sh\" €",
            "python3 -- \"$script\" €",
            "python3 \"$dir/report.py\" €",
            "for f in a b; do rsync \"$f\" €/; done",
            "fmt='%s\\n'; printf \"$fmt\" €",
            "psql \"$DATABASE_URL\" -v name=€ -f q.sql",
            "find \"$dir\" -name € -print",
            "git diff \"$base\" €",
            "git checkout -b \"$branch\" €",
            "tar -czf \"$ESCROW_ARTIFACTS/a.tgz\" €",
            "limit=10; timeout \"$limit\" ./run €",
            "env -i PATH=\"$PATH\" NAME=€ ./run",
            "env \"NAME=€\" ./run €",
            "./run \"$flags\" €",
            "run='timeout 5'; $run ./run €",
            "cc=gcc; \"$cc\" €",
            "python=python3; $python report.py €",
        ],
    );
}

#[test]
fn literal_code_in_a_list_computes_and_runs_no_value() {
    let variables = ["N".to_owned()];
    let refused: &[&[&str]] = &[
        &["bash", "-c", "echo $((N))"],
        &["sh", "-c", "echo $((N))"],
        &["bash", "-c", "a[N]=1"],
        &["bash", "-c", "n=$(printenv N); echo $((n))"],
        &["bash", "-c", "o=-v; [ $o \"$N\" ]"],
        &["bash", "-c", "echo \"$N\" | sh"],
        &["bash", "-c", "sh -c \"$(awk 'BEGIN { print ENVIRON[\"N\"] }')\""],
        &["env", "bash", "-c", "echo ${s:N}"],
    ];
    for words in refused {
        assert!(!check_arguments_with(words, false, &variables).is_empty(), "{words:?}");
        assert!(check_arguments(words, false).is_empty(), "{words:?}");
    }
    for script in ["bash -c 'echo $((N))'", "bash -c 'echo \"$N\" | sh'", "n=$(printenv N); echo $((n))"] {
        assert!(!check_script(script, &variables).is_empty(), "{script}");
    }
    for words in [
        &["bash", "-c", "echo $(($1))", "sh", "{{ x }}"][..],
        &["bash", "-c", "echo \"${@:$1}\"", "sh", "{{ x }}"],
        &["sh", "-c", "echo \"$1\" | sh", "sh", "{{ x }}"],
    ] {
        assert!(!check_arguments(words, false).is_empty(), "{words:?}");
    }
    for words in [
        &["bash", "-c", "echo \"$N\" $((M + 1)); n=$(wc -l < f)"][..],
        &["bash", "-c", "x=$(cat f); echo $((x)) $M"],
        &["sh", "-c", "cat f | sh"],
    ] {
        let is_confined = words[2].contains("$N");
        assert_eq!(check_arguments_with(words, false, &variables).is_empty(), !is_confined, "{words:?}");
    }
    assert!(check_arguments(&["sh", "-c", "echo \"$1\" | sort", "sh", "{{ x }}"], false).is_empty());
}

#[test]
fn variables_that_steer_programs_take_no_value() {
    check(
        &[
            "npm_config_script_shell=@ npm test",
            "NPM_CONFIG_SCRIPT_SHELL=@ npm test",
            "CARGO_BUILD_RUSTC_WRAPPER=@ cargo build",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER=@ cargo build",
            "GH_PAGER=@ gh pr view",
            "GH_EDITOR=@ gh pr create",
            "PATH=@ ls",
            "export PATH=@:\"$PATH\"",
            "env PATH=@ ls",
        ],
        &[
            "PATH=\"$PWD/bin:$PATH\"; run @",
            "GH_REPO=@ gh pr view",
            "CARGO_TARGET_DIR=@ cargo build",
            "NODE_ENV=@ npm test",
            "path=@; editor=@; echo \"$path\"",
        ],
    );
}
