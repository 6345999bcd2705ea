//! `event invoke --extended`: several clients, keys claimed first, and a receipt whatever happens.
//!
//! ```text
//! accept ─▶ prepare ─▶ admit each client ─▶ run those admitted, together ─▶ settle each
//! ```
//!
//! **Invariant:** once an envelope is accepted, every client has exactly one receipt in the answer. The exit
//! code and the sentence on standard error are those of compatible rules.

use super::super::answer::{Answer, Failure};
use super::super::world::{Asked, ResidentAnswer, World};
use super::flags::{InvokeFlags, Verdict};
use super::report::Report;
use super::{Accepted, accept, ledger_failure, prepare};
use crate::callback::{Callback, CallbackFailure, interpret};
use crate::dispatch::{Dispatch, Gate, GateError, PrepareError, enter, failure_response, receipt_id_for};
use crate::envelope::{CallbackRequest, CallbackResponse, LifecycleReceipt};
use crate::manifest::Registry;
use crate::negotiation::Negotiation;
use crate::receipt::{
    EmissionError, IdempotencyScope, LedgerError, ReceiptContext, Recorded, may_be_tried_again, synthesize,
};
use crate::version::WireVersion;
use crate::vocabulary::{FailureClass, LifecycleEventKind, ReceiptStatus};

/// How much longer than its deadline a key stays claimed, for the receipt to be written.
const LEASE_MARGIN_S: u64 = 30;

pub(super) fn run(flags: &InvokeFlags, world: &mut dyn World) -> Answer {
    let reported = accept(flags, world).and_then(|accepted| {
        let mut invocation = Invocation::of(flags, Reach::Started, accepted);
        invocation.run(world)?;
        Ok(invocation.report)
    });
    match reported {
        Ok(report) => report.into_answer(),
        Err(failure) => failure.into(),
    }
}

/// How clients are reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Each is started for the event.
    Started,
    /// Each was started before, and stays.
    Resident,
}

pub(super) struct Invocation<'flags> {
    flags: &'flags InvokeFlags,
    reach: Reach,
    pub(super) accepted: Accepted,
    pub(super) report: Report,
}

/// A client that may be called, and the key it holds meanwhile.
struct Admitted {
    position: usize,
    context: ReceiptContext,
    scope: Option<IdempotencyScope>,
}

impl<'flags> Invocation<'flags> {
    pub(super) const fn of(flags: &'flags InvokeFlags, reach: Reach, accepted: Accepted) -> Self {
        Self { flags, reach, accepted, report: Report::new() }
    }

    pub(super) fn run(&mut self, world: &mut dyn World) -> Result<(), Failure> {
        let version = self.accepted.version;
        let envelope = self.accepted.envelope.clone();
        if envelope.request.event == LifecycleEventKind::ReceiptEmitted {
            let message = format!("subprocess callback failed: {}", CallbackFailure::Notification);
            return Err(Failure::refused(message));
        }
        let contexts = self.contexts(world);
        let registry = Registry::builtin(version).clone().extended_with(world.further_adapters(version));
        let request = envelope.request.clone();
        let ledger = self.accepted.ledger.as_deref();
        let dispatch = match prepare(envelope, version, &registry, self.flags.rules, ledger) {
            Ok(dispatch) => dispatch,
            Err(error) => {
                return self.not_routed(&request, version, &contexts, &error);
            }
        };
        let mut admitted = Vec::new();
        for (position, context) in contexts.into_iter().enumerate() {
            admitted.extend(self.admit(&dispatch, position, context)?);
        }
        let mut answers = self.call(&dispatch, &admitted, world)?.into_iter();
        for client in admitted {
            let outcome = self.outcome(&dispatch, &mut answers);
            self.settle(&dispatch, &client, outcome)?;
        }
        Ok(())
    }

    /// Calls those who were admitted, together. Nobody is called when the dispatch is blocked.
    fn call(
        &self,
        dispatch: &Dispatch,
        admitted: &[Admitted],
        world: &mut dyn World,
    ) -> Result<Vec<ResidentAnswer>, Failure> {
        let Verdict::Clients(clients) = &self.flags.verdict else { return Ok(Vec::new()) };
        if dispatch.is_blocked() || admitted.is_empty() {
            return Ok(Vec::new());
        }
        let positions: Vec<usize> = admitted.iter().map(|client| client.position).collect();
        let (version, deadline_ms) = (dispatch.version, self.flags.timeout_ms);
        if self.reach == Reach::Resident {
            let envelope = &dispatch.envelope;
            return Ok(world.ask_residents(&Asked { envelope, version, positions: &positions, deadline_ms }));
        }
        let called = positions.into_iter().filter_map(|position| clients.get(position));
        let callbacks: Result<Vec<Callback>, _> =
            called.map(|client| dispatch.callback(client, deadline_ms)).collect();
        let callbacks =
            callbacks.map_err(|error| Failure::unreadable(format!("cannot write the request: {error}")))?;
        let ends = world.run_callbacks(&callbacks);
        Ok(ends.into_iter().map(|end| interpret(end, version)).collect())
    }

    /// One context per client: its name, and an id of its own.
    fn contexts(&self, world: &mut dyn World) -> Vec<ReceiptContext> {
        let shared = &self.accepted.context;
        let Verdict::Clients(clients) = &self.flags.verdict else {
            return vec![shared.clone()];
        };
        let mut contexts = Vec::new();
        for (position, client) in clients.iter().enumerate() {
            let receipt_id = match &self.flags.receipt_id {
                Some(chosen) => receipt_id_for(chosen, position, clients.len()),
                None if position == 0 => shared.receipt_id.clone(),
                None => world.fresh_receipt_id(),
            };
            let client_id = client.client_id.clone();
            contexts.push(ReceiptContext { client_id, receipt_id, ..shared.clone() });
        }
        contexts
    }

    /// Nobody is there to negotiate with: every client's receipt says so.
    fn not_routed(
        &mut self,
        request: &CallbackRequest,
        version: WireVersion,
        contexts: &[ReceiptContext],
        error: &PrepareError,
    ) -> Result<(), Failure> {
        self.report.complain(&Failure::refused(format!("router rejected request: {error}")));
        let response = failure_response(version, error.failure_class(), "not_routed", &error.to_string());
        for (position, context) in contexts.iter().enumerate() {
            let receipt =
                synthesize(request, &Negotiation::nothing(), Some(&response), context).map_err(unwritten)?;
            self.keep_attempt(position, receipt);
        }
        Ok(())
    }

    /// Lets a client through with its key, or reports the receipt that it gets instead of a call.
    fn admit(
        &mut self,
        dispatch: &Dispatch,
        position: usize,
        context: ReceiptContext,
    ) -> Result<Option<Admitted>, Failure> {
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
                self.report.complain(&Failure::refused(format!("receipt emission failed: {error}")));
                let class = FailureClass::StateConflict;
                let response = failure_response(dispatch.version, class, "key_not_free", &error.to_string());
                let receipt = dispatch.receipt(Some(&response), &context).map_err(unwritten)?;
                self.report.receipt(position, receipt);
                Ok(None)
            }
        }
    }

    /// What the client said, or why it said nothing. A blocked dispatch has neither.
    fn outcome(
        &self,
        dispatch: &Dispatch,
        answers: &mut impl Iterator<Item = ResidentAnswer>,
    ) -> Result<Option<CallbackResponse>, CallbackFailure> {
        let version = dispatch.version;
        if dispatch.is_blocked() {
            return Ok(None);
        }
        match self.flags.verdict {
            Verdict::Delivered => Ok(Some(CallbackResponse::ok(version, ReceiptStatus::Delivered))),
            Verdict::Failed(failure, retry) => Ok(Some(CallbackResponse::failed(version, failure, retry))),
            Verdict::Clients(_) => {
                let nothing = || Err(CallbackFailure::NotStarted("nothing was run".to_owned()));
                answers.next().unwrap_or_else(nothing).map(Some)
            }
        }
    }

    /// Writes the client's receipt and keeps it. A failure that may be tried again gives its key back.
    fn settle(
        &mut self,
        dispatch: &Dispatch,
        client: &Admitted,
        outcome: Result<Option<CallbackResponse>, CallbackFailure>,
    ) -> Result<(), Failure> {
        let response = outcome.unwrap_or_else(|failure| {
            self.report.complain(&Failure::refused(format!("subprocess callback failed: {failure}")));
            let (class, code) = (failure.failure_class(), failure.code());
            Some(failure_response(dispatch.version, class, code, &failure.to_string()))
        });
        let receipt = dispatch.receipt(response.as_ref(), &client.context).map_err(unwritten)?;
        if !may_be_tried_again(&receipt) {
            self.keep(client.position, receipt);
            return Ok(());
        }
        self.keep_attempt(client.position, receipt);
        if let (Some(scope), Some(ledger)) = (&client.scope, self.accepted.ledger.as_deref_mut())
            && let Err(error) = ledger.release(scope)
        {
            self.report.complain(&ledger_failure(&error, true));
        }
        Ok(())
    }

    fn keep(&mut self, position: usize, receipt: LifecycleReceipt) {
        let has_key = receipt.idempotency_key.is_some();
        let kept = match self.accepted.ledger.as_deref_mut() {
            None => Ok(receipt),
            Some(ledger) => ledger.record(receipt).map(Recorded::into_receipt),
        };
        match kept {
            Ok(receipt) => self.report.receipt(position, receipt),
            Err(error) => self.report.complain(&ledger_failure(&error, has_key)),
        }
    }

    fn keep_attempt(&mut self, position: usize, receipt: LifecycleReceipt) {
        let kept = match self.accepted.ledger.as_deref_mut() {
            None => Ok(receipt),
            Some(ledger) => ledger.record_attempt(receipt),
        };
        match kept {
            Ok(receipt) => self.report.receipt(position, receipt),
            Err(error) => self.report.complain(&ledger_failure(&error, false)),
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "is handed to map_err")]
fn unwritten(error: EmissionError) -> Failure {
    Failure::refused(format!("receipt emission failed: {error}"))
}
