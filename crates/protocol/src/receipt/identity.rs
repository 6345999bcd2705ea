//! When two receipts are the same receipt.
//!
//! **Invariant:** a retry is a new invocation at a new time that would get a new id and a new number. Those four
//! are not compared; everything else is, the version of the wire included.

use crate::envelope::LifecycleReceipt;

/// Within which an idempotency key is one operation.
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
