//! `event invoke` by the rules of release 0.9.0: one client, and no receipt when the client does not answer.

use escrow_protocol::callback::{CallbackEnd, CallbackFailure, CallbackResult, interpret};
use escrow_protocol::dispatch::{Client, Dispatch};
use escrow_protocol::envelope::CallbackResponse;
use escrow_protocol::manifest::Registry;
use escrow_protocol::vocabulary::{LifecycleEventKind, ReceiptStatus};

use super::super::output::{LifecycleError, pretty};
use super::super::system::System;
use super::flags::{InvokeFlags, ResponseSource};
use super::{accept, ledger_failure, prepare};

pub(super) fn run(flags: InvokeFlags, system: &mut dyn System) -> Result<String, LifecycleError> {
    let accepted = accept(&flags, system)?;
    let (version, mut ledger) = (accepted.version, accepted.ledger);
    let dispatch =
        prepare(accepted.envelope, version, Registry::builtin(version), flags.rules, ledger.as_deref())
            .map_err(|error| LifecycleError::refused(format!("router rejected request: {error}")))?;

    let response = if dispatch.is_blocked() {
        None
    } else {
        Some(match flags.source {
            ResponseSource::Delivered => CallbackResponse::ok(version, ReceiptStatus::Delivered),
            ResponseSource::Failed(failure, retry) => CallbackResponse::failed(version, failure, retry),
            ResponseSource::Clients(clients) => call(&dispatch, &clients, flags.timeout_ms, system)
                .map_err(|error| LifecycleError::refused(format!("subprocess callback failed: {error}")))?,
        })
    };
    let receipt = dispatch
        .receipt(response.as_ref(), &accepted.context)
        .map_err(|error| LifecycleError::refused(format!("receipt emission failed: {error}")))?;
    let has_key = receipt.idempotency_key.is_some();
    let recorded = match &mut ledger {
        None => receipt,
        Some(ledger) => {
            ledger.record(receipt).map_err(|error| ledger_failure(&error, has_key))?.into_receipt()
        }
    };
    pretty(&recorded)
}

/// Runs the client. Compatible flags name exactly one.
fn call(dispatch: &Dispatch, clients: &[Client], timeout_ms: u64, system: &mut dyn System) -> CallbackResult {
    if dispatch.envelope.request.event == LifecycleEventKind::ReceiptEmitted {
        return Err(CallbackFailure::Notification);
    }
    let mut callbacks = Vec::new();
    for client in clients {
        let callback = dispatch.callback(client, timeout_ms);
        callbacks.push(callback.map_err(|error| CallbackFailure::Unwritable(error.to_string()))?);
    }
    let not_run = || CallbackEnd::NotStarted("nothing was run".to_owned());
    interpret(system.run_callbacks(&callbacks).pop().unwrap_or_else(not_run), dispatch.version)
}
