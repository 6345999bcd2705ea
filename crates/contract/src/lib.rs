//! Judges outputs and artifacts against their contracts. Never fetches them.
//!
//!   SeenFile, output, rules ──> judge ──> Delivery, Outcome, BrokenRule
//!
//! **Invariant:** no I/O and no clock. A contract that cannot be evaluated counts as broken.

mod delivery;
mod json;
pub mod outcome;
pub mod rules;
mod schema;

pub use delivery::{DeliveredOutcome, Verified, judge_delivery};
pub use json::{Parsed, read_json};
pub use schema::{Schema, SchemaError};
