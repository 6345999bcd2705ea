//! `escrow hook` and `escrow harness` from the outside: receipts, answers, silence towards the host, exact removal.

#![allow(clippy::unwrap_used, reason = "tests may panic")]

mod desk;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use desk::Desk;
use serde_json::{Value, json};

fn project() -> Desk {
    let desk = Desk::new();
    fs::create_dir(desk.path().join(".escrow")).unwrap();
    desk
}

fn receipts(desk: &Desk) -> Vec<Value> {
    let done = desk.escrow(&["lifecycle", "receipt", "list", "--extended"]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

fn hook(desk: &Desk, host: &str, event: &str, input: &Value) -> String {
    let done = desk.escrow_given(&["hook", "--host", host, "--event", event], &input.to_string());
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{host} {event}");
    done.stdout
}

#[test]
fn a_session_leaves_receipts_that_are_numbered_and_linked() {
    let desk = project();
    for (event, input) in [
        ("SessionStart", json!({"session_id": "s", "source": "startup"})),
        ("UserPromptSubmit", json!({"session_id": "s", "prompt_id": "p1", "prompt": "x"})),
        ("SubagentStart", json!({"session_id": "s", "prompt_id": "p1", "agent_id": "a"})),
        ("SubagentStop", json!({"session_id": "s", "prompt_id": "p1", "agent_id": "a"})),
        ("PreToolUse", json!({"session_id": "s", "tool_name": "Bash"})),
        ("Stop", json!({"session_id": "s", "prompt_id": "p1"})),
        ("SessionEnd", json!({"session_id": "s"})),
    ] {
        assert_eq!(hook(&desk, "claude", event, &input), "");
    }
    let all = receipts(&desk);
    let told: Vec<(&str, u64)> =
        all.iter().map(|one| (one["event"].as_str().unwrap(), one["sequence"].as_u64().unwrap())).collect();
    assert_eq!(
        told,
        [
            ("session.started", 1),
            ("frame.opening", 2),
            ("frame.opening", 3),
            ("frame.ending", 4),
            ("frame.ending", 5),
            ("session.ending", 6),
        ]
    );
    let parents: Vec<Option<usize>> = all
        .iter()
        .map(|one| all.iter().position(|other| other["receipt_id"] == one["parent_receipt_id"]))
        .collect();
    assert_eq!(parents, [None, Some(0), Some(1), Some(2), Some(1), Some(0)]);
    assert!(all.iter().all(|one| one["adapter_id"] == "claude" && one["client_id"] == "escrow-hook"));
    assert_eq!(desk.escrow(&["lifecycle", "receipt", "verify", "--extended"]).code, Some(0));
}

#[test]
fn every_recorded_hook_input_is_answered_in_silence_and_leaves_no_failure() {
    let desk = project();
    let recordings = Path::new(env!("CARGO_MANIFEST_DIR")).join("../harness/tests/recordings");
    let mut calls = 0;
    for host in ["claude", "codex", "gemini", "opencode", "copilot", "qwen"] {
        let mut seen = Vec::new();
        for case in fs::read_dir(recordings.join(host)).unwrap() {
            let text = fs::read_to_string(case.unwrap().path().join("hooks.jsonl")).unwrap_or_default();
            for line in text.lines() {
                let line: Value = serde_json::from_str(line).unwrap();
                let event = line["event"].as_str().unwrap().to_owned();
                // One process per event of a host; the mapping of all inputs is tested without processes.
                let dialect = escrow_harness::dialect(host).unwrap();
                if seen.contains(&event) || dialect.event(&event).is_none() {
                    continue;
                }
                assert_eq!(hook(&desk, host, &event, &line["stdin"]), "", "{host} {event}");
                seen.push(event);
                calls += 1;
            }
        }
    }
    assert!(calls > 50, "{calls}");
    let all = receipts(&desk);
    assert!(all.iter().all(|receipt| receipt["status"] == "observed"), "{all:#?}");
    assert!(all.len() > 25, "{}", all.len());
}

#[test]
fn a_failure_is_silent_to_the_host_and_loud_in_escrow() {
    let desk = project();
    for input in ["{\"session_id\":", "", "[]", "\u{1}"] {
        let done = desk.escrow_given(&["hook", "--host", "claude", "--event", "Stop"], input);
        assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (Some(0), "", ""), "{input}");
    }
    let large = format!("{{\"session_id\": \"s\", \"prompt\": \"{}\"}}", "x".repeat(17 << 20));
    let done = desk.escrow_given(&["hook", "--host", "claude", "--event", "UserPromptSubmit"], &large);
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (Some(0), "", ""));
    hook(&desk, "claude", "NoSuchEvent", &json!({"session_id": "s"}));
    let all = receipts(&desk);
    let told: Vec<(&str, &str, &Value)> = all
        .iter()
        .map(|one| {
            let word = |key: &str| one[key].as_str().unwrap();
            (word("event"), word("status"), &one["failure_class"])
        })
        .collect();
    let invalid = json!("invalid_request");
    let too_large = json!("payload_too_large");
    assert_eq!(told[..4], [("frame.ending", "failed", &invalid); 4]);
    assert_eq!(told[4], ("frame.opening", "failed", &too_large));
    assert_eq!(told[5], ("capability.degraded", "skipped", &Value::Null));
    let status = desk.escrow(&["harness", "status", "--host", "claude"]);
    assert_eq!(status.code, Some(0), "{}", status.stderr);
    assert!(status.stdout.contains("5 failed receipts"), "{}", status.stdout);
    assert!(status.stdout.contains("--status failed"), "{}", status.stdout);
}

#[test]
fn an_input_of_just_under_16_mib_is_read() {
    let desk = project();
    let prompt = "x".repeat((16 << 20) - 100);
    hook(&desk, "claude", "UserPromptSubmit", &json!({"session_id": "s", "prompt": prompt}));
    assert_eq!(receipts(&desk)[0]["status"], "observed");
}

#[test]
fn a_bad_command_line_exits_with_1_and_never_with_2() {
    let desk = project();
    for words in [
        &["hook"][..],
        &["hook", "--host"],
        &["hook", "--host", "emacs"],
        &["hook", "--host", "claude", "--wat"],
        &["hook", "--host", "claude", "--host", "codex"],
        &["--quiet", "hook", "--host", "emacs"],
    ] {
        let done = desk.escrow_given(words, "{}");
        assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""), "{words:?}");
        assert!(done.stderr.contains("help: escrow hook --host HOST"), "{}", done.stderr);
    }
    let unknown = desk.escrow_given(&["hook", "--host", "emacs"], "{}");
    assert!(unknown.stderr.contains("claude, codex, gemini, opencode, copilot, qwen, cursor"));
}

#[test]
fn without_a_state_directory_a_hook_is_silent_and_successful() {
    let desk = Desk::new();
    assert_eq!(hook(&desk, "claude", "Stop", &json!({"session_id": "s"})), "");
    let done = desk.escrow_given(&["hook", "--host", "claude"], "not JSON");
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (Some(0), "", ""));
    assert_eq!(fs::read_dir(desk.path()).unwrap().count(), 0);
}

#[test]
fn a_ledger_that_cannot_be_written_keeps_the_receipt_for_later() {
    let desk = project();
    desk.write(
        ".escrow/escrow.db",
        "this is not a database, and long enough to be refused as one".repeat(20).as_str(),
    );
    assert_eq!(hook(&desk, "claude", "Stop", &json!({"session_id": "s"})), "");
    assert_eq!(hook(&desk, "claude", "SessionEnd", &json!({"session_id": "s"})), "");
    fs::remove_file(desk.path().join(".escrow/escrow.db")).unwrap();
    let all = receipts(&desk);
    assert_eq!(all.len(), 3);
    assert_eq!(all[2]["warnings"][0]["code"], "ledger_unavailable");
    assert_eq!(all[2]["status"], "failed");
}

#[test]
fn receipts_are_taken_into_the_ledger_at_the_end_of_a_session_and_before_they_are_many() {
    let desk = project();
    let waiting = || fs::read_dir(desk.path().join(".escrow/hooks/receipts")).map_or(0, Iterator::count);
    hook(&desk, "claude", "Stop", &json!({"session_id": "s"}));
    assert_eq!(waiting(), 1);
    hook(&desk, "claude", "SessionEnd", &json!({"session_id": "s"}));
    assert_eq!(waiting(), 0);
    for _ in 0..64 {
        hook(&desk, "claude", "Stop", &json!({"session_id": "t"}));
    }
    assert_eq!(waiting(), 0);
    assert!(!desk.path().join(".escrow/escrow.db-wal").exists(), "the ledger is one file");
    assert_eq!(receipts(&desk).len(), 66);
}

#[test]
fn a_context_that_cannot_be_added_is_told_in_a_receipt_and_holds_nobody_up() {
    let input = json!({"session_id": "s"});
    let path = |desk: &Desk| desk.path().join(".escrow/context.md");
    let too_long = |desk: &Desk| drop(desk.write(".escrow/context.md", &"x".repeat((64 << 10) + 1)));
    let not_text = |desk: &Desk| fs::write(path(desk), [0xff, 0xfe]).unwrap();
    let link_out = |desk: &Desk| symlink("/etc/passwd", path(desk)).unwrap();
    let pipe = |desk: &Desk| {
        let made = std::process::Command::new("mkfifo").arg(path(desk)).status().unwrap();
        assert!(made.success());
    };
    for (name, spoil) in [
        ("too long", &too_long as &dyn Fn(&Desk)),
        ("not text", &not_text),
        ("a link", &link_out),
        ("a pipe", &pipe),
    ] {
        let desk = project();
        spoil(&desk);
        assert_eq!(hook(&desk, "claude", "SessionStart", &input), "", "{name}");
        let receipt = &receipts(&desk)[0];
        assert_eq!(receipt["status"], "failed", "{name}: {receipt}");
        assert!(receipt["warnings"].to_string().contains("context.md"), "{name}: {receipt}");
    }
    let desk = project();
    desk.write("AGENTS.md", "Use tabs.\n");
    symlink("../AGENTS.md", path(&desk)).unwrap();
    assert!(hook(&desk, "claude", "SessionStart", &input).contains("Use tabs."), "a link within the project");
}

#[test]
fn context_is_injected_where_the_host_takes_it() {
    let desk = project();
    desk.write(".escrow/context.md", "Use tabs.\n");
    let input = json!({"session_id": "s", "sessionId": "s", "prompt": "x", "input": {"sessionID": "s"}});
    let told = |host: &str, event: &str| -> Value {
        let text = hook(&desk, host, event, &input);
        if text.is_empty() { Value::Null } else { serde_json::from_str(&text).unwrap() }
    };
    for host in ["claude", "codex", "gemini"] {
        let answer = told(host, "SessionStart");
        assert_eq!(answer["hookSpecificOutput"]["additionalContext"], "Use tabs.\n", "{host}");
    }
    assert_eq!(told("claude", "UserPromptSubmit"), Value::Null);
    assert_eq!(told("copilot", "sessionStart"), json!({"additionalContext": "Use tabs.\n"}));
    assert_eq!(told("qwen", "UserPromptSubmit")["hookSpecificOutput"]["additionalContext"], "Use tabs.\n");
    assert_eq!(told("opencode", "chat.message"), json!({"context": "Use tabs.\n"}));
    assert_eq!(told("cursor", "sessionStart"), Value::Null);
    assert_eq!(receipts(&desk)[0]["status"], "delivered");
}

/// A call inside a run: its receipts go to the spool.
fn hook_in_run(desk: &Desk, host: &str, event: &str, input: &Value) -> String {
    use std::io::Write;
    let mut child = desk
        .command(&["hook", "--host", host, "--event", event])
        .env("ESCROW_HOOK_SPOOL", desk.path().join("spool"))
        .env("ESCROW_RUN", "r_1")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_stop_is_held_back_three_times_at_most_until_the_contract_is_met() {
    let blocks = [("claude", "Stop", "block"), ("codex", "Stop", "block"), ("gemini", "AfterAgent", "deny")];
    for (host, event, word) in
        blocks.into_iter().chain([("copilot", "agentStop", "block"), ("qwen", "Stop", "block")])
    {
        let desk = project();
        let file = json!({"location": {"path": "review.md"}, "min_size": 1, "description": "the findings"});
        let demand = json!({"artifacts": desk.path(), "files": [file]});
        desk.write("spool/demand.json", &demand.to_string());
        let input = json!({"session_id": "s", "sessionId": "s"});
        for _ in 0..3 {
            let answer: Value = serde_json::from_str(&hook_in_run(&desk, host, event, &input)).unwrap();
            assert_eq!(answer["decision"], word, "{host}");
            assert!(
                answer["reason"].as_str().unwrap().contains("review.md` is absent: the findings"),
                "{answer}"
            );
        }
        assert_eq!(hook_in_run(&desk, host, event, &input), "", "{host}: the fourth time");
        fs::remove_file(desk.path().join("spool/hold-3")).unwrap();
        desk.write("review.md", "found");
        assert_eq!(hook_in_run(&desk, host, event, &input), "", "{host}: met");
        assert_eq!(fs::read_dir(desk.path().join("spool/receipts")).unwrap().count(), 5);
        assert!(!desk.path().join(".escrow/escrow.db").exists(), "a confined hook leaves the database alone");
    }
}

#[test]
fn our_harnesses_are_among_the_extended_manifests() {
    let desk = Desk::new();
    let ids = |words: &[&str]| -> Vec<String> {
        let all: Value = serde_json::from_str(&desk.escrow(words).stdout).unwrap();
        all.as_array().unwrap().iter().map(|one| one["adapter_id"].as_str().unwrap().to_owned()).collect()
    };
    let plain = ids(&["lifecycle", "manifest", "list"]);
    let extended = ids(&["lifecycle", "manifest", "list", "--extended"]);
    assert_eq!(extended[..plain.len()], plain);
    for host in ["claude", "codex", "gemini", "opencode", "copilot", "qwen", "cursor"] {
        assert!(extended.contains(&host.to_owned()), "{host}");
    }
    let shown = desk.escrow(&["lifecycle", "manifest", "show", "qwen", "--extended"]).stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["lifecycle_events"]["session.started"]["support"], "unavailable");
    assert_eq!(shown["lifecycle_events"]["frame.ending"]["support"], "native");
}

const HOSTS: [(&str, &str, &str); 7] = [
    (
        "claude",
        ".claude/settings.json",
        "// mine\n{\n    \"model\": \"opus\", // fast\n    \"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"lint\"}]}],},\n}\n",
    ),
    (
        "codex",
        ".codex/config.toml",
        "# mine\nmodel = \"gpt-5.5\"\n\n[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"lint\"",
    ),
    ("gemini", ".gemini/settings.json", "{}"),
    ("opencode", ".opencode/plugin/escrow.js", ""),
    ("copilot", ".github/hooks/escrow.json", "{ \"version\": 1, \"hooks\": {} }"),
    ("qwen", ".qwen/settings.json", "{\"hooks\":{\"Stop\":[]},\"x\":1}"),
    (
        "cursor",
        ".cursor/hooks.json",
        "{\n  \"version\": 1,\n  \"hooks\": {\n    \"stop\": [{ \"command\": \"lint\" }]\n  }\n}\n",
    ),
];

#[test]
fn install_merges_is_idempotent_and_uninstall_restores_every_byte() {
    let desk = project();
    for (_, file, text) in HOSTS.into_iter().filter(|(host, ..)| *host != "opencode") {
        desk.write(file, text);
        fs::set_permissions(desk.path().join(file), fs::Permissions::from_mode(0o640)).unwrap();
    }
    for (host, file, text) in HOSTS {
        let done = desk.escrow(&["harness", "install", "--host", host]);
        assert_eq!(done.code, Some(0), "{host}: {}", done.stderr);
        let installed = desk.read(file);
        assert!(installed.contains("hook") && installed.contains(host), "{host}: {installed}");
        if text.contains("lint") {
            assert!(installed.contains("lint"), "{host}");
        }
        assert_eq!(desk.escrow(&["harness", "install", "--host", host, "--project"]).code, Some(0));
        assert_eq!(desk.read(file), installed, "{host}: installed twice");
    }
    let status = desk.escrow(&["harness", "status", "--output", "json"]);
    let status: Value = serde_json::from_str(&status.stdout).unwrap();
    let all = status["harnesses"].as_array().unwrap();
    assert!(all.iter().all(|one| one["installed"] == true && one["stale"] == false), "{status:#}");
    assert_eq!(all.iter().filter(|one| one["unverified"] == true).count(), 1);
    assert_eq!(desk.escrow(&["harness", "uninstall"]).code, Some(0));
    for (host, file, text) in HOSTS {
        assert_eq!(desk.read(file), text, "{host}");
        if host != "opencode" {
            let mode = fs::metadata(desk.path().join(file)).unwrap().permissions().mode() & 0o777;
            assert_eq!(mode, 0o640, "{host}");
        }
    }
    assert!(!desk.path().join(".opencode").exists());
    assert!(desk.escrow(&["harness", "uninstall"]).stderr.contains("no hook of Escrow"));
}

#[test]
fn an_edited_plugin_of_opencode_is_refused_with_the_next_step() {
    let desk = project();
    let file = ".opencode/plugin/escrow.js";
    assert_eq!(desk.escrow(&["harness", "install", "--host", "opencode"]).code, Some(0));
    let edited = desk.read(file).replace("const contexts", "const mine = 1;\nconst contexts");
    desk.write(file, &edited);
    for verb in ["install", "uninstall"] {
        let done = desk.escrow(&["harness", verb, "--host", "opencode"]);
        assert_eq!(done.code, Some(2), "{verb}: {}", done.stderr);
        assert!(done.stderr.contains("escrow.js:6:1"), "{verb}: {}", done.stderr);
        assert!(done.stderr.contains("help: move what you have added"), "{verb}: {}", done.stderr);
        assert_eq!(desk.read(file), edited, "{verb}");
    }
}

#[test]
fn files_that_install_created_are_gone_after_uninstall() {
    let desk = project();
    for (host, file, _) in HOSTS {
        assert_eq!(desk.escrow(&["harness", "install", "--host", host]).code, Some(0), "{host}");
        assert!(desk.path().join(file).exists(), "{host}");
    }
    assert_eq!(desk.escrow(&["harness", "uninstall"]).code, Some(0));
    let left: Vec<_> = fs::read_dir(desk.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [".escrow"]);
}

#[test]
fn the_installed_command_leaves_a_receipt() {
    let desk = project();
    assert_eq!(desk.escrow(&["harness", "install", "--host", "claude"]).code, Some(0));
    let settings: Value = serde_json::from_str(&desk.read(".claude/settings.json")).unwrap();
    let command = settings["hooks"]["Stop"][0]["hooks"][0]["command"].as_str().unwrap();
    let done = std::process::Command::new("sh")
        .args(["-c", &format!("echo '{{\"session_id\": \"s\"}}' | {command}")])
        .current_dir(desk.path())
        .env_remove("ESCROW_STATE")
        .env_remove("ESCROW_RUN")
        .output()
        .unwrap();
    assert!(done.status.success() && done.stdout.is_empty() && done.stderr.is_empty(), "{done:?}");
    assert_eq!(receipts(&desk)[0]["event"], "frame.ending");
}

#[test]
fn half_written_settings_are_refused_with_file_and_line_and_nothing_is_changed() {
    let desk = project();
    let half = "{\n  \"model\": \"opus\",\n  \"hooks\": {";
    desk.write(".claude/settings.json", half);
    let done = desk.escrow(&["harness", "install", "--host", "claude"]);
    assert_eq!(done.code, Some(2));
    assert!(done.stderr.contains(".claude/settings.json:3:13`: expected a key"), "{}", done.stderr);
    assert!(done.stderr.contains("help: repair the file"), "{}", done.stderr);
    assert_eq!(desk.read(".claude/settings.json"), half);
    assert_eq!(desk.escrow(&["harness", "uninstall", "--host", "claude"]).code, Some(2));
    let status = desk.escrow(&["harness", "status", "--host", "claude"]);
    assert!(status.code == Some(0) && status.stdout.contains("unreadable"), "{}", status.stdout);
    assert_eq!(desk.escrow(&["harness", "install", "--host", "emacs"]).code, Some(2));
}

#[test]
fn a_file_that_is_read_only_or_not_utf_8_is_refused_and_stays() {
    let desk = project();
    let file = desk.write(".claude/settings.json", "{}");
    let install = || desk.escrow(&["harness", "install", "--host", "claude"]);
    assert_eq!(install().code, Some(0));
    let installed = desk.read(".claude/settings.json");
    for (text, verb) in [("{}", "install"), (&installed, "uninstall")] {
        desk.write(".claude/settings.json", text);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        let done = desk.escrow(&["harness", verb, "--host", "claude"]);
        assert_eq!(done.code, Some(2), "{verb}: {}", done.stderr);
        assert!(done.stderr.contains("is read-only") && done.stderr.contains("chmod u+w"), "{}", done.stderr);
        assert_eq!(desk.read(".claude/settings.json"), text, "{verb}");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    fs::write(&file, b"{\"a\": \"\xe9\"}").unwrap();
    let done = install();
    assert!(done.code == Some(2) && done.stderr.contains("is not UTF-8"), "{}", done.stderr);
}

#[test]
fn links_that_leave_the_project_are_refused_and_links_inside_are_followed() {
    let desk = project();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("settings.json"), "{}").unwrap();
    symlink(outside.path(), desk.path().join(".claude")).unwrap();
    let done = desk.escrow(&["harness", "install", "--host", "claude"]);
    assert_eq!(done.code, Some(2), "{}", done.stderr);
    assert!(done.stderr.contains("leaves the project"), "{}", done.stderr);
    assert_eq!(fs::read_to_string(outside.path().join("settings.json")).unwrap(), "{}");
    desk.write("shared/qwen.json", "{}");
    fs::create_dir(desk.path().join(".qwen")).unwrap();
    symlink("../shared/qwen.json", desk.path().join(".qwen/settings.json")).unwrap();
    assert_eq!(desk.escrow(&["harness", "install", "--host", "qwen"]).code, Some(0));
    assert!(desk.read("shared/qwen.json").contains("--host qwen"));
    assert!(fs::symlink_metadata(desk.path().join(".qwen/settings.json")).unwrap().file_type().is_symlink());
}

#[test]
fn the_users_own_configuration_is_another_place() {
    let desk = project();
    let home = tempfile::tempdir().unwrap();
    let call = |verb: &str| {
        let done =
            desk.command(&["harness", verb, "--host", "claude", "--user"]).env("HOME", home.path()).output();
        assert!(done.unwrap().status.success(), "{verb}");
    };
    call("install");
    assert!(home.path().join(".claude/settings.json").exists());
    assert!(!desk.path().join(".claude").exists());
    call("uninstall");
    assert!(!home.path().join(".claude/settings.json").exists());
}

#[test]
fn status_finds_programs_versions_and_stale_paths() {
    let desk = project();
    let program = desk.write("bin/claude", "#!/bin/sh\necho '9.8.7 (Claude Code)'\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let command = "/nowhere/escrow hook --host claude --event Stop";
    let old = json!({"hooks": {"Stop": [{"hooks": [{"type": "command", "command": command}]}]}});
    desk.write(".claude/settings.json", &old.to_string());
    let done = desk
        .command(&["harness", "status", "--host", "claude"])
        .env("ESCROW_HARNESS_CLAUDE", &program)
        .output()
        .unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(text.contains("9.8.7") && text.contains("not with this version"), "{text}");
    assert!(text.contains("stale: the hook calls another program"), "{text}");
    assert_eq!(desk.escrow(&["harness", "install", "--host", "claude"]).code, Some(0));
    assert!(!desk.read(".claude/settings.json").contains("/nowhere/"));
}

#[test]
fn doctor_says_which_hooks_fire_and_which_claims_are_stale() {
    let desk = project();
    // Fires two of its hooks through the settings that it is given, and answers as Claude Code does.
    let script = r#"#!/bin/sh
[ "$1" = --version ] && { echo '9.9.9 (Claude Code)'; exit; }
cat > /dev/null
for word in "$@"; do [ "$last" = --settings ] && settings=$word; last=$word; done
for event in SessionStart Stop; do
  hook=$(grep -o "\"command\": \"[^\"]* --event $event\"" "$settings" | sed 's/^"command": "//; s/"$//')
  echo '{"session_id": "s"}' | sh -c "$hook"
done
echo '{"type":"system","subtype":"init","session_id":"s","model":"m"}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":1,"result":"Canary.","session_id":"s"}'
"#;
    let program = desk.write("bin/claude", script);
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let done = desk
        .command(&["harness", "doctor", "--host", "claude", "--output", "json"])
        .env("ESCROW_HARNESS_CLAUDE", &program)
        .env("ANTHROPIC_API_KEY", "sk-private")
        .output()
        .unwrap();
    let text = String::from_utf8(done.stdout).unwrap();
    assert!(!text.contains("sk-private"), "{text}");
    let document: Value = serde_json::from_str(&text).unwrap();
    let claude = &document["harnesses"][0];
    assert_eq!(claude["version"], "9.9.9", "{text}");
    assert_eq!(claude["problem"], Value::Null, "{text}");
    assert_eq!(claude["fired"], json!(["SessionStart", "Stop"]), "{text}");
    assert_eq!(claude["silent"], json!(["UserPromptSubmit", "SessionEnd"]), "{text}");
    assert_eq!(claude["stale_claims"], json!(["frame.opening", "session.ending"]));
    assert_eq!(claude["keys"], json!(["ANTHROPIC_API_KEY"]));
    assert!(!desk.path().join(".escrow/escrow.db").exists(), "a canary leaves no receipts in the state");
}
