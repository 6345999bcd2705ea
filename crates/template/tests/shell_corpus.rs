//! The assertions of the fuzz target for shell rewriting, on seeds and their mutations.

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
