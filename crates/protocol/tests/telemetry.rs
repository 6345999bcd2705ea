//! What the logs of harnesses say about their contexts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod support;

use escrow_protocol::command::ExitCode;
use escrow_protocol::telemetry::TelemetryLog;
use support::world::Scripted;

#[track_caller]
fn check(host: &str, text: &str, expected: &str) {
    let log = TelemetryLog { text: text.to_owned(), modified_epoch_s: 7, ..TelemetryLog::default() };
    let answer =
        Scripted { log: Some(log), ..Scripted::default() }.run(&["telemetry", "snapshot", "--host", host]);
    assert_eq!(answer.stdout.replace([' ', '\n'], ""), expected, "{}", answer.stderr);
    assert_eq!(answer.exit_code == ExitCode::Done, !expected.is_empty());
}

#[test]
fn claude_sums_its_messages_and_the_last_one_tells_the_size() {
    check(
        "claude",
        r#"{"sessionId":"s","message":{"model":"one","usage":{"input_tokens":100,"output_tokens":20,"cache_creation_input_tokens":30,"cache_read_input_tokens":50}}}
not json
{"sessionId":"s","message":{"model":"two","usage":{"input_tokens":200,"output_tokens":40,"cache_creation_input_tokens":10,"cache_read_input_tokens":500}}}"#,
        r#"{"adapter_id":"claude","observed_at_epoch_s":7,"model_name":"two","total_tokens":710,"usage":{"input_tokens":300,"output_tokens":60,"cache_creation_input_tokens":40,"cache_read_input_tokens":550}}"#,
    );
    check("claude", r#"{"sessionId":"s"}"#, "");
}

#[test]
fn codex_counts_for_itself() {
    check(
        "codex",
        r#"{"type":"turn_context","payload":{"model":"gpt"}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":1050},"last_token_usage":{"total_tokens":410},"model_context_window":2000}}}"#,
        r#"{"adapter_id":"codex","observed_at_epoch_s":7,"model_name":"gpt","total_tokens":410,"context_window_tokens":2000,"context_used_pct":20,"usage":{"blended_total_tokens":1050}}"#,
    );
}

#[test]
fn gemini_is_read_from_lines_and_from_records_spread_over_many() {
    let response = r#"{"attributes":{"event.name":"gemini_cli.api_response","model":"flash","input_token_count":2000,"output_token_count":60}}"#;
    let spread = response.replace(',', ",\n  ").replace('{', "{\n");
    let expected = r#"{"adapter_id":"gemini","observed_at_epoch_s":7,"model_name":"flash","total_tokens":2000,"usage":{"input_tokens":2000,"output_tokens":60}}"#;
    check("gemini", response, expected);
    check("gemini", &spread, expected);
    check(
        "gemini",
        r#"{"attributes":{"event.name":"gemini_cli.chat_compression"}}"#,
        r#"{"adapter_id":"gemini","observed_at_epoch_s":7,"compaction_signal":true}"#,
    );
}

#[test]
fn nothing_to_read_is_refused() {
    for host in ["claude", "codex", "gemini"] {
        check(host, "", "");
        check(host, "{\"a\":1}\n[]\nnull 1 2 \u{0}", "");
    }
}
