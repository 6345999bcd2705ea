//! The adapter manifest of a hook dialect: what its hooks can observe and place.

use std::collections::BTreeMap;

use escrow_protocol::manifest::{
    AdapterEntry, AdapterManifest, ConformanceLevel, ContextPressureClaim, EventClaim, PlacementClaim,
    ReceiptsClaim, SessionIdentityClaim,
};
use escrow_protocol::version::WireVersion;
use escrow_protocol::vocabulary::{
    AdapterRole, IntegrationMode, LifecycleEventKind as Event, ManifestPlacementClass, SupportState,
};

use crate::{AnswerKind, HookDialect};

/// The adapter of a dialect, in a version of the wire.
pub fn adapter(dialect: &HookDialect, version: WireVersion) -> AdapterEntry {
    let modes = vec![IntegrationMode::NativeHook];
    let observes = |event: Event| dialect.installed().any(|hook| hook.lifecycle() == Some(event));
    let lifecycle_events: BTreeMap<Event, EventClaim> = Event::ALL
        .iter()
        .map(|event| {
            let support = match event {
                // The supervisor of a run and the ledger produce them.
                Event::SupervisorTick | Event::CapabilityDegraded | Event::ReceiptGapDetected => {
                    SupportState::Synthesized
                }
                event if observes(*event) => SupportState::Native,
                _ => SupportState::Unavailable,
            };
            let modes = if support == SupportState::Unavailable { Vec::new() } else { modes.clone() };
            (*event, EventClaim { support, modes })
        })
        .collect();
    let places = |event: Event| {
        let takes =
            |hook: &crate::HookEvent| hook.lifecycle() == Some(event) && hook.can(AnswerKind::AddContext);
        let support =
            if dialect.installed().any(takes) { SupportState::Native } else { SupportState::Unavailable };
        PlacementClaim { support, max_bytes: None }
    };
    let nowhere = || PlacementClaim { support: SupportState::Unavailable, max_bytes: None };
    let placement = BTreeMap::from([
        (ManifestPlacementClass::PreSession, places(Event::SessionStarted)),
        (ManifestPlacementClass::PreFrameLeading, nowhere()),
        (ManifestPlacementClass::PreFrameTrailing, places(Event::FrameOpening)),
        (ManifestPlacementClass::ToolResult, nowhere()),
        (ManifestPlacementClass::ManualOperator, nowhere()),
    ]);
    let pressure = observes(Event::ContextPressureObserved);
    let manifest = AdapterManifest {
        contract_version: version.as_str().to_owned(),
        adapter_id: dialect.harness.to_owned(),
        adapter_version: env!("CARGO_PKG_VERSION").to_owned(),
        display_name: dialect.display_name.to_owned(),
        role: AdapterRole::PrimaryWorker,
        integration_modes: modes,
        lifecycle_events,
        placement,
        context_pressure: ContextPressureClaim {
            support: if pressure { SupportState::Partial } else { SupportState::Unavailable },
            evidence: pressure.then(|| "a hook before a compaction".to_owned()),
        },
        receipts: ReceiptsClaim {
            native: false,
            lifeloop_synthesized: true,
            receipt_ledger: SupportState::Native,
        },
        session_identity: Some(SessionIdentityClaim {
            harness_session_id: SupportState::Native,
            harness_run_id: SupportState::Synthesized,
            harness_task_id: SupportState::Partial,
        }),
        session_rename: None,
        renewal: None,
        approval_surface: None,
        failure_modes: Vec::new(),
        telemetry_sources: Vec::new(),
        known_degradations: Vec::new(),
    };
    AdapterEntry { manifest, conformance: ConformanceLevel::PreConformance }
}
