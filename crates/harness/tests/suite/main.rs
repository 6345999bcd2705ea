//! The harnesses against recordings of the real programs.

#![allow(clippy::disallowed_methods, reason = "tests read recordings")]

mod commands;
mod hooks;
mod hostile;
mod recordings;
mod reports;
