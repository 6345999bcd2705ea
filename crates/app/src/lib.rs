//! Every use case of Escrow, written once: the terminal, pages and the scheduler call the same functions.
//!
//! **Invariant:** no terminal, no HTTP, no printing. What a use case has to tell is in its return value, or reaches
//! an observer that the caller brings.

mod begin;
mod nested;

pub use begin::{BeginError, Begun, StartRequest, begin};
pub use nested::NestedRuns;
