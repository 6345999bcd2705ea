//! The harnesses against recordings of the real programs.

#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests read recordings and may panic")]

mod commands;
mod documentation;
mod figures;
mod hooks;
mod hostile;
mod install;
mod recordings;
mod reports;
