//! The book that receipts are kept in, as the rest of the house sees it.
//!
//! ```text
//! claim(scope) ─┬─ Granted ──▶ run the callback ──▶ record(draft) ──▶ New(receipt with its sequence)
//!               ├─ Replay(receipt)      the callback does not run
//!               └─ Busy                 somebody else is running it
//! ```
//!
//! **Invariant:** `record` is one transaction. The key is looked up, the sequence is taken and the receipt is
//! kept together or not at all, so that a refused receipt never uses up a number.

use super::{ChainState, IdempotencyScope};
use crate::envelope::LifecycleReceipt;
use crate::vocabulary::{FailureClass, LifecycleEventKind, ReceiptStatus};

/// What keeping a receipt came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recorded {
    /// Kept, with the sequence its run gave it.
    New(LifecycleReceipt),
    /// It was kept before; this is what was kept.
    Replay(LifecycleReceipt),
}

impl Recorded {
    pub fn into_receipt(self) -> LifecycleReceipt {
        match self {
            Self::New(receipt) | Self::Replay(receipt) => receipt,
        }
    }
}

/// Whether the holder of a key may go ahead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    Granted,
    Replay(Box<LifecycleReceipt>),
    Busy { until_epoch_s: u64 },
}

/// Why the ledger refuses.
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

/// Which receipts are asked for. Everything that is not said matches.
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
    /// Whether a receipt is among those asked for. The limit is the ledger's to keep.
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

/// What may be forgotten: receipts older than this, and runs' numbers never.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    pub before_epoch_s: u64,
}

/// Keeps receipts. One implementation is in memory, the other in the store.
pub trait Ledger {
    /// Keeps a draft, or finds that it was kept. A draft of a run gets the run's next sequence.
    fn record(&mut self, draft: LifecycleReceipt) -> Result<Recorded, LedgerError>;

    /// Keeps the receipt of an attempt that failed and may be tried again: numbered like any other, but its key
    /// stays free for the next attempt.
    fn record_attempt(&mut self, draft: LifecycleReceipt) -> Result<LifecycleReceipt, LedgerError>;

    /// The receipt of a key, without taking anything.
    fn find(&mut self, scope: &IdempotencyScope) -> Result<Option<LifecycleReceipt>, LedgerError>;

    /// The receipts asked for, in the order they were kept.
    fn query(&mut self, query: &ReceiptQuery) -> Result<Vec<LifecycleReceipt>, LedgerError>;

    /// Takes a key before its callback runs, until it is recorded, released or the lease is over.
    fn claim(
        &mut self,
        scope: &IdempotencyScope,
        now_epoch_s: u64,
        lease_s: u64,
    ) -> Result<Claim, LedgerError>;

    /// Gives a key back without a receipt, for a failure that may be tried again.
    fn release(&mut self, scope: &IdempotencyScope) -> Result<(), LedgerError>;

    /// Forgets receipts and says how many. Sequences go on where they were.
    fn forget(&mut self, retention: Retention) -> Result<u64, LedgerError>;

    /// The highest sequence of a run that was forgotten on purpose, 0 if none was. What is missing up to there is
    /// no gap.
    fn forgotten_sequence(&mut self, harness_run_id: &str) -> Result<u64, LedgerError>;

    /// Whether every receipt is still the one that was kept.
    fn verify(&mut self) -> Result<ChainState, LedgerError>;
}
