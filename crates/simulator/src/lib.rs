//! Drives the real engine, the real supervisor and a real store through trouble that follows from a seed.
//!
//! ```text
//!   Cases ──case N──▶ play ──▶ Process: supervisor::Drive ──▶ Disk: fails, crashes, is slow ──▶ Memory | SQLite
//!                      │              └──▶ Simulated: time, providers, neighbours, answers twice, late, never
//!                      └──▶ People: messages at any moment        laws: what must be true in the end
//! ```
//!
//! **Invariant:** everything follows from the seed and the number of the case. No real clock, no real chance, no
//! other thread decides anything, so a failure can be played again, and cut down to what it needs.

mod at_once;
mod case;
mod clock;
mod disk;
mod laws;
mod ledger;
mod many;
mod matrix;
mod memory;
mod people;
mod play;
mod process;
mod shrink;
mod tables;
mod world;

pub use case::{Case, Cases};
pub use many::{Failure, Found, Kept, Order, one, simulate};
pub use matrix::{Recorded, Rest};
pub use memory::Backing;
pub use play::{Backend, Played, play};
