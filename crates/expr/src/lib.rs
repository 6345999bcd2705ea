//! The expression language and the templates: parse once, evaluate within a budget, explain.
//!
//! **Invariant:** no clock, no randomness, no I/O. Every evaluation ends within its budget, whatever the
//! input, and says why when it cannot give a value.

mod scope;
pub mod template;

pub use scope::{Given, JsonScope, List, Object, Scope};
mod stub;
pub use stub::*;
