//! The binary `escrow`: parses the command line, runs one verb, sets the exit code.

mod arguments;
mod bug;
mod codes;
mod commands;
mod exit;
mod logging;
mod pages;
mod report;
mod session;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::Arguments;
use crate::commands::{hook, lifecycle};
use crate::exit::Exit;
use crate::terminal::Ui;

fn main() -> ExitCode {
    bug::guarded(escrow)
}

fn escrow() -> ExitCode {
    logging::start_if_asked();
    // A confined command starts here: this process becomes that command.
    if let Some(code) = commands::sandbox_exec::requested(std::env::args_os()) {
        return ExitCode::from(code);
    }
    // After the launcher above, which hands the descriptors that Escrow gave it on to its program.
    escrow_runtime::process::withhold_inherited_descriptors();
    if std::env::var_os("ESCROW_RUN").is_none() {
        escrow_runtime::keep_out_of_dumps();
    }
    if let Some(words) = hook::arguments_in(std::env::args_os()) {
        return Exit::Hook(hook::run(&words)).into();
    }
    // Harnesses start these verbs for every event, so they run before the command line is parsed.
    if let Some(arguments) = lifecycle::arguments_in(std::env::args_os()) {
        return Exit::Lifecycle(lifecycle::run(&arguments)).into();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return arguments::refuse(&error),
    };
    let ui = Ui::new(&arguments.shared);
    match commands::dispatch(arguments, &ui) {
        Ok(code) => match ui.unwritten() {
            None => code.into(),
            Some(why) => {
                ui.error(&format!("cannot write to stdout: {why}"), None);
                code.worse(Exit::WorldFailed).into()
            }
        },
        Err(error) => {
            ui.failed(&error);
            Exit::from(error.class()).into()
        }
    }
}
