//! `escrow sandbox-exec JSON -- PROGRAM ARG…`: the launcher of confined commands. Escrow starts it itself; people do
//! not, so it is not in the help.

use std::ffi::OsString;

use escrow_runtime::sandbox::{EXIT_NOT_CONFINED, VERB, enter_and_exec};

/// Confines this process and becomes the program, if the command line asks for that. Gives an exit code when it
/// cannot.
pub(crate) fn requested(mut arguments: impl Iterator<Item = OsString>) -> Option<u8> {
    arguments.next()?;
    if arguments.next()? != VERB {
        return None;
    }
    let rest: Vec<OsString> = arguments.collect();
    match rest.as_slice() {
        [confinement, dashes, program, arguments @ ..] if dashes == "--" => {
            Some(enter_and_exec(&confinement.to_string_lossy(), program, arguments))
        }
        _ => Some(EXIT_NOT_CONFINED),
    }
}
