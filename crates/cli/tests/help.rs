//! Help that helps: codes are explained, and names are found where people put things.

mod desk;

use desk::Desk;

#[test]
fn every_code_that_a_run_shows_can_be_explained() {
    let desk = Desk::new();
    let (_, document) = desk.run(
        "checks:
  a: {type: command, exec: 'exit 3'}
  b: {type: command, exec: 'true', depends_on: a}
  c: {type: command, exec: 'true', fail_if: 'true'}
",
    );
    let mut codes: Vec<&str> = Vec::new();
    for check in document["checks"].as_object().expect("a map").values() {
        let issues = check["issues"].as_array().expect("a list");
        codes.extend(issues.iter().filter_map(|issue| issue["rule_id"].as_str()));
        codes.extend(check["skip_reason"].as_str());
    }
    assert_eq!(codes, ["command/exit_nonzero", "dependency_failed", "c_fail_if"]);
    for code in codes {
        let done = desk.escrow(&["explain", code]);
        assert_eq!(done.code, Some(0), "{code}: {}", done.stderr);
        assert!(done.stdout.starts_with("## `"), "{code}: {}", done.stdout);
    }
    assert_eq!(desk.escrow(&["explain", "contract/nothing"]).code, Some(2));
}

#[test]
fn a_nested_playbook_is_found_in_an_ancestors_folder_with_or_without_its_extension() {
    let desk = Desk::new();
    desk.write(".escrow/playbooks/shared.yaml", "checks: {a: {type: command, exec: 'true'}}\n");
    for name in ["shared", "shared.yaml"] {
        desk.write("deep/er/p.yaml", &format!("checks: {{it: {{type: playbook, playbook: {name}}}}}\n"));
        let done = desk.escrow(&["run", "deep/er/p.yaml", "--dir", "deep/er"]);
        assert_eq!(done.code, Some(0), "{name}: {}", done.stderr);
    }
}

#[test]
fn no_help_names_a_provider_or_a_key_that_does_not_load() {
    let catalog = escrow_runtime::catalog();
    let words = escrow_playbook::every_word(&catalog);
    // What people type elsewhere than in a playbook, and what an example stands for.
    const ELSEWHERE: &[&str] = &["curl", "gh", "_"];
    let mut wrong = Vec::new();
    for (of, help) in escrow_playbook::every_help() {
        for quoted in help.split('`').skip(1).step_by(2) {
            let providers = quoted.split("type: ").skip(1).map(|rest| {
                rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').next().unwrap_or_default()
            });
            for provider in providers {
                if !["string"].contains(&provider) && !catalog.iter().any(|known| known.name == provider) {
                    wrong.push(format!("{of}: `{quoted}` names the provider `{provider}`"));
                }
            }
            let is_word =
                |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_lowercase() || c == b'_');
            let key = quoted.split(": ").next().unwrap_or_default();
            // A part that is missing is named to say so.
            let says_so = help.contains(&format!("has no `{key}` provider"));
            if is_word(key) && !says_so && !words.contains(key) && !ELSEWHERE.contains(&key) {
                wrong.push(format!("{of}: `{quoted}` in {help:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_provider_of_another_engine_leads_to_the_one_that_does_its_work() {
    let desk = Desk::new();
    for (check, instead) in [
        ("{type: http_client, url: 'https://a'}", "write `type: http`"),
        ("{type: webhook, url: 'https://a'}", "write `type: http`"),
        ("{type: command, exec: 'true', op: labels.add}", "`op` is a key of `type: github`"),
    ] {
        desk.write("p.yaml", &format!("checks: {{a: {check}}}\n"));
        let done = desk.escrow(&["check", "p.yaml"]);
        assert_eq!(done.code, Some(2), "{check}");
        assert!(done.stderr.contains(instead), "{check}: {}", done.stderr);
    }
}

#[test]
fn a_file_of_another_kind_is_named_in_one_sentence() {
    let desk = Desk::new();
    desk.write("p.yaml", "checks: {a: {type: noop}}\n");
    desk.write("p.test.yaml", "playbook: p.yaml\ntests: {it runs: {expect: {run: completed}}}\n");
    desk.write("c.yaml", "name: c\ntrigger: {schedule: '0 * * * *'}\nsteps: [{skill: p}]\n");
    for (arguments, sentence, next) in [
        (["test", "p.yaml"], "this is a playbook, not a test file", "escrow check p.yaml"),
        (["run", "p.test.yaml"], "this is a test file, not a playbook", "escrow test p.test.yaml"),
        (["check", "p.test.yaml"], "this is a test file, not a playbook", "escrow test p.test.yaml"),
        (["run", "c.yaml"], "this is a chain, not a playbook", "escrow chain define c.yaml"),
        (["test", "c.yaml"], "this is a chain, not a test file", "`playbook` and `tests`"),
    ] {
        let done = desk.escrow(&arguments);
        assert_eq!(done.code, Some(2), "{arguments:?}: {}", done.stderr);
        assert!(
            done.stderr.contains(sentence) && done.stderr.contains(next),
            "{arguments:?}: {}",
            done.stderr
        );
        assert_eq!(done.stderr.matches("error[").count(), 1, "{arguments:?}: {}", done.stderr);
    }
}

#[test]
fn a_decision_without_a_state_directory_says_where_it_looked() {
    let desk = Desk::new();
    for arguments in [&["approve", "w_1"][..], &["deny", "w_1"], &["answer", "w_1", "yes"]] {
        let done = desk.escrow(arguments);
        assert_eq!(done.code, Some(2), "{arguments:?}");
        assert!(done.stderr.contains("there is no state in"), "{}", done.stderr);
        assert!(done.stderr.contains("--state DIR"), "{}", done.stderr);
        assert!(!desk.path().join(".escrow").exists(), "{arguments:?} made a state");
    }
}

#[test]
fn options_of_a_command_stand_before_those_of_every_command() {
    let desk = Desk::new();
    for verb in ["run", "runs", "artifacts", "approve", "test"] {
        let help = desk.escrow(&[verb, "--help"]).stdout;
        let own = help.find("\nOptions:").unwrap_or_else(|| panic!("{help}"));
        let global = help.find("\nGlobal options:").unwrap_or_else(|| panic!("{help}"));
        assert!(own < global, "{help}");
        assert!(help[global..].contains("--output") && !help[own..global].contains("--state"), "{help}");
    }
}

#[test]
fn git_keeps_what_people_write_into_the_state_directory() {
    let desk = Desk::new();
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git").args(arguments).current_dir(desk.path()).output();
        String::from_utf8_lossy(&done.expect("git is there").stdout).into_owned()
    };
    git(&["init", "--quiet"]);
    desk.write("p.yaml", "checks: {a: {type: noop}}\n");
    assert_eq!(desk.escrow(&["run", "p.yaml"]).code, Some(0));
    let all_kept = [
        "rules/r.yaml",
        "rules/deep/r.yaml",
        "playbooks/p.yaml",
        "agents/a.md",
        "outcomes/o.json",
        "chains/c.yaml",
    ];
    for kept in all_kept {
        desk.write(&format!(".escrow/{kept}"), "x");
    }
    desk.write(".escrow/artifacts/r/x", "x");
    let listed = git(&["ls-files", "--others", "--exclude-standard", ".escrow"]);
    for kept in all_kept {
        assert!(listed.contains(kept), "{kept}: {listed}");
    }
    assert!(!listed.contains("escrow.db") && !listed.contains("artifacts/"), "{listed}");
}

#[test]
fn several_delivered_files_are_fetched_by_a_pattern() {
    let desk = Desk::new();
    desk.write(
        "p.yaml",
        "artifacts: {expected: [{id: notes, glob: 'notes/**/*.md'}, {id: log, path: log.txt}]}
checks:
  a:
    type: command
    exec: |
      cd \"$ESCROW_ARTIFACTS\"; mkdir -p notes/deep
      echo one > notes/a.md; echo two > notes/deep/b.md; echo log > log.txt
",
    );
    assert_eq!(desk.escrow(&["run", "p.yaml"]).code, Some(0));
    let done = desk.escrow(&["artifacts", "last", "--get", "notes/**/*.md", "--to", "out"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert_eq!(
        (desk.read("out/notes/a.md"), desk.read("out/notes/deep/b.md")),
        ("one\n".into(), "two\n".into())
    );
    // One match is printed.
    assert_eq!(desk.escrow(&["artifacts", "last", "--get", "*.txt"]).stdout, "log\n");
    let done = desk.escrow(&["artifacts", "last", "--get", "**/*.md"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains("matches 2 files") && done.stderr.contains("--to DIR"), "{}", done.stderr);
    assert_eq!(desk.escrow(&["artifacts", "last", "--get", "*.none"]).code, Some(2));
}

#[test]
fn editors_get_schemas_without_dead_ends_for_every_kind_of_file() {
    let desk = Desk::new();
    for subject in ["playbook", "test", "agent", "rules"] {
        let schema = desk.escrow(&["schema", subject]).json();
        dead_ends(&schema, subject);
    }
    let schema = desk.escrow(&["schema", "playbook"]).json();
    let check = &schema["properties"]["checks"]["additionalProperties"];
    // All keys are known before `type` is written.
    assert!(check["properties"]["exec"].is_object() && check["properties"]["guarantee"].is_object());
    let compiled =
        escrow_contract::Schema::compile(&desk.escrow(&["schema", "test"]).json()).expect("a schema");
    let good = serde_json::json!({"playbook": "p.yaml", "tests": {"a": {
        "answers": {"a": [{"exit": 1}, {"output": 1}]}, "messages": [{"approve": "a"}],
        "artifacts": {"n": 3, "m": {"content": "x"}}, "expect": {"run": "failed", "checks": {"a": "failed"}},
    }}});
    assert_eq!(compiled.violations(&good), Vec::<String>::new());
    assert!(!compiled.violations(&serde_json::json!({"tests": {}})).is_empty());
}

fn dead_ends(schema: &serde_json::Value, path: &str) {
    match schema {
        serde_json::Value::Object(members) => {
            assert!(!members.contains_key("oneOf"), "{path} has `oneOf`");
            for branch in members.get("anyOf").and_then(|any| any.as_array()).into_iter().flatten() {
                assert!(branch["description"].is_string(), "a branch of {path} says nothing: {branch}");
            }
            for (name, member) in members {
                dead_ends(member, &format!("{path}.{name}"));
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| dead_ends(item, path)),
        _ => {}
    }
}
