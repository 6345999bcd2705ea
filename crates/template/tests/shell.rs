//! How values are referred to in each shell context, and where they are refused.

use escrow_expr::JsonScope;
use escrow_template::{RenderError, ShellScript, Template};
use serde_json::json;

/// The rewritten script, with `V1` for its first variable; or each refused value with its kind.
fn rewritten(source: &str) -> String {
    match ShellScript::parse(source) {
        Ok(script) => script.script().replace("ESCROW_VALUE_", "V"),
        Err(errors) => errors
            .iter()
            .map(|error| format!("{:?} at {:?}", error.kind, &source[error.span.clone()]))
            .collect::<Vec<_>>()
            .join("; "),
    }
}

#[track_caller]
fn check(table: &[(&str, &str)]) {
    let wrong: Vec<_> = table
        .iter()
        .filter(|(source, expected)| rewritten(source) != *expected)
        .map(|(source, expected)| format!("{source}\n  is     {}\n  wanted {expected}\n", rewritten(source)))
        .collect();
    assert!(wrong.is_empty(), "\n{}", wrong.concat());
}

#[test]
fn a_reference_is_quoted_for_its_context() {
    check(&[
        ("echo hello", "echo hello"),
        ("echo {{ x }}", r#"echo "${V1}""#),
        ("echo a{{ x }}b", r#"echo a"${V1}"b"#),
        ("echo {{ x }} {{ y }}", r#"echo "${V1}" "${V2}""#),
        (r#"echo "a {{ x }} b""#, r#"echo "a ${V1} b""#),
        ("echo 'a {{ x }} b'", r#"echo 'a '"${V1}"' b'"#),
        ("echo '{{ x }}'", r#"echo ''"${V1}"''"#),
        ("x={{ x }} y='{{ y }}' run", r#"x="${V1}" y=''"${V2}"'' run"#),
        ("cat > {{ x }} 2>>'{{ y }}'", r#"cat > "${V1}" 2>>''"${V2}"''"#),
        ("cat <<EOF\na {{ x }}\nEOF\necho {{ y }}", "cat <<EOF\na ${V1}\nEOF\necho \"${V2}\""),
        ("cat <<-EOF\n\ta '{{ x }}' \"\n\tEOF\n", "cat <<-EOF\n\ta '${V1}' \"\n\tEOF\n"),
        (
            "cat <<A <<B\n{{ x }}\nA\n{{ y }}\nB\necho '{{ z }}'",
            "cat <<A <<B\n${V1}\nA\n${V2}\nB\necho ''\"${V3}\"''",
        ),
        ("cat <<'EOF'\n$x ' \"\nEOF\necho {{ x }}", "cat <<'EOF'\n$x ' \"\nEOF\necho \"${V1}\""),
        ("cat <<EOF\n$(echo {{ x }}) {{ y }}\nEOF", "cat <<EOF\n$(echo \"${V1}\") ${V2}\nEOF"),
        ("echo $(echo {{ x }})", r#"echo $(echo "${V1}")"#),
        (r#"echo "$(echo "{{ x }}" '{{ y }}' {{ z }})""#, r#"echo "$(echo "${V1}" ''"${V2}"'' "${V3}")""#),
        ("echo $(cat <<E\n{{ x }})\nE\n) {{ y }}", "echo $(cat <<E\n${V1})\nE\n) \"${V2}\""),
        ("(cd {{ x }} && ls)", r#"(cd "${V1}" && ls)"#),
        ("if [ {{ x }} = yes ]; then echo {{ y }}; fi", r#"if [ "${V1}" = yes ]; then echo "${V2}"; fi"#),
        ("for i in {{ x }} b; do echo $i {{ y }}; done", r#"for i in "${V1}" b; do echo $i "${V2}"; done"#),
        (
            "case {{ x }} in a|{{ y }}) echo {{ z }};; (*) echo no;; esac; echo {{ x }}",
            r#"case "${V1}" in a|"${V2}") echo "${V3}";; (*) echo no;; esac; echo "${V4}""#,
        ),
        (
            "echo $(case {{ x }} in a) echo 1;; esac) '{{ y }}'",
            r#"echo $(case "${V1}" in a) echo 1;; esac) ''"${V2}"''"#,
        ),
        ("case {{ x }}\nin\na) b ;;\nesac", "case \"${V1}\"\nin\na) b ;;\nesac"),
        ("a | b {{ x }} || c & d {{ y }}", r#"a | b "${V1}" || c & d "${V2}""#),
        ("f() { echo \"$1\"; }\nf {{ x }}", "f() { echo \"$1\"; }\nf \"${V1}\""),
        ("# it's {{ x }}\necho {{ y }} # don't {{ z }}", "# it's \necho \"${V1}\" # don't "),
        ("echo a#b {{ x }} ${#a} $# {{ y }}", r##"echo a#b "${V1}" ${#a} $# "${V2}""##),
        ("echo ${#a[@]} ${x:-y} \"${z%'}\" ", "echo ${#a[@]} ${x:-y} \"${z%'}\" "),
        (r"echo \\{{ x }} \' {{ y }}", r#"echo \\"${V1}" \' "${V2}""#),
        ("echo \\\n  {{ x }}", "echo \\\n  \"${V1}\""),
        ("echo $((1 + (2))) {{ x }} `date +%s` {{ y }}", r#"echo $((1 + (2))) "${V1}" `date +%s` "${V2}""#),
        ("echo ~{{ x }} {a,{{ y }}} *{{ z }}*", r#"echo ~"${V1}" {a,"${V2}"} *"${V3}"*"#),
        ("printf '{%s}\\n' {{ x }}; date +{%Y}", "printf '{%s}\\n' \"${V1}\"; date +{%Y}"),
        ("echo '{% raw %}{{ .State }}{% endraw %}' {{ x }}", r#"echo '{{ .State }}' "${V1}""#),
        ("echo {{ {'a': '}}'}['a'] }}", r#"echo "${V1}""#),
        ("echo {{ x\n  | upper }}", r#"echo "${V1}""#),
        ("echo '{{ a }}'{{ b }}\"{{ c }}\"", r#"echo ''"${V1}"''"${V2}""${V3}""#),
        ("echo \"it's {{ x }}\" {{ y }}", r#"echo "it's ${V1}" "${V2}""#),
        ("echo \"$$ {{ x }}\" $${{ y }}", r#"echo "$$ ${V1}" $$"${V2}""#),
        ("./scripts/{{ x }}.sh {{ y }}", r#"./scripts/"${V1}".sh "${V2}""#),
        ("sh -c 'echo \"$1\"' sh {{ x }}", "sh -c 'echo \"$1\"' sh \"${V1}\""),
        (
            "python3 -c 'import sys' {{ x }}; awk -v n={{ x }} '{print n}' f",
            "python3 -c 'import sys' \"${V1}\"; awk -v n=\"${V2}\" '{print n}' f",
        ),
        (
            "jq --arg n {{ x }} '.[$n]' {{ f }}; sed -n p -- {{ f }}",
            "jq --arg n \"${V1}\" '.[$n]' \"${V2}\"; sed -n p -- \"${V3}\"",
        ),
        ("export A={{ x }}; local B='{{ y }}'", r#"export A="${V1}"; local B=''"${V2}"''"#),
        (
            "echo {{ x }} | xargs -n1 sh -c 'echo \"$1\"' sh",
            "echo \"${V1}\" | xargs -n1 sh -c 'echo \"$1\"' sh",
        ),
        (
            "echo {{ x }} | sh script.sh; echo {{ y }} | tee f",
            "echo \"${V1}\" | sh script.sh; echo \"${V2}\" | tee f",
        ),
        (
            "while read -r l; do echo $l {{ x }}; done < {{ f }}",
            r#"while read -r l; do echo $l "${V1}"; done < "${V2}""#,
        ),
        ("cat <<< {{ x }}", r#"cat <<< "${V1}""#),
        ("diff <(a {{ x }}) <(b)", r#"diff <(a "${V1}") <(b)"#),
    ]);
}

#[test]
fn a_value_is_refused_where_it_would_be_read_as_code() {
    check(&[
        ("eval {{ x }}", "Program at \"{{ x }}\""),
        ("eval \"echo '{{ x }}'\"", "Program at \"{{ x }}\""),
        ("eval \"$(gen {{ x }})\"", "Program at \"{{ x }}\""),
        ("command eval {{ x }}", "Program at \"{{ x }}\""),
        ("sh -c 'echo {{ x }}'", "Program at \"{{ x }}\""),
        ("bash -ec \"echo {{ x }}\"", "Program at \"{{ x }}\""),
        ("/bin/bash -o pipefail -c \"{{ x }}\"", "Program at \"{{ x }}\""),
        ("sudo -u me env A=1 zsh -c {{ x }}", "Program at \"{{ x }}\""),
        ("bash -euo pipefail -c \"{{ x }}\"", "Program at \"{{ x }}\""),
        ("find . -exec sh -c 'echo {{ x }}' {} +", "Program at \"{{ x }}\""),
        ("xargs sh -c 'echo {{ x }}'", "Program at \"sh\"; Program at \"{{ x }}\""),
        ("docker run img sh -c 'echo {{ x }}'", "Program at \"{{ x }}\""),
        ("$SHELL -c \"{{ x }}\"", "Program at \"{{ x }}\""),
        ("sh -c \"$(echo {{ x }})\"", "Program at \"{{ x }}\""),
        ("sh {{ x }}", "Program at \"{{ x }}\""),
        ("echo {{ x }} | sh", "Program at \"sh\""),
        ("echo {{ x }} | tr a b | bash -s arg", "Program at \"bash\""),
        ("{ echo {{ x }}; } | sh", "Program at \"sh\""),
        ("(echo {{ x }}) | sh", "Program at \"sh\""),
        ("if a; then echo {{ x }}; fi | sh", "Program at \"sh\""),
        ("sh <<EOF\necho {{ x }}\nEOF", "Program at \"sh\""),
        ("bash <<< {{ x }}", "Program at \"bash\""),
        ("echo {{ x }} | xargs -I{} sh -c 'echo {}'", "Program at \"sh\""),
        (". {{ x }}", "Program at \"{{ x }}\""),
        ("trap 'rm {{ x }}' EXIT", "Program at \"{{ x }}\""),
        ("alias a={{ x }}", "Program at \"{{ x }}\""),
        ("ssh host rm {{ x }}", "Program at \"{{ x }}\""),
        ("make V={{ x }}", "Program at \"{{ x }}\""),
        ("su me -c 'echo {{ x }}'", "Program at \"{{ x }}\""),
        ("python3 -c 'print({{ x }})'", "Program at \"{{ x }}\""),
        ("python3 <<EOF\nprint({{ x }})\nEOF", "Program at \"python3\""),
        ("perl -ne 'print {{ x }}' f", "Program at \"{{ x }}\""),
        ("node -e \"{{ x }}\"; node --eval={{ x }}", "Program at \"{{ x }}\"; Program at \"{{ x }}\""),
        ("awk '{print {{ x }}}' f", "Program at \"{{ x }}\""),
        ("sed -i 's/a/{{ x }}/' f", "Program at \"{{ x }}\""),
        ("sed -e p -e s/a/{{ x }}/ f", "Program at \"{{ x }}\""),
        ("jq '.{{ x }}' f", "Program at \"{{ x }}\""),
        ("let x={{ x }}", "Program at \"{{ x }}\""),
        ("declare x={{ x }}", "Program at \"{{ x }}\""),
        ("local -i n; n={{ x }}", "Arithmetic at \"local\"; Program at \"{{ x }}\""),
        ("export {{ x }}=1", "Program at \"{{ x }}\""),
        ("unset {{ x }}; read {{ y }}", "Program at \"{{ x }}\"; Program at \"{{ y }}\""),
        ("printf {{ x }} a", "Program at \"{{ x }}\""),
        ("printf -v {{ x }} a", "Program at \"{{ x }}\""),
        ("[ -v {{ x }} ]", "Program at \"{{ x }}\""),
        ("test {{ x }} {{ y }}", "Program at \"{{ y }}\""),
        ("BASH_ENV={{ x }} ./run", "Program at \"{{ x }}\""),
        ("PS4={{ x }}; env ENV={{ y }} sh f", "Program at \"{{ x }}\"; Program at \"{{ y }}\""),
        ("RANDOM={{ x }}; OPTIND={{ y }}", "Program at \"{{ x }}\"; Program at \"{{ y }}\""),
        ("{{ x }} a", "Command at \"{{ x }}\""),
        ("a; '{{ x }}' b", "Command at \"{{ x }}\""),
        ("{{ x }}=1", "Command at \"{{ x }}\""),
        ("a[{{ x }}]=1", "Arithmetic at \"{{ x }}\""),
        ("command {{ x }}", "Command at \"{{ x }}\""),
        ("for {{ x }} in a; do :; done", "Name at \"{{ x }}\""),
        ("function {{ x }} { :; }", "Name at \"{{ x }}\""),
        ("echo $(( {{ x }} + 1 ))", "Arithmetic at \"{{ x }}\""),
        ("(( {{ x }} ))", "Arithmetic at \"{{ x }}\""),
        ("echo \"$(( \"{{ x }}\" ))\"", "Arithmetic at \"{{ x }}\""),
        ("echo ${a:-{{ x }}}", "Parameter at \"{{ x }}\""),
        ("echo ${a:-$(echo {{ x }})}", "Parameter at \"{{ x }}\""),
        ("echo `echo {{ x }}`", "Backticks at \"{{ x }}\""),
        ("echo $'{{ x }}'", "AnsiQuotes at \"{{ x }}\""),
        ("echo $'it\\'s' {{ x }}", "Ambiguous at \"$\""),
        ("cat <<'EOF'\n{{ x }}\nEOF", "QuotedHeredoc at \"{{ x }}\""),
        ("cat <<\\EOF\n{{ x }}\nEOF", "QuotedHeredoc at \"{{ x }}\""),
        ("cat <<{{ x }}\na", "HeredocDelimiter at \"{{ x }}\""),
        ("[[ {{ x }} -eq 1 ]]", "Brackets at \"{{ x }}\""),
        ("a=( {{ x }} )", "Array at \"{{ x }}\""),
        ("echo ${{ x }}", "Adjacent at \"{{ x }}\""),
        ("echo \"${{ x }}\"", "Adjacent at \"{{ x }}\""),
        (r"echo \{{ x }}", "Adjacent at \"{{ x }}\""),
        (r#"echo "\{{ x }}""#, "Adjacent at \"{{ x }}\""),
        ("cat <<E\n\\{{ x }}\nE", "Adjacent at \"{{ x }}\""),
        ("echo $[ 1 ] {{ x }}", "Ambiguous at \"$\""),
        ("echo \"${a#'}'}\" {{ x }}", "Ambiguous at \"$\""),
        ("{% if x %}rm{% endif %}", "Statement at \"{% if x %}\""),
        ("{%- for a in b %}", "Statement at \"{%- for a in b %}\""),
        ("echo {{ x", "Unfinished at \"{{\""),
        ("echo {{- x }}", "Template at \"{{-\""),
        ("echo {{ 1 + }}", "Template at \"+\""),
        ("echo '{{ x }}", "Unfinished at \"'\""),
        ("echo \"{{ x }}", "Unfinished at \"\\\"\""),
        ("cat <<EOF\n{{ x }}\n", "Unfinished at \"E\""),
        ("echo $(echo {{ x }}", "Unfinished at \"(\""),
        ("echo {{ x }} )", "Ambiguous at \")\""),
        ("eval {{ x }}; sh -c '{{ y }}'", "Program at \"{{ x }}\"; Program at \"{{ y }}\""),
    ]);
}

#[test]
fn an_unclosed_construct_is_reported_at_a_whole_character_or_value() {
    check(&[
        ("cat <<EOF\n{{ x }}", "Unfinished at \"E\""),
        // The character has two bytes; the span once ended between them.
        ("cat <<ðF\n{{ x }}", "Unfinished at \"ð\""),
        ("echo ð$(echo {{ x }}", "Unfinished at \"(\""),
        ("echo {{ x }} 'é", "Unfinished at \"'\""),
    ]);
}

#[test]
fn an_expression_that_nests_too_deeply_is_refused_at_its_span() {
    // The rewritten source is longer than the original, and its length was once used as the span.
    let value = format!(" {}x ", "-".repeat(123));
    assert_eq!(rewritten(&format!("cd {{{{{value}}}}} && ls")), format!("Template at {value:?}"));
}

#[test]
fn a_script_without_values_is_left_to_the_shell() {
    for source in [
        "echo 'unfinished",
        "eval \"$x\"",
        "[[ a == b ]]",
        "echo $'a\\'b'",
        "echo ${#a[@]} {# not a comment #}",
    ] {
        assert_eq!(ShellScript::parse(source).unwrap().script(), source);
    }
}

#[test]
fn refusals_say_what_to_write_instead() {
    let said = |source: &str| {
        let errors = ShellScript::parse(source).unwrap_err();
        format!("{}\nhelp: {}", errors[0].message, errors[0].help)
    };
    insta::assert_snapshot!(
        [
            "sh -c 'echo {{ x }}'",
            "echo $(({{ x }}))",
            "cat <<'EOF'\n{{ x }}\nEOF",
            "echo ${{ x }}",
            "jq '.{{ x }}'",
            "{{ x }}",
            "{% if x %}a{% endif %}",
            "echo {{ .Name }}",
            "echo `{{ x }}`",
            "[[ {{ x }} ]]",
        ]
        .map(said)
        .join("\n\n"),
        @r###"
        `sh` would read the value as code
        help: give it to the script: `sh -c 'echo "$1"' sh {{ … }}`

        a value within arithmetic would be read as code
        help: compute in the template: `{{ n + 1 }}`

        a value cannot stand in a here-document whose delimiter is quoted
        help: write the delimiter without quotes

        a value cannot follow a `$` or a `\`
        help: write `{{ … }}` alone: it is already a complete word

        `jq` would read the value as code
        help: give it a name: `jq --arg name {{ … }} '…'`

        a value cannot be the name of a command
        help: write the command's name, or a path such as `./scripts/{{ … }}`

        `{% %}` cannot be used in a shell script
        help: decide in the shell (`if [ {{ … }} = yes ]; then …`), or with `if:` on the check

        unexpected `.`
        help: to write `{{` itself, put the text between `{% raw %}` and `{% endraw %}`

        a value cannot stand within backticks
        help: write `$(…)`

        a value within `[[ ]]` can be read as code
        help: write `[ … ]`
        "###
    );
}

#[test]
fn values_are_passed_as_environment_variables() {
    let script = ShellScript::parse("a {{ s }} {{ n }} {{ l }} {{ nil }} # {{ gone }}\nb '{{ s }}'").unwrap();
    let scope = json!({"s": "x $(y)", "n": 1.5, "l": [1, {"a": true}], "nil": null});
    let variables = script.render(&JsonScope(&scope)).unwrap();
    let expected =
        [("1", "x $(y)"), ("2", "1.5"), ("3", r#"[1,{"a":true}]"#), ("4", "null"), ("5", "x $(y)")];
    let expected: Vec<_> =
        expected.iter().map(|(n, value)| (format!("ESCROW_VALUE_{n}"), (*value).to_owned())).collect();
    assert_eq!(variables, expected);
    let reads: Vec<_> = script.reads().iter().map(ToString::to_string).collect();
    assert_eq!(reads, ["s", "n", "l", "nil", "gone", "s"]);
}

#[test]
fn a_value_that_no_environment_can_hold_is_an_error() {
    let script = ShellScript::parse("echo {{ x.y }}").unwrap();
    let fault = |value: &str| script.render(&JsonScope(&json!({"x": {"y": value}}))).unwrap_err();
    assert_eq!(fault("a\0b"), RenderError::Nul { expression: "x.y".into() });
    let long = fault(&"x".repeat(200_000));
    assert_eq!(
        long.to_string(),
        "`x.y` is 200000 bytes long; a command can be given at most 122880 in one value"
    );
    assert!(long.help().unwrap().contains("stdin"));
    let undefined = script.render(&JsonScope(&json!({"x": {}}))).unwrap_err();
    assert_eq!(undefined, RenderError::Undefined { what: "x.y".into() });
}

#[test]
fn nothing_reads_code_from_input_or_from_a_variable_with_a_value() {
    // The script, and where it is refused.
    const REFUSED: &[(&str, &str)] = &[
        ("echo {{ x }}; sh", "sh"),
        ("echo {{ x }} |\n  sh", "sh"),
        ("cat <<EOF | sh\n{{ x }}\nEOF", "sh"),
        ("cat <<EOF | bash -s\n{{ x }}\nEOF", "bash"),
        ("cat <<EOF | python3\n{{ x }}\nEOF", "python3"),
        ("echo {{ x }} | bash -", "bash"),
        ("echo {{ x }} | bash /dev/stdin", "bash"),
        ("sh /dev/stdin <<EOF\n{{ x }}\nEOF", "sh"),
        (". /dev/stdin <<EOF\n{{ x }}\nEOF", "."),
        ("f() { echo {{ x }}; }; f | sh", "sh"),
        ("f() { sh; }; echo {{ x }} | f", "sh"),
        ("s() { sh \"$@\"; }; echo {{ x }} | s", "sh"),
        ("echo {{ x }} | { y=`sh`; }", "`"),
        ("bash <(echo {{ x }})", "{{ x }}"),
        ("exec 3<f; echo {{ x }}; bash /dev/fd/3", "bash"),
        ("echo {{ x }} | env sh", "sh"),
        ("echo {{ x }} | xargs env", "env"),
        ("echo {{ x }} | xargs sudo -u me", "sudo"),
        ("eval \"$(ssh-agent)\"; git push {{ x }}", "eval"),
        ("x={{ x }}; eval \"echo $x\"", "\"echo $x\""),
        ("x={{ x }}; y=$x; sh -c \"$y\"", "\"$y\""),
        ("sh -c 'eval \"$1\"' sh {{ x }}", "'eval \"$1\"'"),
        ("v={{ x }} sh -c 'sh -c \"$v\"'", "'sh -c \"$v\"'"),
        ("ssh host < {{ x }}", "ssh"),
        ("echo {{ x }} | ssh host 'bash -s'", "ssh"),
        ("psql -c \"select '{{ x }}'\"", "{{ x }}"),
        ("psql db <<EOF\n{{ x }}\nEOF", "psql"),
        ("sqlite3 a.db \"select {{ x }}\"", "{{ x }}"),
        ("python3 {{ x }}", "{{ x }}"),
        ("perl -e 'print' {{ x }}", "{{ x }}"),
        ("sed -n p {{ x }}", "{{ x }}"),
        ("alias x=sh; echo {{ x }} | x", "alias"),
        ("hash -p {{ x }} ls", "{{ x }}"),
        ("$SHELL <<EOF\n{{ x }}\nEOF", "$SHELL"),
    ];
    const COMMANDS: &[(&str, &str)] = &[
        ("$(echo {{ x }}) a", "{{ x }}"),
        ("x={{ x }}; $x", "$x"),
        ("x={{ x }}; \"$x\" a", "\"$x\""),
        ("x=$(echo {{ x }}); sudo $x", "$x"),
        ("env {{ x }}", "{{ x }}"),
        ("timeout 5 {{ x }}", "{{ x }}"),
        ("find . -exec {{ x }} {} +", "{{ x }}"),
        ("set -- {{ x }}; \"$@\"", "\"$@\""),
        ("run() { \"$@\"; }; run echo {{ x }}", "\"$@\""),
        ("echo {{ x }} | while read -r c; do $c; done", "$c"),
    ];
    const ARITHMETIC: &[&str] = &[
        "x={{ x }}; echo $((x))",
        "x={{ x }}; echo $(( $x + 1 ))",
        "x={{ x }}; y=\"$x\"; (( y > 1 ))",
        "x={{ x }}; echo ${a[x]}",
        "x={{ x }}; echo ${s:x}",
        "x={{ x }}; echo ${!x}",
        "x={{ x }}; [[ $x -eq 1 ]]",
        "for i in {{ x }}; do echo $((i)); done",
        "echo {{ x }} | while read n; do echo $((n + 1)); done",
        "set -- {{ x }}; echo $(( $1 ))",
    ];
    for (source, at) in REFUSED {
        let shown = rewritten(source);
        let wanted = format!("Program at {at:?}");
        assert!(shown.contains(&wanted), "{source}\n  is     {shown}\n  wanted {wanted}");
    }
    for (source, at) in COMMANDS {
        let shown = rewritten(source);
        let wanted = format!("Command at {at:?}");
        assert!(shown.contains(&wanted), "{source}\n  is     {shown}\n  wanted {wanted}");
    }
    for source in ARITHMETIC {
        assert!(rewritten(source).starts_with("Arithmetic at"), "{source}\n  is {}", rewritten(source));
    }
}

#[test]
fn a_tag_of_liquid_in_a_script_gets_the_same_help_as_in_any_template() {
    for (source, statement) in [
        ("{% assign a = 1 %}echo", "assign"),
        ("echo {%- unless a -%} b {% endunless %}", "unless"),
        ("{% case a %}{% when 1 %}{% endcase %}", "case"),
    ] {
        let script = ShellScript::parse(source).expect_err("it is refused").remove(0);
        let template = Template::parse(source).expect_err("it is refused");
        assert_eq!(script.message, format!("there is no statement `{statement}`"), "{source}");
        assert_eq!(Some(script.help), template.help, "{source}");
    }
}
