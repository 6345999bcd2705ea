//! What the clients of one event came to, in the order they were named.

use std::collections::BTreeMap;

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

    /// One receipt as it is, several as a list.
    pub(super) fn into_answer(self) -> Answer {
        let mut receipts: Vec<LifecycleReceipt> = self.receipts.into_values().collect();
        let printed = match (receipts.len(), receipts.pop()) {
            (1, Some(only)) => pretty(&only),
            (_, last) => {
                receipts.extend(last);
                pretty(&receipts)
            }
        };
        match printed {
            Ok(stdout) => Answer { stdout, stderr: self.stderr, exit_code: self.exit_code },
            Err(failure) => failure.into(),
        }
    }
}
