//! What the parsers make of every recording.

use std::fmt::Write;

use escrow_harness::{ErrorKind, Exit, HARNESSES, Harness, Known, find};
use serde_json::{Value, json};

use crate::recordings::{self, Recording};

/// One line per recording: what a person compares with the recording itself.
fn overview(recording: &Recording, harness: &dyn Harness) -> Value {
    let report = recording.report(harness);
    assert_eq!(report.completed, report.error.is_none(), "{}", recording.case);
    assert_eq!(report.is_error, report.error.is_some(), "{}", recording.case);
    let denials = report
        .permission_denials
        .map(|denials| denials.into_iter().map(|denial| denial.tool).collect::<Vec<_>>());
    let short = |text: String, length: usize| text.chars().take(length).collect::<String>();
    json!({
        "case": recording.case,
        "exit": match recording.exit {
            Exit::Code(code) => json!(code),
            Exit::Signal(signal) => json!(format!("signal {signal}")),
            Exit::TimedOut => json!("timed out"),
        },
        "completed": report.completed,
        "error": report.error.as_ref().map(|error| error.kind),
        "message": report.error.map(|error| short(error.message, 90)),
        "turns": report.turns,
        "input": report.input_tokens,
        "output": report.output_tokens,
        "cost": report.cost_usd,
        "denials": denials,
        "tool_calls": report.tool_calls,
        "session": report.session_id.map(|id| id.trim_start_matches(['0', '-']).to_owned()),
        "model": report.model,
        "text": report.final_text.map(|text| short(text, 30)),
        "structured": report.structured,
    })
}

#[test]
fn every_recording_is_understood() {
    for harness in HARNESSES {
        let mut lines = String::new();
        for recording in recordings::of(*harness) {
            writeln!(lines, "{}", overview(&recording, *harness)).unwrap();
        }
        insta::with_settings!({
            snapshot_path => "../expected", prepend_module_to_snapshot => false, omit_expression => true,
        }, {
            insta::assert_snapshot!(format!("reports-{}", harness.spec().name), lines);
        });
    }
}

/// The cases in which the program failed, was killed or never answered, whatever its exit code.
#[test]
fn nothing_that_failed_is_complete() {
    let failed = |case: &str| {
        let starts = [
            "bad_config",
            "bad_flag",
            "bad_model",
            "bypass_root",
            "kill_",
            "max_",
            "model_exit2",
            "no_key",
            "no_skip_trust",
            "perm_hook_allow",
            "pre_continue_false",
            "prompt_block",
            "prompt_exit2",
            "prompt_throw",
            "stall_idle",
            "system_settings_insecure",
            "untrusted",
        ];
        let is_recovered = case.ends_with("_once");
        (case.starts_with("err") && !is_recovered) || starts.iter().any(|start| case.starts_with(start))
    };
    // Claude Code repeats a cut stream without streaming; Copilot cannot block prompts.
    let exceptions = [("claude", "err_cut"), ("copilot", "prompt_exit2")];
    for harness in HARNESSES {
        for recording in recordings::of(*harness) {
            let is_exception = exceptions.contains(&(harness.spec().name, recording.case.as_str()));
            if failed(&recording.case) && !is_exception {
                let report = recording.report(*harness);
                assert!(!report.completed && report.is_error, "{} {}", harness.spec().name, recording.case);
            }
        }
    }
}

/// Whether a line is the one after which the program has answered, by the format alone.
fn is_terminal(harness: &str, line: &str) -> bool {
    let Ok(value) = serde_json::from_str::<Value>(line) else { return false };
    match harness {
        "codex" => value["type"] == "turn.completed",
        "opencode" => value["type"] == "step_finish" && value["part"]["reason"] == "stop",
        "claude" | "gemini" | "copilot" | "qwen" => value["type"] == "result",
        other => panic!("{other} has a terminal line, too"),
    }
}

#[test]
fn a_stream_that_is_cut_before_its_terminal_line_is_never_complete() {
    for harness in HARNESSES {
        for recording in recordings::of(*harness) {
            let lines = &recording.lines;
            let terminal = lines.iter().position(|line| is_terminal(harness.spec().name, line));
            for end in 0..=terminal.unwrap_or(lines.len()) {
                let report = recordings::report(*harness, &lines[..end], Exit::Code(0), "");
                assert!(!report.completed, "{} {} cut after line {end}", harness.spec().name, recording.case);
                assert!(report.is_error);
            }
        }
    }
}

#[test]
fn a_clean_answer_does_not_excuse_a_bad_exit() {
    for harness in HARNESSES {
        let all = recordings::of(*harness);
        let text = all.iter().find(|recording| recording.case == "text").expect("a text case");
        let kind = |exit| {
            let report = recordings::report(*harness, &text.lines, exit, "");
            (report.completed, report.error.map(|error| error.kind))
        };
        assert_eq!(kind(Exit::Code(0)), (true, None));
        assert_eq!(kind(Exit::Code(1)), (false, Some(ErrorKind::Other)));
        assert_eq!(kind(Exit::Code(143)), (false, Some(ErrorKind::Killed)));
        assert_eq!(kind(Exit::Signal(9)), (false, Some(ErrorKind::Killed)));
        assert_eq!(kind(Exit::TimedOut), (false, Some(ErrorKind::Killed)));
    }
}

#[test]
fn figures_that_are_never_known_are_never_reported() {
    for harness in HARNESSES {
        let figures = harness.spec().figures;
        for recording in recordings::of(*harness) {
            let report = recording.report(*harness);
            let case = format!("{} {}", harness.spec().name, recording.case);
            let check = |known: Known, is_reported: bool| match known {
                Known::Never => assert!(!is_reported, "{case}"),
                Known::Streamed | Known::AtEnd => assert!(is_reported || !report.completed, "{case}"),
            };
            check(figures.turns, report.turns.is_some());
            check(figures.input_tokens, report.input_tokens.is_some());
            check(figures.output_tokens, report.output_tokens.is_some());
            check(figures.cost, report.cost_usd.is_some());
            check(figures.denials, report.permission_denials.is_some());
            check(figures.tool_calls, report.tool_calls.is_some());
            check(figures.model, report.model.is_some());
            check(figures.session, report.session_id.is_some());
        }
    }
}

/// Rules of which there is no recording.
#[test]
fn a_stopped_or_limited_run_is_not_complete() {
    let check = |name: &str, lines: &[&str], exit: i32, kind: Option<ErrorKind>| {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let report = recordings::report(find(name).unwrap(), &lines, Exit::Code(exit), "");
        assert_eq!(report.error.map(|error| error.kind), kind, "{name} {lines:?}");
    };
    let hook_stopped = r#"{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"","terminal_reason":"hook_stopped","session_id":"s"}"#;
    check("claude", &[hook_stopped], 0, Some(ErrorKind::Blocked));
    let without_flag =
        r#"{"type":"result","subtype":"success","num_turns":2,"result":"Done.","session_id":"s"}"#;
    check("claude", &[without_flag], 0, Some(ErrorKind::Other));
    check(
        "qwen",
        &[r#"{"type":"system","subtype":"init","session_id":"s"}"#],
        53,
        Some(ErrorKind::TurnLimit),
    );
    let qwen = |result: &str| {
        json!({"type": "result", "subtype": "success", "is_error": false, "num_turns": 2, "result": result})
            .to_string()
    };
    check("qwen", &[&qwen("Half of it.[API Error: 429 slow down]\n")], 0, Some(ErrorKind::RateLimit));
    check("qwen", &[&qwen("The log has [API Error: 401 x] in it.")], 0, None);
    let looped = [
        r#"{"type":"message","role":"assistant","content":"a","delta":true}"#,
        r#"{"type":"error","severity":"warning","message":"Loop detected, stopping execution"}"#,
        r#"{"type":"result","status":"success","stats":{}}"#,
    ];
    check("gemini", &looped, 0, Some(ErrorKind::Other));
    let resumed_and_blocked = [
        r#"{"type":"turn.started"}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":2400,"output_tokens":68}}"#,
    ];
    check("codex", &resumed_and_blocked, 0, Some(ErrorKind::Empty));
    let failed_and_completed = [
        r#"{"type":"item.completed","item":{"id":"0","type":"agent_message","text":"Done."}}"#,
        r#"{"type":"turn.failed","error":{"message":"stream disconnected"}}"#,
        r#"{"type":"turn.completed","usage":{"input_tokens":2400,"output_tokens":68}}"#,
    ];
    check("codex", &failed_and_completed, 0, Some(ErrorKind::Api));
    let answered_after_an_error = [
        r#"{"type":"error","sessionID":"s"}"#,
        r#"{"type":"text","sessionID":"s","part":{"text":"Done."}}"#,
        r#"{"type":"step_finish","sessionID":"s","part":{"reason":"stop"}}"#,
    ];
    check("opencode", &answered_after_an_error, 0, Some(ErrorKind::Other));
}
