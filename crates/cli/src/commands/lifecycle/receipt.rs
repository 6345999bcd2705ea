//! `receipt …`: writes, checks and looks up receipts.

mod emit;
mod ledger;
mod show;

use super::arguments::Arguments;
use super::output::LifecycleError;
use super::system::System;

pub(super) fn run(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    let verb = arguments
        .next_word()
        .ok_or_else(|| LifecycleError::usage("receipt requires a subcommand: emit | show | list | get"))?;
    let is_extended = arguments.contain_any(&["--extended"]);
    match verb.as_str() {
        "emit" => emit::run(arguments, system),
        "show" => show::run(arguments, system),
        "list" => ledger::list(arguments, system),
        "get" => ledger::get(arguments, system),
        "gaps" if is_extended => ledger::gaps(arguments, system),
        "verify" if is_extended => ledger::verify(arguments, system),
        "forget" if is_extended => ledger::forget(arguments, system),
        other => Err(LifecycleError::usage(format!(
            "receipt: unknown subcommand `{other}` (expected: emit | show | list | get)"
        ))),
    }
}
