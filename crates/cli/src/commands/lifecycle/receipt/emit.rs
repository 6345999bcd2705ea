//! `receipt emit`: writes the receipt of a request and a response that were exchanged elsewhere.

use std::path::PathBuf;

use escrow_protocol::manifest::Registry;
use escrow_protocol::negotiation::negotiate;
use escrow_protocol::receipt::{EmitInput, Ledger, MemoryLedger, synthesize};
use escrow_protocol::routing::route;
use escrow_protocol::version::WireVersion;

use super::super::arguments::Arguments;
use super::super::event::ledger_failure;
use super::super::input;
use super::super::output::{LifecycleError, pretty};
use super::super::system::{LedgerAccess, System};

pub(super) fn run(mut arguments: Arguments, system: &mut dyn System) -> Result<String, LifecycleError> {
    let mut path = None;
    while let Some(word) = arguments.next_word() {
        match word.as_str() {
            "--ledger" => path = Some(PathBuf::from(arguments.raw_value_of("--ledger")?)),
            other => {
                return Err(LifecycleError::usage(format!("receipt emit: unexpected argument `{other}`")));
            }
        }
    }
    let EmitInput { request, response, context } =
        input::document(system, "receipt emit envelope", EmitInput::read)?;
    let version = request
        .validate()
        .and_then(|()| WireVersion::chosen_by(&request.schema_version))
        .map_err(|error| LifecycleError::refused(format!("CallbackRequest failed validation: {error}")))?;
    response
        .validate_as(version)
        .map_err(|error| LifecycleError::refused(format!("CallbackResponse failed validation: {error}")))?;
    let entry = route(&request, Registry::builtin(version))
        .map_err(|error| LifecycleError::refused(format!("router rejected request: {error}")))?;
    let mut ledger: Box<dyn Ledger> = match path {
        Some(path) => system
            .open_ledger(&path, LedgerAccess::Write)
            .map_err(|error| LifecycleError::unreadable(format!("cannot open receipt ledger: {error}")))?,
        // Without a ledger the receipt is the first of its run.
        None => Box::new(MemoryLedger::new()),
    };
    let negotiation = negotiate(&entry.manifest, &[], &[]);
    let receipt = synthesize(&request, &negotiation, Some(&response), &context)
        .map_err(|error| LifecycleError::refused(format!("receipt emission failed: {error}")))?;
    let has_key = receipt.idempotency_key.is_some();
    let recorded = ledger.record(receipt).map_err(|error| ledger_failure(&error, has_key))?;
    pretty(&recorded.into_receipt())
}
