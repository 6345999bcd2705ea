//! A command of a run calls Escrow itself: what that process writes has no secret of the run around it.

mod desk;

use std::fs;
use std::path::Path;

use desk::{Desk, Done};
use serde_json::Value;

const SECRET: &str = "SuperSecretValue77";
const BASE64: &str = "U3VwZXJTZWNyZXRWYWx1ZTc3";

const FORMS: [&str; 3] = ["env", "file", "fd"];

fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            all.push((path.display().to_string(), fs::read(&path).expect("it can be read")));
        }
    }
    all
}

fn has(bytes: &[u8], needle: &str) -> bool {
    bytes.windows(needle.len()).any(|window| window == needle.as_bytes())
}

#[track_caller]
fn clean(what: &str, directory: &Path) {
    for (path, bytes) in files(directory) {
        for needle in [SECRET, BASE64] {
            assert!(!has(&bytes, needle), "{what}: {path} has the secret ({needle})");
        }
    }
}

#[track_caller]
fn recorded(what: &str, directory: &Path) {
    let redacted = format!("{what} ***");
    assert!(files(directory).iter().any(|(_, bytes)| has(bytes, &redacted)), "`{redacted}` is not recorded");
}

/// Runs a script as a command that is granted the secret in this form.
fn within(desk: &Desk, form: &str, script: &str) -> Done {
    let bin = Path::new(env!("CARGO_BIN_EXE_escrow")).parent().expect("a directory").display().to_string();
    let read = r#"value=$(cat "$TOK" 2> /dev/null || echo "$TOK")"#;
    desk.write("script.sh", &format!("PATH={bin}:$PATH\nexport PATH\n{read}\n{script}\n"));
    desk.write(
        "outer.yaml",
        &format!(
            "name: outer\nsecrets: [TOK]\nchecks:\n  a: {{type: command, secrets: [{{name: TOK, as: {form}}}], exec: 'sh script.sh'}}\n"
        ),
    );
    let mut command = desk.command(&["run", "outer.yaml", "--output", "json"]);
    Done::from(command.env("TOK", SECRET).output().expect("the binary runs"))
}

#[test]
fn a_run_that_a_command_starts_redacts_the_secrets_that_the_command_was_granted() {
    for form in FORMS {
        let desk = Desk::new();
        desk.write(
            "inner.yaml",
            "name: inner\nchecks:\n  z: {type: command, exec: 'echo \"inner $(cat leak)\"; echo \"$TOK\"; base64 < leak'}\n  deeper: {type: command, exec: 'escrow run innermost.yaml'}\n",
        );
        desk.write(
            "innermost.yaml",
            "name: innermost\nchecks: {y: {type: command, exec: 'echo \"innermost $(cat \"$TOK\" || echo \"$TOK\")\"'}}\n",
        );
        let script = "printf %s \"$value\" > leak\nescrow run inner.yaml; code=$?\nrm leak\nexit $code";
        let done = within(&desk, form, script);
        assert_eq!(done.code, Some(0), "{form}: {}{}", done.stdout, done.stderr);
        let runs = desk.escrow(&["runs", "--output", "json"]).json();
        assert_eq!(runs["runs"].as_array().map(Vec::len), Some(3), "{form}: {runs}");
        for run in runs["runs"].as_array().expect("a list") {
            let logs = desk.escrow(&["logs", run["id"].as_str().expect("an id")]).stdout;
            assert!(!logs.contains(SECRET) && !logs.contains(BASE64), "{form}: {logs}");
        }
        recorded("inner", &desk.path().join(".escrow"));
        // A command of the inner run has not inherited the open file.
        if form != "fd" {
            recorded("innermost", &desk.path().join(".escrow"));
        }
        clean(form, &desk.path().join(".escrow"));
    }
}

#[test]
fn a_run_in_another_state_redacts_them_as_well_and_so_does_its_resumption() {
    for form in FORMS {
        let desk = Desk::new();
        desk.write(
            "inner.yaml",
            "name: inner\nchecks:\n  ask: {type: human-input, prompt: 'Sure?'}\n  z: {type: command, depends_on: ask, exec: 'echo \"seen $(cat leak)\"'}\n",
        );
        desk.escrow(&["--state", "other", "run", "inner.yaml"]);
        let id = wait(&desk, "ask");
        let script = format!(
            "printf %s \"$value\" > leak\nescrow --state other answer {id} \"answered $value\"; code=$?\nrm leak\nexit $code"
        );
        let done = within(&desk, form, &script);
        assert_eq!(done.code, Some(0), "{form}: {}{}", done.stdout, done.stderr);
        recorded("seen", &desk.path().join("other"));
        recorded("answered", &desk.path().join("other"));
        clean(form, &desk.path().join("other"));
        clean(form, &desk.path().join(".escrow"));
    }
}

/// The id of the wait of this playbook or check in the other state.
fn wait(desk: &Desk, name: &str) -> String {
    let waits = desk.escrow(&["--state", "other", "approvals", "--output", "json"]).json();
    let all = waits["approvals"].as_array().expect("a list");
    let is_named = |wait: &&Value| wait.to_string().contains(&format!("\"{name}\""));
    let found = all.iter().find(is_named).unwrap_or_else(|| panic!("`{name}` waits: {waits}"));
    found["id"].as_str().expect("an id").to_owned()
}

#[test]
fn no_verb_records_a_secret_of_the_run_around_it() {
    for form in FORMS {
        let desk = Desk::new();
        desk.write("bad.yaml", "name: bad\nchecks: {a: {type: command, exec: 'exit 1'}}\n");
        for name in ["approved", "denied"] {
            let check = "{type: command, requires_approval: true, exec: 'true'}";
            let file = format!("{name}.yaml");
            desk.write(&file, &format!("name: {name}\nchecks: {{a: {check}}}\n"));
            assert_eq!(desk.escrow(&["--state", "other", "run", &file]).code, Some(4));
        }
        let dies = "{type: command, criticality: external, effect_key: doubt, exec: 'kill -9 $$'}";
        desk.write("dies.yaml", &format!("name: dies\nchecks: {{a: {dies}}}\n"));
        assert_eq!(desk.escrow(&["--state", "other", "run", "dies.yaml"]).code, Some(4));
        assert_eq!(desk.escrow(&["--state", "other", "run", "bad.yaml"]).code, Some(1));
        assert_eq!(desk.escrow(&["run", "bad.yaml"]).code, Some(1));
        let failed = desk.show("last")["run"]["id"].as_str().expect("an id").to_owned();
        let (approved, denied) = (wait(&desk, "approved"), wait(&desk, "denied"));
        let outcome = r#"printf '{"outcome_kind": "gate_verdict", "summary": "outcome %s", "gate_passed": true}' "$value""#;
        let verbs = [
            ("started", "escrow invocation start --name \"started $value\"".to_owned()),
            ("skill", "escrow invocation start --skill \"skill $value\"".to_owned()),
            ("prompt", "escrow invocation start --prompt \"prompt $value\"".to_owned()),
            ("starter", "escrow invocation start --by \"starter $value\"".to_owned()),
            (
                "ended",
                "escrow invocation end last --status completed --by \"ender $value\" --why \"ended $value\""
                    .to_owned(),
            ),
            (
                "dismissed",
                format!(
                    "escrow attention dismiss {failed} --note \"dismissed $value\" --by \"dismisser $value\""
                ),
            ),
            ("outcome", format!("{outcome} | escrow outcomes add --name \"named $value\"")),
            (
                "overridden",
                "escrow --state other runs override last --status completed --by ann --why \"overridden $value\""
                    .to_owned(),
            ),
            (
                "resolved",
                "escrow --state other effects resolve doubt done --by ann --why \"resolved $value\"".to_owned(),
            ),
            (
                "approved",
                format!("escrow --state other approve {approved} --no-run --note \"approved $value\""),
            ),
            ("denied", format!("escrow --state other deny {denied} --no-run --note \"denied $value\"")),
        ];
        for (what, verb) in verbs {
            let done = within(&desk, form, &verb);
            assert_eq!(done.code, Some(0), "{form}, {what}: {}{}", done.stdout, done.stderr);
            let of_other = verb.contains("--state other");
            recorded(what, &desk.path().join(if of_other { "other" } else { ".escrow" }));
            clean(what, &desk.path().join(".escrow"));
            clean(what, &desk.path().join("other"));
        }
    }
}

#[test]
fn what_would_be_another_thing_without_the_secret_is_refused() {
    for form in FORMS {
        let desk = Desk::new();
        desk.write(
            ".escrow/playbooks/told.yaml",
            "name: told\ninputs: {x: {type: string}}\nchecks: {a: {type: command, exec: 'true'}}\n",
        );
        desk.write("chain.yaml", "name: known\nsteps: [{skill: told, with: {x: one}}]\n");
        assert_eq!(desk.escrow(&["chain", "define", "chain.yaml"]).code, Some(0));
        let refused = [
            "escrow run .escrow/playbooks/told.yaml --input \"x=$value\"",
            "printf 'checks: {a: {type: command, exec: \"echo %s\"}}' \"$value\" > made.yaml; escrow run made.yaml",
            "printf '{\"x\": \"%s\"}' \"$value\" > event.json; escrow chain fire known --event event.json",
            "sed \"s/known/written/; s/one/$value/\" chain.yaml > made.yaml; escrow chain define made.yaml",
        ];
        for verb in refused {
            let script = format!("{verb} --output json > said; code=$?\ntest $code = 2");
            let done = within(&desk, form, &script);
            assert_eq!(done.code, Some(0), "{form}, {verb}: {}{}", desk.read("said"), done.stderr);
            assert!(desk.read("said").contains("secret_written_down"), "{verb}: {}", desk.read("said"));
            clean(verb, &desk.path().join(".escrow"));
        }
        // A path is no secret.
        if form != "env" {
            let done = within(&desk, form, "escrow run .escrow/playbooks/told.yaml --input \"x=$TOK\"");
            assert_eq!(done.code, Some(0), "{form}: {}{}", done.stdout, done.stderr);
        }
    }
}
