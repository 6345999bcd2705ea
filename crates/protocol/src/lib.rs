//! The lifecycle wire: what is said between a harness, the work it does and the clients that care.
//!
//! ```text
//!  DispatchEnvelope ──read──▶ validate ──▶ route ──▶ negotiate ──▶ callback ──▶ receipt ──▶ ledger
//!                                           │           │            ▲ done by the caller     ▲ kept by the caller
//!                                        registry    manifest        └ what it did, as data   └ a trait
//! ```
//!
//! **Invariant:** nothing here has a clock, a file, a process, a thread or a random number. What the world has to
//! do is asked for through [`command::World`], so that the same bytes always get the same answer.

pub mod callback;
pub mod command;
pub mod conformance;
pub mod dispatch;
pub mod envelope;
pub mod manifest;
pub mod negotiation;
pub mod receipt;
pub mod routing;
#[cfg(feature = "schema")]
pub mod schema;
pub mod stream;
pub mod telemetry;
pub mod validation;
pub mod version;
pub mod vocabulary;
