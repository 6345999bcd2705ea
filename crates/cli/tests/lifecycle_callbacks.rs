//! Clients as real processes: whatever they do is classified, in time, and nothing of them is left.

mod wire;

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wire::{DELIVERED, Said, Wire, envelope};

/// Runs a client by compatible and by extended rules: the same exit code and sentence, and with `--extended` a
/// receipt of this class with this warning.
fn check(script: &str, sentence: &str, class: &str, retry: &str, code: &str) {
    let wire = Wire::new();
    let client = wire.client("client", script);
    let flags = ["--timeout-ms", "700", "--receipt-id", "r", "--client-cmd", &client];
    let plain = wire.invoke(&flags, &envelope(None));
    assert_eq!((plain.code, plain.stdout.as_str()), (1, ""), "{script}: {plain:?}");
    assert!(plain.stderr.starts_with(&format!("subprocess callback failed: {sentence}")), "{plain:?}");
    let mut more = flags.to_vec();
    more.push("--extended");
    let extended = wire.invoke(&more, &envelope(None));
    let receipt = extended.json();
    assert_eq!((extended.code, &receipt["status"]), (1, &json!("failed")), "{script}");
    assert_eq!(
        (&receipt["failure_class"], &receipt["retry_class"]),
        (&json!(class), &json!(retry)),
        "{script}"
    );
    assert_eq!(receipt["warnings"][0]["code"], code, "{script}");
}

#[test]
fn garbage() {
    let says = "subprocess stdout was not a valid JSON CallbackResponse";
    for script in ["cat >/dev/null; echo hello", "cat >/dev/null", "cat >/dev/null; printf '\\377'"] {
        check(script, says, "invalid_request", "do_not_retry", "callback_output_garbage");
    }
    let invalid = r#"cat >/dev/null; echo '{"schema_version":"lifeloop.v0.4","status":"failed"}'"#;
    let says = "subprocess returned a CallbackResponse that failed validation";
    check(invalid, says, "invalid_request", "do_not_retry", "callback_response_invalid");
}

#[test]
fn an_exit_code_wins_over_a_good_answer() {
    let script = format!("cat >/dev/null; {DELIVERED}; echo no >&2; exit 3");
    let says = "callback subprocess exited with code 3: no\n";
    check(&script, says, "transport_error", "safe_retry", "callback_exit_code");
}

#[test]
fn a_signal() {
    let says = "callback subprocess terminated by signal: ";
    check("kill -9 $$", says, "transport_error", "safe_retry", "callback_signalled");
}

#[test]
fn a_deadline_that_passes() {
    let says = "callback subprocess exceeded configured timeout";
    for script in ["sleep 60", "trap '' TERM; while :; do sleep 60; done", "exec >&- 2>&-; sleep 60"] {
        let began = Instant::now();
        check(script, says, "timeout", "safe_retry", "callback_timed_out");
        assert!(began.elapsed() < Duration::from_secs(10), "{script}");
    }
}

#[test]
fn pipes_that_another_process_holds_open() {
    let says = "callback subprocess exceeded configured timeout";
    let script = format!("cat >/dev/null; sleep 60 & {DELIVERED}");
    check(&script, says, "timeout", "safe_retry", "callback_timed_out");
}

#[test]
fn floods() {
    let says = "failed to read subprocess stdout: subprocess stdout exceeded 16777216 bytes";
    check("yes", says, "transport_error", "safe_retry", "callback_output_unreadable");
}

#[test]
fn a_program_that_is_not_there() {
    let wire = Wire::new();
    let said = wire.invoke(&["--client-cmd", "/nonexistent/client"], &envelope(None));
    let says = "subprocess callback failed: failed to spawn callback subprocess: No such file or directory (os error 2)\n";
    assert_eq!((said.code, said.stderr.as_str()), (1, says));
}

#[test]
fn much_talk_on_standard_error_is_cut_and_does_not_block() {
    let wire = Wire::new();
    let client = wire.client("client", "cat >/dev/null; head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 4");
    let said = wire.invoke(&["--client-cmd", &client], &envelope(None));
    assert!(said.stderr.ends_with("x\n[stderr truncated]\n\n"), "{}", &said.stderr[said.stderr.len() - 60..]);
    assert!(said.stderr.len() < 300_000);
    let client =
        wire.client("client", &format!("yes oops | head -c 1000000 >&2; cat >/dev/null; {DELIVERED}"));
    assert_eq!(wire.invoke(&["--client-cmd", &client], &envelope(None)).code, 0);
}

#[test]
fn a_client_may_answer_without_listening() {
    let wire = Wire::new();
    let client = wire.client("client", DELIVERED);
    let mut large = envelope(None);
    large["request"]["metadata"] = json!({ "text": "x".repeat(1_000_000) });
    let said = wire.invoke(&["--client-cmd", &client], &large);
    assert_eq!((said.code, &said.json()["status"]), (0, &json!("delivered")), "{}", said.stderr);
}

#[test]
fn the_client_gets_one_compact_envelope_its_arguments_and_our_environment() {
    let wire = Wire::new();
    let client = wire.client("client", &format!("cat >seen; echo \"$1|$2|$SECRET\" >words; {DELIVERED}"));
    let words = ["event", "invoke", "--client-cmd", &client, "--client-arg", "a b", "--client-arg", "--x"];
    let mut command = wire.command(&words);
    command.env("SECRET", "s3cret");
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let said = wire::talk_to(command.spawn().expect("it starts"), envelope(None).to_string().as_bytes());
    assert_eq!(said.code, 0);
    let seen = std::fs::read_to_string(wire.path("seen")).expect("the envelope");
    assert!(!seen.contains('\n') && serde_json::from_str::<Value>(&seen).is_ok(), "{seen}");
    assert_eq!(std::fs::read_to_string(wire.path("words")).expect("words"), "a b|--x|s3cret\n");
}

#[test]
fn an_allow_list_keeps_secrets_from_clients() {
    let wire = Wire::new();
    let client = wire.client("client", &format!("/usr/bin/env >seen; {DELIVERED}"));
    let mut command = wire.command(&[
        "event",
        "invoke",
        "--extended",
        "--allow-env",
        "PATH",
        "--allow-env",
        "LC_*",
        "--client-cmd",
        &client,
    ]);
    command.env("SECRET", "s3cret").env("LC_ALL", "C").stdin(std::process::Stdio::piped());
    command.stdout(std::process::Stdio::piped());
    let said = wire::talk_to(command.spawn().expect("it starts"), envelope(None).to_string().as_bytes());
    assert_eq!(said.code, 0);
    let seen = std::fs::read_to_string(wire.path("seen")).expect("variables");
    let ours = ["PATH=", "LC_ALL=", "ESCROW_ATTEMPT_TOKEN="];
    let shell = ["PWD=", "_=", "SHLVL=", "OLDPWD="];
    for line in seen.lines() {
        assert!(ours.iter().chain(&shell).any(|allowed| line.starts_with(allowed)), "{line}");
    }
    assert!(seen.contains("LC_ALL=C"));
}

/// Whether a process with this number is still there, and no zombie.
fn is_alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
}

#[test]
fn nothing_of_a_client_is_left_not_even_what_left_its_group() {
    for end in [format!("cat >/dev/null; {DELIVERED}"), "sleep 60".to_owned()] {
        let wire = Wire::new();
        let script = format!(
            "setsid sh -c 'echo $$ >far; exec sleep 60' >/dev/null 2>&1 </dev/null &\nsleep 60 >/dev/null 2>&1 &\necho $! >near\nwhile ! [ -s far ]; do sleep 0.01; done; {end}"
        );
        let client = wire.client("client", &script);
        wire.invoke(&["--timeout-ms", "1500", "--client-cmd", &client], &envelope(None));
        for name in ["near", "far"] {
            let pid = std::fs::read_to_string(wire.path(name)).expect("a number");
            assert!(!is_alive(&pid), "{name} of `{end}`");
        }
    }
}

#[test]
fn several_clients_run_side_by_side_and_each_leaves_its_own_receipt() {
    let wire = Wire::new();
    let slow = wire.client("slow", &format!("cat >/dev/null; sleep 1; {DELIVERED}"));
    let broken = wire.client("broken", "cat >/dev/null; exit 9");
    let began = Instant::now();
    let said: Said = wire.invoke(
        &[
            "--extended",
            "--receipt-id",
            "r",
            "--client-cmd",
            &slow,
            "--client-id",
            "one",
            "--client-cmd",
            &broken,
            "--client-id",
            "two",
            "--client-cmd",
            &slow,
            "--client-id",
            "three",
            "--ledger",
            "ledger.db",
        ],
        &envelope(Some("k")),
    );
    assert!(began.elapsed() < Duration::from_millis(1_900), "side by side");
    let receipts = said.json();
    let of = |field: &str| -> Vec<Value> {
        receipts.as_array().expect("an array").iter().map(|receipt| receipt[field].clone()).collect()
    };
    assert_eq!(of("client_id"), ["one", "two", "three"]);
    assert_eq!(of("receipt_id"), ["r.1", "r.2", "r.3"]);
    assert_eq!(of("status"), ["delivered", "failed", "delivered"]);
    assert_eq!(of("sequence"), [1, 2, 3]);
    assert_eq!(said.code, 1, "the one that failed decides");
}
