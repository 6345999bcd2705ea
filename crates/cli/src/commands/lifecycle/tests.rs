//! The verbs on a scripted system: every message and exit code, without a process per case.
//!
//! `crates/cli/tests/lifecycle*.rs` holds the binary to a sample of the same cases.

mod bad_input;
mod conformance;
mod differential;
mod extended;
mod names;
mod properties;
mod scripted_system;
mod telemetry;
mod usage;

#[path = "../../../../protocol/tests/support/mod.rs"]
mod support;

use scripted_system::{ScriptedSystem, SharedLedger, check};
use support::cases::Case;
