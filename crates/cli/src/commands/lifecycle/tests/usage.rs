//! Every wrong command line, and every verb without input, is answered as release 0.9.0 answers it.

use serde::Deserialize;
use sha2::{Digest, Sha256};

use super::super::LifecycleExit;
use super::check;

/// A command line and what was said; of standard output, the first 6 bytes of SHA-256, or `-` for nothing.
#[derive(Deserialize)]
struct Recorded {
    arguments: String,
    exit_code: u8,
    stdout: String,
    stderr: String,
}

#[test]
fn every_command_line_gets_the_recorded_answer() {
    let mut count = 0;
    for line in include_str!("../../../../tests/data/lifecycle/usage-0.9.0.jsonl").lines() {
        let recorded: Recorded = serde_json::from_str(line).unwrap();
        let words: Vec<&str> = recorded.arguments.split(' ').collect();
        let answer = check(&words, b"");
        let stdout = match answer.stdout.as_str() {
            "" => "-".to_owned(),
            text => Sha256::digest(text)[..6].iter().map(|byte| format!("{byte:02x}")).collect(),
        };
        let said = (answer.exit.as_u8(), stdout, answer.stderr);
        assert_eq!(said, (recorded.exit_code, recorded.stdout, recorded.stderr), "{}", recorded.arguments);
        count += 1;
    }
    assert!(count > 90, "{count} command lines were recorded");
}

#[test]
fn help_is_printed_for_every_spelling() {
    for words in [&[][..], &["help"], &["--help"], &["-h"], &["event", "invoke", "--x", "--help"]] {
        let answer = check(words, b"");
        assert_eq!((answer.exit, answer.stderr.as_str()), (LifecycleExit::Done, ""));
        assert!(answer.stdout.starts_with("lifecycle"), "{words:?}");
    }
}

#[test]
fn manifests_of_other_versions_are_shown_with_schema() {
    let listed = check(&["manifest", "list", "--schema", "lifeloop.v0.2"], b"").stdout;
    assert!(listed.contains("hermes") && !listed.contains("\"pi\""));
    let shown = check(&["manifest", "show", "codex", "--schema", "lifeloop.v0.3"], b"").stdout;
    assert!(shown.contains("lifeloop.v0.3"));
}
