//! `event invoke`: one event, from its envelope to its receipt.

mod compatible;
mod extended;
mod flags;
mod report;
mod stream;

use std::path::Path;

use super::answer::{Answer, Failure};
use super::arguments::Arguments;
use super::world::{LedgerAccess, World};
use super::{help, input};
use crate::dispatch::{Dispatch, LedgerPresence, PrepareError, Rules};
use crate::envelope::{CallbackRequest, DispatchEnvelope};
use crate::manifest::Registry;
use crate::receipt::{Ledger, LedgerError, ReceiptContext, check_linkage};
use crate::version::WireVersion;

pub(super) use stream::run as stream;

use flags::InvokeFlags;

pub(super) fn run(mut arguments: Arguments, world: &mut dyn World) -> Answer {
    match arguments.next_word().as_deref() {
        None => return Failure::usage("event requires a subcommand: invoke").into(),
        Some("invoke") => {}
        Some(other) => {
            let message = format!("event: unknown subcommand `{other}` (expected: invoke)");
            return Failure::usage(message).into();
        }
    }
    if arguments.contain_any(&["--help", "-h"]) {
        return Answer::printed(help::EVENT_INVOKE);
    }
    match InvokeFlags::parse(arguments) {
        Err(failure) => failure.into(),
        Ok(flags) => match flags.rules {
            Rules::Compatible => compatible::run(flags, world).into(),
            Rules::Extended => extended::run(&flags, world),
        },
    }
}

/// What both ways of invoking have in hand before anything is routed.
struct Accepted {
    envelope: DispatchEnvelope,
    version: WireVersion,
    /// Of the receipt, without the client's name.
    context: ReceiptContext,
    ledger: Option<Box<dyn Ledger>>,
}

/// Reads, validates and opens, in the order in which problems are reported.
fn accept(flags: &InvokeFlags, world: &mut dyn World) -> Result<Accepted, Failure> {
    let envelope = input::document(world, "DispatchEnvelope", DispatchEnvelope::read)?;
    let (version, context) = check(flags, &envelope, world)?;
    let ledger = match &flags.ledger {
        Some(path) => Some(open_ledger(world, path)?),
        None => None,
    };
    Ok(Accepted { envelope, version, context, ledger })
}

fn check(
    flags: &InvokeFlags,
    envelope: &DispatchEnvelope,
    world: &mut dyn World,
) -> Result<(WireVersion, ReceiptContext), Failure> {
    let version = envelope
        .validate()
        .map_err(|error| Failure::refused(format!("DispatchEnvelope failed validation: {error}")))?;
    let context = context(flags, &envelope.request, world);
    check_linkage(
        context.parent_receipt_id.as_deref(),
        &context.receipt_id,
        envelope.request.frame_context.as_ref(),
    )
    .map_err(|error| Failure::refused(format!("invalid frame->receipt linkage: {error}")))?;
    Ok((version, context))
}

fn context(flags: &InvokeFlags, request: &CallbackRequest, world: &mut dyn World) -> ReceiptContext {
    ReceiptContext {
        client_id: flags.client_id.clone(),
        receipt_id: flags.receipt_id.clone().unwrap_or_else(|| world.fresh_receipt_id()),
        parent_receipt_id: flags.parent_receipt_id.clone(),
        at_epoch_s: flags.at_epoch_s.unwrap_or_else(|| world.now_epoch_s()),
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
    let presence = if ledger.is_some() { LedgerPresence::Kept } else { LedgerPresence::Forgotten };
    Dispatch::prepare(envelope, version, registry, rules, presence)
}

fn open_ledger(world: &mut dyn World, path: &Path) -> Result<Box<dyn Ledger>, Failure> {
    world
        .open_ledger(path, LedgerAccess::Write)
        .map_err(|error| Failure::unreadable(format!("cannot open receipt ledger: {error}")))
}

/// How a refusal of the ledger is reported. A receipt with a key is refused while it is being written, one
/// without a key only when it is kept.
pub(super) fn ledger_failure(error: &LedgerError, has_key: bool) -> Failure {
    match error {
        LedgerError::Conflict(_) => Failure::refused(format!("receipt emission failed: {error}")),
        LedgerError::DuplicateReceiptId(_) | LedgerError::Storage(_) if has_key => {
            Failure::unreadable(format!("receipt emission failed: {error}"))
        }
        LedgerError::DuplicateReceiptId(_) | LedgerError::Storage(_) => {
            Failure::unreadable(format!("recording receipt failed: {error}"))
        }
    }
}
