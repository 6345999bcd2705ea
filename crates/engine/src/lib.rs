//! Decides what happens next in a run. Never does it.
//!
//!   Input ──> Run::handle ──> Turn { entries, effects }
//!
//! **Invariant:** no clock, no I/O, no async. Same inputs, same turns: that is what makes replay exact.

mod apply;
mod attempt;
mod decide;
mod document;
mod filter;
mod finish;
mod gate;
mod graph;
mod halt;
mod letters;
mod pure;
mod reopen;
mod request;
mod retry;
mod room;
mod route;
mod run;
mod state;
mod surroundings;
mod tree;
mod turn;
mod verdict;
mod view;
mod wait;

pub use pure::PROVIDERS;
pub use run::{Effect, Input, OpenWait, ReplayError, Run, Turn};
