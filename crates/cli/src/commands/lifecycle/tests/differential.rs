//! Thousands of spoilt envelopes get the answers that `lifeloop-cli` gave.
//!
//! Its answers are recorded: for each case a hash of exit code, standard output and standard error. The tests compare
//! with the recordings. `cargo test -p escrow differential -- --ignored` installs the releases and compares with them;
//! `LIFELOOP_RECORD=1` then writes new recordings.
//!
//! Release 0.9.0 speaks `v0.4` and is compared in everything. Releases 0.5.0 and 0.3.0 speak `v0.3` and `v0.2`,
//! and are compared in what they accept and refuse; their actions differ on purpose.

#![allow(clippy::print_stderr, reason = "differences are for a person to read")]

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sha2::{Digest, Sha256};

use super::{Case, check};

/// A release and its recorded answers.
struct Reference {
    release: &'static str,
    case: fn(u64) -> Case,
    count: u64,
    recorded: &'static str,
}

const V0_9: Reference = Reference {
    release: "0.9.0",
    case: Case::numbered,
    count: 6_000,
    recorded: include_str!("../../../../tests/data/lifecycle/lifeloop-0.9.0.txt"),
};

const V0_5: Reference = Reference {
    release: "0.5.0",
    case: |number| Case::reading("lifeloop.v0.3", number),
    count: 2_000,
    recorded: include_str!("../../../../tests/data/lifecycle/lifeloop-0.5.0.txt"),
};

const V0_3: Reference = Reference {
    release: "0.3.0",
    case: |number| Case::reading("lifeloop.v0.2", number),
    count: 2_000,
    recorded: include_str!("../../../../tests/data/lifecycle/lifeloop-0.3.0.txt"),
};

#[test]
fn every_case_gets_the_recorded_answer_of_0_9_0() {
    V0_9.check_recorded();
}

#[test]
fn every_v0_3_document_is_read_as_0_5_0_read_it() {
    V0_5.check_recorded();
}

#[test]
fn every_v0_2_document_is_read_as_0_3_0_read_it() {
    V0_3.check_recorded();
}

#[test]
#[ignore = "fetches and builds lifeloop-cli 0.9.0"]
fn release_0_9_0_itself_gives_the_same_answers() {
    V0_9.check_live();
}

#[test]
#[ignore = "fetches and builds lifeloop-cli 0.5.0"]
fn release_0_5_0_itself_gives_the_same_answers() {
    V0_5.check_live();
}

#[test]
#[ignore = "fetches and builds lifeloop-cli 0.3.0"]
fn release_0_3_0_itself_gives_the_same_answers() {
    V0_3.check_live();
}

impl Reference {
    fn check_recorded(&self) {
        let lines: Vec<&str> = self.recorded.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(u64::try_from(lines.len()).unwrap(), self.count, "the recording is complete");
        for exit_code in ['0', '1', '3'] {
            let count = lines.iter().filter(|line| line.starts_with(exit_code)).count();
            assert!(count > 100, "exit code {exit_code} was recorded only {count} times");
        }
        let said = |number: u64| Said::here(&(self.case)(number));
        let differing: Vec<(u64, &str)> =
            (0..).zip(lines).filter(|&(number, recorded)| said(number).recorded() != recorded).collect();
        let first = differing.first().map(|&(number, _)| (number, said(number)));
        assert!(differing.is_empty(), "{} differ from {}, first: {first:?}", differing.len(), self.release);
    }

    fn check_live(&self) {
        let Some(program) = self.program() else {
            eprintln!("lifeloop-cli {} cannot be had here; the recorded answers stand for it", self.release);
            return;
        };
        let first: u64 = std::env::var("LIFELOOP_FIRST").map_or(0, |text| text.parse().unwrap());
        let count: u64 = std::env::var("LIFELOOP_CASES").map_or(self.count, |text| text.parse().unwrap());
        let mut recording =
            String::from("# exit code, then the first 6 bytes of SHA-256, per numbered case\n");
        let mut differing = 0;
        for number in first..first + count {
            let case = (self.case)(number);
            let theirs = Said::by(&program, &case);
            writeln!(recording, "{}", theirs.recorded()).unwrap();
            let ours = Said::here(&case);
            if ours != theirs {
                differing += 1;
                if differing <= 20 {
                    let input = String::from_utf8_lossy(&case.input);
                    eprintln!("case {number}: {:?}\n{input:.1500}", case.arguments);
                    eprintln!("theirs {theirs:?}\nours   {ours:?}\n");
                }
            }
        }
        if std::env::var_os("LIFELOOP_RECORD").is_some() {
            let file = format!("tests/data/lifecycle/lifeloop-{}.txt", self.release);
            std::fs::write(Path::new(env!("CARGO_MANIFEST_DIR")).join(file), recording).unwrap();
        }
        assert_eq!(differing, 0, "{differing} of {count} cases differ");
    }

    /// The program, if it is installed or can be.
    fn program(&self) -> Option<PathBuf> {
        let root = std::env::var_os("LIFELOOP_REFERENCES")
            .map_or_else(std::env::temp_dir, PathBuf::from)
            .join(format!("lifeloop-{}", self.release));
        let program = root.join("bin/lifeloop");
        if !program.exists() {
            let install = Command::new(env!("CARGO"))
                .args(["install", "lifeloop-cli", "--version", self.release, "--locked", "--root"])
                .arg(&root)
                .status();
            install.ok().filter(std::process::ExitStatus::success)?;
        }
        Some(program)
    }
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
        Self::new(answer.exit.as_u8().into(), answer.stdout, &answer.stderr)
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
        Self::new(
            output.status.code().unwrap_or(-1),
            String::from_utf8(output.stdout).unwrap(),
            &String::from_utf8(output.stderr).unwrap(),
        )
    }

    /// A release knows one version and names it, and its keys, in messages. Escrow names the current version for a
    /// document without a known one, so the expected version and the older keys are not compared.
    fn new(exit_code: i32, stdout: String, stderr: &str) -> Self {
        let stderr = ["v0.2", "v0.3"].iter().fold(stderr.to_owned(), |text, older| {
            text.replace(&format!("expected `lifeloop.{older}`"), "expected `lifeloop.v0.4`")
        });
        let stderr = stderr.replace("`redaction`, `metadata`", "`metadata`");
        Self { exit_code, stdout, stderr }
    }

    fn recorded(&self) -> String {
        let digest = Sha256::digest(format!("{}\0{}\0{}", self.exit_code, self.stdout, self.stderr));
        let hex: String = digest[..6].iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{} {hex}", self.exit_code)
    }
}
