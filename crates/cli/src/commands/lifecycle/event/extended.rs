//! `event invoke --extended`: several clients, keys claimed first, and a receipt for failures too.
//!
//! ```text
//! accept ─▶ prepare ─▶ admit each client ─▶ call the admitted ones together ─▶ settle each
//! ```
//!
//! **Invariant:** once an envelope is accepted, every client has exactly one receipt in the output. Exit code and
//! messages are those of the compatible rules.

use escrow_protocol::callback::{Callback, CallbackFailure, CallbackResult, interpret};
use escrow_protocol::dispatch::{
    Dispatch, Gate, GateError, PrepareError, enter, failure_response, receipt_id_for,
};
use escrow_protocol::envelope::{CallbackRequest, CallbackResponse, LifecycleReceipt};
use escrow_protocol::manifest::Registry;
use escrow_protocol::negotiation::Negotiation;
use escrow_protocol::receipt::{
    EmissionError, IdempotencyScope, LedgerError, ReceiptContext, Recorded, may_be_tried_again, synthesize,
};
use escrow_protocol::version::WireVersion;
use escrow_protocol::vocabulary::{FailureClass, LifecycleEventKind, ReceiptStatus};

use super::super::output::{LifecycleError, VerbOutput};
use super::super::system::{ResidentQuestion, System};
use super::flags::{InvokeFlags, ResponseSource};
use super::report::Report;
use super::{Accepted, accept, ledger_failure, prepare};

/// How long a key stays claimed past the deadline, so that the receipt can still be written.
const LEASE_MARGIN_S: u64 = 30;

pub(super) fn run(flags: &InvokeFlags, system: &mut dyn System) -> VerbOutput {
    let reported = accept(flags, system).and_then(|accepted| {
        let mut invocation = Invocation::of(flags, ClientLifetime::OneEvent, accepted);
        invocation.run(system)?;
        Ok(invocation.report)
    });
    match reported {
        Ok(report) => report.into_output(),
        Err(failure) => failure.into(),
    }
}

/// How long a client process lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientLifetime {
    /// Started for each event.
    OneEvent,
    /// Started once and kept for many events.
    Resident,
}

pub(super) struct Invocation<'flags> {
    flags: &'flags InvokeFlags,
    lifetime: ClientLifetime,
    pub(super) accepted: Accepted,
    pub(super) report: Report,
}

/// A client that may be called, with the key claimed for it.
struct Admitted {
    position: usize,
    context: ReceiptContext,
    scope: Option<IdempotencyScope>,
}

impl<'flags> Invocation<'flags> {
    pub(super) const fn of(flags: &'flags InvokeFlags, lifetime: ClientLifetime, accepted: Accepted) -> Self {
        Self { flags, lifetime, accepted, report: Report::new() }
    }

    pub(super) fn run(&mut self, system: &mut dyn System) -> Result<(), LifecycleError> {
        let version = self.accepted.version;
        let envelope = self.accepted.envelope.clone();
        if envelope.request.event == LifecycleEventKind::ReceiptEmitted {
            let message = format!("subprocess callback failed: {}", CallbackFailure::Notification);
            return Err(LifecycleError::refused(message));
        }
        let contexts = self.contexts(system);
        let registry = Registry::builtin(version).clone().extended_with(system.further_adapters(version));
        let request = envelope.request.clone();
        let ledger = self.accepted.ledger.as_deref();
        let dispatch = match prepare(envelope, version, &registry, self.flags.rules, ledger) {
            Ok(mut dispatch) => {
                dispatch.leave_out_expired(self.accepted.context.at_epoch_s);
                dispatch
            }
            Err(error) => {
                return self.not_routed(&request, version, &contexts, &error);
            }
        };
        let mut admitted = Vec::new();
        for (position, context) in contexts.into_iter().enumerate() {
            admitted.extend(self.admit(&dispatch, position, context)?);
        }
        let mut answers = self.call(&dispatch, &admitted, system)?.into_iter();
        for client in admitted {
            let outcome = self.outcome(&dispatch, &mut answers);
            self.settle(&dispatch, &client, outcome)?;
        }
        Ok(())
    }

    /// Calls the admitted clients together. A blocked dispatch calls none.
    fn call(
        &self,
        dispatch: &Dispatch,
        admitted: &[Admitted],
        system: &mut dyn System,
    ) -> Result<Vec<CallbackResult>, LifecycleError> {
        let ResponseSource::Clients(clients) = &self.flags.source else { return Ok(Vec::new()) };
        if dispatch.is_blocked() || admitted.is_empty() {
            return Ok(Vec::new());
        }
        let positions: Vec<usize> = admitted.iter().map(|client| client.position).collect();
        let (version, deadline_ms) = (dispatch.version, self.flags.timeout_ms);
        if self.lifetime == ClientLifetime::Resident {
            let envelope = &dispatch.envelope;
            return Ok(system.ask_residents(&ResidentQuestion {
                envelope,
                version,
                positions: &positions,
                deadline_ms,
            }));
        }
        let called = positions.into_iter().filter_map(|position| clients.get(position));
        let callbacks: Result<Vec<Callback>, _> =
            called.map(|client| dispatch.callback(client, deadline_ms)).collect();
        let callbacks = callbacks
            .map_err(|error| LifecycleError::unreadable(format!("cannot write the request: {error}")))?;
        let ends = system.run_callbacks(&callbacks);
        Ok(ends.into_iter().map(|end| interpret(end, version)).collect())
    }

    /// A receipt context per client: its name and a receipt id of its own.
    fn contexts(&self, system: &mut dyn System) -> Vec<ReceiptContext> {
        let shared = &self.accepted.context;
        let ResponseSource::Clients(clients) = &self.flags.source else {
            return vec![shared.clone()];
        };
        let mut contexts = Vec::new();
        for (position, client) in clients.iter().enumerate() {
            let receipt_id = match &self.flags.receipt_id {
                Some(chosen) => receipt_id_for(chosen, position, clients.len()),
                None if position == 0 => shared.receipt_id.clone(),
                None => system.fresh_receipt_id(),
            };
            let client_id = client.client_id.clone();
            contexts.push(ReceiptContext { client_id, receipt_id, ..shared.clone() });
        }
        contexts
    }

    /// Writes a failed receipt for every client, because no adapter takes the request.
    fn not_routed(
        &mut self,
        request: &CallbackRequest,
        version: WireVersion,
        contexts: &[ReceiptContext],
        error: &PrepareError,
    ) -> Result<(), LifecycleError> {
        self.report.problem(&LifecycleError::refused(format!("router rejected request: {error}")));
        let response = failure_response(version, error.failure_class(), "not_routed", &error.to_string());
        for (position, context) in contexts.iter().enumerate() {
            let receipt = synthesize(request, &Negotiation::nothing(), Some(&response), context)
                .map_err(not_emitted)?;
            self.record_attempt(position, receipt);
        }
        Ok(())
    }

    /// Claims the key of a client. If the key is not free, reports the receipt that stands for the call.
    fn admit(
        &mut self,
        dispatch: &Dispatch,
        position: usize,
        context: ReceiptContext,
    ) -> Result<Option<Admitted>, LifecycleError> {
        let Some(ledger) = self.accepted.ledger.as_deref_mut() else {
            return Ok(Some(Admitted { position, context, scope: None }));
        };
        let lease_s = self.flags.timeout_ms.div_ceil(1_000).saturating_add(LEASE_MARGIN_S);
        match enter(ledger, &dispatch.envelope.request, &context, lease_s) {
            Ok(Gate::Open(scope)) => Ok(Some(Admitted { position, context, scope })),
            Ok(Gate::Answered(receipt)) => {
                self.report.receipt(position, *receipt);
                Ok(None)
            }
            Err(GateError::Ledger(
                error @ (LedgerError::Storage(_) | LedgerError::DuplicateReceiptId(_)),
            )) => Err(ledger_failure(&error, true)),
            Err(error @ (GateError::Busy { .. } | GateError::Ledger(LedgerError::Conflict(_)))) => {
                self.report.problem(&LifecycleError::refused(format!("receipt emission failed: {error}")));
                let class = FailureClass::StateConflict;
                let response = failure_response(dispatch.version, class, "key_not_free", &error.to_string());
                let receipt = dispatch.receipt(Some(&response), &context).map_err(not_emitted)?;
                self.report.receipt(position, receipt);
                Ok(None)
            }
        }
    }

    /// The response of the next client, or why there is none. A blocked dispatch has neither.
    fn outcome(
        &self,
        dispatch: &Dispatch,
        answers: &mut impl Iterator<Item = CallbackResult>,
    ) -> Result<Option<CallbackResponse>, CallbackFailure> {
        let version = dispatch.version;
        if dispatch.is_blocked() {
            return Ok(None);
        }
        match self.flags.source {
            ResponseSource::Delivered => Ok(Some(CallbackResponse::ok(version, ReceiptStatus::Delivered))),
            ResponseSource::Failed(failure, retry) => {
                Ok(Some(CallbackResponse::failed(version, failure, retry)))
            }
            ResponseSource::Clients(_) => {
                let not_run = || Err(CallbackFailure::NotStarted("nothing was run".to_owned()));
                answers.next().unwrap_or_else(not_run).map(Some)
            }
        }
    }

    /// Records the client's receipt. A failure that may be retried releases its key.
    fn settle(
        &mut self,
        dispatch: &Dispatch,
        client: &Admitted,
        outcome: Result<Option<CallbackResponse>, CallbackFailure>,
    ) -> Result<(), LifecycleError> {
        let response = outcome.unwrap_or_else(|failure| {
            self.report.problem(&LifecycleError::refused(format!("subprocess callback failed: {failure}")));
            let (class, code) = (failure.failure_class(), failure.code());
            Some(failure_response(dispatch.version, class, code, &failure.to_string()))
        });
        let receipt = dispatch.receipt(response.as_ref(), &client.context).map_err(not_emitted)?;
        if !may_be_tried_again(&receipt) {
            self.record(client.position, receipt);
            return Ok(());
        }
        self.record_attempt(client.position, receipt);
        if let (Some(scope), Some(ledger)) = (&client.scope, self.accepted.ledger.as_deref_mut())
            && let Err(error) = ledger.release(scope)
        {
            self.report.problem(&ledger_failure(&error, true));
        }
        Ok(())
    }

    fn record(&mut self, position: usize, receipt: LifecycleReceipt) {
        let has_key = receipt.idempotency_key.is_some();
        let recorded = match self.accepted.ledger.as_deref_mut() {
            None => Ok(receipt),
            Some(ledger) => ledger.record(receipt).map(Recorded::into_receipt),
        };
        match recorded {
            Ok(receipt) => self.report.receipt(position, receipt),
            Err(error) => self.report.problem(&ledger_failure(&error, has_key)),
        }
    }

    fn record_attempt(&mut self, position: usize, receipt: LifecycleReceipt) {
        let recorded = match self.accepted.ledger.as_deref_mut() {
            None => Ok(receipt),
            Some(ledger) => ledger.record_attempt(receipt),
        };
        match recorded {
            Ok(receipt) => self.report.receipt(position, receipt),
            Err(error) => self.report.problem(&ledger_failure(&error, false)),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "passed to map_err")]
fn not_emitted(error: EmissionError) -> LifecycleError {
    LifecycleError::refused(format!("receipt emission failed: {error}"))
}
