//! A client's process, seen as data: what it is to be given, what it did, and what that means.
//!
//! ```text
//! DispatchEnvelope ─▶ Callback ─▶ (the caller runs it) ─▶ CallbackEnd ─▶ interpret ─┬─▶ CallbackResponse
//!                                                                                   └─▶ CallbackFailure
//! ```
//!
//! **Invariant:** whatever a process does ends in a response or in a failure with a class. An exit code that is
//! not zero wins over anything that was printed.

mod environment;
mod failure;
mod process;

pub use environment::{Environment, EnvironmentRule, allowed_environment};
pub use failure::{CallbackFailure, interpret};
pub use process::{Callback, CallbackEnd, Exit, Finished, STDERR_LIMIT_BYTES, STDOUT_LIMIT_BYTES};
