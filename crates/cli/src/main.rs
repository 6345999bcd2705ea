//! The binary `escrow`: reads the command line, wires the house, tells the story, sets the exit code.

mod arguments;
mod commands;
mod exit;
mod failure;
mod pages;
mod report;
mod snapshot;
mod state;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;
use crate::commands::lifecycle;
use crate::failure::Failure;
use crate::terminal::Talk;

fn main() -> ExitCode {
    // Harnesses ask these verbs for every event; nothing else is set up for them.
    if let Some(words) = lifecycle::words_in(std::env::args_os()) {
        return ExitCode::from(lifecycle::run(&words));
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return arguments::refuse(&error),
    };
    let talk = Talk::new(&arguments.shared);
    match commands::dispatch(arguments, &talk) {
        Ok(code) => code.into(),
        Err(error) => {
            let failure = Failure::from_error(error);
            failure.tell(&talk);
            failure.code().into()
        }
    }
}
