//! `escrow completions`: a completion script for a shell, on stdout.

use std::io::{self, Write};

use clap::CommandFactory;

use crate::arguments::{Arguments, CompletionsArguments};
use crate::exit::Exit;
use crate::terminal::Ui;

pub(crate) fn completions(arguments: &CompletionsArguments, ui: &Ui) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Arguments::command(), "escrow", &mut script);
    let mut stdout = io::stdout().lock();
    ui.is_answered(stdout.write_all(&script).and_then(|()| stdout.flush()));
    Exit::Completed
}
