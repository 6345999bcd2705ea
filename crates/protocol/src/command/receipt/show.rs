//! `receipt show`: is this a receipt?

use super::super::answer::{Failure, pretty};
use super::super::arguments::Arguments;
use super::super::input;
use super::super::world::World;
use crate::envelope::LifecycleReceipt;

pub(super) fn run(mut arguments: Arguments, world: &mut dyn World) -> Result<String, Failure> {
    if let Some(word) = arguments.next_word() {
        return Err(Failure::usage(format!("receipt show: unexpected argument `{word}`")));
    }
    let receipt = input::document(world, "LifecycleReceipt", LifecycleReceipt::read)?;
    receipt.validate().map_err(|error| Failure::refused(format!("receipt failed validation: {error}")))?;
    pretty(&receipt)
}
