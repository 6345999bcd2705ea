//! `ESCROW_LOG` turns diagnostics on, and nothing else changes.

use std::process::{Command, Output};

fn escrow(log: Option<&str>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_escrow"));
    command.args(["lifecycle", "version"]).env_remove("ESCROW_LOG");
    if let Some(log) = log {
        command.env("ESCROW_LOG", log);
    }
    command.output().expect("the binary runs")
}

#[track_caller]
fn check(log: Option<&str>, says: Option<&str>) {
    let output = escrow(log);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), &output.stdout[..]), (Some(0), &b"0.9.0\n"[..]));
    match says {
        Some(says) => assert!(stderr.contains(says), "{stderr}"),
        None => assert_eq!(stderr, ""),
    }
}

#[test]
fn diagnostics_are_off_unless_asked_for() {
    check(None, None);
    check(Some(""), None);
    check(Some("warn"), None);
    check(Some("escrow_store=trace"), None);
}

#[test]
fn a_level_or_a_target_turns_them_on() {
    check(Some("debug"), Some("lifecycle verb ended"));
    check(Some("escrow=debug,warn"), Some("exit=0"));
}

#[test]
fn a_malformed_filter_is_reported_and_ignored() {
    check(Some("escrow=loud"), Some("warning: ESCROW_LOG is ignored: "));
}
