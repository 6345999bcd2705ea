//! The claims of adapters, and the registry of adapters.
//!
//! **Invariant:** an absent claim means unavailable. Installed harnesses are never inspected: a manifest is data, and the
//! registry is a table.

mod adapter;
mod claims;
pub(crate) mod legacy;

mod registry;

pub use adapter::AdapterManifest;
pub use claims::{
    ContextPressureClaim, EventClaim, KnownDegradation, PlacementClaim, ReceiptsClaim, RenewalClaim,
    RenewalContinuation, RenewalReset, SessionIdentityClaim, SupportClaim, TelemetrySource,
};
pub use registry::{AdapterEntry, ConformanceLevel, Registry};
