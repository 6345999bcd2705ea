//! Every use case of Escrow, written once: the terminal, pages and the scheduler call the same functions.
//!
//! ```text
//!   caller ──▶ App (state directory, stores, caller, views)
//!                ├─▶ runs, messages ──▶ runtime: supervisor ──▶ RunView
//!                ├─▶ transfer, gc, invocations, outcomes, attention, artifacts
//!                └─▶ Driver: many runs at once, a thread each
//! ```
//!
//! **Invariant:** no terminal, no HTTP, no printing. A use case answers with a typed value or an [`Error`]; what happens
//! while a run is driven reaches the view that the caller brings. Use cases that drive a run are futures that stay on
//! one thread: [`driver::block_on`] runs one on the calling thread, [`Driver::spawn`] on a thread of its own.

mod app;
mod around;
mod begin;
mod conflicts;
mod diagnosed;
mod error;
mod nested;
mod nested_files;
mod panics;
mod person_text;
mod settled;
mod state;
mod views;

pub mod artifacts;
pub mod attempted;
pub mod attention;
pub mod backup;
pub mod chains;
pub mod directories;
pub mod documents;
pub mod driver;
pub mod effects;
pub mod explain;
pub mod fires;
pub mod gc;
pub mod harnesses;
pub mod hooks;
pub mod init;
pub mod inputs;
pub mod invocations;
pub mod logs;
pub mod messages;
pub mod outbox;
pub mod outcomes;
pub mod playbooks;
pub mod replay;
pub mod request_words;
pub mod runs;
pub mod schedule;
pub mod shows;
pub mod telemetry;
pub mod timeline;
pub mod tokens;
pub mod transcript;
pub mod transfer;
pub mod webhooks;
pub mod words;

pub use app::{App, Caller, Worlds};
pub use begin::{BeginError, Begun, StartRequest, begin};
pub use conflicts::{Arbiter, CannotEnd, Unattended};
pub use diagnosed::Diagnosed;
pub use driver::Driver;
pub use error::{Class, Error, Kind};
pub use escrow_runtime::now_ms;
pub use escrow_runtime::peer::Peer;
pub use nested::NestedRuns;
pub use nested_files::{NestedFiles, ProjectFiles};
pub use state::StateDirectory;
pub use views::{RunView, Views, no_views};
