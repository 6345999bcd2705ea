//! Makes a receipt from request, negotiation and response.

use std::collections::BTreeSet;

use super::check_linkage;
use crate::envelope::{CallbackRequest, CallbackResponse, FreeMap, LifecycleReceipt, PayloadReceipt};
use crate::negotiation::{Negotiation, PlacementVerdict};
use crate::validation::ValidationError;
use crate::vocabulary::{
    FailureClass, LifecycleEventKind, NegotiationOutcome, PlacementClass, PlacementOutcome, ReceiptStatus,
    RetryClass,
};

/// The parts of a receipt that the caller decides: client, id, parent, time and harness ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReceiptContext {
    pub client_id: String,
    pub receipt_id: String,
    pub parent_receipt_id: Option<String>,
    pub at_epoch_s: u64,
    pub harness_session_id: Option<String>,
    pub harness_run_id: Option<String>,
    pub harness_task_id: Option<String>,
}

/// Why no receipt can be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EmissionError {
    #[error("receipt.emitted is a notification event and does not itself produce a receipt")]
    NotificationHasNoReceipt,
    #[error("synthesized receipt failed validation: {0}")]
    Invalid(#[from] ValidationError),
}

/// Makes the receipt. The ledger assigns its sequence.
///
/// `response` is that of the client; a dispatch that negotiation blocked has none.
pub fn synthesize(
    request: &CallbackRequest,
    negotiation: &Negotiation,
    response: Option<&CallbackResponse>,
    context: &ReceiptContext,
) -> Result<LifecycleReceipt, EmissionError> {
    if request.event == LifecycleEventKind::ReceiptEmitted {
        return Err(EmissionError::NotificationHasNoReceipt);
    }
    check_linkage(context.parent_receipt_id.as_deref(), &context.receipt_id, request.frame_context.as_ref())?;

    let (status, classes) = verdict(negotiation, response);
    let mut warnings = negotiation.warnings.clone();
    warnings.extend(response.into_iter().flat_map(|response| response.warnings.iter().cloned()));
    let receipt = LifecycleReceipt {
        schema_version: request.schema_version.clone(),
        receipt_id: context.receipt_id.clone(),
        idempotency_key: request.idempotency_key.clone(),
        client_id: context.client_id.clone(),
        adapter_id: request.adapter_id.clone(),
        invocation_id: request.invocation_id.clone(),
        event: request.event,
        event_id: request.event_id.clone(),
        sequence: None,
        parent_receipt_id: context.parent_receipt_id.clone(),
        integration_mode: request.integration_mode,
        status,
        at_epoch_s: context.at_epoch_s,
        harness_session_id: context.harness_session_id.clone(),
        harness_run_id: context.harness_run_id.clone(),
        harness_task_id: context.harness_task_id.clone(),
        payload_receipts: payload_receipts(request, negotiation, response, status),
        telemetry_summary: FreeMap::new(),
        capability_degradations: negotiation.degradations.clone(),
        failure_class: classes.map(|(failure, _)| failure),
        retry_class: classes.map(|(_, retry)| retry),
        warnings,
    };
    receipt.validate()?;
    Ok(receipt)
}

/// A blocked dispatch is failed whatever the response; a degraded one is degraded unless the client failed.
fn verdict(
    negotiation: &Negotiation,
    response: Option<&CallbackResponse>,
) -> (ReceiptStatus, Option<(FailureClass, RetryClass)>) {
    if let Some(classes) = negotiation.blocking_classes() {
        return (ReceiptStatus::Failed, Some(classes));
    }
    let answered = response.map_or(ReceiptStatus::Observed, |response| response.status);
    if answered == ReceiptStatus::Failed {
        let failure = response.and_then(|answer| answer.failure_class).unwrap_or(FailureClass::InternalError);
        let retry = response.and_then(|answer| answer.retry_class).unwrap_or(failure.default_retry());
        return (ReceiptStatus::Failed, Some((failure, retry)));
    }
    let status = match negotiation.outcome {
        NegotiationOutcome::Degraded => ReceiptStatus::Degraded,
        NegotiationOutcome::Satisfied
        | NegotiationOutcome::Unsupported
        | NegotiationOutcome::RequiresOperator => answered,
    };
    (status, None)
}

/// One entry per carried payload, then one per payload that was only referenced.
fn payload_receipts(
    request: &CallbackRequest,
    negotiation: &Negotiation,
    response: Option<&CallbackResponse>,
    status: ReceiptStatus,
) -> Vec<PayloadReceipt> {
    let mut receipts: Vec<PayloadReceipt> = negotiation
        .decisions
        .iter()
        .map(|decision| {
            let (placement, outcome) = match decision.verdict {
                PlacementVerdict::Chosen(placement) => (placement, delivery(status, response)),
                PlacementVerdict::Skipped(placement) => (placement, PlacementOutcome::Skipped),
                PlacementVerdict::Failed(placement) => (placement, PlacementOutcome::Failed),
            };
            PayloadReceipt {
                payload_id: decision.payload_id.clone(),
                payload_kind: decision.payload_kind.clone(),
                placement,
                status: outcome,
                byte_size: decision.byte_size,
                content_digest: decision.content_digest.clone(),
            }
        })
        .collect();
    let mut told: BTreeSet<&str> =
        negotiation.decisions.iter().map(|decision| decision.payload_id.as_str()).collect();
    // A carried payload says more than a reference to it, and one reference is enough.
    let only_named = request.payload_refs.iter().filter(|named| told.insert(&named.payload_id));
    receipts.extend(only_named.map(|named| PayloadReceipt {
        payload_id: named.payload_id.clone(),
        payload_kind: named.payload_kind.clone(),
        placement: PlacementClass::ReceiptOnly,
        status: PlacementOutcome::Skipped,
        byte_size: named.byte_size.unwrap_or(0),
        content_digest: named.content_digest.clone(),
    }));
    receipts
}

/// A placed payload has the status that its client reports, but never a better one than the whole dispatch.
fn delivery(status: ReceiptStatus, response: Option<&CallbackResponse>) -> PlacementOutcome {
    if status == ReceiptStatus::Failed {
        return PlacementOutcome::Failed;
    }
    match response.map(|response| response.status) {
        Some(ReceiptStatus::Delivered) => PlacementOutcome::Delivered,
        Some(ReceiptStatus::Degraded) => PlacementOutcome::Degraded,
        Some(ReceiptStatus::Failed) => PlacementOutcome::Failed,
        Some(ReceiptStatus::Skipped | ReceiptStatus::Observed) | None => PlacementOutcome::Skipped,
    }
}
