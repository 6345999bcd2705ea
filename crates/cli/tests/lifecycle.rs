//! `escrow lifecycle` through the binary: the published fixtures, recorded answers, both names, bad input.

mod wire;

#[path = "../../protocol/tests/support/mod.rs"]
mod support;

use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

use serde_json::Value;
use sha2::{Digest, Sha256};
use support::cases::Case;
use wire::{Said, Wire, conformance, envelope, talk_to};

#[test]
fn every_published_fixture_passes_in_both_versions() {
    let wire = Wire::new();
    for version in ["v0.2", "v0.4"] {
        let root = conformance(version).display().to_string();
        let said = wire.say(&["conformance", "run", "--root", &root], "");
        let rows: Vec<Value> =
            said.stdout.lines().map(|line| serde_json::from_str(line).expect("a row")).collect();
        let is_good = |row: &&Value| row["outcome"] == "valid_ok" || row["outcome"] == "invalid_ok";
        assert_eq!((said.code, rows.len(), rows.iter().filter(is_good).count()), (0, 68, 68), "{version}");
    }
}

/// The exit code and the first bytes of a hash, as recordings have them.
fn recorded(said: &Said) -> String {
    // Which older key is expected of a document that names no version is not compared.
    let stderr = said.stderr.replace("`redaction`, `metadata`", "`metadata`");
    let digest = Sha256::digest(format!("{}\0{}\0{stderr}", said.code, said.stdout));
    let hex: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{} {hex}", said.code)
}

#[test]
fn every_twentieth_recorded_answer_of_0_9_0_comes_out_of_the_binary() {
    let wire = Wire::new();
    let recording = include_str!("data/lifecycle/lifeloop-0.9.0.txt");
    let lines = recording.lines().filter(|line| !line.starts_with('#'));
    for (number, line) in (0..).zip(lines).step_by(20) {
        let case = Case::numbered(number);
        let said = wire.say(&case.arguments(), &case.input);
        assert_eq!(recorded(&said), line, "case {number}: {:?}\n{said:?}", case.arguments);
    }
}

#[test]
fn wrong_command_lines_get_the_recorded_answers() {
    let wire = Wire::new();
    for line in include_str!("data/lifecycle/usage-0.9.0.jsonl").lines() {
        let record: Value = serde_json::from_str(line).expect("a record");
        let arguments = record["arguments"].as_str().expect("words");
        if record["exit_code"] != 2 {
            continue;
        }
        let said = wire.say(&arguments.split(' ').collect::<Vec<_>>(), "");
        assert_eq!(
            (said.code, &said.stderr[..]),
            (2, record["stderr"].as_str().expect("text")),
            "{arguments}"
        );
    }
}

#[test]
fn under_the_name_lifeloop_it_is_just_that() {
    let wire = Wire::new();
    let lifeloop = wire.path("lifeloop");
    symlink(env!("CARGO_BIN_EXE_escrow"), &lifeloop).expect("a link");
    for words in [&["version"][..], &["events"], &["manifest", "list"], &["nonsense"], &[]] {
        let mut command = Command::new(&lifeloop);
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let linked = talk_to(command.spawn().expect("it starts"), b"");
        assert_eq!(linked, wire.say(words, ""), "{words:?}");
    }
    assert_eq!(wire.say(&["version"], "").stdout, "0.9.0\n");
}

#[test]
fn the_rest_of_escrow_knows_of_it() {
    let escrow = |words: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_escrow")).args(words).output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    };
    assert!(escrow(&["--help"]).contains("\n  lifecycle "));
    assert!(escrow(&["completions", "bash"]).contains("lifecycle"));
    assert_eq!(escrow(&["--quiet", "lifecycle", "version"]), "0.9.0\n");
    assert!(escrow(&["lifecycle"]).starts_with("lifecycle:"));
}

#[test]
fn no_state_is_made() {
    let wire = Wire::new();
    wire.say(&["event", "invoke", "--in-process"], envelope(None).to_string());
    assert!(!wire.path(".escrow").exists());
}

#[test]
fn bad_input_is_refused_with_its_exit_code() {
    let wire = Wire::new();
    let good = envelope(None).to_string();
    let deep = "[".repeat(100_000);
    let large = vec![b' '; 16 * 1024 * 1024 + 1];
    let twice = good.replacen("\"event_id\":", "\"event_id\":\"e\",\"event_id\":", 1);
    let cases: [(&[u8], i32, &str); 8] = [
        (b"", 3, "stdin is empty"),
        (b"\xff\xfe", 3, "stdin is not UTF-8"),
        (&large, 3, "stdin exceeds 16777216 bytes"),
        (deep.as_bytes(), 3, "invalid JSON"),
        (twice.as_bytes(), 3, "duplicate field `event_id`"),
        (b"{}{}", 3, "invalid JSON"),
        (&good.as_bytes()[..good.len() - 1], 3, "EOF while parsing"),
        (good.replace("v0.4", "v9.9").leak().as_bytes(), 1, "lifeloop.v9.9"),
    ];
    for (input, code, says) in cases {
        let said = wire.say(&["event", "invoke", "--in-process"], input);
        assert_eq!((said.code, said.stdout.as_str()), (code, ""), "{says}: {}", said.stderr);
        assert!(said.stderr.contains(says), "{}", said.stderr);
    }
    // As large as allowed is allowed.
    let mut padded = good.into_bytes();
    padded.resize(16 * 1024 * 1024, b' ');
    assert_eq!(wire.say(&["event", "invoke", "--in-process"], padded).code, 0);
}

#[test]
fn a_time_before_the_epoch_is_no_time() {
    let wire = Wire::new();
    let said =
        wire.say(&["event", "invoke", "--in-process", "--at-epoch-s", "-1"], envelope(None).to_string());
    assert_eq!(said.code, 2);
    assert!(said.stderr.starts_with("--at-epoch-s must be a non-negative integer"), "{}", said.stderr);
    let zero =
        wire.say(&["event", "invoke", "--in-process", "--at-epoch-s", "0"], envelope(None).to_string());
    assert_eq!(zero.json()["at_epoch_s"], 0);
}

#[test]
fn words_that_are_not_unicode_are_words() {
    use std::os::unix::ffi::OsStrExt;
    let wire = Wire::new();
    let output =
        wire.command(&[]).arg(std::ffi::OsStr::from_bytes(b"\xff")).output().expect("the binary runs");
    assert_eq!(output.status.code(), Some(2));
}
