//! Diagnostics for people who work on Escrow, behind `ESCROW_LOG`.
//!
//! The journal says what happened, for users; `tracing` says how, for us. Without the variable no subscriber is
//! installed, and an event costs one load of an atomic.

use std::io::{self, Write};

use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// A level (`debug`) or targets with levels (`escrow_store=trace,info`).
const VARIABLE: &str = "ESCROW_LOG";

/// Logs to standard error from here on, if `ESCROW_LOG` asks for it.
pub(crate) fn start_if_asked() {
    let Some(text) = std::env::var_os(VARIABLE).filter(|text| !text.is_empty()) else { return };
    match text.to_string_lossy().parse::<Targets>() {
        Ok(targets) => {
            let lines = fmt::layer().compact().with_ansi(false).with_writer(io::stderr);
            tracing_subscriber::registry().with(lines).with(targets).init();
        }
        // Diagnostics never change how a command ends.
        Err(error) => drop(writeln!(io::stderr(), "warning: {VARIABLE} is ignored: {error}")),
    }
}
