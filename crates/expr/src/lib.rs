//! The expression language: parse once, evaluate within a budget, explain.
//!
//!   source ──Program::expression──▶ Program ──evaluate(scope, budget)──▶ Answer, or a Fault
//!
//! **Invariant:** no clock, no randomness, no I/O. Every evaluation ends within its budget, whatever the
//! input, and says why when it cannot give a value.

mod answer;
mod batch;
mod budget;
mod builtins;
mod children;
mod evaluate;
mod explain;
mod fault;
mod heap;
mod number;
mod parse;
mod pattern;
mod program;
mod reads;
mod resolve;
mod scope;
mod span;
mod syntax_error;
mod token;
mod tree;
mod utf16;
mod value;

pub use answer::Answer;
pub use batch::answer_line;
pub use budget::Budget;
pub use explain::{Explanation, Part};
pub use fault::{Fault, FaultKind};
pub use program::{MemoryWrite, Program};
pub use reads::{HelperCall, NameRead, PathRead, Reads};
pub use scope::{Given, JsonScope, List, Object, Scope};
pub use syntax_error::SyntaxError;

/// The names of all helpers, for "did you mean".
pub fn helper_names() -> Vec<&'static str> {
    builtins::Builtin::helper_names().collect()
}
