//! Decides what happens next in a run. Never does it.
//!
//!   Input ──> Run::handle ──> Turn { entries, effects }
//!
//! **Invariant:** no clock, no I/O, no async. Same inputs, same turns: that is what makes replay exact.

mod apply;
mod attempt;
mod decide;
mod document;
mod explain;
mod finish;
mod gate;
mod graph;
mod letters;
mod pure;
mod redecide;
mod reopen;
mod route;
mod run;
mod state;
mod tree;
mod verdict;
mod view;

pub use explain::{Account, Cause, Evaluation, ExplainError, Link, Moment, Question, Subject, explain};
pub use pure::PROVIDERS;
pub use redecide::{Change, Comparison, Difference, Redecided, Standing, Unknown, compare, redecide};
pub use reopen::NotReopened;
pub use run::{Effect, Input, OpenWait, ReplayError, Run, Turn};
