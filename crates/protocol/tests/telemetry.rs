//! What the logs of harnesses say about their contexts.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue should stop")]

use escrow_protocol::telemetry::{TelemetryHost, TelemetryLog, observe};

/// `expected` is the observation as JSON, or empty if the log gives none.
#[track_caller]
fn check(host: TelemetryHost, text: &str, expected: &str) {
    let log = TelemetryLog { text: text.to_owned(), modified_epoch_s: 7, ..TelemetryLog::default() };
    let observed = observe(host, &log).map(|observation| serde_json::to_string(&observation).unwrap());
    assert_eq!(observed.unwrap_or_default(), expected);
}

#[test]
fn claude_usage_is_summed_and_the_last_message_gives_the_size() {
    check(
        TelemetryHost::Claude,
        r#"{"sessionId":"s","message":{"model":"one","usage":{"input_tokens":100,"output_tokens":20,"cache_creation_input_tokens":30,"cache_read_input_tokens":50}}}
not json
{"sessionId":"s","message":{"model":"two","usage":{"input_tokens":200,"output_tokens":40,"cache_creation_input_tokens":10,"cache_read_input_tokens":500}}}"#,
        r#"{"adapter_id":"claude","observed_at_epoch_s":7,"model_name":"two","total_tokens":710,"usage":{"input_tokens":300,"output_tokens":60,"cache_creation_input_tokens":40,"cache_read_input_tokens":550}}"#,
    );
    check(TelemetryHost::Claude, r#"{"sessionId":"s"}"#, "");
}

#[test]
fn codex_reports_its_own_totals() {
    check(
        TelemetryHost::Codex,
        r#"{"type":"turn_context","payload":{"model":"gpt"}}
{"type":"event_msg","payload":{"type":"token_count","info":{"total_token_usage":{"total_tokens":1050},"last_token_usage":{"total_tokens":410},"model_context_window":2000}}}"#,
        r#"{"adapter_id":"codex","observed_at_epoch_s":7,"model_name":"gpt","total_tokens":410,"context_window_tokens":2000,"context_used_pct":20,"usage":{"blended_total_tokens":1050}}"#,
    );
}

#[test]
fn gemini_records_may_span_lines() {
    let response = r#"{"attributes":{"event.name":"gemini_cli.api_response","model":"flash","input_token_count":2000,"output_token_count":60}}"#;
    let spread = response.replace(',', ",\n  ").replace('{', "{\n");
    let expected = r#"{"adapter_id":"gemini","observed_at_epoch_s":7,"model_name":"flash","total_tokens":2000,"usage":{"input_tokens":2000,"output_tokens":60}}"#;
    check(TelemetryHost::Gemini, response, expected);
    check(TelemetryHost::Gemini, &spread, expected);
    check(
        TelemetryHost::Gemini,
        r#"{"attributes":{"event.name":"gemini_cli.chat_compression"}}"#,
        r#"{"adapter_id":"gemini","observed_at_epoch_s":7,"compaction_signal":true}"#,
    );
}

#[test]
fn a_log_without_figures_gives_no_observation() {
    for &host in TelemetryHost::ALL {
        check(host, "", "");
        check(host, "{\"a\":1}\n[]\nnull 1 2 \u{0}", "");
    }
}
