//! Capabilities: names, requirements of clients, and support by adapters.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Negotiation;
use crate::envelope::{CallbackRequest, CapabilityDegradation, Warning};
use crate::manifest::AdapterManifest;
use crate::vocabulary::{LifecycleEventKind, NegotiationOutcome, RequirementLevel, SupportState};

/// The metadata key of a request that carries requirements. Metadata is opaque to the wire, so every version accepts an
/// envelope with requirements.
const METADATA_KEY: &str = "capability_requirements";

macro_rules! capabilities {
    ($($variant:ident = $name:literal,)+) => {
        /// A capability that an adapter can claim, other than a placement.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum CapabilityKind {
            LifecycleEvent(LifecycleEventKind),
            $($variant,)+
        }

        impl CapabilityKind {
            /// Every capability that is not an event.
            pub const NAMED: &'static [Self] = &[$(Self::$variant,)+];

            pub fn parse(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant),)+
                    _ => name
                        .strip_prefix("lifecycle_event:")
                        .and_then(LifecycleEventKind::parse)
                        .map(Self::LifecycleEvent),
                }
            }
        }

        impl fmt::Display for CapabilityKind {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::LifecycleEvent(event) => write!(formatter, "lifecycle_event:{event}"),
                    $(Self::$variant => formatter.write_str($name),)+
                }
            }
        }
    };
}

capabilities! {
    ContextPressure = "context_pressure",
    ReceiptsNative = "receipts.native",
    ReceiptsSynthesized = "receipts.lifeloop_synthesized",
    ReceiptLedger = "receipts.receipt_ledger",
    HarnessSessionId = "session_identity.harness_session_id",
    HarnessRunId = "session_identity.harness_run_id",
    HarnessTaskId = "session_identity.harness_task_id",
    RenewalResetNative = "renewal.reset.native",
    RenewalResetWrapperMediated = "renewal.reset.wrapper_mediated",
    RenewalResetManual = "renewal.reset.manual",
    RenewalContinuationObservation = "renewal.continuation.observation",
    RenewalContinuationPayloadDelivery = "renewal.continuation.payload_delivery",
    SessionRename = "session_rename",
    ApprovalSurface = "approval_surface",
}

impl CapabilityKind {
    /// The support that a manifest claims. An absent claim means unavailable.
    pub(crate) fn support_in(self, manifest: &AdapterManifest) -> SupportState {
        let identity = manifest.session_identity.as_ref();
        let renewal = manifest.renewal.as_ref();
        let claimed = match self {
            Self::LifecycleEvent(event) => Some(manifest.event_support(event)),
            Self::ContextPressure => Some(manifest.context_pressure.support),
            Self::ReceiptsNative => manifest.receipts.native.then_some(SupportState::Native),
            Self::ReceiptsSynthesized => {
                manifest.receipts.lifeloop_synthesized.then_some(SupportState::Synthesized)
            }
            Self::ReceiptLedger => Some(manifest.receipts.receipt_ledger),
            Self::HarnessSessionId => identity.map(|claim| claim.harness_session_id),
            Self::HarnessRunId => identity.map(|claim| claim.harness_run_id),
            Self::HarnessTaskId => identity.map(|claim| claim.harness_task_id),
            Self::RenewalResetNative => renewal.map(|claim| claim.reset.native),
            Self::RenewalResetWrapperMediated => renewal.map(|claim| claim.reset.wrapper_mediated),
            Self::RenewalResetManual => renewal.map(|claim| claim.reset.manual),
            Self::RenewalContinuationObservation => renewal.map(|claim| claim.continuation.observation),
            Self::RenewalContinuationPayloadDelivery => {
                renewal.map(|claim| claim.continuation.payload_delivery)
            }
            Self::SessionRename => manifest.session_rename.as_ref().map(|claim| claim.support),
            Self::ApprovalSurface => manifest.approval_surface.as_ref().map(|claim| claim.support),
        };
        claimed.unwrap_or(SupportState::Unavailable)
    }
}

/// An unknown capability name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown capability `{0}`")]
pub struct UnknownCapability(String);

impl Serialize for CapabilityKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CapabilityKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Self::parse(&name).ok_or_else(|| serde::de::Error::custom(UnknownCapability(name)))
    }
}

/// How much a client wants a capability, and at which level of support.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapabilityRequirement {
    pub capability: CapabilityKind,
    pub level: RequirementLevel,
    #[serde(default = "anything_automatic")]
    pub desired: SupportState,
}

/// Without a level of support, a client accepts any that needs no person.
const fn anything_automatic() -> SupportState {
    SupportState::Partial
}

/// The requirements in a request's metadata are malformed.
#[derive(Debug, thiserror::Error)]
#[error("invalid callback request: metadata.{METADATA_KEY}: {0}")]
pub struct RequirementError(#[from] serde_json::Error);

impl CapabilityRequirement {
    /// The requirements in a request's metadata.
    pub(crate) fn carried_by(request: &CallbackRequest) -> Result<Vec<Self>, RequirementError> {
        match request.metadata.get(METADATA_KEY) {
            Some(value) => Ok(serde_json::from_value(value.clone())?),
            None => Ok(Vec::new()),
        }
    }
}

pub(super) fn negotiate(
    manifest: &AdapterManifest,
    requirements: &[CapabilityRequirement],
    found: &mut Negotiation,
) {
    for requirement in requirements {
        let CapabilityRequirement { capability, level, desired } = *requirement;
        let have = capability.support_in(manifest);
        if have.satisfies(desired) {
            continue;
        }
        let (outcome, code) = match level {
            RequirementLevel::Optional => continue,
            RequirementLevel::Preferred => (NegotiationOutcome::Degraded, "capability_degraded"),
            RequirementLevel::Required if have == SupportState::Manual => {
                (NegotiationOutcome::RequiresOperator, "operator_required")
            }
            RequirementLevel::Required => (NegotiationOutcome::Unsupported, "capability_unsupported"),
        };
        if level == RequirementLevel::Preferred {
            found.degradations.push(CapabilityDegradation {
                capability: capability.to_string(),
                previous_support: desired,
                current_support: have,
                evidence: None,
                retry_class: None,
            });
        }
        found.outcome = found.outcome.worse(outcome);
        found.warnings.push(Warning {
            code: code.to_owned(),
            message: format!(
                "capability `{capability}` is {level} as {desired}, adapter `{}` claims {have}",
                manifest.adapter_id
            ),
            capability: Some(capability.to_string()),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::CapabilityKind;
    use crate::vocabulary::LifecycleEventKind;

    #[test]
    fn every_capability_is_read_back_from_its_name() {
        let events = LifecycleEventKind::ALL.iter().map(|&event| CapabilityKind::LifecycleEvent(event));
        for kind in CapabilityKind::NAMED.iter().copied().chain(events) {
            assert_eq!(CapabilityKind::parse(&kind.to_string()), Some(kind));
        }
        assert_eq!(CapabilityKind::parse("lifecycle_event:nothing"), None);
    }
}
