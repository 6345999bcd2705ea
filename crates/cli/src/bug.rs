//! A bug in Escrow itself: told as one, and never mistaken for how the work went.

use std::io::{self, Write};
use std::panic::{self, UnwindSafe};
use std::process::ExitCode;

use crate::exit::Exit;

/// Does the work; if it panics, everything that it had started is ended while the stack unwinds.
pub(crate) fn guarded(work: impl FnOnce() -> ExitCode + UnwindSafe) -> ExitCode {
    panic::set_hook(Box::new(|panicked| {
        let help = "the journal contains everything up to this point; please report what led to this";
        let told = format!("error: this is a bug in Escrow: {panicked}\n  help: {help}\n");
        drop(io::stderr().write_all(told.as_bytes()));
    }));
    panic::catch_unwind(work).unwrap_or_else(|_| Exit::Bug.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bug_has_an_exit_code_of_its_own() {
        let told = |code: ExitCode| format!("{code:?}");
        assert_eq!(told(guarded(|| panic!("on purpose"))), told(ExitCode::from(70)));
        assert_eq!(told(guarded(|| ExitCode::from(3))), told(ExitCode::from(3)));
        drop(panic::take_hook());
    }
}
