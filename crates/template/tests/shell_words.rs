//! Values that the shell itself reads again: a variable without quotes becomes several words, and bash expands the name of
//! a file behind `>&` a second time.

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
fn a_variable_without_quotes_is_no_part_of_what_takes_code() {
    check(
        &[
            "x=€; timeout $x ls",
            "x=€; nice -n $x ls",
            "x=€; sudo -u $x ls",
            "x=€; env N=$x ./run",
            "x=€; flock lock-$x ls",
            "x=€; flock /tmp/$x ls",
            "x=€; xargs -n $x ls",
            "x=€; docker run -e N=$x img ls",
            "x=€; docker build --build-arg N=$x .",
            "x=€; docker $x img",
            "x=€; awk -v n=$x '{ print n }' f",
            "x=€; jq --arg n $x . f",
            "x=€; psql -v n=$x -f q.sql",
            "x=€; tar -C d$x -cf a b",
            "x=€; git -C d$x status",
            "x=€; find d/$x -name a",
            "bash -c 'timeout $1 ls' bash €",
            "timeout $(echo €) ls",
            // Operators of `test`.
            "x=€; [ a$x = b ]",
            "x=€; [ €$x = a ]",
            "[ x$(echo €) = a ]",
            // `command export N=$x` sets every variable that the words name, and some shells need no `command`.
            "x=€; export N=$x",
            "x=€; command export N=$x",
            "x=€; g() { local N=$x; }; g",
        ],
        &[
            "x=€; timeout \"$x\" ls",
            "x=€; env N=\"$x\" ./run",
            "x=€; export N=\"$x\"",
            "x=€; N=$x; echo \"$N\"",
            "x=€; ./run $x",
            "x=€; ls $x | wc -l",
            "x=€; awk '{ print }' $x",
            "x=€; sh -c 'echo \"$@\"' sh $x",
            "x=€; python3 app.py $x",
            "x=€; git add -- $x",
            "timeout € ls",
            "env N=€ ./run",
        ],
    );
}

#[test]
fn a_value_names_no_file_behind_a_duplication_of_descriptors() {
    check(
        &[
            "echo hi >& €",
            "echo hi 1>& €",
            "echo hi >&€",
            "cat <& €",
            "x=€; echo hi >& \"$x\"",
            "x=€; { echo hi; } >& \"$x\"",
            "x=€; (echo hi) >& out-$x",
            "x=€; exec >& \"$x\"",
            "f() { echo hi; }; f >& €",
            "echo € > f; echo hi >& \"$(cat f)\"",
            "bash -c 'echo hi >& \"$1\"' bash €",
        ],
        &[
            "echo hi > € 2>&1",
            "echo hi &> €",
            "echo € >&2",
            "exec 3> log; echo € >&3; exec 3>&-",
            "coproc N { cat; }; echo € >&\"${N[1]}\"",
        ],
    );
}

#[test]
fn a_subscript_of_a_descriptor_is_computed() {
    check(
        &["exec {a[€]}>/dev/null", "x=€; exec {a[x]}>/dev/null", "x=€; echo {a[$x]}<f"],
        &["exec {fd}>/dev/null; echo €", "i=1; exec {a[i]}>/dev/null; echo €", "cp {a,b}>/dev/null €"],
    );
}

#[test]
fn the_pattern_of_printf_may_begin_with_a_dash() {
    check(
        &["printf €", "printf -- €", "printf -v € a", "printf -v€ a", "printf -€ a", "printf '%n' €"],
        &["printf '- %s\\n' €", "printf -- '- %s\\n' €", "printf '%s: %d\\n' € 3", "printf - €"],
    );
}
