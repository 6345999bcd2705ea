//! Lets an idempotency key through once.
//!
//! **Invariant:** the key is taken before the callback runs. Whoever finds it used gets the receipt that is
//! there, provided it is a receipt for the same request; whoever finds it in use is sent away.

use crate::envelope::{CallbackRequest, LifecycleReceipt};
use crate::receipt::{Claim, IdempotencyScope, Ledger, LedgerError, ReceiptContext};

/// Whether the callback may run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Gate {
    /// It may. The scope is what to give back if nothing comes of it; a request without a key has none.
    Open(Option<IdempotencyScope>),
    /// It has run. This is its receipt.
    Answered(Box<LifecycleReceipt>),
}

/// Why the callback may not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    #[error("idempotency_key `{key}` is being dispatched by somebody else until {until_epoch_s}")]
    Busy { key: String, until_epoch_s: u64 },
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

/// Takes the key of a request, for as long as its callback may need.
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

/// Whether a kept receipt is for this request, as far as the request determines its receipt.
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
