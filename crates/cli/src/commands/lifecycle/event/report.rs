//! Collects the receipts of one event, in the order of its clients, with the problems on the way.

use std::collections::BTreeMap;

use escrow_protocol::envelope::LifecycleReceipt;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::super::output::{LifecycleError, LifecycleExit, VerbOutput, pretty};

pub(super) struct Report {
    receipts: BTreeMap<usize, LifecycleReceipt>,
    stderr: String,
    exit: LifecycleExit,
}

impl Report {
    pub(super) const fn new() -> Self {
        Self { receipts: BTreeMap::new(), stderr: String::new(), exit: LifecycleExit::Done }
    }

    pub(super) fn receipt(&mut self, position: usize, receipt: LifecycleReceipt) {
        self.receipts.insert(position, receipt);
    }

    /// The receipts so far.
    pub(super) fn receipts(&self) -> impl Iterator<Item = &LifecycleReceipt> {
        self.receipts.values()
    }

    /// Reports a problem. The worst one decides the exit code.
    pub(super) fn problem(&mut self, error: &LifecycleError) {
        self.stderr += &error.message;
        self.stderr.push('\n');
        self.exit = self.exit.max(error.exit);
    }

    pub(super) fn into_output(self) -> VerbOutput {
        match pretty(&Receipts(&self.receipts)) {
            Ok(stdout) => VerbOutput { stdout, stderr: self.stderr, exit: self.exit },
            Err(error) => error.into(),
        }
    }

    /// The receipts as one document, or the problems if there are no receipts.
    pub(super) fn into_document(self) -> Result<Value, LifecycleError> {
        if self.receipts.is_empty() {
            return Err(LifecycleError { exit: self.exit, message: self.stderr.trim_end().to_owned() });
        }
        serde_json::to_value(Receipts(&self.receipts))
            .map_err(|error| LifecycleError::unreadable(error.to_string()))
    }
}

/// A single receipt is written as an object, several as a list.
struct Receipts<'report>(&'report BTreeMap<usize, LifecycleReceipt>);

impl Serialize for Receipts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match (self.0.len(), self.0.first_key_value()) {
            (1, Some((_, only))) => only.serialize(serializer),
            _ => serializer.collect_seq(self.0.values()),
        }
    }
}
