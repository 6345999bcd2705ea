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
    /// How one event comes about, and in which modes. No modes means all of the manifest's.
    EventClaim {
        support: SupportState,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        modes: Vec<IntegrationMode>,
    }
}

claim! {
    /// Whether payloads can be placed there, and how large they may be.
    PlacementClaim {
        support: SupportState,
        #[serde(skip_serializing_if = "Option::is_none")]
        max_bytes: Option<u64>,
    }
}

claim! {
    /// Whether the adapter sees its context filling up.
    ContextPressureClaim {
        support: SupportState,
        #[serde(skip_serializing_if = "Option::is_none")]
        evidence: Option<String>,
    }
}

claim! {
    /// Who writes receipts, and whether they are kept.
    ReceiptsClaim {
        native: bool,
        lifeloop_synthesized: bool,
        receipt_ledger: SupportState,
    }
}

claim! {
    /// Which names of the harness are known.
    SessionIdentityClaim {
        harness_session_id: SupportState,
        harness_run_id: SupportState,
        harness_task_id: SupportState,
    }
}

claim! {
    /// How a context is begun anew, and how the work goes on in it.
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
    /// Who can begin a context anew.
    RenewalReset {
        native: SupportState,
        wrapper_mediated: SupportState,
        manual: SupportState,
    }
}

claim! {
    /// Whether the new context is seen, and whether it can be given something.
    RenewalContinuation {
        observation: SupportState,
        payload_delivery: SupportState,
    }
}

claim! {
    /// A bare claim, until `v0.3`: renaming a session, asking for approval.
    SupportClaim {
        support: SupportState,
    }
}

claim! {
    /// Where figures come from, until `v0.3`.
    TelemetrySource {
        source: String,
        support: SupportState,
    }
}

claim! {
    /// A degradation that is always there, in `v0.2`.
    KnownDegradation {
        capability: String,
        previous_support: SupportState,
        current_support: SupportState,
        #[serde(skip_serializing_if = "Option::is_none")]
        evidence: Option<String>,
    }
}
