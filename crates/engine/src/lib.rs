//! Decides what happens next in a run. Never does it.
//!
//!   Input ──> Run::handle ──> Turn { entries, effects }
//!
//! **Invariant:** no clock, no I/O, no async. Same inputs, same turns: that is what makes replay exact.

mod apply;
mod attempt;
mod by_scope;
mod decide;
mod explain;
mod filter;
mod finish;
mod gate;
mod graph;
mod halt;
mod history;
mod inspect;
mod kept;
mod location;
mod messages;
mod outcome;
mod overridden;
mod pure;
mod reconcile;
mod redecide;
mod reopen;
mod reopened;
mod report;
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

pub use explain::{Account, Cause, Evaluation, ExplainError, Link, Moment, Question, Subject, explain};
pub use history::{CheckChange, history};
pub use location::{AttemptKey, Location};
pub use overridden::{NotOverridden, Overridden, Override};
pub use pure::PROVIDERS;
pub use redecide::{Change, Comparison, Difference, Redecided, Standing, Unknown, compare, redecide};
pub use reopened::NotReopened;
pub use report::{CheckReport, ItemReport};
pub use run::{Effect, Input, OpenWait, ReplayError, Run, Turn};
