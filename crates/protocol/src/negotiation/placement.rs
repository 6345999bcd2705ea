//! Placements: the first available alternative, per payload.

use super::Negotiation;
use crate::envelope::{PayloadEnvelope, Warning};
use crate::manifest::AdapterManifest;
use crate::vocabulary::{FailureClass, NegotiationOutcome, PlacementClass, SupportState};

/// The decision about one payload, with the fields that its receipt needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementDecision {
    pub payload_id: String,
    pub payload_kind: String,
    pub byte_size: u64,
    pub content_digest: Option<String>,
    pub verdict: PlacementVerdict,
}

/// Where a payload is placed, or which alternative was refused first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlacementVerdict {
    Chosen(PlacementClass),
    Skipped(PlacementClass),
    Failed(PlacementClass),
}

/// Why an alternative is unavailable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rejection {
    Unsupported,
    NeedsOperator,
    TooLarge,
}

pub(super) fn negotiate(manifest: &AdapterManifest, payloads: &[PayloadEnvelope], found: &mut Negotiation) {
    for payload in payloads {
        let verdict = place(manifest, payload, found);
        found.decisions.push(PlacementDecision {
            payload_id: payload.payload_id.clone(),
            payload_kind: payload.payload_kind.clone(),
            byte_size: payload.effective_byte_size(),
            content_digest: payload.content_digest.clone(),
            verdict,
        });
    }
}

fn place(manifest: &AdapterManifest, payload: &PayloadEnvelope, found: &mut Negotiation) -> PlacementVerdict {
    let mut rejections = Vec::new();
    for alternative in &payload.acceptable_placements {
        match reject(manifest, payload, alternative.placement) {
            None => return PlacementVerdict::Chosen(alternative.placement),
            Some(rejection) => rejections.push(rejection),
        }
    }
    let first = payload.acceptable_placements.first();
    let turned_away = first.map_or(PlacementClass::ReceiptOnly, |alternative| alternative.placement);
    let (id, adapter) = (&payload.payload_id, &manifest.adapter_id);

    if payload.can_be_skipped() {
        found.outcome = found.outcome.worse(NegotiationOutcome::Degraded);
        found.warnings.push(Warning::new(
            "placement_skipped",
            format!(
                "payload `{id}` had no acceptable placement on adapter `{adapter}`; all acceptable placements \
                 were preferred/optional, skipping"
            ),
        ));
        return PlacementVerdict::Skipped(turned_away);
    }
    if rejections.contains(&Rejection::NeedsOperator) {
        found.outcome = found.outcome.worse(NegotiationOutcome::RequiresOperator);
        found.failure_class.get_or_insert(FailureClass::OperatorRequired);
        found.warnings.push(Warning::new(
            "placement_requires_operator",
            format!(
                "payload `{id}` requires an operator-driven placement on adapter `{adapter}`; no automated path \
                 is available"
            ),
        ));
    } else {
        let all_too_large =
            !rejections.is_empty() && rejections.iter().all(|&rejection| rejection == Rejection::TooLarge);
        let failure =
            if all_too_large { FailureClass::PayloadTooLarge } else { FailureClass::PlacementUnavailable };
        // The first hard failure names the class; a need for an operator counts only without one.
        if found.failure_class.is_none_or(|known| known == FailureClass::OperatorRequired) {
            found.failure_class = Some(failure);
        }
        found.outcome = found.outcome.worse(NegotiationOutcome::Unsupported);
        found.warnings.push(Warning::new(
            "placement_unavailable",
            format!("payload `{id}` had no acceptable placement on adapter `{adapter}`"),
        ));
    }
    PlacementVerdict::Failed(turned_away)
}

fn reject(
    manifest: &AdapterManifest,
    payload: &PayloadEnvelope,
    placement: PlacementClass,
) -> Option<Rejection> {
    // A placement without a claim is the receipt itself, which is always written.
    let claimed_as = placement.claimed_as()?;
    let Some(claim) = manifest.placement.get(&claimed_as) else {
        return Some(Rejection::Unsupported);
    };
    match claim.support {
        SupportState::Unavailable => Some(Rejection::Unsupported),
        SupportState::Manual => Some(Rejection::NeedsOperator),
        SupportState::Native | SupportState::Synthesized | SupportState::Partial => claim
            .max_bytes
            .is_some_and(|limit| payload.effective_byte_size() > limit)
            .then_some(Rejection::TooLarge),
    }
}
