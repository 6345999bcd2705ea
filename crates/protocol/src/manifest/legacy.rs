//! The manifests of older versions: the same claims, and a few that were later dropped.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::AdapterManifest;
use super::claims::{
    ContextPressureClaim, EventClaim, KnownDegradation, PlacementClaim, ReceiptsClaim, RenewalClaim,
    SessionIdentityClaim, SupportClaim, TelemetrySource,
};
use crate::vocabulary::{
    AdapterRole, FailureClass, IntegrationMode, LifecycleEventKind, ManifestPlacementClass,
};

/// Both older shapes have the same fields, but for those named in the call.
macro_rules! older_manifest {
    ($(#[$about:meta])* $name:ident, only here: $($own:ident: $own_type:ty,)*) => {
        $(#[$about])*
        #[derive(Deserialize)]
        #[serde(rename = "AdapterManifest", deny_unknown_fields)]
        pub(super) struct $name {
            contract_version: String,
            adapter_id: String,
            adapter_version: String,
            display_name: String,
            role: AdapterRole,
            integration_modes: Vec<IntegrationMode>,
            lifecycle_events: BTreeMap<LifecycleEventKind, EventClaim>,
            placement: BTreeMap<ManifestPlacementClass, PlacementClaim>,
            context_pressure: ContextPressureClaim,
            receipts: ReceiptsClaim,
            session_identity: Option<SessionIdentityClaim>,
            session_rename: Option<SupportClaim>,
            renewal: Option<RenewalClaim>,
            approval_surface: Option<SupportClaim>,
            #[serde(default)]
            failure_modes: Vec<FailureClass>,
            #[serde(default)]
            telemetry_sources: Vec<TelemetrySource>,
            $(#[serde(default)] $own: $own_type,)*
        }

        impl From<$name> for AdapterManifest {
            fn from(older: $name) -> Self {
                #[allow(clippy::needless_update, reason = "one of the shapes has every field")]
                Self {
                    $($own: older.$own,)*
                    ..Self {
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
                    }
                }
            }
        }
    };
}

older_manifest! {
    /// `lifeloop.v0.2`.
    V0_2, only here: known_degradations: Vec<KnownDegradation>,
}

older_manifest! {
    /// `lifeloop.v0.3`.
    V0_3, only here:
}
