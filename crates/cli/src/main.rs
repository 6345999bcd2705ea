//! The binary `escrow`: reads the command line, wires the house, tells the story, sets the exit code.

mod arguments;
mod catalog;
mod commands;
mod exit;
mod failure;
mod pages;
mod snapshot;
mod state;
mod terminal;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::Arguments;
use crate::failure::Failure;
use crate::terminal::Talk;

fn main() -> ExitCode {
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
