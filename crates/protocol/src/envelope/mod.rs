//! The documents on the wire: reading, validation, writing.
//!
//! ```text
//! DispatchEnvelope ─┬─ CallbackRequest ── FrameContext, PayloadRef…
//!                   └─ PayloadEnvelope…
//! CallbackResponse ─── PayloadEnvelope…, Warning…
//! LifecycleReceipt ─── PayloadReceipt…, CapabilityDegradation…, Warning…
//! ```
//!
//! **Invariant:** `read` checks the shape, `validate` the meaning. Unknown keys are refused. Keys are written in the
//! order of the struct, absent keys stay absent, and free maps are sorted.

mod degradation;
mod dispatch;
mod frame;
mod free;
mod legacy;
mod payload;
mod payload_receipt;
mod payload_ref;
mod pressure;
mod receipt;
mod request;
mod response;
mod sniff;
mod warning;

pub use degradation::CapabilityDegradation;
pub use dispatch::DispatchEnvelope;
pub use frame::FrameContext;
pub use free::FreeMap;
pub(crate) use legacy::{read_versioned, v0_2};
pub use payload::{AcceptablePlacement, PayloadEnvelope};
pub use payload_receipt::PayloadReceipt;
pub use payload_ref::PayloadRef;
pub use pressure::{PressureObservation, TokenUsage};
pub use receipt::LifecycleReceipt;
#[cfg(feature = "schema")]
pub(crate) use receipt::REQUIRED_NULLABLE;
pub use request::CallbackRequest;
pub use response::CallbackResponse;
pub(crate) use sniff::version_named_in;
pub use warning::Warning;
