//! Approvals: what they show, whose word counts, and that the first word wins.

mod desk;

use std::process::Command;

use desk::{Desk, Done};
use serde_json::{Value, json};

/// The only open approval or question.
fn waiting(desk: &Desk) -> Value {
    let all = desk.escrow(&["approvals", "--output", "json"]).json();
    let waits = all["approvals"].as_array().expect("a list").clone();
    assert_eq!(waits.len(), 1, "{all}");
    waits[0].clone()
}

fn id_of(wait: &Value) -> String {
    wait["id"].as_str().expect("an id").to_owned()
}

/// The user that runs the tests, as the system knows them.
fn actor() -> String {
    let told = Command::new("id").arg("-un").output().expect("`id` runs");
    format!("os:{}", String::from_utf8_lossy(&told.stdout).trim())
}

#[test]
fn an_approval_shows_the_request_the_inputs_and_what_it_stands_on() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
name: release
inputs: {version: {default: "1.2"}}
artifacts: {expected: [{id: notes, path: notes.md}]}
checks:
  build: {type: command, artifacts: notes, exec: 'echo news > "$ESCROW_ARTIFACTS/notes.md"; echo "{\"sha\": \"abc\"}"'}
  review: {type: command, outcome: gate_verdict, exec: "echo '{\"outcome_kind\": \"gate_verdict\", \"gate_passed\": true, \"summary\": \"fine\"}'"}
  ship:
    type: command
    depends_on: [build, review]
    criticality: external
    requires_approval: true
    exec: ship {{ inputs.version }} {{ outputs.build.sha }} "$TARGET"
"#,
    );
    let mut run = desk.command(&["run", "playbook.yaml", "--quiet"]);
    assert_eq!(run.env("TARGET", "prod").status().expect("it runs").code(), Some(4));
    let wait = waiting(&desk);
    assert_eq!((&wait["criticality"], &wait["status"]), (&json!("external"), &json!("pending")));
    assert!(wait["asked_at"].is_string() && wait["expires_at"].is_string(), "{wait}");
    assert_eq!(wait["request"]["environment"]["TARGET"], "prod");
    assert_eq!(wait["inputs"], json!({ "version": "1.2" }));
    let names = |key: &str, name: &str| -> Vec<Value> {
        wait[key].as_array().expect(key).iter().map(|one| one[name].clone()).collect()
    };
    assert_eq!(names("outputs", "check"), [json!("build"), json!("review")]);
    assert_eq!(names("outcomes", "kind"), [json!("gate_verdict")]);
    assert_eq!(names("artifacts", "path"), [json!("notes.md")]);
    assert_eq!(wait["artifacts"][0]["sha256"].as_str().map(str::len), Some(64));
    let page = desk.escrow(&["approvals"]).stdout;
    for part in [
        "release (external check)",
        "ship \"‹1.2›\" \"‹abc›\"",
        "value  inputs.version = 1.2",
        "value  outputs.build.sha = abc",
        "TARGET=prod",
        "version = 1.2",
        "notes.md",
        "fine",
    ] {
        assert!(page.contains(part), "`{part}` is not shown:\n{page}");
    }
    assert!(page.contains(&format!("escrow approve {}", id_of(&wait))), "{page}");
    assert!(page.contains(wait["digest"].as_str().expect("a digest")), "{page}");
    let shown = desk.escrow(&["runs", "show", "last"]).stdout;
    assert!(shown.contains("ship \"‹1.2›\" \"‹abc›\""), "every view shows the request:\n{shown}");
}

#[test]
fn a_long_request_is_shown_to_its_end_and_cannot_hide_in_control_characters() {
    let desk = Desk::new();
    let padding = "x".repeat(5_000);
    desk.run(&format!(
        "inputs: {{word: {{default: \"a\\u202Eb\"}}}}
checks: {{ship: {{type: command, requires_approval: true, exec: 'echo {padding}; echo {{{{ inputs.word }}}}; rm all'}}}}"
    ));
    let page = desk.escrow(&["approvals"]).stdout;
    assert!(page.contains("; rm all"), "{page}");
    assert!(page.contains("a\\u{202e}b"), "{page}");
}

#[test]
fn every_view_shows_the_words_of_a_list_apart_and_the_values_of_a_script_marked() {
    let desk = Desk::new();
    desk.run(
        r#"
inputs: {name: {default: "a b"}, code: {default: "\"; rm -rf /; echo \""}}
checks:
  list: {type: command, requires_approval: true, exec: [rm, "{{ inputs.name }}", "x;y"]}
  script: {type: command, requires_approval: true, exec: 'echo "{{ inputs.code }}"'}
"#,
    );
    for view in [&["approvals"][..], &["attention"], &["runs", "show", "last"]] {
        let page = desk.escrow(view).stdout;
        for part in [
            "rm 'a b' 'x;y'",
            "{{ inputs.name }} = a b",
            "echo \"‹\"; rm -rf /; echo \"›\"",
            "inputs.code = \"; rm -rf /",
        ] {
            assert!(page.contains(part), "`{part}` is not in {view:?}:\n{page}");
        }
    }
}

#[test]
fn every_view_shows_the_secrets_and_the_reconcile_of_a_check() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
secrets: [TOKEN, KEY, PASS]
checks:
  ship:
    type: command
    criticality: external
    requires_approval: true
    secrets: [TOKEN, {name: KEY, as: file}, {name: PASS, as: fd}]
    reconcile: ./shipped {{ checkName }} && echo done
    exec: ./ship
"#,
    );
    let mut command = desk.command(&["run", "playbook.yaml"]);
    let values = [("TOKEN", "token-value"), ("KEY", "key-value"), ("PASS", "pass-value")];
    let asked = Done::from(command.envs(values).output().expect("the binary runs"));
    assert_eq!(asked.code, Some(4), "{}", asked.stderr);
    let views =
        [&["approvals"][..], &["attention"], &["runs", "show", "last"]].map(|view| desk.escrow(view).stdout);
    for page in views.iter().chain([&asked.stderr]) {
        for part in
            ["TOKEN (as env)", "KEY (as file)", "PASS (as fd)", "./shipped {{ checkName }} && echo done"]
        {
            assert!(page.contains(part), "`{part}` is not shown:\n{page}");
        }
        assert!(!page.contains("-value"), "{page}");
    }
    let wait = &desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0];
    assert_eq!(wait["secrets"][1], json!({ "name": "KEY", "as": "file" }));
    assert_eq!(wait["reconcile"], "./shipped {{ checkName }} && echo done");
}

#[test]
fn what_is_asked_is_escaped_wherever_it_is_shown_and_never_dropped() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "title: 'to \"{{ inputs.word }}\"'
inputs: {word: {default: \"a\\u202Eb\\u0007\"}}
checks: {ship: {type: command, requires_approval: {prompt: 'ship {{ inputs.word }}?'}, exec: 'echo {{ inputs.word }}'}}",
    );
    let asked = desk.escrow(&["run", "playbook.yaml"]);
    let escaped = "a\\u{202e}b\\u{7}";
    assert!(asked.stderr.matches(escaped).count() >= 3, "{}", asked.stderr);
    for view in
        [&["approvals"][..], &["attention"], &["runs", "show", "last"], &["explain", "last"], &["runs"]]
    {
        let page = desk.escrow(view).stdout;
        assert!(page.contains(escaped), "{view:?}:\n{page}");
        assert!(!page.contains(['\u{202e}', '\u{7}']), "{view:?}:\n{page}");
    }
}

#[test]
fn invisible_characters_are_shown_to_who_approves() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "inputs: {word: {default: \"a\\u200Bb\\u00ADc\\u2028d\\uFE0Fe\\U000E0041f\\u3164\"}}
checks: {ship: {type: command, requires_approval: true, exec: 'echo {{ inputs.word }}'}}",
    );
    desk.escrow(&["run", "playbook.yaml"]);
    let listed = desk.escrow(&["approvals", "--output", "json"]).stdout;
    assert!(listed.contains(r"e\udb40\udc41f\u3164"), "{listed}");
    let page = desk.escrow(&["approvals"]).stdout;
    assert!(page.contains(r"a\u{200b}b\u{ad}c\u{2028}d\u{fe0f}e\u{e0041}f\u{3164}"), "{page}");
}

#[test]
fn a_question_shows_where_the_command_would_run() {
    let desk = Desk::new();
    desk.write("elsewhere/note", "");
    desk.write(
        "playbook.yaml",
        "checks: {ship: {type: command, requires_approval: true, exec: 'rm -r build'}}",
    );
    let asked = desk.escrow(&["run", "playbook.yaml", "--dir", "elsewhere"]);
    let directory = desk.path().canonicalize().expect("it is there").join("elsewhere").display().to_string();
    assert!(asked.stderr.contains(&format!("directory: {directory}\n")), "{}", asked.stderr);
    let page = desk.escrow(&["approvals"]).stdout;
    assert!(page.contains(&format!("  directory  {directory}\n")), "{page}");
    assert_eq!(waiting(&desk)["directory"], json!(directory));
}

const DEPLOY: &str = r#"
checks:
  deploy:
    type: command
    requires_approval: true
    env: {MODE: "{{ env.MODE }}"}
    exec: printf '%s %s %s' "$TARGET" "$MODE" "${UNNAMED-}" > deployed
  check:
    type: command
    depends_on: deploy
    exec: echo "$TARGET"
"#;

#[test]
fn the_environment_of_who_approves_changes_nothing() {
    let desk = Desk::new();
    desk.write("playbook.yaml", &DEPLOY.replace(" \"${UNNAMED-}\"", " \"$(env | grep -c ^OTHER= || true)\""));
    let mut run = desk.command(&["run", "playbook.yaml", "--quiet"]);
    run.env("TARGET", "staging").env("MODE", "slow").env("OTHER", "1");
    assert_eq!(run.status().expect("it runs").code(), Some(4));
    let mut approve = desk.command(&["approve", &id_of(&waiting(&desk)), "--quiet"]);
    approve.env("TARGET", "prod").env("MODE", "fast").env("OTHER", "2");
    assert_eq!(approve.status().expect("it runs").code(), Some(0));
    assert_eq!(desk.read("deployed"), "staging slow 0", "named variables are captured, others are absent");
}

#[test]
fn the_environment_of_who_approves_changes_nothing_in_the_next_question_either() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "checks:
  first: {type: command, requires_approval: true, exec: 'printf %s \"$TARGET\" > first'}
  second: {type: command, requires_approval: true, depends_on: first, exec: 'printf %s \"$TARGET\" > second'}",
    );
    let mut run = desk.command(&["run", "playbook.yaml", "--quiet"]);
    assert_eq!(run.env("TARGET", "staging").status().expect("it runs").code(), Some(4));
    let mut approve = desk.command(&["approve", &id_of(&waiting(&desk)), "--quiet"]);
    assert_eq!(approve.env("TARGET", "prod").status().expect("it runs").code(), Some(0));
    let asked = waiting(&desk);
    assert_eq!(
        (&asked["check"], &asked["request"]["environment"]["TARGET"]),
        (&json!("second"), &json!("staging"))
    );
    let mut approve = desk.command(&["approve", &id_of(&asked), "--quiet"]);
    assert_eq!(approve.env("TARGET", "prod").status().expect("it runs").code(), Some(0));
    assert_eq!((desk.read("first"), desk.read("second")), ("staging".to_owned(), "staging".to_owned()));
}

#[test]
fn a_large_output_is_shown_by_its_ends_and_bound_as_a_whole() {
    let desk = Desk::new();
    let (_, document) = desk.run(
        "checks:
  build: {type: command, exec: 'echo FIRST; head -c 40000 /dev/zero | tr \"\\0\" x; echo; echo LAST'}
  ship: {type: command, depends_on: build, criticality: external, requires_approval: true, exec: 'touch shipped'}",
    );
    let wait = waiting(&desk);
    let shown = &wait["outputs"][0];
    let whole = document["checks"]["build"]["output"].as_str().expect("text");
    let excerpt = &shown["excerpt"];
    assert_eq!((&shown["value"], &excerpt["bytes"]), (&Value::Null, &json!(whole.len())));
    let (head, tail) = (excerpt["head"].as_str().expect("text"), excerpt["tail"].as_str().expect("text"));
    assert_eq!((head.len(), tail.len()), (2048, 2048));
    assert!(whole.starts_with(head) && whole.ends_with(tail));
    let page = desk.escrow(&["approvals"]).stdout;
    for part in [
        "build, 40011 bytes  sha256 ",
        "             FIRST\n",
        "             LAST\n",
        "… 35915 bytes are left out here: `escrow runs show r_",
    ] {
        assert!(page.contains(part), "{part}\n{}", page.chars().take(400).collect::<String>());
    }
}

#[test]
fn what_a_nested_playbook_would_do_is_there_by_key() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        "name: inner
inputs: {to: {default: test}}
checks:
  act: {type: command, criticality: external, env: {MODE: fast}, exec: './ship {{ inputs.to }}'}
  tell: {type: http, url: 'https://example.com/{{ inputs.to }}', method: POST, json: {done: true}}",
    );
    desk.run(
        "checks: {nest: {type: playbook, playbook: inner.yaml, with: {to: prod}, requires_approval: true}}",
    );
    let external = waiting(&desk)["nested"]["external"].clone();
    assert_eq!(
        external[0],
        json!({
            "playbook": "inner", "check": "act", "type": "command",
            "command": "exec: ./ship {{ inputs.to }}\nenv: {\"MODE\":\"fast\"}",
            "request": { "exec": "./ship {{ inputs.to }}", "env": { "MODE": "fast" } },
            "values": ["inputs.to"],
        })
    );
    assert_eq!(external[1]["request"]["json"], json!({ "done": true }));
    assert_eq!(external[1]["values"], json!(["https://example.com/{{ inputs.to }}"]));
}

#[test]
fn a_nested_run_behind_an_approval_has_the_captured_environment() {
    let desk = Desk::new();
    desk.write("inner.yaml", "checks: {act: {type: command, exec: 'echo \"${TARGET-none}\" > acted'}}");
    desk.write(
        "playbook.yaml",
        "checks: {nest: {type: playbook, playbook: inner.yaml, requires_approval: true, env: {X: '{{ env.TARGET }}'}}}",
    );
    let mut run = desk.command(&["run", "playbook.yaml", "--quiet"]);
    assert_eq!(run.env("TARGET", "staging").status().expect("it runs").code(), Some(4));
    let mut approve = desk.command(&["approve", &id_of(&waiting(&desk)), "--quiet"]);
    assert_eq!(approve.env("TARGET", "prod").status().expect("it runs").code(), Some(0));
    assert_eq!(desk.read("acted"), "staging\n");
}

#[test]
fn secrets_are_read_anew_and_are_outside_of_the_digest() {
    let desk = Desk::new();
    desk.write("token", "first-secret");
    desk.run(
        "secrets: {TOKEN: {file: token}}
checks: {ship: {type: command, requires_approval: true, secrets: [TOKEN], exec: 'printf %s \"$TOKEN\" | rev > shipped'}}",
    );
    let wait = waiting(&desk);
    assert!(!wait.to_string().contains("first-secret"), "{wait}");
    desk.write("token", "second-secret");
    assert_eq!(desk.escrow(&["approve", &id_of(&wait)]).code, Some(0));
    assert_eq!(desk.read("shipped").trim(), "terces-dnoces");
}

#[test]
fn of_an_approval_and_a_denial_at_once_exactly_one_is_accepted() {
    let playbook = "checks: {deploy: {type: command, exec: 'touch deployed', requires_approval: true}}";
    for round in 0..12 {
        let desk = Desk::new();
        desk.run(playbook);
        let id = id_of(&waiting(&desk));
        let mut racers: Vec<_> = ["approve", "deny", "approve", "deny"]
            .iter()
            .map(|verb| (*verb, desk.start(&[verb, &id])))
            .collect();
        let codes: Vec<(&str, Option<i32>)> =
            racers.iter_mut().map(|(verb, child)| (*verb, child.wait().expect("it ends").code())).collect();
        let accepted: Vec<&str> =
            codes.iter().filter(|(_, code)| *code == Some(0)).map(|(verb, _)| *verb).collect();
        assert_eq!(accepted.len(), 1, "round {round}: {codes:?}");
        assert!(codes.iter().all(|(_, code)| matches!(code, Some(0 | 4))), "round {round}: {codes:?}");
        // The winner may have left the run to another process, which is still at work.
        desk.until("the run has ended", || desk.show("last")["run"]["ended_at"].is_string());
        assert_eq!(
            desk.path().join("deployed").exists(),
            accepted == ["approve"],
            "round {round}: {codes:?}"
        );
    }
}

#[test]
fn a_decision_that_was_accepted_exits_0_whatever_the_run_does_next() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'exit 3', requires_approval: true}}");
    let id = id_of(&waiting(&desk));
    assert_eq!(desk.escrow(&["approve", &id]).code, Some(0));
    assert_eq!(desk.show("last")["run"]["status"], "failed");
    let again = desk.escrow(&["deny", &id, "--output", "json"]);
    assert_eq!((again.code, again.json()["error"]["code"].clone()), (Some(4), json!("resolved")));
    assert_eq!(desk.escrow(&["approve", "a_unknown"]).code, Some(2));
}

#[test]
fn an_approval_that_has_expired_is_refused_and_counts_as_denied() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'true', requires_approval: {expires: 1ms}}}");
    let id = id_of(&waiting(&desk));
    let late = desk.escrow(&["approve", &id, "--output", "json"]);
    assert_eq!((late.code, late.json()["error"]["code"].clone()), (Some(4), json!("expired")));
    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(4));
    let document = desk.show("last");
    assert_eq!(document["run"]["reason"]["code"], "run.aborted.denied");
    let summary = document["run"]["reason"]["summary"].as_str().expect("a summary").to_owned();
    assert!(summary.contains("the time to answer ran out"), "{summary}");
}

#[test]
fn the_actor_is_the_user_of_the_system_and_a_claim_never_counts() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'true', requires_approval: {by: [somebody-else]}}}");
    let id = id_of(&waiting(&desk));
    let mut claimed = desk.command(&["approve", &id, "--by", "somebody-else", "--output", "json"]);
    let refused = claimed.env("USER", "somebody-else").output().expect("it runs");
    assert_eq!(refused.status.code(), Some(4));
    let error: Value = serde_json::from_slice(&refused.stdout).expect("JSON");
    assert_eq!(error["error"]["code"], "not_allowed");
    assert!(error["error"]["message"].as_str().is_some_and(|text| text.contains(&actor())), "{error}");
    // Anyone may deny, and the claim is kept beside the actor.
    assert_eq!(desk.escrow(&["deny", &id, "--by", "Ann", "--note", "not today"]).code, Some(0));
    let document = desk.show("last");
    let said = format!("`deploy`: {} (as Ann) denied it: not today", actor());
    assert_eq!(document["run"]["reason"]["summary"], json!(said));
    let decision = &document["decisions"][0];
    assert_eq!((&decision["by"], &decision["claim"]), (&json!(actor()), &json!("Ann")));
    assert!(desk.escrow(&["explain", "last"]).stdout.contains(&said));
}

#[test]
fn the_bare_name_and_the_whole_name_of_the_user_are_admitted() {
    let (whole, bare) = (actor(), actor().replace("os:", ""));
    for by in [&whole, &bare] {
        let desk = Desk::new();
        desk.run(&format!(
            "checks: {{deploy: {{type: command, exec: 'true', requires_approval: {{by: ['{by}']}}}}}}"
        ));
        let approved = desk.escrow(&["approve", &id_of(&waiting(&desk))]);
        assert_eq!(approved.code, Some(0), "{by}: {}", approved.stderr);
    }
}

#[test]
fn who_started_or_resumed_a_run_cannot_approve_it_independently() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'true', requires_approval: {independent: true}}}");
    let refused = desk.escrow(&["approve", &id_of(&waiting(&desk)), "--by", "another", "--output", "json"]);
    assert_eq!((refused.code, refused.json()["error"]["code"].clone()), (Some(4), json!("not_independent")));
}

#[test]
fn one_actor_counts_once_where_two_must_approve() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'true', requires_approval: {count: 2}}}");
    let id = id_of(&waiting(&desk));
    assert_eq!(desk.escrow(&["approve", &id, "--note", "one"]).code, Some(0));
    let again = desk.escrow(&["approve", &id, "--by", "another", "--output", "json"]);
    assert_eq!((again.code, again.json()["error"]["code"].clone()), (Some(4), json!("again")));
    let wait = waiting(&desk);
    assert_eq!(wait["approvals"][0]["by"], json!(actor()));
    assert_eq!(wait["approvals"][0]["note"], "one");
    assert_eq!(desk.escrow(&["deny", &id]).code, Some(0), "one denial decides");
    assert_eq!(desk.show("last")["run"]["reason"]["code"], "run.aborted.denied");
}

#[test]
fn an_approval_that_is_recorded_and_not_delivered_counts_and_decides_nothing_where_two_must_approve() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'true', requires_approval: {count: 2}}}");
    let id = id_of(&waiting(&desk));
    assert_eq!(desk.escrow(&["approve", &id, "--no-run"]).code, Some(0));
    let wait = waiting(&desk);
    assert_eq!(wait["approvals"][0]["by"], json!(actor()), "{wait}");
    assert_eq!(wait["next"], format!("escrow approve {id}"));
    let listed = desk.escrow(&["approvals"]).stdout;
    assert!(!listed.contains("decided") && listed.contains(&actor()), "{listed}");
    assert!(desk.escrow(&["attention"]).stdout.contains("escrow approve"));
    assert_eq!(desk.escrow(&["deny", &id, "--no-run"]).code, Some(0), "one denial decides");
    assert_eq!(waiting(&desk)["next"].as_str().map(|next| next.contains("resume")), Some(true));
}

/// A check that tries to approve its own run, by a command that begins like this.
fn sneaking(prefix: &str) -> (Desk, Value) {
    let desk = Desk::new();
    desk.write(
        "ask.yaml",
        "checks: {deploy: {type: command, exec: 'touch deployed', requires_approval: true}}",
    );
    assert_eq!(desk.escrow(&["run", "ask.yaml"]).code, Some(4));
    let id = id_of(&waiting(&desk));
    let binary = env!("CARGO_BIN_EXE_escrow");
    let state = desk.path().join(".escrow");
    let sneak = format!(
        "checks: {{sneak: {{type: command, exec: '{prefix} {binary} --state {} approve {id} > said 2>&1 || echo $?'}}}}",
        state.display()
    );
    let (_, document) = desk.run(&sneak);
    (desk, document["checks"]["sneak"]["output"].clone())
}

#[test]
fn a_process_inside_a_run_cannot_decide() {
    for prefix in ["", "env -u ESCROW_RUN", "env -i", "env -u ESCROW_RUN sh -c '\\''exec \"$@\"'\\'' sh"] {
        let prefix = prefix.replace("'\\''", "''");
        let (desk, code) = sneaking(&prefix);
        assert_eq!(code, 4, "{prefix}: {}", desk.read("said"));
        assert!(
            desk.read("said").contains("cannot decide about runs of the same state"),
            "{}",
            desk.read("said")
        );
        assert!(!desk.path().join("deployed").exists(), "{prefix}");
    }
}

#[test]
fn a_process_inside_a_run_can_neither_deny_nor_answer_nor_assume() {
    let desk = Desk::new();
    desk.write("ask.yaml", "checks: {ask: {type: human-input, prompt: 'Sure?'}}");
    let (_, asked) = {
        desk.escrow(&["run", "ask.yaml"]);
        (0, waiting(&desk))
    };
    let (id, run) = (id_of(&asked), asked["run_id"].as_str().expect("a run").to_owned());
    for arguments in
        [vec!["deny", &id], vec!["answer", &id, "yes"], vec!["resume", &run, "--assume", "ask=done"]]
    {
        let mut inside = desk.command(&arguments);
        let told = inside.args(["--output", "json"]).env("ESCROW_RUN", &run).output().expect("it runs");
        let error: Value = serde_json::from_slice(&told.stdout).expect("JSON");
        assert_eq!(
            (told.status.code(), &error["error"]["code"]),
            (Some(4), &json!("inside_run")),
            "{arguments:?}"
        );
    }
    // The token of a run that this state does not know means nothing here.
    let mut outside = desk.command(&["answer", &id, "yes"]);
    assert_eq!(outside.env("ESCROW_RUN", "r_00elsewhere").status().expect("it runs").code(), Some(0));
}

#[test]
fn a_process_inside_a_run_cannot_override_a_status() {
    let desk = Desk::new();
    let binary = env!("CARGO_BIN_EXE_escrow");
    let (_, failed) = desk.run("checks: {a: {type: command, exec: 'exit 1'}}");
    let other = failed["run"]["id"].as_str().expect("an id").to_owned();
    let (_, document) = desk.run(&format!(
        "checks: {{a: {{type: command, exec: '{binary} runs override {other} --status completed --by boss --why b > said 2>&1 || echo $?'}}}}"
    ));
    assert_eq!(document["checks"]["a"]["output"], 4, "{document}");
    assert!(
        desk.read("said").contains("cannot decide about runs of the same state"),
        "{}",
        desk.read("said")
    );
    assert_eq!(desk.show(&other)["run"]["status"], "failed");
}

/// Ending a run releases nothing, so a command may do it. The record says so.
#[test]
fn a_run_that_a_command_of_another_cancelled_says_so() {
    let desk = Desk::new();
    let binary = env!("CARGO_BIN_EXE_escrow");
    desk.run("checks: {ask: {type: human-input, prompt: 'Sure?'}}");
    let asked = waiting(&desk)["run_id"].as_str().expect("a run").to_owned();
    let (code, document) =
        desk.run(&format!("checks: {{a: {{type: command, exec: '{binary} cancel {asked} >&2'}}}}"));
    assert_eq!(code, Some(0), "{document}");
    let canceller = document["run"]["id"].as_str().expect("an id");
    let reason = desk.show(&asked)["run"]["reason"].clone();
    assert_eq!(reason["code"], "run.cancelled.user");
    assert_eq!(reason["summary"], format!("cancelled by a command of run {canceller}"));
    let told = desk.escrow(&["explain", &asked]).stdout;
    assert!(told.contains(&format!("a command of run {canceller} cancelled the run")), "{told}");
    assert_eq!(desk.escrow(&["verify", &asked]).code, Some(0));
}

/// The system hides the environment of an Escrow process that knows a secret, and with it the run that it is part of.
#[test]
fn a_run_inside_a_run_with_a_state_and_secrets_of_its_own_cannot_approve_the_outer_one() {
    let desk = Desk::new();
    let escrow = env!("CARGO_BIN_EXE_escrow");
    desk.write(
        "inner.yaml",
        &format!(
            r#"
secrets: {{ KEY: {{ file: key }} }}
checks:
  sneak:
    type: command
    secrets: KEY
    exec: |
      id=$(cat waiting)
      code=0
      env -u ESCROW_RUN -u ESCROW_RUNS_AROUND {escrow} --state "$OUTER" approve "$id" --no-run > said 2>&1 || code=$?
      echo $code
"#
        ),
    );
    desk.write("key", "a key of four bytes and more");
    desk.run("checks: {deploy: {type: command, exec: 'touch deployed', requires_approval: true}}");
    desk.write("waiting", &id_of(&waiting(&desk)));
    let (_, document) = desk.run(&format!(
        "checks: {{nest: {{type: command, env: {{OUTER: '{}'}}, exec: ['{escrow}', --state, inner-state, run, inner.yaml, --output, json]}}}}",
        desk.path().join(".escrow").display()
    ));
    let inner = &document["checks"]["nest"]["output"]["checks"]["sneak"]["output"];
    assert_eq!(inner, 4, "{document} {}", desk.read("said"));
    assert!(
        desk.read("said").contains("cannot decide about runs of the same state"),
        "{}",
        desk.read("said")
    );
}

#[test]
fn all_approvals_are_listed_with_who_decided_when_and_why() {
    let desk = Desk::new();
    let playbook = "checks: {deploy: {type: command, exec: 'true', requires_approval: true}}";
    desk.run(playbook);
    desk.escrow(&["approve", &id_of(&waiting(&desk)), "--by", "Ann", "--note", "looks good"]);
    let shown = desk.escrow(&["runs", "show", "last"]).stdout;
    assert!(shown.contains(&format!("deploy approved by {} (as Ann): looks good", actor())), "{shown}");
    let told = desk.escrow(&["explain", "last", "deploy"]).stdout;
    assert!(told.contains(&format!("{} (as Ann) approved it: looks good", actor())), "{told}");
    desk.run(playbook);
    desk.escrow(&["deny", &id_of(&waiting(&desk)), "--note", "too late"]);
    assert_eq!(desk.escrow(&["approvals", "--output", "json"]).json(), json!({ "approvals": [] }));
    let all = desk.escrow(&["approvals", "--all", "--output", "json"]).json();
    let told: Vec<Value> = all["approvals"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| json!([one["status"], one["decided_by"], one["claim"], one["note"]]))
        .collect();
    assert_eq!(
        told,
        [json!(["denied", actor(), null, "too late"]), json!(["approved", actor(), "Ann", "looks good"])]
    );
    assert!(all["approvals"][0]["decided_at"].is_string());
    let page = desk.escrow(&["approvals", "--all"]).stdout;
    assert!(page.contains(&format!("approved by {} (as Ann)", actor())), "{page}");
    assert!(page.contains("too late"), "{page}");
}

#[test]
fn the_next_command_after_a_recorded_approval_resumes_the_run() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'touch deployed', requires_approval: true}}");
    let wait = waiting(&desk);
    let run = wait["run_id"].as_str().expect("a run").to_owned();
    assert_eq!(wait["next"], json!(format!("escrow approve {}", id_of(&wait))));
    let recorded = desk.escrow(&["approve", &id_of(&wait), "--no-run"]);
    let next = format!("escrow resume {run}");
    assert!(recorded.stderr.contains(&next), "{}", recorded.stderr);
    assert_eq!(waiting(&desk)["next"], json!(next));
    let attention = desk.escrow(&["attention", "--output", "json"]).json();
    assert_eq!(attention["attention"][0]["next"], json!(next));
    let shown = desk.escrow(&["runs", "show", &run]).stdout;
    assert!(shown.contains(&next) && !shown.contains("escrow approve"), "{shown}");
    assert_eq!(desk.escrow(&["deny", &id_of(&wait)]).code, Some(4), "the first word has won");
    assert_eq!(desk.escrow(&["resume", &run]).code, Some(0));
    assert!(desk.path().join("deployed").exists());
}

#[test]
fn attention_never_merges_two_requests() {
    let desk = Desk::new();
    let playbook = "inputs: {to: {default: a}}
checks: {deploy: {type: command, exec: 'echo {{ inputs.to }}', requires_approval: true}}";
    desk.run_with(playbook, &["--input", "to=staging"]);
    desk.run_with(playbook, &["--input", "to=prod"]);
    let items = desk.escrow(&["attention", "--output", "json"]).json()["attention"].clone();
    let waits: Vec<&Value> = items.as_array().expect("a list").iter().map(|item| &item["wait_id"]).collect();
    assert_eq!(waits.len(), 2, "{items}");
    assert_ne!(waits[0], waits[1]);
}

const MERGE: &str = r#"
artifacts: {expected: [{id: verdict, path: verdict.json}]}
checks:
  review: {type: command, artifacts: verdict, exec: 'echo APPROVE > "$ESCROW_ARTIFACTS/verdict.json"'}
  tamper: {type: command, depends_on: review, exec: 'echo REJECT > "$ESCROW_ARTIFACTS/verdict.json"'}
  merge: {type: command, depends_on: [review, tamper], criticality: external, exec: 'touch merged'}
"#;

#[test]
fn an_artifact_that_is_swapped_behind_its_gate_blocks_the_effect() {
    let desk = Desk::new();
    let (code, document) = desk.run(MERGE);
    assert_eq!(code, Some(1), "{document}");
    assert_eq!(document["run"]["reason"]["code"], "run.failed.artifact_changed");
    assert_eq!(document["checks"]["merge"]["skip_reason"], "contract_blocked");
    assert!(!desk.path().join("merged").exists());
    let told = desk.escrow(&["explain", "last", "merge"]).stdout;
    let cause =
        "`merge` was blocked: artifact `verdict` (verdict.json) has changed since `review` verified it\n";
    assert!(told.contains(cause), "{told}");
    assert!(told.contains("`escrow resume RUN --failed` runs `review` again"), "{told}");
}

#[test]
fn an_artifact_that_is_swapped_while_people_think_blocks_the_effect() {
    let desk = Desk::new();
    let playbook = MERGE.replace("'echo REJECT > \"$ESCROW_ARTIFACTS/verdict.json\"'", "'true'");
    let (_, document) = desk
        .run(&playbook.replace("criticality: external", "criticality: external, requires_approval: true"));
    let run = document["run"]["id"].as_str().expect("an id").to_owned();
    let wait = waiting(&desk);
    std::fs::write(desk.path().join(".escrow/artifacts").join(&run).join("verdict.json"), "REJECT\n")
        .expect("the file can be swapped");
    assert_eq!(desk.escrow(&["approve", &id_of(&wait)]).code, Some(0), "the decision was accepted");
    assert_eq!(desk.show(&run)["run"]["reason"]["code"], "run.failed.artifact_changed");
    assert!(!desk.path().join("merged").exists());
    // Running the gate again makes the new delivery the verified one.
    assert_eq!(desk.escrow(&["resume", &run, "--failed"]).code, Some(4), "it asks again");
    assert_eq!(desk.escrow(&["approve", &id_of(&waiting(&desk))]).code, Some(0));
    assert!(desk.path().join("merged").exists());
}

#[test]
fn a_denial_inside_a_nested_run_aborts_everything_around_it_with_its_reason() {
    let desk = Desk::new();
    desk.write("inner.yaml", "checks: {publish: {type: command, exec: 'true', requires_approval: true}}");
    desk.write("middle.yaml", "checks: {deep: {type: playbook, playbook: inner.yaml}}");
    let (code, document) = desk.run(
        "checks:
  nest: {type: playbook, playbook: middle.yaml, on_fail: {run: cleanup, retry: {max: 2}}, continue_on_failure: true}
  cleanup: {type: command, exec: 'touch cleaned'}
  after: {type: command, depends_on: nest, exec: 'touch after'}
",
    );
    assert_eq!(code, Some(4));
    let outer = document["run"]["id"].as_str().expect("an id").to_owned();
    let wait = waiting(&desk);
    assert_eq!(desk.escrow(&["deny", &id_of(&wait), "--note", "not like this"]).code, Some(0));
    let inner = desk.show(wait["run_id"].as_str().expect("a run"))["run"]["reason"].clone();
    let around = desk.show(&outer)["run"].clone();
    assert_eq!(around["status"], "aborted");
    assert_eq!(around["reason"], inner, "the reason travels unchanged");
    assert!(
        inner["summary"].as_str().is_some_and(|text| text.ends_with("denied it: not like this")),
        "{inner}"
    );
    assert!(!desk.path().join("after").exists() && !desk.path().join("cleaned").exists());
}

#[test]
fn wrong_shapes_of_requires_approval_are_load_errors_with_help() {
    for (wrong, code, help) in [
        ("maybe", "E0105", "requires_approval: true"),
        ("[ann]", "E0105", "requires_approval: true"),
        ("{}", "E0105", ""),
        ("{who: [ann]}", "E0103", "`by`"),
        ("{count: 0}", "E0122", ""),
        ("{count: two}", "E0105", ""),
        ("{by: [ann], count: 3}", "E0122", "name more of them"),
        ("{by: [ann, ben], count: 3}", "E0122", "name more of them"),
        ("{by: ['ldap:ann']}", "E0108", "os:NAME"),
        ("{expires: soon}", "E0121", "30s"),
        ("{independent: 1}", "E0105", ""),
        ("{prompt: '{{ nothing.here }}'}", "E0114", ""),
    ] {
        let desk = Desk::new();
        desk.write(
            "playbook.yaml",
            &format!("checks: {{a: {{type: command, exec: 'true', requires_approval: {wrong}}}}}"),
        );
        let told = desk.escrow(&["check", "playbook.yaml", "--output", "json"]);
        assert_eq!(told.code, Some(2), "{wrong}: {}", told.stderr);
        let diagnostics = told.json()["error"]["diagnostics"].clone();
        let found = diagnostics.as_array().expect("a list").iter().find(|one| one["code"] == code);
        let found = found.unwrap_or_else(|| panic!("{wrong}: {diagnostics}"));
        assert!(found.to_string().contains(help), "{wrong}: {found}");
    }
}

#[test]
fn an_approval_after_the_time_of_the_run_was_up_decides_nothing_and_says_so() {
    let desk = Desk::new();
    desk.run(
        "timeout: 1s\nchecks: {deploy: {type: command, exec: 'touch deployed', requires_approval: true}}",
    );
    let id = id_of(&waiting(&desk));
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let late = desk.escrow(&["approve", &id, "--output", "json"]);
    assert_eq!(
        (late.code, late.json()["error"]["code"].clone()),
        (Some(4), json!("too_late")),
        "{}",
        late.stdout
    );
    assert_eq!(desk.show("last")["run"]["status"], "timed_out");
    assert!(!desk.path().join("deployed").exists());
}

#[test]
fn an_approval_that_has_expired_is_listed_as_expired_with_a_command_that_works() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'true', requires_approval: {expires: 1s}}}");
    std::thread::sleep(std::time::Duration::from_millis(1100));
    let wait = waiting(&desk);
    let next = format!("escrow resume {}", wait["run_id"].as_str().expect("a run"));
    assert_eq!((&wait["status"], &wait["next"]), (&json!("expired"), &json!(next)), "{wait}");
    let late = desk.escrow(&["approve", &id_of(&wait)]);
    assert_eq!(late.code, Some(4));
    assert!(late.stderr.contains("has expired") && late.stderr.contains(&next), "{}", late.stderr);
    desk.escrow(&["resume", "last"]);
    let resolved = desk.escrow(&["approve", &id_of(&wait)]);
    assert!(
        resolved.stderr.contains("was resolved") && resolved.stderr.contains("escrow runs show r_"),
        "{}",
        resolved.stderr
    );
}

/// A person decides, and the run is told later.
#[test]
fn a_decision_keeps_its_time_when_the_run_takes_it_in_later() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'true', requires_approval: true}}");
    assert_eq!(desk.escrow(&["approve", &id_of(&waiting(&desk)), "--no-run"]).code, Some(0));
    let recorded = escrow_runtime::now_ms();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(0));
    let all = desk.escrow(&["approvals", "--all", "--output", "json"]).json();
    let decided = all["approvals"][0]["decided_at"].as_str().expect("a time").to_owned();
    assert!(decided <= escrow_model::rfc3339(recorded), "{decided}");
}

#[test]
fn resuming_a_denied_run_says_that_the_denial_is_final_and_suggests_nothing_that_is_refused() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'true', requires_approval: true}}");
    assert_eq!(desk.escrow(&["deny", &id_of(&waiting(&desk))]).code, Some(0));
    let resumed = desk.escrow(&["resume", "last"]);
    assert_eq!(resumed.code, Some(4), "{}", resumed.stderr);
    assert!(resumed.stderr.contains("a denial is final"), "{}", resumed.stderr);
    assert!(!resumed.stderr.contains("--failed"), "{}", resumed.stderr);
}
