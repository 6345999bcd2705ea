//! `receipt emit`: a receipt from a request and a response that somebody else exchanged.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use super::super::answer::{Failure, pretty};
use super::super::arguments::Arguments;
use super::super::event::ledger_failure;
use super::super::input;
use super::super::world::{LedgerAccess, World};
use crate::envelope::{CallbackRequest, CallbackResponse, v0_2};
use crate::manifest::Registry;
use crate::negotiation::negotiate;
use crate::receipt::{Ledger, MemoryLedger, ReceiptContext, synthesize};
use crate::routing::route;
use crate::version::WireVersion;

pub(super) fn run(mut arguments: Arguments, world: &mut dyn World) -> Result<String, Failure> {
    let mut path = None;
    while let Some(word) = arguments.next_word() {
        match word.as_str() {
            "--ledger" => path = Some(PathBuf::from(arguments.raw_value_of("--ledger")?)),
            other => return Err(Failure::usage(format!("receipt emit: unexpected argument `{other}`"))),
        }
    }
    let EmitInput { request, response, context } =
        input::document(world, "receipt emit envelope", EmitInput::read)?;
    let version = request
        .validate()
        .and_then(|()| WireVersion::chosen_by(&request.schema_version))
        .map_err(|error| Failure::refused(format!("CallbackRequest failed validation: {error}")))?;
    response
        .validate_as(version)
        .map_err(|error| Failure::refused(format!("CallbackResponse failed validation: {error}")))?;
    let entry = route(&request, Registry::builtin(version))
        .map_err(|error| Failure::refused(format!("router rejected request: {error}")))?;
    let mut ledger: Box<dyn Ledger> = match path {
        Some(path) => world
            .open_ledger(&path, LedgerAccess::Write)
            .map_err(|error| Failure::unreadable(format!("cannot open receipt ledger: {error}")))?,
        // A run that is only known to this one receipt numbers it first.
        None => Box::new(MemoryLedger::new()),
    };
    let negotiation = negotiate(&entry.manifest, &[], &[]);
    let receipt = synthesize(&request, &negotiation, Some(&response), &context.into())
        .map_err(|error| Failure::refused(format!("receipt emission failed: {error}")))?;
    let has_key = receipt.idempotency_key.is_some();
    let recorded = ledger.record(receipt).map_err(|error| ledger_failure(&error, has_key))?;
    pretty(&recorded.into_receipt())
}

/// What `emit` reads. Unlike the envelopes inside, it lets unknown keys pass.
#[derive(Deserialize)]
struct EmitInput<Response = CallbackResponse> {
    request: CallbackRequest,
    response: Response,
    context: WireReceiptContext,
}

impl EmitInput {
    fn read(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str::<Self>(text).or_else(|error| {
            let is_older = serde_json::from_str::<Value>(text).is_ok_and(|document| {
                document["response"]["schema_version"].as_str() == Some(WireVersion::V0_2.as_str())
            });
            if !is_older {
                return Err(error);
            }
            let older = serde_json::from_str::<EmitInput<v0_2::CallbackResponse>>(text)?;
            Ok(Self { request: older.request, response: older.response.into(), context: older.context })
        })
    }
}

#[derive(Deserialize)]
struct WireReceiptContext {
    client_id: String,
    receipt_id: String,
    parent_receipt_id: Option<String>,
    at_epoch_s: u64,
    harness_session_id: Option<String>,
    harness_run_id: Option<String>,
    harness_task_id: Option<String>,
}

impl From<WireReceiptContext> for ReceiptContext {
    fn from(context: WireReceiptContext) -> Self {
        Self {
            client_id: context.client_id,
            receipt_id: context.receipt_id,
            parent_receipt_id: context.parent_receipt_id,
            at_epoch_s: context.at_epoch_s,
            harness_session_id: context.harness_session_id,
            harness_run_id: context.harness_run_id,
            harness_task_id: context.harness_task_id,
        }
    }
}
