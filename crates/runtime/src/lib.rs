//! Drives runs: commits every decision of the engine, performs its effects, and feeds the results back.
//!
//! ```text
//!   Drive (supervisor) ── commit ──▶ escrow_store::Journal
//!       │                                        ┌─▶ providers: commands, HTTP, agents ─▶ process
//!       └── effects ──▶ effect runner ───────────┼─▶ inspection of artifacts
//!                                                └─▶ Host: nested runs
//! ```
//!
//! The only crate that starts processes, opens outgoing connections and reads the clock. It decides nothing about a
//! run: `escrow_engine` does, and this crate carries it out. Two seams make it testable: [`ProviderWorld`] is the
//! supervisor's view of the outside, [`Host`] begins the runs that checks nest.
//!
//! **Invariant:** commit, then act. Nothing blocks the thread of a drive: stores, git and secret commands are awaited.

mod actor;
mod beneath;
mod cancellation;
mod catalog;
mod entropy;
mod holder;
mod host;
mod http_client;
mod nested_loader;
mod provider_world;
mod redaction;
mod secrets;
mod supervisor;

pub mod agents;
pub mod callbacks;
pub mod canary;
pub mod config;
pub mod facts;
pub mod git;
mod granted_secrets;
pub mod harness_program;
pub mod hook_spool;
pub mod inspection;
pub mod leftovers;
pub mod model_server;
pub mod notifier;
pub mod outcome_kinds;
pub mod peer;
pub mod playbook_file;
pub mod private_files;
pub mod process;
pub mod project;
pub mod providers;
pub mod rehearsal;
pub mod sandbox;
pub mod secret_files;
pub mod telemetry;
pub mod triggers;

// Driving a run.
pub use cancellation::{Cancellation, Canceller, cancellation};
pub use supervisor::{
    Beginning, Drive, DriveError, NestedNews, NestedOutput, Observer, Surroundings, begin, refuse,
    spool_label,
};

// What a drive is given.
pub use host::{FailedBefore, Host, NestOutcome, NestRequest, NewsSink, NoHost};
pub use provider_world::{InputSink, InspectRequest, LocalFuture, ProviderWorld, RealWorld};
pub use providers::Environment;
pub use secrets::{FoundSecret, SecretError, Secrets, keep_out_of_dumps};

// Before a run begins.
pub use actor::os_actor;
pub use catalog::catalog;
pub use entropy::{new_run_id, now_ms, random_bytes, random_u64};
pub use holder::{liveness, this_process};
pub use redaction::{Inseparable, REDACTED, Redactor};

// What the fuzzer of the redactor calls.
#[doc(hidden)]
pub use redaction::fuzzed;
