//! `escrow completions`: a completion script for a shell, on stdout.

use std::io;

use clap::CommandFactory;

use crate::arguments::{Arguments, CompletionsArguments};
use crate::exit::Exit;

pub(crate) fn completions(arguments: &CompletionsArguments) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "escrow", &mut script);
    // A reader that went away is not an error.
    drop(io::Write::write_all(&mut io::stdout().lock(), &script));
    Exit::Completed
}
