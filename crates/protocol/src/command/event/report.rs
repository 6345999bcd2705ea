//! What the clients of one event came to, in the order they were named.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use serde_json::Value;

use super::super::answer::{Answer, ExitCode, Failure, pretty};
use crate::envelope::LifecycleReceipt;

pub(super) struct Report {
    receipts: BTreeMap<usize, LifecycleReceipt>,
    stderr: String,
    exit_code: ExitCode,
}

impl Report {
    pub(super) const fn new() -> Self {
        Self { receipts: BTreeMap::new(), stderr: String::new(), exit_code: ExitCode::Done }
    }

    pub(super) fn receipt(&mut self, position: usize, receipt: LifecycleReceipt) {
        self.receipts.insert(position, receipt);
    }

    /// Says what went wrong. The worst of it decides the exit code.
    pub(super) fn complain(&mut self, failure: &Failure) {
        self.stderr += &failure.message;
        self.stderr.push('\n');
        if self.exit_code.as_u8() < failure.exit_code.as_u8() {
            self.exit_code = failure.exit_code;
        }
    }

    pub(super) fn into_answer(self) -> Answer {
        match pretty(&Receipts(&self.receipts)) {
            Ok(stdout) => Answer { stdout, stderr: self.stderr, exit_code: self.exit_code },
            Err(failure) => failure.into(),
        }
    }

    /// The receipts as one document; or, when there is none, what went wrong.
    pub(super) fn into_document(self) -> Result<Value, Failure> {
        if self.receipts.is_empty() {
            return Err(Failure { exit_code: self.exit_code, message: self.stderr.trim_end().to_owned() });
        }
        serde_json::to_value(Receipts(&self.receipts)).map_err(|error| Failure::unreadable(error.to_string()))
    }
}

/// One receipt as it is, several as a list.
struct Receipts<'report>(&'report BTreeMap<usize, LifecycleReceipt>);

impl Serialize for Receipts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0.len(), self.0.first_key_value()) {
            (1, Some((_, only))) => only.serialize(serializer),
            _ => serializer.collect_seq(self.0.values()),
        }
    }
}
