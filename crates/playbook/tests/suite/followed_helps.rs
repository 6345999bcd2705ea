//! A help for a script that cannot be run safely leads to a script that loads.

use escrow_playbook::{NoReferences, Reading, read};
use serde_json::json;

use crate::support::CATALOG;

fn load(exec: &str, shell: &str) -> Reading {
    let text = format!(
        "inputs: {{ z: {{ default: z }}, n: {{ type: number, default: 1 }} }}\nchecks: {{ a: {{ type: command, exec: {}, shell: {shell} }} }}",
        json!(exec)
    );
    read(&text, "x.yaml", CATALOG, &NoReferences)
}

/// The forms that a help shows, with the names of this playbook.
fn shown_forms(help: &str) -> Vec<String> {
    let quoted = help.split('`').skip(1).step_by(2).filter(|form| form.contains("{{"));
    let named = |form: &str| {
        form.replace("{{ … }}", "{{ inputs.z }}")
            .replace("{{ n + 1 }}", "echo {{ inputs.n + 1 }}")
            .replace("{{ text |", "echo {{ inputs.z |")
            .replace("'…'", "'1'")
            .replace("then …", "then ls; fi")
    };
    quoted.map(named).collect()
}

/// The forms of the help for a script all load.
#[track_caller]
fn leads_on(exec: &str) {
    let refused = load(exec, "sh");
    let mut unsafe_places = refused.diagnostics.iter().filter(|one| one.code == "E0119").peekable();
    assert!(unsafe_places.peek().is_some(), "`{exec}`: {:?}", refused.diagnostics);
    for diagnostic in unsafe_places {
        let help = diagnostic.help.clone().unwrap_or_default();
        let forms = shown_forms(&help);
        assert!(!forms.is_empty(), "`{exec}`: the help shows no form: {help}");
        for form in forms {
            let followed = load(&form, "sh");
            assert!(followed.plan.is_some(), "`{exec}`: {help}\n`{form}`: {:?}", followed.diagnostics);
        }
    }
}

#[test]
fn what_a_help_shows_loads() {
    for exec in [
        "ssh host rm {{ inputs.z }}",
        "make {{ inputs.z }}",
        "PATH={{ inputs.z }} ls",
        "echo $(( {{ inputs.n }} + 1 ))",
        "eval {{ inputs.z }}",
        "sh -c 'echo {{ inputs.z }}'",
        "python3 -c 'print({{ inputs.z }})'",
        "perl -e 'print {{ inputs.z }}'",
        "ruby -e 'print {{ inputs.z }}'",
        "node -e 'f({{ inputs.z }})'",
        "php -r 'f({{ inputs.z }});'",
        "awk '{{ inputs.z }}' file",
        "sed 's/a/{{ inputs.z }}/' file",
        "jq '.{{ inputs.z }}' file",
        "{{ inputs.z }} -a",
        "{{ inputs.z }}=1",
        "export {{ inputs.z }}=1",
        "find . -exec sh -c {{ inputs.z }} +",
        "xargs {{ inputs.z }}",
        "git -c {{ inputs.z }} status",
        "psql -c 'select {{ inputs.z }}'",
        "trap {{ inputs.z }} EXIT",
        "env {{ inputs.z }}",
        "echo {{ inputs.z }} | sh",
    ] {
        leads_on(exec);
    }
}

/// These helps name a change and show no form.
#[test]
fn what_a_help_names_loads() {
    for (exec, words, followed) in [
        ("cat << {{ inputs.z }}\nx\n", "write the delimiter out", "cat << END\nx\nEND\n"),
        (
            "cat << 'END'\n{{ inputs.z }}\nEND\n",
            "write the delimiter without quotes",
            "cat << END\n{{ inputs.z }}\nEND\n",
        ),
        ("echo `ls {{ inputs.z }}`", "write `$(…)`", "echo $(ls {{ inputs.z }})"),
    ] {
        let refused = load(exec, "sh");
        let helps: Vec<&str> = refused.diagnostics.iter().filter_map(|one| one.help.as_deref()).collect();
        assert!(helps.contains(&words), "`{exec}`: {helps:?}");
        assert!(load(followed, "sh").plan.is_some(), "`{followed}`: {:?}", load(followed, "sh").diagnostics);
    }
}
