//! Drives the real engine, supervisor and store through faults that follow from a seed.
//!
//! ```text
//!   Cases ──case N──▶ play ──▶ Process: supervisor::Drive ──▶ Disk: fails, crashes, is slow ──▶ Memory | SQLite
//!                      │         │    └──▶ SimulatedWorld: time, other processes, SimulatedProvider
//!                      │         └──▶ NestedRuns: nested playbooks, on the same disk and world
//!                      └──▶ People: messages at any moment          invariants: what must be true in the end
//! ```
//!
//! **Invariant:** everything follows from the seed and the number of the case. No real clock, no real chance and no
//! other thread decides anything, so a failure can be played again and reduced to what it needs.
//!
//! It does not use `escrow_engine::play`, the driver of a run in virtual time: here the supervisor, its effect runner
//! and its inbox are what is tested, so the loop, the queue and the order of answers must be theirs.

mod batch;
mod block_on;
mod case;
mod chains;
mod clock;
mod conflicts;
mod disk;
mod effects;
#[cfg(test)]
mod every_commit;
mod history;
mod invariants;
mod ledger;
mod memory;
mod people;
mod plans;
mod play;
mod plenty;
mod process;
mod provider;
mod recorded;
mod shrink;
mod tables;
mod world;

pub use batch::{Failure, Found, Progress, Settings, StoreKind, one, simulate};
pub use case::{Case, Cases};
pub use chains::{ChainsPlayed, play_chains};
pub use history::{History, Written, write_history};
pub use memory::StoreBackend;
pub use play::{Backend, Played, play};
pub use plenty::write_plenty;
pub use recorded::{Recorded, Rest};
