//! The manifest of one adapter.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::claims::{
    ContextPressureClaim, EventClaim, KnownDegradation, PlacementClaim, ReceiptsClaim, RenewalClaim,
    SessionIdentityClaim, SupportClaim, TelemetrySource,
};
use super::legacy;
use crate::envelope::version_named_in;
use crate::validation::{ValidationError, require_non_empty, require_non_empty_if_present};
use crate::version::WireVersion;
use crate::vocabulary::{
    AdapterRole, FailureClass, IntegrationMode, LifecycleEventKind, ManifestPlacementClass, SupportState,
};

/// Everything an adapter claims. Fields that only older versions have are skipped by serde: see [`read`](Self::read).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct AdapterManifest {
    pub contract_version: String,
    pub adapter_id: String,
    pub adapter_version: String,
    pub display_name: String,
    pub role: AdapterRole,
    pub integration_modes: Vec<IntegrationMode>,
    pub lifecycle_events: BTreeMap<LifecycleEventKind, EventClaim>,
    pub placement: BTreeMap<ManifestPlacementClass, PlacementClaim>,
    pub context_pressure: ContextPressureClaim,
    pub receipts: ReceiptsClaim,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_identity: Option<SessionIdentityClaim>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub session_rename: Option<SupportClaim>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub renewal: Option<RenewalClaim>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub approval_surface: Option<SupportClaim>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failure_modes: Vec<FailureClass>,
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub telemetry_sources: Vec<TelemetrySource>,
    #[serde(skip_deserializing, skip_serializing_if = "Vec::is_empty")]
    pub known_degradations: Vec<KnownDegradation>,
}

impl AdapterManifest {
    /// Reads the shape of the manifest's own version.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Self>(text).or_else(|error| match version_named_in(text) {
            Some(WireVersion::V0_2) => {
                serde_json::from_str::<legacy::v0_2::AdapterManifest>(text).map(Into::into)
            }
            Some(WireVersion::V0_3) => {
                serde_json::from_str::<legacy::v0_3::AdapterManifest>(text).map(Into::into)
            }
            Some(WireVersion::V0_4) | None => Err(error),
        })
    }

    /// Reads the shape of the manifest's own version from parsed JSON.
    pub fn from_value(value: serde_json::Value) -> Result<Self, serde_json::Error> {
        let version =
            value.get("contract_version").and_then(|name| name.as_str()).and_then(WireVersion::parse);
        match version {
            Some(WireVersion::V0_2) => {
                serde_json::from_value::<legacy::v0_2::AdapterManifest>(value).map(Into::into)
            }
            Some(WireVersion::V0_3) => {
                serde_json::from_value::<legacy::v0_3::AdapterManifest>(value).map(Into::into)
            }
            Some(WireVersion::V0_4) | None => serde_json::from_value(value),
        }
    }

    pub fn validate(&self) -> Result<(), ValidationError> {
        let version = WireVersion::chosen_by(&self.contract_version)?;
        require_non_empty(&self.adapter_id, "manifest.adapter_id")?;
        require_non_empty(&self.adapter_version, "manifest.adapter_version")?;
        require_non_empty(&self.display_name, "manifest.display_name")?;
        if self.integration_modes.is_empty() {
            return Err(ValidationError::InvalidManifest(
                "manifest.integration_modes must declare at least one integration mode".to_owned(),
            ));
        }
        for degradation in &self.known_degradations {
            require_non_empty(&degradation.capability, "manifest.known_degradations[].capability")?;
        }
        for source in &self.telemetry_sources {
            require_non_empty(&source.source, "manifest.telemetry_sources[].source")?;
        }
        if version.refuses_empty_evidence() {
            let evidence = self.context_pressure.evidence.as_deref();
            require_non_empty_if_present(evidence, "manifest.context_pressure.evidence")?;
        }
        if let Some(renewal) = &self.renewal {
            for profile in &renewal.profiles {
                require_non_empty(profile, "manifest.renewal.profiles[]")?;
            }
            require_non_empty_if_present(renewal.evidence.as_deref(), "manifest.renewal.evidence")?;
        }
        Ok(())
    }

    /// How the adapter claims to produce an event.
    pub(crate) fn event_support(&self, event: LifecycleEventKind) -> SupportState {
        self.lifecycle_events.get(&event).map_or(SupportState::Unavailable, |claim| claim.support)
    }
}
