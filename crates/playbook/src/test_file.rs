//! A file of playbook tests: what the world answers, and what must come of it.
//!
//!   text ──yaml──▶ Node ──read──▶ TestFile ──judge (with the plan)──▶ problems, or nothing
//!
//! **Invariant:** every problem has its line. A test that cannot be understood is never a test that passes.

mod fields;
mod judge;
mod read;

use std::collections::BTreeMap;
use std::ops::Range;

use escrow_model::{Assumption, CheckStatus, Plan, ScopePath};
use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::yaml;

/// What a text came to.
#[derive(Debug)]
pub struct TestReading {
    /// There when nothing is wrong.
    pub file: Option<TestFile>,
    /// By place.
    pub diagnostics: Vec<Diagnostic>,
}

/// Tests of one playbook.
#[derive(Clone, Debug, PartialEq)]
pub struct TestFile {
    /// Relative to the folder of the test file.
    pub playbook: String,
    /// Where `playbook` stands.
    pub playbook_span: Range<usize>,
    pub tests: Vec<TestCase>,
}

/// One test: how the run is asked for, what the world does, what is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct TestCase {
    pub name: String,
    pub span: Range<usize>,
    pub event: Option<String>,
    pub payload: Map<String, Value>,
    pub inputs: Vec<TestInput>,
    pub env: BTreeMap<String, String>,
    pub only: Vec<Place>,
    pub tags: Vec<String>,
    pub exclude_tags: Vec<String>,
    pub safe_mode: bool,
    /// Checks that ran and that nobody expected fail the test.
    pub strict: bool,
    pub answers: Vec<(Place, Answers)>,
    pub messages: Vec<TestMessage>,
    /// What lies in the artifact directory at the end. Without it, the artifact contract is no part of the test.
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
pub struct Place {
    pub check: String,
    /// The root scope stands for the check and all its items.
    pub scope: ScopePath,
    pub span: Range<usize>,
}

/// What a check's provider says.
#[derive(Clone, Debug, PartialEq)]
pub enum Answers {
    /// To every attempt.
    Always(TestAnswer),
    /// To successive attempts. One more than these fails the test.
    InTurn(Vec<TestAnswer>),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct TestAnswer {
    pub output: Value,
    /// 0 when nothing else is said.
    pub exit: i32,
    pub stderr: String,
    /// Ended by a signal: nobody knows whether an effect happened.
    pub signal: Option<String>,
    /// Still running when its time was up: nobody knows either.
    pub timeout: bool,
    pub takes_ms: u64,
    /// Lines that it wrote to `$ESCROW_ENV`.
    pub env: BTreeMap<String, String>,
    /// What `reconcile` answers about it.
    pub reconcile: Option<Box<TestAnswer>>,
}

/// What a person sends, or how long nobody does anything.
#[derive(Clone, Debug, PartialEq)]
pub struct TestMessage {
    /// Since the start of the run. Without it, when nothing else happens any more.
    pub after_ms: Option<u64>,
    pub act: MessageAct,
}

#[derive(Clone, Debug, PartialEq)]
pub enum MessageAct {
    Approve(Place),
    Deny(Place),
    Answer(Place, String),
    Assume(Place, Assumption),
    Cancel,
    /// No message at all: this time passes.
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

/// What must have come of it. What is not said is not compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expectation {
    /// A status or a reason.
    pub run: Option<String>,
    pub checks: Vec<(Place, ExpectedCheck)>,
    /// Every route that was taken, in order.
    pub routes: Option<Vec<String>>,
    pub issues: Vec<(Place, Vec<String>)>,
    /// Ids of artifacts that were promised and not delivered.
    pub missing: Option<Vec<String>>,
    /// Codes.
    pub warnings: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExpectedCheck {
    pub status: Option<CheckStatus>,
    pub skip_reason: Option<String>,
    pub runs: Option<u64>,
    pub output: Option<Value>,
}

/// Reads a test file. What it says about checks is judged later, by `TestFile::judge`.
pub fn read_tests(text: &str, file: &str) -> TestReading {
    let mut found = Diagnostics::default();
    let read = match yaml::parse(text, &mut found) {
        Some(root) => read::file(&root, &mut found),
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
    /// What does not fit the playbook: names of checks, items, inputs and artifacts that it does not have.
    pub fn judge(&self, plan: &Plan, text: &str, file: &str) -> Vec<Diagnostic> {
        let mut found = Diagnostics::default();
        judge::judge(self, plan, &mut found);
        found.finish(text, file)
    }
}
