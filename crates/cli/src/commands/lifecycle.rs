//! `escrow lifecycle …`: the lifecycle wire on the command line. A binary named `lifeloop` does only this.
//!
//! ```text
//!   argv ─▶ arguments_in ─▶ answer ─▶ one file per verb ─▶ VerbOutput { stdout, stderr, exit }
//!                                         └─ System: stdin, clock, processes, ledgers, files
//! ```
//!
//! The verbs read their arguments themselves instead of through clap. Flags, the order in which problems are
//! reported, every message and every exit code are those of `lifeloop-cli` 0.9.0, byte for byte, and clap would
//! change all of them. Recordings of that release guard the compatibility.
//!
//! **Invariants:** Usage is checked before input is read, and input before anything is done. Harnesses start these
//! verbs for every event, so nothing else of Escrow is set up: no store and no threads unless the verb needs them.

mod arguments;
mod asset;
mod conformance;
mod envelope;
mod event;
mod help;
mod input;
mod local_system;
mod manifest;
mod output;
mod receipt;
mod status;
mod system;
mod telemetry;
mod telemetry_logs;
#[cfg(test)]
mod tests;

pub(crate) use output::LifecycleExit;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;

use escrow_protocol::vocabulary::LifecycleEventKind;
use tracing::debug;

use arguments::Arguments;
use local_system::LocalSystem;
use output::{LifecycleError, VerbOutput};
use system::System;

/// The release that these verbs are compatible with, and the answer to `version`.
const COMPATIBLE_VERSION: &str = "0.9.0";

/// The arguments behind `lifecycle`, if the command line asks for it by verb or by program name.
pub(crate) fn arguments_in(mut argv: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let program = argv.next()?;
    let is_lifeloop = Path::new(&program).file_name() == Some(OsStr::new("lifeloop"));
    if is_lifeloop || argv.next()? == "lifecycle" {
        return Some(argv.collect());
    }
    None
}

/// Runs one verb on this machine and prints its output.
pub(crate) fn run(arguments: &[OsString]) -> LifecycleExit {
    let output = answer(arguments, &mut LocalSystem::default());
    debug!(verb = ?arguments.first(), exit = output.exit.as_u8(), "lifecycle verb ended");
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(output.stdout.as_bytes()).and_then(|()| stdout.flush());
    let mut stderr = io::stderr();
    let _ = stderr.write_all(output.stderr.as_bytes());
    // The verb is done by now, but its caller does not know how it ended.
    match written {
        Ok(()) => output.exit,
        Err(error) => {
            let _ = writeln!(stderr, "cannot write to stdout: {error}");
            output.exit.max(LifecycleExit::Unreadable)
        }
    }
}

/// Every verb, in the order of the help text.
fn answer(arguments: &[OsString], system: &mut dyn System) -> VerbOutput {
    let mut arguments = Arguments::new(arguments);
    let Some(verb) = arguments.next_word() else {
        return VerbOutput::printed(help::OVERVIEW);
    };
    match verb.as_str() {
        "help" | "--help" | "-h" => VerbOutput::printed(help::OVERVIEW),
        "events" => output::pretty(LifecycleEventKind::ALL).into(),
        "version" | "--version" | "-V" => VerbOutput::printed(format!("{COMPATIBLE_VERSION}\n")),
        "envelope" => envelope::run(arguments, system).into(),
        "event" => event::run(arguments, system),
        "stream" if arguments.contain_any(&["--extended"]) => event::stream(arguments, system),
        "manifest" => manifest::run(arguments, system).into(),
        "asset" => asset::run(arguments).into(),
        "receipt" => receipt::run(arguments, system).into(),
        "status" => status::run(arguments, system),
        "telemetry" => telemetry::run(arguments, system).into(),
        "conformance" => conformance::run(arguments, system),
        "--output" => output_is_for_hooks(&mut arguments).into(),
        other => LifecycleError::usage(format!("unknown command: {other}")).into(),
    }
}

/// `--output` belongs to `host-hook`, which is not among these verbs: hooks have a dialect per harness.
fn output_is_for_hooks(arguments: &mut Arguments) -> Result<String, LifecycleError> {
    arguments.value_of("--output")?;
    Err(LifecycleError::usage("--output is only supported for `host-hook`"))
}
