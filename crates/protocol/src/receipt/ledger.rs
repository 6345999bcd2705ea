//! The interface of a receipt ledger.
//!
//! ```text
//! claim(scope) ─┬─ Granted ──▶ run the callback ──▶ record(draft) ──▶ New(receipt with its sequence)
//!               ├─ Replay(receipt)      the callback does not run
//!               └─ Busy                 another process is running it
//! ```
//!
//! **Invariant:** `record` is one transaction: look up the key, take the sequence, store the receipt. A refused receipt
//! never uses up a sequence.

use super::{ChainState, IdempotencyScope};
use crate::envelope::LifecycleReceipt;
use crate::vocabulary::{FailureClass, LifecycleEventKind, ReceiptStatus};

/// The result of recording a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// Recorded now, with the next sequence of its run.
    New(LifecycleReceipt),
    /// Recorded before; this is that receipt.
    Replay(LifecycleReceipt),
}

impl Recorded {
    pub fn into_receipt(self) -> LifecycleReceipt {
        match self {
            Self::New(receipt) | Self::Replay(receipt) => receipt,
        }
    }
}

/// The result of claiming a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    Granted,
    Replay(Box<LifecycleReceipt>),
    Busy { until_epoch_s: u64 },
}

/// Why a ledger operation failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    #[error("idempotency_key `{0}` was reused with different receipt content (duplicate_id_conflict)")]
    Conflict(String),
    #[error(
        "receipt storage backend failed: receipt_id `{0}` already recorded with different content; receipt ids \
         must be unique per emission"
    )]
    DuplicateReceiptId(String),
    #[error("receipt storage backend failed: {0}")]
    Storage(String),
}

impl LedgerError {
    pub const fn failure_class(&self) -> FailureClass {
        match self {
            Self::Conflict(_) => FailureClass::StateConflict,
            Self::DuplicateReceiptId(_) | Self::Storage(_) => FailureClass::InternalError,
        }
    }
}

/// A filter for receipts. An absent field matches everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReceiptQuery {
    pub harness_run_id: Option<String>,
    pub client_id: Option<String>,
    pub adapter_id: Option<String>,
    pub event: Option<LifecycleEventKind>,
    pub status: Option<ReceiptStatus>,
    pub at_or_after_epoch_s: Option<u64>,
    pub before_epoch_s: Option<u64>,
    pub limit: Option<usize>,
}

impl ReceiptQuery {
    /// Whether a receipt matches. The ledger applies the limit.
    pub fn matches(&self, receipt: &LifecycleReceipt) -> bool {
        fn says<T: PartialEq>(wanted: Option<&T>, actual: Option<&T>) -> bool {
            wanted.is_none() || wanted == actual
        }
        says(self.harness_run_id.as_ref(), receipt.harness_run_id.as_ref())
            && says(self.client_id.as_ref(), Some(&receipt.client_id))
            && says(self.adapter_id.as_ref(), Some(&receipt.adapter_id))
            && says(self.event.as_ref(), Some(&receipt.event))
            && says(self.status.as_ref(), Some(&receipt.status))
            && self.at_or_after_epoch_s.is_none_or(|from| receipt.at_epoch_s >= from)
            && self.before_epoch_s.is_none_or(|to| receipt.at_epoch_s < to)
    }
}

/// Which receipts may be forgotten: those older than this. The sequences of runs are never forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub before_epoch_s: u64,
}

/// Stores receipts. [`MemoryLedger`](super::MemoryLedger) is the reference; the store has the durable one.
pub trait Ledger {
    /// Keeps a draft, or finds that it was kept. A draft of a run gets the run's next sequence.
    fn record(&mut self, draft: LifecycleReceipt) -> Result<Recorded, LedgerError>;

    /// Records the receipt of a failed attempt that may be retried. It gets a sequence, but its key stays free.
    fn record_attempt(&mut self, draft: LifecycleReceipt) -> Result<LifecycleReceipt, LedgerError>;

    /// The receipt of a key. Claims nothing.
    fn find(&mut self, scope: &IdempotencyScope) -> Result<Option<LifecycleReceipt>, LedgerError>;

    /// The receipts that match, in the order of recording.
    fn query(&mut self, query: &ReceiptQuery) -> Result<Vec<LifecycleReceipt>, LedgerError>;

    /// Claims a key before its callback runs. The claim ends when the receipt is recorded, the key is released or the
    /// lease expires.
    fn claim(
        &mut self,
        scope: &IdempotencyScope,
        now_epoch_s: u64,
        lease_s: u64,
    ) -> Result<Claim, LedgerError>;

    /// Releases a key without a receipt, after a failure that may be retried.
    fn release(&mut self, scope: &IdempotencyScope) -> Result<(), LedgerError>;

    /// Forgets receipts and returns how many. Sequences continue.
    fn forget(&mut self, retention: Retention) -> Result<u64, LedgerError>;

    /// The highest forgotten sequence of a run, or 0. Missing sequences up to there are no gap.
    fn forgotten_sequence(&mut self, harness_run_id: &str) -> Result<u64, LedgerError>;

    /// Checks the digest chain.
    fn verify(&mut self) -> Result<ChainState, LedgerError>;
}
