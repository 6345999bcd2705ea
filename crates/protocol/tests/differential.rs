//! Thousands of spoilt envelopes get the answers that `lifeloop-cli` 0.9.0 gave.
//!
//! What it gave is recorded: for each case a hash of exit code, standard output and standard error. The
//! recording is what always runs. With `cargo test -- --ignored` the program itself is fetched, if that is
//! possible, and asked again; `LIFELOOP_RECORD=1` writes down what it says.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]
#![allow(clippy::disallowed_methods, reason = "a test may look at the world")]

mod support;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};
use support::cases::Case;
use support::world::check;

const RECORDED: &str = include_str!("data/recorded/lifeloop-0.9.0.txt");

/// How many cases are recorded.
const CASES: u64 = 6_000;

#[test]
fn every_case_gets_the_recorded_answer() {
    let mut differing = Vec::new();
    let mut seen = 0;
    for (number, recorded) in (0..).zip(RECORDED.lines().filter(|line| !line.starts_with('#'))) {
        let said = Said::here(&Case::numbered(number));
        if said.recorded() != recorded {
            differing.push((number, recorded, said));
        }
        seen += 1;
    }
    assert_eq!(seen, CASES, "the recording is complete");
    assert!(differing.is_empty(), "{} of {seen} differ, first: {:?}", differing.len(), differing.first());
}

#[test]
fn the_recording_has_every_way_of_ending() {
    for exit_code in ['0', '1', '3'] {
        let count = RECORDED.lines().filter(|line| line.starts_with(exit_code)).count();
        assert!(count > 300, "exit code {exit_code} was recorded {count} times");
    }
}

#[test]
#[ignore = "fetches and builds lifeloop-cli 0.9.0"]
fn the_program_itself_gives_the_same_answers() {
    let Some(program) = reference() else {
        eprintln!("lifeloop-cli 0.9.0 cannot be had here; the recorded answers stand for it");
        return;
    };
    let first: u64 = std::env::var("LIFELOOP_FIRST").map_or(0, |text| text.parse().unwrap());
    let count: u64 = std::env::var("LIFELOOP_CASES").map_or(CASES, |text| text.parse().unwrap());
    let is_recording = std::env::var_os("LIFELOOP_RECORD").is_some();
    let mut recording = String::from("# exit code, then the first 6 bytes of SHA-256, per numbered case\n");
    let mut differing = 0;
    for number in first..first + count {
        let case = Case::numbered(number);
        let theirs = Said::by(&program, &case);
        writeln!(recording, "{}", theirs.recorded()).unwrap();
        let ours = Said::here(&case);
        if ours != theirs {
            differing += 1;
            if differing <= 20 {
                let input = String::from_utf8_lossy(&case.input);
                eprintln!(
                    "case {number}: {:?}\n{input:.1500}\ntheirs {theirs:?}\nours   {ours:?}\n",
                    case.arguments
                );
            }
        }
    }
    if is_recording {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recorded/lifeloop-0.9.0.txt");
        std::fs::write(path, recording).unwrap();
    }
    assert_eq!(differing, 0, "{differing} of {count} cases differ");
}

#[derive(Debug, PartialEq, Eq)]
struct Said {
    exit_code: i32,
    stdout: String,
    stderr: String,
}

impl Said {
    fn here(case: &Case) -> Self {
        let answer = check(&case.arguments(), &case.input);
        Self { exit_code: answer.exit_code.as_u8().into(), stdout: answer.stdout, stderr: answer.stderr }
    }

    fn by(program: &Path, case: &Case) -> Self {
        let mut child = Command::new(program)
            .args(&case.arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(&case.input).unwrap();
        let output = child.wait_with_output().unwrap();
        Self {
            exit_code: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    fn recorded(&self) -> String {
        let digest = Sha256::digest(format!("{}\0{}\0{}", self.exit_code, self.stdout, self.stderr));
        let hex: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{} {hex}", self.exit_code)
    }
}

/// The program, if it is there or can be fetched.
fn reference() -> Option<PathBuf> {
    if let Some(program) = std::env::var_os("LIFELOOP_REFERENCE") {
        return Some(program.into());
    }
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lifeloop-0.9.0");
    let program = root.join("bin/lifeloop");
    if !program.exists() {
        let install = Command::new(env!("CARGO"))
            .args(["install", "lifeloop-cli", "--version", "0.9.0", "--locked", "--root"])
            .arg(&root)
            .status();
        install.ok().filter(std::process::ExitStatus::success)?;
    }
    Some(program)
}
