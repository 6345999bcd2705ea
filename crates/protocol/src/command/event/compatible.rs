//! `event invoke` as it has always been: one client, and no receipt when the client fails to answer.

use super::super::answer::{Failure, pretty};
use super::super::world::World;
use super::flags::{InvokeFlags, Verdict};
use super::{accept, ledger_failure, prepare};
use crate::callback::{CallbackEnd, CallbackFailure, interpret};
use crate::dispatch::{Client, Dispatch};
use crate::envelope::CallbackResponse;
use crate::manifest::Registry;
use crate::vocabulary::{LifecycleEventKind, ReceiptStatus};

pub(super) fn run(flags: InvokeFlags, world: &mut dyn World) -> Result<String, Failure> {
    let accepted = accept(&flags, world)?;
    let (version, mut ledger) = (accepted.version, accepted.ledger);
    let dispatch =
        prepare(accepted.envelope, version, Registry::builtin(version), flags.rules, ledger.as_deref())
            .map_err(|error| Failure::refused(format!("router rejected request: {error}")))?;

    let response = if dispatch.is_blocked() {
        None
    } else {
        Some(match flags.verdict {
            Verdict::Delivered => CallbackResponse::ok(version, ReceiptStatus::Delivered),
            Verdict::Failed(failure, retry) => CallbackResponse::failed(version, failure, retry),
            Verdict::Clients(clients) => call(&dispatch, &clients, flags.timeout_ms, world)
                .map_err(|error| Failure::refused(format!("subprocess callback failed: {error}")))?,
        })
    };
    let receipt = dispatch
        .receipt(response.as_ref(), &accepted.context)
        .map_err(|error| Failure::refused(format!("receipt emission failed: {error}")))?;
    let has_key = receipt.idempotency_key.is_some();
    let kept = match &mut ledger {
        None => receipt,
        Some(ledger) => {
            ledger.record(receipt).map_err(|error| ledger_failure(&error, has_key))?.into_receipt()
        }
    };
    pretty(&kept)
}

/// Runs the one client that compatible flags can name.
fn call(
    dispatch: &Dispatch,
    clients: &[Client],
    timeout_ms: u64,
    world: &mut dyn World,
) -> Result<CallbackResponse, CallbackFailure> {
    if dispatch.envelope.request.event == LifecycleEventKind::ReceiptEmitted {
        return Err(CallbackFailure::Notification);
    }
    let mut callbacks = Vec::new();
    for client in clients {
        let callback = dispatch.callback(client, timeout_ms);
        callbacks.push(callback.map_err(|error| CallbackFailure::Unwritable(error.to_string()))?);
    }
    let nothing = || CallbackEnd::NotStarted("nothing was run".to_owned());
    interpret(world.run_callbacks(&callbacks).pop().unwrap_or_else(nothing), dispatch.version)
}
