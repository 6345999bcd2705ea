//! `escrow lifecycle …`: the lifecycle wire, wired to this machine. Also what a binary named `lifeloop` does.
//!
//! ```text
//!   argv ─▶ words_in ─▶ protocol::command::run ─asks─▶ Here: stdin, clock, processes, ledgers, files
//! ```
//!
//! **Invariant:** these verbs are answered before anything else of Escrow is set up, because harnesses call them
//! for every event: no command-line parser, no store, no threads, unless the verb itself needs them.

mod here;
mod logs;

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::Path;

use here::Here;

/// What follows `lifecycle`, if that is what was asked for.
pub(crate) fn words_in(mut argv: impl Iterator<Item = OsString>) -> Option<Vec<OsString>> {
    let program = argv.next()?;
    let is_lifeloop = Path::new(&program).file_name() == Some(OsStr::new("lifeloop"));
    if is_lifeloop || argv.next()? == "lifecycle" {
        return Some(argv.collect());
    }
    None
}

/// Says what there is to say, and gives the exit code.
pub(crate) fn run(words: &[OsString]) -> u8 {
    let answer = escrow_protocol::command::run(words, &mut Here::default());
    // A reader that went away is not a failure of what was said.
    let _ = io::stdout().write_all(answer.stdout.as_bytes());
    let _ = io::stderr().write_all(answer.stderr.as_bytes());
    answer.exit_code.as_u8()
}

#[cfg(test)]
mod tests {
    use super::words_in;

    #[test]
    fn only_the_verb_and_the_name_lead_here() {
        let check = |argv: &str| words_in(argv.split(' ').map(Into::into)).map(|words| words.len());
        assert_eq!(check("/usr/bin/escrow lifecycle version"), Some(1));
        assert_eq!(check("/opt/lifeloop version"), Some(1));
        assert_eq!(check("/opt/lifeloop lifecycle version"), Some(2));
        assert_eq!(check("lifeloop"), Some(0));
        assert_eq!(check("escrow run lifecycle"), None);
        assert_eq!(check("/lifeloop/escrow"), None);
    }
}
