//! `event invoke --extended`: several clients, keys claimed first, and a receipt whatever happens.
//!
//! **Invariant:** once an envelope is accepted, every client has exactly one receipt in the answer. The exit
//! code and the sentence on standard error are those of compatible rules.

use super::super::answer::{Answer, ExitCode, Failure, pretty};
use super::super::world::World;
use super::flags::{InvokeFlags, Verdict};
use super::{Accepted, accept, ledger_failure, prepare};
use crate::callback::{Callback, CallbackEnd, CallbackFailure, interpret};
use crate::dispatch::{Client, Dispatch, Gate, GateError, enter, failure_response, receipt_id_for};
use crate::envelope::{CallbackResponse, LifecycleReceipt};
use crate::manifest::Registry;
use crate::negotiation::negotiate;
use crate::receipt::{IdempotencyScope, Ledger, LedgerError, ReceiptContext, synthesize};
use crate::vocabulary::{FailureClass, LifecycleEventKind, ReceiptStatus};

/// How much longer than its deadline a key stays claimed, for the receipt to be written.
const LEASE_MARGIN_S: u64 = 30;

pub(super) fn run(flags: &InvokeFlags, world: &mut dyn World) -> Answer {
    let accepted = match accept(flags, world) {
        Ok(accepted) => accepted,
        Err(failure) => return failure.into(),
    };
    let mut report = Report::default();
    let result = invoke(flags, accepted, world, &mut report);
    match result.and_then(|()| report.printed()) {
        Ok(stdout) => Answer { stdout, stderr: report.stderr, exit_code: report.exit_code },
        Err(failure) => failure.into(),
    }
}

/// What the clients came to so far.
struct Report {
    receipts: Vec<LifecycleReceipt>,
    stderr: String,
    exit_code: ExitCode,
}

impl Default for Report {
    fn default() -> Self {
        Self { receipts: Vec::new(), stderr: String::new(), exit_code: ExitCode::Done }
    }
}

impl Report {
    fn complain(&mut self, failure: &Failure) {
        self.stderr += &failure.message;
        self.stderr.push('\n');
        if self.exit_code.as_u8() < failure.exit_code.as_u8() {
            self.exit_code = failure.exit_code;
        }
    }

    fn printed(&self) -> Result<String, Failure> {
        match self.receipts.as_slice() {
            [only] => pretty(only),
            several => pretty(several),
        }
    }
}

/// A client that may be called, and the key it holds meanwhile.
struct Admitted {
    context: ReceiptContext,
    scope: Option<IdempotencyScope>,
    callback: Option<Callback>,
}

fn invoke(
    flags: &InvokeFlags,
    accepted: Accepted,
    world: &mut dyn World,
    report: &mut Report,
) -> Result<(), Failure> {
    let Accepted { envelope, version, context, mut ledger } = accepted;
    if envelope.request.event == LifecycleEventKind::ReceiptEmitted {
        return Err(Failure::refused(format!(
            "subprocess callback failed: {}",
            CallbackFailure::Notification
        )));
    }
    let contexts = contexts(flags, &context, world);
    let registry = Registry::builtin(version).clone().extended_with(world.further_adapters(version));
    let request = envelope.request.clone();
    let dispatch = match prepare(envelope, version, &registry, flags.rules, ledger.as_deref()) {
        Ok(dispatch) => dispatch,
        Err(error) => {
            report.complain(&Failure::refused(format!("router rejected request: {error}")));
            let response = failure_response(version, error.failure_class(), "not_routed", &error.to_string());
            for context in &contexts {
                // Nobody is there to negotiate with, so nothing was asked for and nothing was found.
                let nothing = registry.entries().first().map(|any| negotiate(&any.manifest, &[], &[]));
                let Some(nothing) = nothing else { continue };
                let receipt = synthesize(&request, &nothing, Some(&response), context).map_err(unwritten)?;
                keep_attempt(receipt, ledger.as_deref_mut(), report);
            }
            return Ok(());
        }
    };
    let clients: &[Client] = match &flags.verdict {
        Verdict::Clients(clients) => clients,
        Verdict::Delivered | Verdict::Failed(..) => &[],
    };
    let mut admitted = Vec::new();
    for (position, context) in contexts.into_iter().enumerate() {
        let callback = match clients.get(position) {
            Some(client) if !dispatch.is_blocked() => Some(
                dispatch
                    .callback(client, flags.timeout_ms)
                    .map_err(|error| Failure::unreadable(format!("cannot write the request: {error}")))?,
            ),
            Some(_) | None => None,
        };
        if let Some(scope) = admit(&dispatch, &context, flags.timeout_ms, ledger.as_deref_mut(), report)? {
            admitted.push(Admitted { context, scope, callback });
        }
    }
    let callbacks: Vec<Callback> = admitted.iter().filter_map(|client| client.callback.clone()).collect();
    let ends = if callbacks.is_empty() { Vec::new() } else { world.run_callbacks(&callbacks) };
    let mut ends = ends.into_iter();
    for client in admitted {
        let outcome = answer(&dispatch, flags, client.callback.is_some(), &mut ends);
        settle(&dispatch, &client, outcome, ledger.as_deref_mut(), report)?;
    }
    Ok(())
}

/// One context per client: its name, and an id of its own.
fn contexts(flags: &InvokeFlags, context: &ReceiptContext, world: &mut dyn World) -> Vec<ReceiptContext> {
    let Verdict::Clients(clients) = &flags.verdict else {
        return vec![context.clone()];
    };
    let mut contexts = Vec::new();
    for (position, client) in clients.iter().enumerate() {
        let receipt_id = match &flags.receipt_id {
            Some(chosen) => receipt_id_for(chosen, position, clients.len()),
            None if position == 0 => context.receipt_id.clone(),
            None => world.fresh_receipt_id(),
        };
        contexts.push(ReceiptContext { client_id: client.client_id.clone(), receipt_id, ..context.clone() });
    }
    contexts
}

/// The key the client holds while it runs, or nothing if it must not run; the report then has its receipt.
#[expect(clippy::option_option, reason = "outer: may it run; inner: does it hold a key")]
fn admit(
    dispatch: &Dispatch,
    context: &ReceiptContext,
    timeout_ms: u64,
    ledger: Option<&mut (dyn Ledger + 'static)>,
    report: &mut Report,
) -> Result<Option<Option<IdempotencyScope>>, Failure> {
    let Some(ledger) = ledger else {
        return Ok(Some(None));
    };
    let lease_s = timeout_ms.div_ceil(1_000).saturating_add(LEASE_MARGIN_S);
    match enter(ledger, &dispatch.envelope.request, context, lease_s) {
        Ok(Gate::Open(scope)) => Ok(Some(scope)),
        Ok(Gate::Answered(receipt)) => {
            report.receipts.push(*receipt);
            Ok(None)
        }
        Err(GateError::Ledger(error @ (LedgerError::Storage(_) | LedgerError::DuplicateReceiptId(_)))) => {
            Err(ledger_failure(&error, true))
        }
        Err(error) => {
            let message = format!("receipt emission failed: {error}");
            report.complain(&Failure::refused(message));
            let failure = FailureClass::StateConflict;
            let response = failure_response(dispatch.version, failure, "key_not_free", &error.to_string());
            report.receipts.push(dispatch.receipt(Some(&response), context).map_err(unwritten)?);
            Ok(None)
        }
    }
}

/// What the client said, or why it said nothing. A blocked dispatch has neither.
fn answer(
    dispatch: &Dispatch,
    flags: &InvokeFlags,
    was_called: bool,
    ends: &mut impl Iterator<Item = CallbackEnd>,
) -> Result<Option<CallbackResponse>, CallbackFailure> {
    let version = dispatch.version;
    if dispatch.is_blocked() {
        return Ok(None);
    }
    match flags.verdict {
        Verdict::Delivered => Ok(Some(CallbackResponse::ok(version, ReceiptStatus::Delivered))),
        Verdict::Failed(failure, retry) => Ok(Some(CallbackResponse::failed(version, failure, retry))),
        Verdict::Clients(_) => {
            let nothing = || CallbackEnd::NotStarted("nothing was run".to_owned());
            let end = if was_called { ends.next() } else { None };
            interpret(end.unwrap_or_else(nothing), version).map(Some)
        }
    }
}

/// Writes the client's receipt and keeps it. A failure that may be tried again gives its key back.
fn settle(
    dispatch: &Dispatch,
    client: &Admitted,
    outcome: Result<Option<CallbackResponse>, CallbackFailure>,
    mut ledger: Option<&mut (dyn Ledger + 'static)>,
    report: &mut Report,
) -> Result<(), Failure> {
    match outcome {
        Ok(response) => {
            let receipt = dispatch.receipt(response.as_ref(), &client.context).map_err(unwritten)?;
            let has_key = receipt.idempotency_key.is_some();
            let kept = match &mut ledger {
                None => Ok(receipt),
                Some(ledger) => ledger.record(receipt).map(crate::receipt::Recorded::into_receipt),
            };
            match kept {
                Ok(receipt) => report.receipts.push(receipt),
                Err(error) => report.complain(&ledger_failure(&error, has_key)),
            }
        }
        Err(failure) => {
            report.complain(&Failure::refused(format!("subprocess callback failed: {failure}")));
            let (class, code) = (failure.failure_class(), failure.code());
            let response = failure_response(dispatch.version, class, code, &failure.to_string());
            let receipt = dispatch.receipt(Some(&response), &client.context).map_err(unwritten)?;
            keep_attempt(receipt, ledger.as_deref_mut(), report);
            if let (Some(scope), Some(ledger)) = (&client.scope, ledger)
                && let Err(error) = ledger.release(scope)
            {
                report.complain(&ledger_failure(&error, true));
            }
        }
    }
    Ok(())
}

fn keep_attempt(receipt: LifecycleReceipt, ledger: Option<&mut (dyn Ledger + 'static)>, report: &mut Report) {
    let kept = match ledger {
        None => Ok(receipt),
        Some(ledger) => ledger.record_attempt(receipt),
    };
    match kept {
        Ok(receipt) => report.receipts.push(receipt),
        Err(error) => report.complain(&ledger_failure(&error, false)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "is handed to map_err")]
fn unwritten(error: crate::receipt::EmissionError) -> Failure {
    Failure::refused(format!("receipt emission failed: {error}"))
}
