//! The binary `escrow`: reads the command line, wires the house, tells the timeline, sets the exit code.

mod arguments;
mod bug;
mod commands;
mod exit;
mod failure;
mod pages;
mod report;
mod snapshot;
mod state;
mod terminal;

use std::process::ExitCode;

use clap::Parser as _;

use crate::arguments::Arguments;
use crate::commands::lifecycle;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::terminal::Ui;

fn main() -> ExitCode {
    bug::guarded(escrow)
}

fn escrow() -> ExitCode {
    // Harnesses ask these verbs for every event; nothing else is set up for them.
    if let Some(words) = lifecycle::words_in(std::env::args_os()) {
        return ExitCode::from(lifecycle::run(&words));
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
            let failure = Failure::from_error(error);
            failure.tell(&ui);
            failure.code().into()
        }
    }
}
