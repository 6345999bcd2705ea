//! The verbs wired to a real world, for trying them out and for comparing them with other implementations.
//!
//! The product's binary does the same with the runtime's processes and the store's ledger; this one has small
//! ones of its own, so that the crate can be tried alone.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "this is the world outside of the pure crate"
)]

mod ledger;
mod logs;
mod process;
mod world;

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().skip(1).collect();
    let answer = escrow_protocol::command::run(&argv, &mut world::Here::default());
    // A reader that went away is not a failure of what was said.
    let _ = io::stdout().write_all(answer.stdout.as_bytes());
    let _ = io::stderr().write_all(answer.stderr.as_bytes());
    ExitCode::from(answer.exit_code.as_u8())
}
