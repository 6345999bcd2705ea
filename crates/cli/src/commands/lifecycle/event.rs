//! `event invoke`: takes one event from its envelope to its receipt.

mod compatible;
mod extended;
mod flags;
mod report;
mod stream;

pub(super) use stream::run as stream;

use std::path::Path;

use escrow_protocol::dispatch::{Dispatch, LedgerPresence, PrepareError, Rules};
use escrow_protocol::envelope::{CallbackRequest, DispatchEnvelope};
use escrow_protocol::manifest::Registry;
use escrow_protocol::receipt::{Ledger, LedgerError, ReceiptContext, check_linkage};
use escrow_protocol::version::WireVersion;

use super::arguments::Arguments;
use super::output::{LifecycleError, VerbOutput};
use super::system::{LedgerAccess, System};
use super::{help, input};
use flags::{InvokeFlags, Kind};

pub(super) fn run(mut arguments: Arguments, system: &mut dyn System) -> VerbOutput {
    match arguments.next_word().as_deref() {
        None => return LifecycleError::usage("event requires a subcommand: invoke").into(),
        Some("invoke") => {}
        Some(other) => {
            let message = format!("event: unknown subcommand `{other}` (expected: invoke)");
            return LifecycleError::usage(message).into();
        }
    }
    if arguments.contain_any(&["--help", "-h"]) {
        return VerbOutput::printed(help::EVENT_INVOKE);
    }
    match InvokeFlags::parse(arguments, Kind::Invoke) {
        Err(failure) => failure.into(),
        Ok(flags) => match flags.rules {
            Rules::Compatible => compatible::run(flags, system).into(),
            Rules::Extended => extended::run(&flags, system),
        },
    }
}

/// An accepted envelope, before anything is routed. Both sets of rules start from it.
struct Accepted {
    envelope: DispatchEnvelope,
    version: WireVersion,
    /// The context of the receipt. Extended rules replace the client's name.
    context: ReceiptContext,
    ledger: Option<Box<dyn Ledger>>,
}

/// Reads the envelope, validates it and opens the ledger, in the order in which problems are reported.
fn accept(flags: &InvokeFlags, system: &mut dyn System) -> Result<Accepted, LifecycleError> {
    let envelope = input::document(system, "DispatchEnvelope", DispatchEnvelope::read)?;
    let (version, context) = check(flags, &envelope, system)?;
    let ledger = match &flags.ledger {
        Some(path) => Some(open_ledger(system, path)?),
        None => None,
    };
    Ok(Accepted { envelope, version, context, ledger })
}

fn check(
    flags: &InvokeFlags,
    envelope: &DispatchEnvelope,
    system: &mut dyn System,
) -> Result<(WireVersion, ReceiptContext), LifecycleError> {
    let version = envelope
        .validate()
        .map_err(|error| LifecycleError::refused(format!("DispatchEnvelope failed validation: {error}")))?;
    let context = context(flags, &envelope.request, system);
    check_linkage(
        context.parent_receipt_id.as_deref(),
        &context.receipt_id,
        envelope.request.frame_context.as_ref(),
    )
    .map_err(|error| LifecycleError::refused(format!("invalid frame->receipt linkage: {error}")))?;
    Ok((version, context))
}

fn context(flags: &InvokeFlags, request: &CallbackRequest, system: &mut dyn System) -> ReceiptContext {
    ReceiptContext {
        client_id: flags.client_id.clone(),
        receipt_id: flags.receipt_id.clone().unwrap_or_else(|| system.fresh_receipt_id()),
        parent_receipt_id: flags.parent_receipt_id.clone(),
        at_epoch_s: flags.at_epoch_s.unwrap_or_else(|| system.now_epoch_s()),
        harness_session_id: request.harness_session_id.clone(),
        harness_run_id: request.harness_run_id.clone(),
        harness_task_id: request.harness_task_id.clone(),
    }
}

fn prepare(
    envelope: DispatchEnvelope,
    version: WireVersion,
    registry: &Registry,
    rules: Rules,
    ledger: Option<&dyn Ledger>,
) -> Result<Dispatch, PrepareError> {
    let presence = if ledger.is_some() { LedgerPresence::Present } else { LedgerPresence::Forgotten };
    Dispatch::prepare(envelope, version, registry, rules, presence)
}

fn open_ledger(system: &mut dyn System, path: &Path) -> Result<Box<dyn Ledger>, LifecycleError> {
    system
        .open_ledger(path, LedgerAccess::Write)
        .map_err(|error| LifecycleError::unreadable(format!("cannot open receipt ledger: {error}")))
}

/// The message for a ledger error. Release 0.9.0 looks receipts with a key up while it emits them, so they fail in
/// emission; the others fail in recording.
pub(super) fn ledger_failure(error: &LedgerError, has_key: bool) -> LifecycleError {
    match error {
        LedgerError::Conflict(_) => LifecycleError::refused(format!("receipt emission failed: {error}")),
        LedgerError::DuplicateReceiptId(_) | LedgerError::Storage(_) if has_key => {
            LifecycleError::unreadable(format!("receipt emission failed: {error}"))
        }
        LedgerError::DuplicateReceiptId(_) | LedgerError::Storage(_) => {
            LifecycleError::unreadable(format!("recording receipt failed: {error}"))
        }
    }
}
