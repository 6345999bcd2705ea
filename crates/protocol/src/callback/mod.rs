//! A client process as data: what to run, how it ended, and what that means.
//!
//! ```text
//! DispatchEnvelope ─▶ Callback ─▶ (the caller runs it) ─▶ CallbackEnd ─▶ interpret ─┬─▶ CallbackResponse
//!                                                                                   └─▶ CallbackFailure
//! ```
//!
//! **Invariant:** every end of a process is a response or a failure with a class. A non-zero exit code wins over any
//! output.

mod environment;
mod failure;
mod process;

pub use environment::{Environment, EnvironmentRule};
pub use failure::{CallbackFailure, CallbackResult, interpret};
pub use process::{Callback, CallbackEnd, Exit, Finished, STDERR_LIMIT_BYTES, STDOUT_LIMIT_BYTES};
