//! The parts of a manifest: one claim each.

use serde::{Deserialize, Serialize};

use crate::vocabulary::{IntegrationMode, SupportState};

macro_rules! claim {
    ($(#[$about:meta])* $name:ident { $($(#[$field_about:meta])* $field:ident: $type:ty,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($(#[$field_about])* pub $field: $type,)+
        }
    };
}

claim! {
    /// How an event is produced, and in which modes. No modes means all modes of the manifest.
    EventClaim {
        support: SupportState,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        modes: Vec<IntegrationMode>,
    }
}

claim! {
    /// Whether payloads can be placed here, and up to which size.
    PlacementClaim {
        support: SupportState,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_bytes: Option<u64>,
    }
}

claim! {
    /// Whether the adapter observes context pressure.
    ContextPressureClaim {
        support: SupportState,
        #[serde(skip_serializing_if = "Option::is_none")]
        evidence: Option<String>,
    }
}

claim! {
    /// Who writes receipts, and whether a ledger records them.
    ReceiptsClaim {
        native: bool,
        lifeloop_synthesized: bool,
        receipt_ledger: SupportState,
    }
}

claim! {
    /// Which identifiers of the harness are known.
    SessionIdentityClaim {
        harness_session_id: SupportState,
        harness_run_id: SupportState,
        harness_task_id: SupportState,
    }
}

claim! {
    /// How a context is reset, and how work continues in the new one.
    RenewalClaim {
        reset: RenewalReset,
        continuation: RenewalContinuation,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        profiles: Vec<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        evidence: Option<String>,
    }
}

claim! {
    /// What can reset a context.
    RenewalReset {
        native: SupportState,
        wrapper_mediated: SupportState,
        manual: SupportState,
    }
}

claim! {
    /// Whether the new context is observed, and whether content can be delivered to it.
    RenewalContinuation {
        observation: SupportState,
        payload_delivery: SupportState,
    }
}

claim! {
    /// A claim without details, until `v0.3`: renaming a session, asking for approval.
    SupportClaim {
        support: SupportState,
    }
}

claim! {
    /// A source of telemetry figures, until `v0.3`.
    TelemetrySource {
        source: String,
        support: SupportState,
    }
}

claim! {
    /// A permanent degradation, in `v0.2`.
    KnownDegradation {
        capability: String,
        previous_support: SupportState,
        current_support: SupportState,
        #[serde(skip_serializing_if = "Option::is_none")]
        evidence: Option<String>,
    }
}
