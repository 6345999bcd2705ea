//! Takes one event to its clients and back.
//!
//! ```text
//! Dispatch::prepare ─┬─ blocked ───────────────────────────────▶ receipt(None)
//!                    └─ callback(client) ─▶ CallbackEnd ─▶ interpret ─▶ receipt(Some(response))
//!                                                              └─────▶ failure_receipt(…)
//! ```
//!
//! **Invariant:** a client is called only after validation, routing and negotiation have all succeeded. The caller
//! runs the processes and records the receipts, but cannot change that order.

mod declared;
mod expiry;
mod failure;
mod fan_out;
mod gate;
mod prepare;

pub use failure::failure_response;
pub use fan_out::{Client, receipt_id_for};
pub use gate::{Gate, GateError, enter};
pub use prepare::{Dispatch, LedgerPresence, PrepareError, Rules};
