//! What an adapter says it can do, and who is registered.
//!
//! **Invariant:** a claim that is not made is unavailable. Nothing here looks at an installed harness: a
//! manifest is data, and the registry is a table.

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
