//! Whole runs of the binary: what is judged, stored, printed, and what the exit code says.

mod desk;

use desk::{Desk, signal};
use serde_json::{Value, json};

#[test]
fn a_run_whose_contracts_hold_completes() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"
artifacts:
  expected: [{id: note, path: note.md}]
checks:
  count: {type: command, exec: "echo '{\"n\": 3}'", guarantee: output.n === 3}
  note: {type: command, depends_on: count, exec: 'echo {{ outputs.count.n }} > "$ESCROW_ARTIFACTS/note.md"'}
"#,
    );
    assert_eq!(code, Some(0));
    assert_eq!(document["run"]["status"], "completed");
    assert_eq!(document["run"]["reason"]["code"], "run.completed.ok");
    assert_eq!(document["checks"]["count"]["output"], json!({"n": 3}));
    assert_eq!(document["artifacts"]["status"], "passed");
    assert_eq!(document["artifacts"]["produced"][0]["size"], 2);
    let digest = document["artifacts"]["produced"][0]["sha256"].as_str().unwrap_or_default();
    assert_eq!(digest.len(), 64);
}

#[test]
fn a_clean_exit_without_the_promised_file_is_a_failure() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"
artifacts:
  expected:
    - {id: review, path: review.md, description: The verdict}
    - {id: notes, path: notes.md, required: false}
checks:
  review: {type: command, exec: "true"}
"#,
    );
    let done = desk.escrow(&["run", "playbook.yaml", "--output", "json"]);
    let document = done.json();
    assert_eq!(done.code, Some(1));
    assert_eq!(document["run"]["reason"]["code"], "run.failed.missing_artifact");
    let evidence = json!([{"kind": "expected_artifact", "id": "review", "label": "review.md"}]);
    assert_eq!(document["run"]["reason"]["evidence"], evidence);
    assert_eq!(document["artifacts"]["missing_required"][0]["problem"], "absent");
    assert_eq!(document["artifacts"]["missing_required"][0]["source"], "playbook");
    assert_eq!(document["artifacts"]["missing_optional"][0]["id"], "notes");
    assert!(done.stderr.contains("Run failed: missing required artifacts."), "{}", done.stderr);
    assert!(done.stderr.contains("review (review.md) — playbook"), "{}", done.stderr);
    assert!(done.stderr.contains("escrow runs show r_"), "{}", done.stderr);
}

#[test]
fn last_weeks_file_is_not_a_delivery() {
    let desk = Desk::new();
    desk.write("out/review.md", "an old review");
    let playbook = r#"
artifacts: {expected: [{id: review, path: review.md}]}
checks: {look: {type: command, exec: "true"}}
"#;
    let (code, document) = desk.run_with(playbook, &["--artifacts", "out"]);
    assert_eq!(code, Some(1));
    assert_eq!(document["artifacts"]["missing_required"][0]["problem"], "stale");
}

#[test]
fn a_broken_guarantee_blocks_the_external_check_behind_it() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"
checks:
  gate: {type: command, exec: "echo '{\"ok\": false}'", guarantee: output.ok}
  post:
    {type: command, depends_on: gate, criticality: external, assume: "true", guarantee: "true", exec: "touch posted"}
"#,
    );
    assert_eq!(code, Some(1));
    assert_eq!(document["checks"]["gate"]["issues"][0]["rule_id"], "contract/guarantee_failed");
    assert_eq!(document["checks"]["post"]["skip_reason"], "contract_blocked");
    assert_eq!(document["checks"]["post"]["runs"], 0);
    assert!(!desk.path().join("posted").exists());
}

#[test]
fn what_was_printed_later_is_what_was_printed_first() {
    let desk = Desk::new();
    let (_, document) = desk.run("checks: {a: {type: command, exec: 'echo hi; exit 3'}}");
    assert_eq!(document, desk.show("last"));
    let listed = desk.escrow(&["runs", "--output", "json"]).json();
    assert_eq!(listed["runs"][0], document["run"]);
    let id = document["run"]["id"].as_str().unwrap_or_default();
    assert_eq!(desk.show(&id[..id.len() - 3]), document, "a unique beginning names a run");
}

#[test]
fn every_line_of_jsonl_is_an_entry_and_the_last_is_the_document() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {a: {type: command, exec: 'true'}}");
    let done = desk.escrow(&["run", "playbook.yaml", "--output", "jsonl", "-q"]);
    let lines: Vec<Value> =
        done.stdout.lines().map(|line| serde_json::from_str(line).expect("a line is JSON")).collect();
    let (last, entries) = lines.split_last().expect("lines");
    assert!(last["document"]["run"]["id"].is_string());
    assert!(entries.iter().all(|line| line["entry"]["v"] == 3), "{entries:?}");
    assert!(entries[0]["entry"]["event"]["run_started"].is_object());
    assert!(entries.last().expect("an entry")["entry"]["event"]["run_ended"].is_object());
}

#[test]
fn faults_and_recoveries_have_their_documented_names_wherever_entries_are_shown() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "checks:\n  flaky: {type: command, exec: 'test -e there || { touch there; exit 1; }', on_fail: {retry: {max: 1, backoff: {delay_ms: 1}}}}\n  \
         broken: {type: command, exec: 'exit 1', on_fail: {retry: {max: 1, backoff: {delay_ms: 1}}}}\n  \
         behind: {type: noop, depends_on: broken}\n",
    );
    let printed = desk.escrow(&["run", "playbook.yaml", "--output", "jsonl", "-q"]).stdout;
    let exported = desk.escrow(&["runs", "export", "last"]).stdout;
    for name in [
        "fault.detected",
        "fault.isolated",
        "fault.recovery.started",
        "fault.recovery.succeeded",
        "fault.recovery.exhausted",
    ] {
        assert!(printed.contains(&format!("\"{name}\"")), "{name}: {printed}");
        assert!(exported.contains(&format!("\\\"{name}\\\"")), "{name}: {exported}");
    }
    for name in ["fault_detected", "recovery_started"] {
        assert!(!printed.contains(name) && !exported.contains(name), "{name}");
    }
}

#[test]
fn as_many_checks_run_at_once_as_there_are_cores_unless_somebody_says_otherwise() {
    let cores = std::thread::available_parallelism().expect("the number of cores").get();
    let count = "touch in/$ESCROW_CHECK; sleep 0.3; ls in | wc -l >> seen; rm in/$ESCROW_CHECK";
    let checks: String =
        (0..cores + 2).map(|number| format!("  c{number}: {{type: command, exec: '{count}'}}\n")).collect();
    for (extra, jobs, expected) in [
        ("", None, cores),
        ("", Some("1"), 1),
        ("max_parallelism: 1\n", None, 1),
        // `max_parallelism` of the playbook is an upper bound for `--jobs`.
        ("max_parallelism: 1\n", Some("2"), 1),
    ] {
        let desk = Desk::new();
        desk.write("playbook.yaml", &format!("{extra}checks:\n{checks}"));
        std::fs::create_dir(desk.path().join("in")).expect("a directory");
        let mut arguments = vec!["run", "playbook.yaml"];
        arguments.extend(jobs.iter().flat_map(|jobs| ["--jobs", jobs]));
        assert_eq!(desk.escrow(&arguments).code, Some(0));
        let seen = desk.read("seen");
        let most = seen.lines().filter_map(|line| line.trim().parse::<usize>().ok()).max();
        assert_eq!(most, Some(expected), "{extra}{jobs:?}");
    }
}

#[test]
fn a_command_may_take_ten_minutes_unless_somebody_says_otherwise() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "checks:\n  a: {type: command, exec: 'true'}\n  b: {type: command, exec: 'true', timeout: 5s}\n",
    );
    let printed = desk.escrow(&["run", "playbook.yaml", "--output", "jsonl"]).stdout;
    let first: Value = serde_json::from_str(printed.lines().next().expect("an entry")).expect("JSON");
    let checks = &first["entry"]["event"]["run_started"]["plan"]["checks"];
    assert_eq!(
        (&checks[0]["timeout_ms"], &checks[1]["timeout_ms"]),
        (&json!(600_000), &json!(5_000)),
        "{first}"
    );
}

#[test]
fn exit_codes_say_whose_turn_it_is() {
    let desk = Desk::new();
    for (playbook, more, code) in [
        ("checks: {a: {type: command, exec: 'true'}}", &[][..], 0),
        ("checks: {a: {type: command, exec: 'exit 7'}}", &[], 1),
        ("checks: {a: {type: command, exec: 'sleep 30'}}", &["--timeout", "200ms"], 124),
        ("checks: {a: {type: command, exec: 'true', if: 'false'}}", &[], 0),
        ("checks: {a: {type: command, exec: 'true', assume: 'false'}}", &[], 4),
        ("checks: {a: {type: command, exec: 'true', on: [pr_opened]}}", &["--event", "pr_closed"], 0),
        ("checks: {a: {type: command, exec: 'true', requires_approval: true}}", &[], 4),
    ] {
        let (actual, document) = desk.run_with(playbook, more);
        assert_eq!(actual, Some(code), "{playbook} {}", document["run"]["reason"]);
    }
}

#[test]
fn an_approval_lets_the_run_continue_and_a_denial_ends_it() {
    let desk = Desk::new();
    let playbook = "checks: {deploy: {type: command, exec: 'touch deployed', requires_approval: true}}";
    let (code, document) = desk.run(playbook);
    assert_eq!((code, &document["run"]["status"]), (Some(4), &json!("waiting")));
    assert!(!desk.path().join("deployed").exists());
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = waits["approvals"][0]["id"].as_str().expect("a wait").to_owned();
    assert_eq!(desk.escrow(&["approve", &id, "--by", "ada"]).code, Some(0));
    assert!(desk.path().join("deployed").exists());
    assert_eq!(desk.show("last")["run"]["status"], "completed");
    assert_eq!(desk.escrow(&["approve", &id]).code, Some(4), "once is enough");
    assert_eq!(desk.escrow(&["approve", "a_nothing"]).code, Some(2));

    let (_, second) = desk.run(playbook);
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = waits["approvals"][0]["id"].as_str().expect("a wait").to_owned();
    desk.escrow(&["deny", &id, "--note", "not today"]);
    let run = second["run"]["id"].as_str().expect("an id").to_owned();
    assert_eq!(desk.show(&run)["run"]["reason"]["code"], "run.aborted.denied");
}

#[test]
fn a_question_waits_for_its_answer() {
    let desk = Desk::new();
    let (code, _) = desk.run(
        r#"
checks:
  ask: {type: human-input, prompt: "Which colour?", choices: [red, blue]}
  paint: {type: command, depends_on: ask, exec: "echo {{ outputs.ask }}"}
"#,
    );
    assert_eq!(code, Some(4));
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let id = waits["approvals"][0]["id"].as_str().expect("a wait").to_owned();
    assert_eq!(desk.escrow(&["answer", &id, "green"]).code, Some(2), "green was not offered");
    assert_eq!(desk.escrow(&["answer", &id, "blue"]).code, Some(0));
    assert_eq!(desk.show("last")["checks"]["paint"]["output"], "blue");
}

#[test]
fn inputs_events_and_environment_reach_the_checks() {
    let desk = Desk::new();
    desk.write("event.json", r#"{"number": 7, "author_association": "MEMBER"}"#);
    let playbook = r#"
inputs: {who: {type: string, required: true}, times: {type: number, default: 2}}
env: {GREETING: "hello {{ inputs.who }}"}
checks:
  greet:
    type: command
    on: [pr_opened]
    if: isMember() && event.number === 7 && event.name === 'pr_opened'
    exec: printf '%s %s' "$GREETING" {{ inputs.times }}
"#;
    let more = ["--input", "who=O'Hara; rm -rf /", "--event", "pr_opened=event.json"];
    let (code, document) = desk.run_with(playbook, &more);
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["checks"]["greet"]["output"], "hello O'Hara; rm -rf / 2");
    let (code, document) = desk.run_with(playbook, &["--event", "pr_opened=event.json"]);
    assert_eq!(code, Some(2));
    assert!(document["error"]["message"].as_str().is_some_and(|text| text.contains("`who` is required")));
}

#[test]
fn commands_hand_values_to_later_checks_through_a_file() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"
checks:
  prepare: {type: command, exec: 'echo TOOL_READY=yes >> "$ESCROW_ENV"'}
  use: {type: command, depends_on: prepare, assume: "env.TOOL_READY === 'yes'", exec: 'echo "$TOOL_READY"'}
  read: {type: command, depends_on: prepare, exec: 'cat "$ESCROW_CONTEXT"'}
"#,
    );
    assert_eq!(code, Some(0), "{document}");
    assert_eq!(document["checks"]["use"]["output"], "yes");
    assert_eq!(document["checks"]["read"]["output"]["event"]["name"], "manual");
}

#[test]
fn a_fan_out_runs_each_item_and_isolates_the_failing_one() {
    let desk = Desk::new();
    let (code, document) = desk.run(
        r#"
checks:
  list: {type: command, exec: "echo '[10, 20, 30]'", forEach: true}
  each: {type: command, depends_on: list, exec: 'expr "$ESCROW_ITEM" + 1; test {{ item }} != 20'}
  sum: {type: script, depends_on: each, content: "return outputs.each.reduce((a, b) => a + b, 0)"}
"#,
    );
    assert_eq!(code, Some(1));
    let items = document["checks"]["each"]["items"].as_array().expect("items");
    let statuses: Vec<&str> = items.iter().filter_map(|item| item["status"].as_str()).collect();
    assert_eq!(statuses, ["succeeded", "failed", "succeeded"]);
    assert_eq!(items[1]["scope"], json!([{"check": "list", "index": 1}]));
    assert_eq!(document["checks"]["sum"]["output"], 63);
}

#[test]
fn safe_mode_says_what_it_would_have_done_and_does_not_do_it() {
    let desk = Desk::new();
    let playbook = r#"
checks:
  look: {type: command, exec: "echo ok"}
  post: {type: command, depends_on: look, criticality: external, assume: "true", guarantee: "true", exec: "touch posted"}
"#;
    let (code, document) = desk.run_with(playbook, &["--safe-mode"]);
    assert_eq!(code, Some(0));
    assert_eq!(document["checks"]["post"]["skip_reason"], "safe_mode");
    assert!(!desk.path().join("posted").exists());
}

#[test]
fn the_journal_of_a_run_verifies_and_a_changed_one_does_not() {
    let desk = Desk::new();
    desk.run("checks: {a: {type: command, exec: 'true'}}");
    assert_eq!(desk.escrow(&["verify", "last"]).code, Some(0));
}

#[test]
fn init_writes_a_playbook_that_runs_without_a_warning() {
    let desk = Desk::new();
    assert_eq!(desk.escrow(&["init"]).code, Some(0));
    let run = desk.escrow(&["run", ".escrow/playbooks/first.yaml"]);
    assert_eq!(run.code, Some(0));
    assert!(!run.stderr.contains("warning"), "{}", run.stderr);
    assert!(desk.read(".escrow/.gitignore").contains("!playbooks/"));
}

/// One way in the directory that Escrow is in, the other from elsewhere: they are started differently.
#[cfg(target_os = "linux")]
#[test]
fn a_command_ignores_what_escrow_was_told_to_ignore_and_nothing_else() {
    let desk = Desk::new();
    desk.write("work/file", "");
    desk.write(
        "playbook.yaml",
        r#"checks: {signals: {type: command, exec: "sed -n s/SigIgn:.//p /proc/self/status"}}"#,
    );
    let escrow = env!("CARGO_BIN_EXE_escrow");
    for directory in [".", "work"] {
        let script = format!("trap '' HUP; exec {escrow} run playbook.yaml --dir {directory} --output json");
        let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(desk.path()).output();
        let document: Value = serde_json::from_slice(&output.unwrap().stdout).unwrap();
        let mask = document["checks"]["signals"]["output"]
            .as_str()
            .and_then(|mask| u64::from_str_radix(mask, 16).ok());
        // Two signals belong to the C library, which ignores them in whatever it starts.
        assert_eq!(mask.map(|mask| mask & 0x7fff_ffff), Some(1), "in {directory}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_run_under_nohup_outlives_the_hangup() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        r#"checks: {slow: {type: command, exec: "kill -HUP $PPID; sleep 0.2; echo done"}}"#,
    );
    for (told, code) in [("trap '' HUP; ", Some(0)), ("", Some(130))] {
        let script = format!("{told} exec {} run playbook.yaml -q", env!("CARGO_BIN_EXE_escrow"));
        let status = std::process::Command::new("sh").args(["-c", &script]).current_dir(desk.path()).status();
        assert_eq!(status.unwrap().code(), code, "`{told}`");
    }
}

/// A directory may be replaced by another one of its name.
#[test]
fn a_command_runs_in_the_directory_that_has_the_name_now() {
    let desk = Desk::new();
    desk.write("work/file", "old");
    let playbook = r#"
checks:
  replace: {type: command, exec: "mv ../work ../gone; mkdir ../work; echo new > ../work/file"}
  read: {type: command, depends_on: replace, exec: cat file}
"#;
    let playbook = desk.write("playbook.yaml", playbook);
    let arguments = ["run", playbook.to_str().unwrap(), "--output", "json", "--state", "../state"];
    let output = desk.command(&arguments).current_dir(desk.path().join("work")).output().unwrap();
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["checks"]["read"]["output"], "new");
}

#[test]
fn logs_are_documents_where_tools_ask_for_them() {
    let desk = Desk::new();
    desk.run(
        "
checks:
  list: {type: script, content: 'return [1, 2]', forEach: true}
  each: {type: command, exec: 'echo out-{{ item }}; echo err >&2', depends_on: list}
  long: {type: command, exec: 'seq 1 9000'}
",
    );
    let logs = desk.escrow(&["logs", "last", "each[1]", "--output", "json"]).json();
    let expected = |stream: &str, text: &str| json!({"check": "each", "scope": "[1]", "attempt": 1, "stream": stream, "text": text, "truncated": false});
    assert_eq!(logs, json!({"logs": [expected("stdout", "out-2\n"), expected("stderr", "err\n")]}));
    let long = desk.escrow(&["logs", "last", "long", "--stdout", "--output", "jsonl"]).json();
    assert!(long["text"].as_str().is_some_and(|text| text.ends_with("8999\n9000\n")), "the file has it all");
    assert_eq!(desk.escrow(&["logs", "last", "each[0]", "--stdout"]).stdout, "out-1\n");
}

#[test]
fn logs_are_what_commands_printed() {
    let desk = Desk::new();
    desk.run("checks: {a: {type: command, exec: 'seq 3; echo oops >&2; exit 1'}}");
    assert_eq!(desk.escrow(&["logs", "last", "a", "--stdout"]).stdout, "1\n2\n3\n");
    assert_eq!(desk.escrow(&["logs", "last", "a", "--stderr"]).stdout, "oops\n");
    assert!(desk.escrow(&["logs"]).stdout.contains("── a #1 stdout ──"));
    assert_eq!(desk.escrow(&["logs", "last", "b"]).code, Some(2));
}

#[test]
fn expressions_can_be_tried_on_the_command_line() {
    let desk = Desk::new();
    desk.write("context.json", r#"{"output": {"n": 3}}"#);
    assert_eq!(desk.escrow(&["eval", "output.n * 2", "--context", "context.json"]).stdout, "6\n");
    assert_eq!(desk.escrow(&["eval", "nobody.home"]).code, Some(1));
    assert_eq!(desk.escrow(&["eval", "1 +"]).code, Some(2));
    let explained = desk.escrow(&["eval", "output.n > 5", "--context", "context.json", "--explain"]).stdout;
    assert!(explained.contains('3'), "{explained}");
}

#[test]
fn a_playbook_runs_inside_another_and_its_reason_travels_up() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        r#"
inputs: {n: {type: number, required: true}}
artifacts: {expected: [{id: note, path: note.md}]}
checks:
  double: {type: script, content: "return inputs.n * 2"}
  write: {type: command, depends_on: double, exec: 'echo {{ outputs.double }} > "$ESCROW_ARTIFACTS/note.md"'}
  judge: {type: script, depends_on: double, content: "return inputs.n", guarantee: "output < 10"}
"#,
    );
    let outer = r#"
checks:
  list: {type: script, content: "return [1, 20]", forEach: true}
  inner: {type: playbook, playbook: inner.yaml, depends_on: list, with: {n: "{{ item }}"}}
"#;
    let (code, document) = desk.run(outer);
    assert_eq!(code, Some(1), "{document}");
    let items = document["checks"]["inner"]["items"].as_array().expect("items");
    assert_eq!(items[0]["output"]["outputs"]["double"], 2);
    assert_eq!(items[0]["output"]["status"], "completed");
    assert_eq!(items[1]["output"]["reason"]["code"], "run.failed.guarantee_failed");
    assert_eq!(document["run"]["reason"]["code"], "run.failed.guarantee_failed");
    let runs = desk.escrow(&["runs", "--output", "json"]).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(3), "each nested run has a journal of its own");
}

#[test]
fn a_nested_run_that_waits_makes_its_parent_wait_and_one_approval_sets_both_going() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        "checks: {deploy: {type: command, exec: 'echo done >> trace', requires_approval: true}}",
    );
    let (code, document) = desk.run(
        r#"
checks:
  before: {type: command, exec: "echo before >> trace"}
  inner: {type: playbook, playbook: inner.yaml, depends_on: before}
  after: {type: command, depends_on: inner, exec: "echo after >> trace"}
"#,
    );
    assert_eq!(code, Some(4), "{document}");
    assert_eq!(document["run"]["reason"]["code"], "run.waiting.approval");
    assert_eq!(document["checks"]["inner"]["status"], "waiting");
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    assert_eq!(waits["approvals"].as_array().map(Vec::len), Some(1), "{waits}");
    let id = waits["approvals"][0]["id"].as_str().expect("a wait").to_owned();
    let approved = desk.escrow(&["approve", &id]);
    assert_eq!(approved.code, Some(0), "{}", approved.stderr);
    assert_eq!(desk.read("trace"), "before\ndone\nafter\n");
    let outer = document["run"]["id"].as_str().expect("an id");
    assert_eq!(desk.show(outer)["run"]["status"], "completed");
}

#[test]
fn playbooks_that_nest_themselves_end_at_the_limit() {
    let desk = Desk::new();
    let (code, document) = desk.run("checks: {again: {type: playbook, playbook: playbook.yaml}}");
    assert_eq!(code, Some(1), "{document}");
    let runs = desk.escrow(&["runs", "--output", "json"]).json();
    assert_eq!(runs["runs"].as_array().map(Vec::len), Some(9));
}

#[test]
fn a_playbook_that_nests_one_that_changes_the_world_is_external_itself() {
    let desk = Desk::new();
    desk.write(
        "inner.yaml",
        "checks: {post: {type: command, criticality: external, assume: 'true', guarantee: 'true', exec: 'touch posted'}}",
    );
    desk.write("middle.yaml", "checks: {inner: {type: playbook, playbook: inner.yaml}, again: {type: playbook, playbook: middle.yaml}}");
    desk.write("outer.yaml", "checks: {middle: {type: playbook, playbook: middle.yaml}}");
    let report = desk.escrow(&["check", "outer.yaml", "--output", "json"]).json();
    assert_eq!(report["report"]["checks"][0]["criticality"], "external");
    let (_, document) =
        desk.run_with("checks: {inner: {type: playbook, playbook: inner.yaml}}", &["--safe-mode"]);
    assert_eq!(document["checks"]["inner"]["skip_reason"], "safe_mode");
    assert!(!desk.path().join("posted").exists());
}

#[test]
fn approvals_are_one_line_each() {
    let desk = Desk::new();
    let ask = "{type: command, exec: 'true', requires_approval: true}";
    assert_eq!(desk.run(&format!("checks: {{a: {ask}, b: {ask}}}")).0, Some(4));
    let lines = desk.escrow(&["approvals", "--output", "jsonl"]).stdout;
    let mut asked: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON")["approval"]["check"].clone())
        .collect();
    asked.sort_by_key(Value::to_string);
    assert_eq!(asked, [json!("a"), json!("b")]);
}

const ASKING_ITEMS: &str = "
checks:
  list: {type: command, exec: 'echo [1, 2, 3]', forEach: true, concurrency: 3}
  x: {type: human-input, prompt: 'Sure of {{ item }}?', depends_on: list}
";

#[test]
fn items_that_wait_are_not_told_as_successes_and_all_are_counted_after_a_resume() {
    let desk = Desk::new();
    desk.write("playbook.yaml", ASKING_ITEMS);
    let told = desk.escrow(&["run", "playbook.yaml"]).stderr;
    assert!(told.contains("x: 0 of 3 items succeeded, 3 still open"), "{told}");
    assert!(!told.contains("✓ x"), "{told}");
    let mut last = String::new();
    for _ in 0..3 {
        let asked = desk.escrow(&["approvals", "--output", "json"]).json()["approvals"][0]["id"].clone();
        last = desk.escrow(&["answer", asked.as_str().expect("an id"), "yes"]).stderr;
    }
    let told: Vec<&str> = last.lines().filter(|line| line.contains("✓ x")).collect();
    assert!(told.len() == 1 && told[0].ends_with("3 items"), "{last}");
}

#[test]
fn the_history_of_a_resumed_run_names_no_change_that_was_none() {
    let desk = Desk::new();
    desk.write(
        "playbook.yaml",
        "checks: {a: {type: command, exec: 'touch began; until test -e go || ! test -e began; do sleep 0.05; done'}}",
    );
    let mut killed = desk.start(&["run", "playbook.yaml"]);
    desk.until("it works", || desk.path().join("began").exists());
    killed.kill().expect("it runs");
    killed.wait().expect("it ends");
    desk.write("go", "");
    assert_eq!(desk.escrow(&["resume", "last"]).code, Some(0));
    let history = desk.escrow(&["runs", "show", "last", "--history"]).stdout;
    assert!(history.contains("running, resumed") && !history.contains("running → running"), "{history}");
}

#[test]
fn logs_of_an_item_that_is_not_there_say_so() {
    let desk = Desk::new();
    desk.run(
        "checks: {list: {type: command, exec: 'echo \"[1]\"', forEach: true}, \
         ship: {type: command, depends_on: list, exec: 'echo shipped'}}",
    );
    assert_eq!(desk.escrow(&["logs", "last", "ship[0]", "--stdout"]).stdout, "shipped\n");
    let unknown = desk.escrow(&["logs", "last", "ship[99]"]);
    assert_eq!(unknown.code, Some(2));
    assert!(unknown.stderr.contains("has no item `ship[99]`"), "{}", unknown.stderr);
}

#[test]
fn an_export_as_json_lines_is_one_line() {
    let desk = Desk::new();
    desk.run("checks: {a: {type: noop}}");
    let exported = desk.escrow(&["runs", "export", "last", "--output", "jsonl"]).stdout;
    assert_eq!(exported.lines().count(), 1, "{exported}");
    serde_json::from_str::<Value>(&exported).expect("JSON");
}

#[test]
fn a_group_without_a_name_is_not_blamed_on_a_check() {
    let desk = Desk::new();
    let (_, document) = desk.run("concurrency: {group: '{{ \"\" }}'}\nchecks: {first: {type: noop}}");
    assert_eq!(document["run"]["reason"]["summary"], "`concurrency.group`: the name of the group is empty");
    assert_eq!(document["run"]["reason"]["evidence"], json!([]));
}

#[test]
fn an_answer_to_a_run_that_waits_is_one_change_of_its_history() {
    let desk = Desk::new();
    desk.run("checks: {deploy: {type: command, exec: 'true', requires_approval: true}}");
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    desk.escrow(&["approve", waits["approvals"][0]["id"].as_str().expect("an id")]);
    let told = desk.escrow(&["runs", "show", "last", "--history", "--output", "json"]).json();
    let changes = told["history"].as_array().expect("a list").iter();
    let of_run: Vec<Value> =
        changes.filter(|one| one["entity_type"] == "run").map(|one| one["to"].clone()).collect();
    assert_eq!(of_run, [json!("running"), json!("waiting"), json!("running"), json!("completed")], "{told}");
}

#[test]
fn items_that_still_wait_for_an_approval_belong_to_their_list() {
    let desk = Desk::new();
    desk.run(
        "checks: {list: {type: command, exec: 'echo [1, 2, 3]', forEach: true, concurrency: 3}, \
         ship: {type: command, depends_on: list, exec: 'true', requires_approval: true}}",
    );
    let waits = desk.escrow(&["approvals", "--output", "json"]).json();
    let told = desk.escrow(&["approve", waits["approvals"][0]["id"].as_str().expect("an id")]).stderr;
    assert!(
        told.contains("ship: 1 of 3 items succeeded, 2 still open") && !told.contains("✓ ship"),
        "{told}"
    );
}

#[test]
fn items_that_succeeded_before_a_resume_of_what_failed_are_counted() {
    let desk = Desk::new();
    desk.run(
        "checks: {list: {type: command, exec: 'echo [1, 2, 3]', forEach: true}, \
         ship: {type: command, depends_on: list, exec: 'test {{ item }} != 2 || test -e fixed'}}",
    );
    let told = desk.escrow(&["resume", "last", "--failed"]).stderr;
    assert!(told.contains("2 of 3 items succeeded, 1 failed"), "{told}");
    desk.write("fixed", "");
    let told = desk.escrow(&["resume", "last", "--failed"]).stderr;
    assert!(told.lines().any(|line| line.contains("✓ ship") && line.ends_with("3 items")), "{told}");
}

#[test]
fn a_check_that_had_started_is_told_as_interrupted_when_its_run_is_cancelled_after_a_crash() {
    let desk = Desk::new();
    desk.write("playbook.yaml", "checks: {look: {type: command, exec: 'touch began; sleep 30'}}");
    let mut child = desk.start(&["run", "playbook.yaml"]);
    desk.until("it works", || desk.path().join("began").exists());
    signal(child.id(), rustix::process::Signal::KILL);
    child.wait().expect("it is gone");
    assert_eq!(desk.escrow(&["cancel", "last"]).code, Some(0));
    let issue = desk.show("last")["checks"]["look"]["issues"][0]["message"].clone();
    assert_eq!(issue, "interrupted by the end of the run");
}

#[test]
fn an_effect_of_a_nested_playbook_is_not_said_to_happen_in_every_run() {
    let desk = Desk::new();
    desk.write("inner.yaml", "checks: {a: {type: noop}}");
    desk.write("outer.yaml", "checks: {x: {type: playbook, playbook: inner.yaml}}");
    let refused = desk.escrow(&["run", "outer.yaml", "--again", "x"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("run that one with `--again`"), "{}", refused.stderr);
}

#[test]
fn the_log_of_an_item_is_that_of_its_value_wherever_that_stood_before() {
    let desk = Desk::new();
    desk.write("list.json", r#"["a", "b"]"#);
    let (code, _) = desk.run(
        "checks:
  pre: {type: command, exec: 'test -e pre'}
  alt: {type: command, exec: 'true'}
  list: {type: command, depends_on: 'pre|alt', exec: 'cat list.json', forEach: true}
  each: {type: command, depends_on: list, criticality: external, exec: 'echo out-{{ item }}'}",
    );
    assert_eq!(code, Some(1));
    desk.write("list.json", r#"["b", "c", "a"]"#);
    desk.write("pre", "");
    assert_eq!(desk.escrow(&["resume", "last", "--failed"]).code, Some(0));
    for (item, printed) in [("each[0]", "out-b\n"), ("each[1]", "out-c\n"), ("each[2]", "out-a\n")] {
        assert_eq!(desk.escrow(&["logs", "last", item, "--stdout"]).stdout, printed, "{item}");
    }
}
