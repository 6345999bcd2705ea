//! The verbs of `lifecycle`, as functions from arguments and a world to an answer.
//!
//! ```text
//! argv ─▶ run ─▶ one file per verb ─▶ Answer { stdout, stderr, exit_code }
//!                     └─ asks World: input, time, fixtures, callbacks, ledgers
//! ```
//!
//! **Invariant:** usage is checked before input is read, input before anything is done. Exit codes: 0 done,
//! 1 refused, 2 wrong usage, 3 unreadable input or storage.

mod answer;
mod arguments;
mod asset;
mod conformance;
mod envelope;
mod event;
mod help;
mod input;
mod manifest;
mod receipt;
mod status;
mod telemetry;
mod world;

pub use answer::{Answer, ExitCode};
pub use world::{Asked, FixtureFile, FixturesError, LedgerAccess, Line, ResidentAnswer, StateFile, World};

use std::ffi::OsString;

use answer::Failure;
use arguments::Arguments;

use crate::vocabulary::LifecycleEventKind;

/// The release whose verbs these are, which is what `version` has to print.
pub const COMPATIBLE_VERSION: &str = "0.9.0";

/// Runs one verb. `argv` begins after the name of the program.
pub fn run(argv: &[OsString], world: &mut dyn World) -> Answer {
    let mut arguments = Arguments::new(argv);
    let Some(verb) = arguments.next_word() else {
        return Answer::printed(help::OVERVIEW);
    };
    match verb.as_str() {
        "help" | "--help" | "-h" => Answer::printed(help::OVERVIEW),
        "version" | "--version" | "-V" => Answer::printed_line(COMPATIBLE_VERSION),
        "events" => answer::pretty(LifecycleEventKind::ALL).into(),
        "envelope" => envelope::run(arguments, world).into(),
        "event" => event::run(arguments, world),
        "manifest" => manifest::run(arguments, world).into(),
        "asset" => asset::run(arguments).into(),
        "receipt" => receipt::run(arguments, world).into(),
        "stream" if arguments.contain_any(&["--extended"]) => event::stream(arguments, world),
        "status" => status::run(arguments, world),
        "conformance" => conformance::run(arguments, world),
        "telemetry" => telemetry::run(arguments, world).into(),
        "--output" => output_is_for_hooks(&mut arguments).into(),
        other => Failure::usage(format!("unknown command: {other}")).into(),
    }
}

/// The hook broker is not among these verbs: hooks have a dialect per harness.
fn output_is_for_hooks(arguments: &mut Arguments) -> Result<String, Failure> {
    arguments.value_of("--output")?;
    Err(Failure::usage("--output is only supported for `host-hook`"))
}
