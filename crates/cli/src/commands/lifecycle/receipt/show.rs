//! `receipt show`: checks a receipt and reprints it.

use escrow_protocol::envelope::LifecycleReceipt;

use super::super::arguments::Arguments;
use super::super::input;
use super::super::output::{LifecycleError, pretty};
use super::super::system::System;

pub(super) fn run(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    if let Some(word) = arguments.next_word() {
        return Err(LifecycleError::usage(format!("receipt show: unexpected argument `{word}`")));
    }
    let receipt = input::document(system, "LifecycleReceipt", LifecycleReceipt::read)?;
    receipt
        .validate()
        .map_err(|error| LifecycleError::refused(format!("receipt failed validation: {error}")))?;
    pretty(&receipt)
}
