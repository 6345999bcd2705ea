//! `telemetry snapshot` prints the observation of a log, or refuses. What logs mean is tested in `protocol`.

use escrow_protocol::telemetry::TelemetryLog;
use serde_json::{Value, json};

use super::super::LifecycleExit;
use super::ScriptedSystem;

const SNAPSHOT: &[&str] = &["telemetry", "snapshot", "--host"];

fn snapshot(host: &str, log: Option<&str>) -> (LifecycleExit, String) {
    let log = log.map(|text| TelemetryLog {
        text: text.to_owned(),
        modified_epoch_s: 7,
        ..TelemetryLog::default()
    });
    let output = ScriptedSystem { log, ..ScriptedSystem::default() }.run(&[SNAPSHOT, &[host]].concat());
    (output.exit, output.stdout)
}

#[test]
fn an_observation_is_printed() {
    let log = r#"{"attributes":{"event.name":"gemini_cli.chat_compression"}}"#;
    let (exit, stdout) = snapshot("gemini", Some(log));
    let printed: Value = serde_json::from_str(&stdout).expect("a document");
    assert_eq!(exit, LifecycleExit::Done);
    assert_eq!(
        printed,
        json!({ "adapter_id": "gemini", "observed_at_epoch_s": 7, "compaction_signal": true })
    );
}

#[test]
fn a_log_without_figures_and_no_log_are_refused() {
    for host in ["claude", "codex", "gemini"] {
        for log in [Some(""), Some("{\"a\":1}\n[]\nnull 1 2 \u{0}"), None] {
            assert_eq!(snapshot(host, log), (LifecycleExit::Refused, String::new()), "{host} {log:?}");
        }
    }
}
