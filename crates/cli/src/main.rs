//! The binary `escrow`: reads the command line, wires the house, tells the timeline, sets the exit code.

mod arguments;
mod bug;
mod commands;
mod exit;
mod pages;
mod report;
mod session;
mod terminal;

use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::commands::lifecycle;
use crate::exit::Exit;
use crate::terminal::Ui;

fn main() -> ExitCode {
    bug::guarded(escrow)
}

fn escrow() -> ExitCode {
    // Harnesses ask these verbs for every event; nothing else is set up for them.
    if let Some(words) = lifecycle::words_in(std::env::args_os()) {
        return ExitCode::from(lifecycle::run(&words));
    }
    keep_freed_memory();
    let arguments = match Arguments::read() {
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

/// The C library gives the top of the heap back to the system at every chance, and asks for it again with the next
/// command, a little at a time. Freeing one large piece teaches it to keep twice as much; the second, from the heap
/// itself, has it ask for all that most runs need at once. Neither is touched, so neither takes memory.
fn keep_freed_memory() {
    for bytes in [8 << 20, 4 << 20] {
        drop(std::hint::black_box(Vec::<u8>::with_capacity(bytes)));
    }
}
