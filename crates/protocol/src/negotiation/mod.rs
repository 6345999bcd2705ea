//! Compares what a client wants with what an adapter claims.
//!
//! ```text
//! requirements ─▶ capabilities ─┬─ blocked: payloads are not examined
//!                               └─▶ placements ─▶ Negotiation { outcome, decisions, … }
//! ```
//!
//! **Invariant:** the worst finding decides: a need for an operator never hides a hard failure. All findings are kept
//! even when the dispatch is blocked, for the receipt.

mod capability;
mod placement;

pub use capability::{CapabilityKind, CapabilityRequirement, RequirementError, UnknownCapability};
pub use placement::{PlacementDecision, PlacementVerdict};

use crate::envelope::{CapabilityDegradation, PayloadEnvelope, Warning};
use crate::manifest::AdapterManifest;
use crate::vocabulary::{FailureClass, NegotiationOutcome, RetryClass};

/// The result of negotiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Negotiation {
    pub outcome: NegotiationOutcome,
    /// Set when a placement, not a capability, blocks the dispatch.
    pub failure_class: Option<FailureClass>,
    pub decisions: Vec<PlacementDecision>,
    pub degradations: Vec<CapabilityDegradation>,
    pub warnings: Vec<Warning>,
}

impl Negotiation {
    /// No requirements and no findings.
    pub const fn nothing() -> Self {
        Self {
            outcome: NegotiationOutcome::Satisfied,
            failure_class: None,
            decisions: Vec::new(),
            degradations: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// The failure and retry class of a blocked dispatch.
    pub fn blocking_classes(&self) -> Option<(FailureClass, RetryClass)> {
        classes_for(self.outcome, self.failure_class)
    }
}

/// Negotiates capabilities first, and placements only if those do not block.
pub fn negotiate(
    manifest: &AdapterManifest,
    requirements: &[CapabilityRequirement],
    payloads: &[PayloadEnvelope],
) -> Negotiation {
    let mut found = Negotiation::nothing();
    capability::negotiate(manifest, requirements, &mut found);
    if !found.outcome.blocks_dispatch() {
        placement::negotiate(manifest, payloads, &mut found);
    }
    found
}

/// The failure and retry class of an outcome; none if the dispatch is not blocked.
pub fn classes_for(
    outcome: NegotiationOutcome,
    explicit: Option<FailureClass>,
) -> Option<(FailureClass, RetryClass)> {
    let failure = match outcome {
        NegotiationOutcome::Satisfied | NegotiationOutcome::Degraded => return None,
        NegotiationOutcome::Unsupported => explicit.unwrap_or(FailureClass::CapabilityUnsupported),
        NegotiationOutcome::RequiresOperator => FailureClass::OperatorRequired,
    };
    Some((failure, failure.default_retry()))
}
