//! The lifecycle wire between AI harnesses and the clients of their events, as data and pure functions.
//!
//! ```text
//!  DispatchEnvelope ──read──▶ validate ──▶ route ──▶ negotiate ──▶ callback ──▶ receipt ──▶ ledger
//!                                           │           │            │                        │
//!                                        registry    manifest   run by the caller,       a trait that the
//!                                                               returned as data         caller implements
//! ```
//!
//! Speaks `lifeloop.v0.2`, `v0.3` and `v0.4`, byte-compatible with `lifeloop-cli` 0.9.0. The command line of that
//! program is not here but in `escrow lifecycle`.
//!
//! **Invariant:** no clock, no file, no process, no thread, no random number. The same bytes always get the same
//! answer.

// The documents and their words.
pub mod envelope;
pub mod manifest;
pub mod validation;
pub mod version;
pub mod vocabulary;

// From an event to its receipts.
pub mod callback;
pub mod dispatch;
pub mod negotiation;
pub mod receipt;
pub mod routing;
pub mod stream;

// Beside the events.
pub mod conformance;
#[cfg(feature = "schema")]
pub mod schema;
pub mod telemetry;
