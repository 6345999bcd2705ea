//! The expression language: parse once, evaluate within a budget, explain.
//!
//!   source ──Program::expression──▶ Program ──evaluate(scope, budget)──▶ Answer, or a EvalError
//!
//! **Invariant:** no clock, no randomness, no I/O. Every evaluation of every input ends within its budget, with a
//! value or with a typed error.

mod answer;
mod batch;
mod budget;
mod builtins;
mod children;
mod eval_error;
mod evaluate;
mod exception;
mod explain;
mod heap;
mod not_json;
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
pub use eval_error::{EvalError, EvalErrorKind};
pub use explain::{Explanation, Part};
pub use not_json::not_json;
pub use number::to_text as number_to_text;
pub use program::{MemoryWrite, Program};
pub use reads::{HelperCall, NameRead, PathRead, Reads};
pub use scope::{JsonScope, List, Object, Scope, ScopeValue};
pub use syntax_error::SyntaxError;

/// The names of all helpers, for "did you mean".
pub fn helper_names() -> Vec<&'static str> {
    builtins::Builtin::helper_names().collect()
}
