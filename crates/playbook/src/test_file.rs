//! Reads files of playbook tests: scripted answers of providers, and the expected result.
//!
//!   text ──yaml──▶ Node ──read──▶ TestFile ──validate (against the plan)──▶ diagnostics
//!
//! **Invariant:** every problem has its line. A test with errors never passes.

mod fields;
mod read;
mod validate;

use std::collections::BTreeMap;
use std::ops::Range;

use escrow_model::{Assumption, CheckStatus, Plan, ScopePath};
use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::file_kind;
use crate::yaml;

/// The result of reading a test file.
#[derive(Debug)]
pub struct TestReading {
    /// `None` when there are errors.
    pub file: Option<TestFile>,
    /// By check_ref.
    pub diagnostics: Vec<Diagnostic>,
}

/// Tests of one playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct TestFile {
    /// Relative to the folder of the test file.
    pub playbook: String,
    /// The span of the value of `playbook`.
    pub playbook_span: Range<usize>,
    pub tests: Vec<TestCase>,
}

/// One test: how the run is started, what providers and people answer, and the expected result.
#[derive(Clone, Debug, PartialEq)]
pub struct TestCase {
    pub name: String,
    pub span: Range<usize>,
    pub event: Option<String>,
    pub payload: Map<String, Value>,
    pub inputs: Vec<TestInput>,
    pub env: BTreeMap<String, String>,
    pub only: Vec<CheckRef>,
    pub tags: Vec<String>,
    pub exclude_tags: Vec<String>,
    pub safe_mode: bool,
    /// Whether an unexpected check that ran fails the test.
    pub strict: bool,
    pub answers: Vec<(CheckRef, Answers)>,
    pub messages: Vec<TestMessage>,
    /// The content of the artifact directory at the end. `None` leaves the artifact contract out of the test.
    pub artifacts: Option<Vec<TestArtifact>>,
    pub expect: Expectation,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TestInput {
    pub name: String,
    pub span: Range<usize>,
    pub value: Value,
}

/// A check, or one item of it: `each`, `each[1]`, `each[1][0]`.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckRef {
    pub check: String,
    /// The root scope means the check and all its items.
    pub scope: ScopePath,
    pub span: Range<usize>,
}

/// The scripted answers of a check's provider.
#[derive(Clone, Debug, PartialEq)]
pub enum Answers {
    /// The same answer for every attempt.
    Always(TestAnswer),
    /// One answer per attempt. A further attempt fails the test.
    InTurn(Vec<TestAnswer>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestAnswer {
    pub output: Value,
    /// Default: 0.
    pub exit: i32,
    pub stderr: String,
    /// The signal that ended it, which leaves the effect unknown.
    pub signal: Option<String>,
    /// Whether it exceeded its time limit, which leaves the effect unknown.
    pub timeout: bool,
    pub takes_ms: u64,
    /// The variables that it wrote to `$ESCROW_ENV`.
    pub env: BTreeMap<String, String>,
    /// The answer of `reconcile`.
    pub reconcile: Option<Box<TestAnswer>>,
}

/// A message that a person sends, or a period without messages.
#[derive(Clone, Debug, PartialEq)]
pub struct TestMessage {
    /// Time since the start of the run. `None` sends it when the run is idle.
    pub after_ms: Option<u64>,
    pub act: MessageAct,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MessageAct {
    Approve(CheckRef),
    Deny(CheckRef),
    Answer(CheckRef, String),
    Assume(CheckRef, Assumption),
    Cancel,
    /// No message: virtual time passes.
    Wait {
        ms: u64,
    },
}

#[derive(Clone, Debug, PartialEq)]
pub struct TestArtifact {
    pub id: String,
    pub span: Range<usize>,
    pub size: u64,
    pub content: Option<Value>,
}

/// The expected result. Absent parts are not compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectation {
    /// A run status or a reason code.
    pub run: Option<String>,
    pub checks: Vec<(CheckRef, ExpectedCheck)>,
    /// All routes taken, in order.
    pub routes: Option<Vec<String>>,
    pub issues: Vec<(CheckRef, Vec<String>)>,
    /// The ids of expected artifacts that are missing.
    pub missing: Option<Vec<String>>,
    /// Warning codes.
    pub warnings: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedCheck {
    pub status: Option<CheckStatus>,
    pub skip_reason: Option<String>,
    pub runs: Option<u64>,
    pub output: Option<Value>,
}

/// Reads a test file. `TestFile::validate` compares it with the playbook.
pub fn read_tests(text: &str, file: &str) -> TestReading {
    let mut found = Diagnostics::default();
    let read = match yaml::parse(text, &mut found) {
        Some(root) => match file_kind::not_a_test_file(&root, file) {
            Some(problem) => {
                found.push(problem);
                None
            }
            None => read::file(&root, &mut found),
        },
        None => {
            if !found.has_errors() {
                read::empty(&mut found);
            }
            None
        }
    };
    let read = read.filter(|_| !found.has_errors());
    TestReading { file: read, diagnostics: found.finish(text, file) }
}

impl TestFile {
    /// Reports checks, items, inputs and artifacts that the playbook does not have.
    pub fn validate(&self, plan: &Plan, text: &str, file: &str) -> Vec<Diagnostic> {
        let mut found = Diagnostics::default();
        validate::validate(self, plan, &mut found);
        found.finish(text, file)
    }
}
