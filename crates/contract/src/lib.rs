//! Judges what came back against what was promised. Never fetches it.
//!
//!   SeenFile, output, rules ──> judge ──> Delivery, Outcome, BrokenRule
//!
//! **Invariant:** no I/O and no clock. What cannot be judged counts as broken, never as kept.

mod delivery;
mod json;
pub mod outcome;
pub mod rules;
mod schema;

pub use delivery::{DeliveredOutcome, Verified, judge_delivery};
pub use json::{Parsed, read_json};
pub use schema::{Schema, SchemaError};
