//! Scripts end to end: a shell that fails, and output that is told as it was.

mod desk;

use desk::Desk;
use serde_json::json;

#[test]
fn a_gate_whose_tests_fail_is_red() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        "
checks:
  lines: {type: command, exec: \"echo one\\nfalse\\necho two\"}
  tests: {type: command, shell: bash, exec: 'false | tee log'}
",
    );
    assert_eq!(code, Some(1));
    assert_eq!(document["checks"]["tests"]["status"], "failed");
    assert_eq!(document["checks"]["lines"]["output"], "one");
}

#[test]
fn expected_exit_codes_and_parsed_output_reach_the_contract() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        "
checks:
  diff: {type: command, exec: 'exit 2', expect: [0, 2], guarantee: output.exitCode === 2}
  version: {type: command, exec: echo 1.10, guarantee: output === '1.10'}
  files: {type: command, exec: \"printf 'a\\\\nb\\\\n'\", parse: lines, forEach: true}
  each: {type: command, exec: 'echo {{ item }}', depends_on: files}
",
    );
    assert_eq!(code, Some(0), "{document:#}");
    assert_eq!(document["checks"]["each"]["output"], json!(["a", "b"]));
}

#[test]
fn duplicate_keys_in_json_output_never_satisfy_a_contract() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"
checks:
  schema: {type: command, exec: "echo '{\"ok\": false, \"ok\": true}'", schema: {type: object}}
  guarantee: {type: command, exec: "echo '{\"ok\": false, \"ok\": true}'", guarantee: output.ok === true}
  outcome: {type: command, exec: "echo '{\"passed\": false, \"passed\": true}'", outcome: ci_result}
  parsed: {type: command, exec: "echo '{\"ok\": true, \"ok\": true}'", parse: json}
"#,
    );
    assert_eq!(code, Some(1));
    for (check, issue, says) in [
        ("schema", "contract/schema_validation_failed", "names a member twice"),
        ("guarantee", "contract/guarantee_failed", "duplicate key `ok`"),
        ("outcome", "contract/outcome_invalid", "duplicate key `passed`"),
        ("parsed", "command/output_not_json", "`ok` twice"),
    ] {
        let found = &document["checks"][check]["issues"][0];
        assert_eq!(found["rule_id"], issue, "{check}");
        assert!(found["message"].as_str().is_some_and(|text| text.contains(says)), "{found}");
    }
}

#[test]
fn logs_print_every_byte() {
    let desk = Desk::new();
    let playbook = r#"
checks:
  json: {type: command, exec: "printf '{\"b\": 1,  \"a\": 1.10}'"}
  open: {type: command, exec: "printf 'no newline'"}
  binary: {type: command, depends_on: open, exec: "printf '\\377\\376\\000\\033[31m'"}
"#;
    assert_eq!(desk.run(playbook).0, Some(0));
    for (check, expected) in [
        ("json", b"{\"b\": 1,  \"a\": 1.10}".as_slice()),
        ("open", b"no newline"),
        ("binary", b"\xff\xfe\0\x1b[31m"),
    ] {
        let output = desk.command(&["logs", "last", check, "--stdout"]).output().unwrap();
        assert_eq!(output.stdout, expected, "{check}");
    }
    let all = desk.escrow(&["logs", "last"]).stdout;
    assert!(all.contains("no newline\n── "), "{all}");
}

#[test]
fn output_full_of_nul_characters_does_not_swell_the_database() {
    let desk = Desk::new();
    let size = || {
        let files = std::fs::read_dir(desk.path().join(".escrow")).unwrap().flatten();
        let databases = files.filter(|file| file.file_name().to_string_lossy().ends_with(".db"));
        databases.map(|file| file.metadata().unwrap().len()).sum::<u64>()
    };
    assert_eq!(desk.run("checks: {a: {type: command, exec: 'true'}}").0, Some(0));
    let before = size();
    assert_eq!(desk.run("checks: {a: {type: command, exec: 'head -c 4000000 /dev/zero'}}").0, Some(0));
    let grown = size() - before;
    assert!(grown < 8_000_000, "4 MB of output took {grown} bytes");
}

#[test]
fn no_check_steals_the_secret_of_the_next_one() {
    let desk = Desk::new();
    let playbook = r#"
secrets: [TOKEN]
checks:
  agent:
    type: command
    exec: |
      mkdir bin; printf '#!/bin/sh\necho stolen > loot\n' > bin/curl; chmod +x bin/curl
      echo "PATH=$PWD/bin:$PATH" >> "$ESCROW_ENV"
      echo DRY_RUN=false >> "$ESCROW_ENV"
      echo OWN=1 >> "$ESCROW_ENV"
  deploy:
    type: command
    depends_on: agent
    criticality: external
    secrets: [TOKEN]
    exec: curl --version >/dev/null 2>&1 || true; echo "$DRY_RUN-$(printenv OWN)"
"#;
    desk.write("playbook.yaml", playbook);
    let output = desk
        .command(&["run", "playbook.yaml", "--output", "json", "--quiet"])
        .env("TOKEN", "very-secret-token")
        .env("DRY_RUN", "true")
        .output()
        .unwrap();
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["checks"]["deploy"]["output"], "true-", "{document:#}");
    assert!(!desk.path().join("loot").exists(), "the agent's curl ran");
    let warnings: Vec<&str> = document["run"]["warnings"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["message"].as_str())
        .collect();
    assert!(warnings.iter().any(|text| text.contains("`PATH`")), "{warnings:?}");
    assert!(
        warnings.iter().any(|text| text.contains("`DRY_RUN`") && text.contains("operator")),
        "{warnings:?}"
    );
}

#[test]
fn a_retried_command_is_told_what_was_missing() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"
artifacts: {expected: [{id: notes, path: notes.md}]}
checks:
  agent:
    type: command
    artifacts: [notes]
    guarantee: output === 'done'
    retry_on: [logical]
    on_fail: {retry: {max: 1, backoff: {delay_ms: 1}}}
    exec: |
      cp "$ESCROW_CONTEXT" "context-$ESCROW_ATTEMPT.json"
      if [ "$ESCROW_ATTEMPT" = 2 ]; then echo text > "$ESCROW_ARTIFACTS/notes.md"; echo done; fi
"#,
    );
    assert_eq!(code, Some(0), "{document:#}");
    let context = |attempt: u32| -> serde_json::Value {
        serde_json::from_str(&desk.read(&format!("context-{attempt}.json"))).unwrap()
    };
    assert_eq!(context(1).get("previous"), None);
    let previous = &context(2)["previous"];
    let codes: Vec<&str> =
        previous["issues"].as_array().unwrap().iter().filter_map(|issue| issue["rule_id"].as_str()).collect();
    assert_eq!(codes, ["contract/guarantee_failed", "contract/artifact_missing"]);
    assert_eq!(previous["missing"][0]["id"], "notes");
    assert_eq!(previous["missing"][0]["problem"], "absent");
}

#[test]
fn a_command_that_changes_the_world_is_external_and_skipped_in_safe_mode() {
    let desk = Desk::new();
    let playbook = "
checks:
  push: {type: command, exec: 'touch pushed; git push origin main'}
  remote: {type: command, shell: [ssh, host], exec: uptime}
  written: {type: command, criticality: info, exec: 'echo git push'}
";
    desk.write("playbook.yaml", playbook);
    let checked = desk.escrow(&["check", "playbook.yaml"]);
    assert!(checked.stderr.contains("`git push` changes the outside world"), "{}", checked.stderr);
    assert!(checked.stderr.contains("`ssh` changes the outside world"), "{}", checked.stderr);
    let (_, document) = desk.run_with(playbook, &["--safe-mode"]);
    assert_eq!(document["checks"]["push"]["criticality"], "external");
    for check in ["push", "remote"] {
        assert_eq!(document["checks"][check]["skip_reason"], "safe_mode", "{check}");
    }
    assert_eq!(document["checks"]["written"]["status"], "succeeded");
    assert!(!desk.path().join("pushed").exists());
}
