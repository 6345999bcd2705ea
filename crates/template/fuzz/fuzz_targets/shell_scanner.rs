//! Any text as a script, as the words of a program, and as what they read. The scanner never panics and takes linear
//! time, every span lies in the source, and a value in an accepted script stands where no shell reads it as code.

#![no_main]

#[path = "../oracle.rs"]
mod oracle;

use escrow_template::{
    ShellScript, VARIABLE_PREFIX, check_arguments, check_fed_script, check_script, survey_arguments,
    survey_script,
};
use libfuzzer_sys::fuzz_target;

/// What the bytes from 128 on stand for: mutations of text alone rarely find words that mean something.
#[rustfmt::skip]
const TOKENS: &[&str] = &[
    "{{ x }}", " {{ x }} ", "'{{ x }}'", "\"{{ x }}\"", "$(", ")", "${", "}", "${a:-", "$((", "))", "$'", "`", "<<E\n",
    "\nE\n", "<<'E'\n", "<<<", "<(", ">(", " | ", " && ", " || ", ";;", "; ", "\n", " & ", "&>", "2>&1", "[[ ",
    " ]]", "[ ", "if ", "; then ", "; else ", "; fi", "for ", " in ", "; do ", "; done", "while ", "case ", " esac",
    "f() ", "function ", "{ ", "; }", "( ", " )", "eval ", "sh ", "-c ", "bash ", "-s ", "/dev/stdin ", ". ", "source ",
    "xargs ", "env ", "sudo ", "exec ", "trap ", "read ", "export ", "local ", "declare ", "-i ", "a=", "$a", "\"$a\"",
    "${a}", "let ", "printf ", "-v ", "test ", "python3 ", "node -e ", "awk ", "sed ", "ssh h ", "psql -c ", "find . -exec ",
    "\\\n", "\\", "# ", "{% raw %}", "{% endraw %}", "{#", "é", "🦀", "a[", "]=", "*",
    "!", "$@", "$1", "$#", "$?", "${#a[@]}", "echo ", "cat ", "tar ", "--to-comm ", "--to-comm=", "git ", "--exe=",
    "find ", "-exec ", "{} ';'", "{sh,-c} ", "/bin/s[h] ", "a=(sh -c)", "\"${a[@]}\" ", "trap 'f \"$a\"' EXIT",
    "export -f f", "python3 -m code", "sudo -nu a ", "CFLAGS=", "-f ",
    "for SECONDS in ", "printf -v RANDOM ", "command ", ">& ", "timeout ", "unset ", "a=$(cat f)",
    "{a[b]}>", "$ESCROW_ITEM", "$ESCROW_CONTEXT",
];

const _: () = assert!(TOKENS.len() <= 128, "bytes stand for no more than 128 tokens");

fuzz_target!(|input: &[u8]| {
    let mut source = String::new();
    for byte in input {
        match byte.checked_sub(128) {
            Some(token) => source.push_str(TOKENS[usize::from(token) % TOKENS.len()]),
            None => source.push(char::from(*byte)),
        }
    }
    scan(&source);
    rewrite(&source);
    // A scanner that is not linear runs into the fuzzer's own time limit here.
    let sum: u8 = input.iter().fold(0, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte));
    if sum == 0 && !source.is_empty() {
        let long = source.repeat(250_000 / source.len());
        let _ = ShellScript::parse(&long);
        survey_script(&long);
    }
});

fn rewrite(source: &str) {
    match ShellScript::parse(source) {
        Ok(script) if script.has_values() && !source.contains(VARIABLE_PREFIX) => {
            let _ = oracle::judge(script.script());
        }
        Ok(_) => {}
        Err(errors) => {
            assert!(!errors.is_empty(), "refused without a reason");
            for error in errors {
                assert!(source.get(error.span.clone()).is_some(), "a span leaves the source: {error:?}");
            }
        }
    }
}

fn scan(source: &str) {
    let variables = ["a".to_owned()];
    let checked = check_script(source, &[]).into_iter().chain(check_script(source, &variables));
    for error in check_fed_script(source).into_iter().chain(checked) {
        assert!(source.get(error.span.clone()).is_some(), "a span leaves the source: {error:?}");
    }
    let survey = survey_script(source);
    let commands = survey.commands.iter().map(|command| &command.span);
    for span in commands.chain(survey.writes.iter().map(|write| &write.span)).chain(&survey.lost_statuses) {
        assert!(source.get(span.clone()).is_some(), "a span leaves the source: {span:?}");
    }
    let words: Vec<&str> = source.split('\n').collect();
    for (index, error) in check_arguments(&words, true) {
        assert!(words[index].get(error.span.clone()).is_some(), "a span leaves its word: {error:?}");
    }
    survey_arguments(&words);
}
