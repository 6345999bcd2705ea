//! Chains: defining them, firing them, and where their runs stand.
//!
//! ```text
//!   chain file ──define──▶ row of the store ──begin_fire──▶ run of a chain ──drive──▶ Run at rest
//! ```
//!
//! **Invariant:** a fire runs the text that was defined, never the file. The playbooks of its steps are read when it
//! begins and are part of its plan from then on.

mod define;
mod fire;
mod list;
mod plan;
pub mod runs;

pub(crate) use define::compile;
pub use define::{Definition, define, disable, enable, pause, resume};
pub use escrow_store::{ChainRow, ChainRunFilter, ChainRunRow};
pub use fire::{FireEvent, FireOutcome, FiredRun, begin_fire, drive, fire, fire_key};
pub use list::{FileState, ListedChain, find, list, listed, plan_of, rows, show};
pub use plan::{ChainPlan, PlannedStep, plan};
pub use runs::{ChainRun, StepLinks};
