//! `receipt …`: write one, check one, look them up.

mod emit;
mod kept;
mod show;

use super::answer::Failure;
use super::arguments::Arguments;
use super::world::World;

pub(super) fn run(mut arguments: Arguments, world: &mut dyn World) -> Result<String, Failure> {
    let verb = arguments
        .next_word()
        .ok_or_else(|| Failure::usage("receipt requires a subcommand: emit | show | list | get"))?;
    let is_extended = arguments.contain_any(&["--extended"]);
    match verb.as_str() {
        "emit" => emit::run(arguments, world),
        "show" => show::run(arguments, world),
        "list" => kept::list(arguments, world),
        "get" => kept::get(arguments, world),
        "gaps" if is_extended => kept::gaps(arguments, world),
        "verify" if is_extended => kept::verify(arguments, world),
        "forget" if is_extended => kept::forget(arguments, world),
        other => Err(Failure::usage(format!(
            "receipt: unknown subcommand `{other}` (expected: emit | show | list | get)"
        ))),
    }
}
