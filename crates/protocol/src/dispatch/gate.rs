//! Admits an idempotency key once.
//!
//! **Invariant:** the key is claimed before the callback runs. A retry of the same request gets the recorded receipt;
//! a different request with the same key is a conflict; a key that is in use is refused.

use crate::envelope::{CallbackRequest, LifecycleReceipt};
use crate::receipt::{Claim, IdempotencyScope, Ledger, LedgerError, ReceiptContext};

/// Whether the callback may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// It may. The scope is to be released if no receipt is recorded; a request without a key has none.
    Open(Option<IdempotencyScope>),
    /// It already ran. This is its receipt.
    Answered(Box<LifecycleReceipt>),
}

/// Why the callback may not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    #[error("idempotency_key `{key}` is being dispatched by another process until {until_epoch_s}")]
    Busy { key: String, until_epoch_s: u64 },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Claims the key of a request for `lease_s` seconds, the time its callback may need.
pub fn enter(
    ledger: &mut dyn Ledger,
    request: &CallbackRequest,
    context: &ReceiptContext,
    lease_s: u64,
) -> Result<Gate, GateError> {
    let Some(key) = &request.idempotency_key else {
        return Ok(Gate::Open(None));
    };
    let scope = IdempotencyScope {
        client_id: context.client_id.clone(),
        adapter_id: request.adapter_id.clone(),
        idempotency_key: key.clone(),
    };
    match ledger.claim(&scope, context.at_epoch_s, lease_s)? {
        Claim::Granted => Ok(Gate::Open(Some(scope))),
        Claim::Busy { until_epoch_s } => Err(GateError::Busy { key: key.clone(), until_epoch_s }),
        Claim::Replay(receipt) if answers(&receipt, request, context) => Ok(Gate::Answered(receipt)),
        Claim::Replay(_) => Err(LedgerError::Conflict(key.clone()).into()),
    }
}

/// Whether a recorded receipt is for this request, as far as the request determines its receipt.
fn answers(receipt: &LifecycleReceipt, request: &CallbackRequest, context: &ReceiptContext) -> bool {
    receipt.schema_version == request.schema_version
        && receipt.event == request.event
        && receipt.event_id == request.event_id
        && receipt.integration_mode == request.integration_mode
        && receipt.parent_receipt_id == context.parent_receipt_id
        && receipt.harness_session_id == context.harness_session_id
        && receipt.harness_run_id == context.harness_run_id
        && receipt.harness_task_id == context.harness_task_id
}
