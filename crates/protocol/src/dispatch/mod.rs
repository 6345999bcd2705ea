//! One event on its way to its clients.
//!
//! ```text
//! Dispatch::prepare ─┬─ blocked ───────────────────────────────▶ receipt(None)
//!                    └─ callback(client) ─▶ CallbackEnd ─▶ interpret ─▶ receipt(Some(response))
//!                                                              └─────▶ failure_receipt(…)
//! ```
//!
//! **Invariant:** this is the only order in which things happen, whoever runs the processes and keeps the
//! receipts. Nothing is sent to a client before validation, routing and negotiation have all let it pass.

mod declared;
mod failure;
mod fan_out;
mod gate;
mod prepare;

pub use failure::failure_response;
pub use fan_out::{Client, receipt_id_for};
pub use gate::{Gate, GateError, enter};
pub use prepare::{Dispatch, LedgerPresence, PrepareError, Rules};
