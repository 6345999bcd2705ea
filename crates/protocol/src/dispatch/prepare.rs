//! Routes and negotiates an envelope: the result may be sent, or is blocked.

use super::declared::undeclared_event;
use crate::callback::Callback;
use crate::dispatch::Client;
use crate::envelope::{CallbackResponse, DispatchEnvelope, LifecycleReceipt};
use crate::manifest::{AdapterManifest, Registry};
use crate::negotiation::{CapabilityRequirement, Negotiation, RequirementError, negotiate};
use crate::receipt::{EmissionError, ReceiptContext, synthesize};
use crate::routing::{RouteError, route};
use crate::version::WireVersion;
use crate::vocabulary::{FailureClass, NegotiationOutcome, SupportState};

/// Which rules are enforced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// Those of release 0.9.0.
    Compatible,
    /// Also the capability requirements of the request and the declared events of the adapter.
    Extended,
}

/// A valid envelope with its adapter and the result of negotiation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dispatch {
    pub envelope: DispatchEnvelope,
    pub version: WireVersion,
    pub manifest: AdapterManifest,
    pub negotiation: Negotiation,
}

/// Why a valid envelope cannot be dispatched.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    #[error(transparent)]
    Route(#[from] RouteError),
    #[error(transparent)]
    Requirements(#[from] RequirementError),
}

impl PrepareError {
    pub const fn failure_class(&self) -> FailureClass {
        match self {
            Self::Route(error) => error.failure_class(),
            Self::Requirements(_) => FailureClass::InvalidRequest,
        }
    }
}

impl Dispatch {
    /// Routes and negotiates a valid envelope. `ledger` says whether receipts are recorded, which counts as a
    /// capability of the adapter.
    pub fn prepare(
        envelope: DispatchEnvelope,
        version: WireVersion,
        registry: &Registry,
        rules: Rules,
        ledger: LedgerPresence,
    ) -> Result<Self, PrepareError> {
        let mut manifest = route(&envelope.request, registry)?.manifest.clone();
        if ledger == LedgerPresence::Present {
            manifest.receipts.receipt_ledger = SupportState::Synthesized;
        }
        let requirements = match rules {
            Rules::Compatible => Vec::new(),
            Rules::Extended => CapabilityRequirement::carried_by(&envelope.request)?,
        };
        let mut negotiation = negotiate(&manifest, &requirements, &envelope.payloads);
        if rules == Rules::Extended
            && let Some(warning) = undeclared_event(&manifest, &envelope.request)
        {
            negotiation.outcome = negotiation.outcome.worse(NegotiationOutcome::Unsupported);
            negotiation.failure_class = Some(FailureClass::CapabilityUnsupported);
            negotiation.warnings.push(warning);
        }
        Ok(Self { envelope, version, manifest, negotiation })
    }

    /// Whether the client must not be called.
    pub const fn is_blocked(&self) -> bool {
        self.negotiation.outcome.blocks_dispatch()
    }

    /// The process to run for a client.
    pub fn callback(&self, client: &Client, deadline_ms: u64) -> Result<Callback, serde_json::Error> {
        Ok(Callback {
            program: client.program.clone(),
            arguments: client.arguments.clone(),
            input: serde_json::to_vec(&self.envelope)?,
            deadline_ms,
            environment: client.environment.clone(),
        })
    }

    /// The receipt for a client's response, or for a blocked dispatch.
    pub fn receipt(
        &self,
        response: Option<&CallbackResponse>,
        context: &ReceiptContext,
    ) -> Result<LifecycleReceipt, EmissionError> {
        synthesize(&self.envelope.request, &self.negotiation, response, context)
    }
}

/// Whether receipts are recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LedgerPresence {
    Present,
    Forgotten,
}
