//! The manifests of older versions: the current claims and a few that were dropped later.
//!
//! **Invariant:** the structs have the name of the current one, because error messages contain it.

/// Both older shapes have the same fields, except for those named in the call.
macro_rules! older_manifest {
    ($($own:ident: $own_type:ty,)*) => {
        use std::collections::BTreeMap;

        use serde::Deserialize;

        use crate::manifest::{self, claims};
        use crate::vocabulary::{
            AdapterRole, FailureClass, IntegrationMode, LifecycleEventKind, ManifestPlacementClass,
        };

        #[derive(Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        #[serde(deny_unknown_fields)]
        pub(crate) struct AdapterManifest {
            contract_version: String,
            adapter_id: String,
            adapter_version: String,
            display_name: String,
            role: AdapterRole,
            integration_modes: Vec<IntegrationMode>,
            lifecycle_events: BTreeMap<LifecycleEventKind, claims::EventClaim>,
            placement: BTreeMap<ManifestPlacementClass, claims::PlacementClaim>,
            context_pressure: claims::ContextPressureClaim,
            receipts: claims::ReceiptsClaim,
            session_identity: Option<claims::SessionIdentityClaim>,
            session_rename: Option<claims::SupportClaim>,
            renewal: Option<claims::RenewalClaim>,
            approval_surface: Option<claims::SupportClaim>,
            #[serde(default)]
            failure_modes: Vec<FailureClass>,
            #[serde(default)]
            telemetry_sources: Vec<claims::TelemetrySource>,
            $(#[serde(default)] $own: $own_type,)*
        }

        impl From<AdapterManifest> for manifest::AdapterManifest {
            fn from(older: AdapterManifest) -> Self {
                let common = Self {
                    contract_version: older.contract_version,
                    adapter_id: older.adapter_id,
                    adapter_version: older.adapter_version,
                    display_name: older.display_name,
                    role: older.role,
                    integration_modes: older.integration_modes,
                    lifecycle_events: older.lifecycle_events,
                    placement: older.placement,
                    context_pressure: older.context_pressure,
                    receipts: older.receipts,
                    session_identity: older.session_identity,
                    session_rename: older.session_rename,
                    renewal: older.renewal,
                    approval_surface: older.approval_surface,
                    failure_modes: older.failure_modes,
                    telemetry_sources: older.telemetry_sources,
                    known_degradations: Vec::new(),
                };
                Self { $($own: older.$own,)* ..common }
            }
        }
    };
}

/// `lifeloop.v0.2`.
pub(crate) mod v0_2 {
    older_manifest! { known_degradations: Vec<claims::KnownDegradation>, }
}

/// `lifeloop.v0.3`.
pub(crate) mod v0_3 {
    older_manifest! {}
}
