//! Decides whether two receipts record the same operation.
//!
//! **Invariant:** a retry has its own invocation, time, receipt id and sequence. Those four are not compared; everything
//! else is, including the version of the wire.

use crate::envelope::LifecycleReceipt;
use crate::vocabulary::{ReceiptStatus, RetryClass};

/// The scope in which an idempotency key names one operation.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct IdempotencyScope {
    pub client_id: String,
    pub adapter_id: String,
    pub idempotency_key: String,
}

impl IdempotencyScope {
    /// The scope of a receipt that has a key.
    pub fn of(receipt: &LifecycleReceipt) -> Option<Self> {
        Some(Self {
            client_id: receipt.client_id.clone(),
            adapter_id: receipt.adapter_id.clone(),
            idempotency_key: receipt.idempotency_key.clone()?,
        })
    }
}

/// Whether one receipt is a replay of the other.
pub fn same_content(one: &LifecycleReceipt, other: &LifecycleReceipt) -> bool {
    let disguised = LifecycleReceipt {
        receipt_id: one.receipt_id.clone(),
        invocation_id: one.invocation_id.clone(),
        at_epoch_s: one.at_epoch_s,
        sequence: one.sequence,
        ..other.clone()
    };
    *one == disguised
}

/// Whether the operation failed and its retry class allows a retry, so that its key must stay free.
pub fn may_be_tried_again(receipt: &LifecycleReceipt) -> bool {
    receipt.status == ReceiptStatus::Failed && receipt.retry_class != Some(RetryClass::DoNotRetry)
}
