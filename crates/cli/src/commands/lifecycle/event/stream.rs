//! `stream --extended`: many events over resident clients, as JSON-RPC lines.
//!
//! ```text
//!   harness ──▶ {"id":7,"method":"event/frame.opening","params":{dispatch envelope}} ──▶ each client, as JSON-RPC
//!   harness ◀── {"id":7,"result":{receipt}}            ◀── admit, ask, settle         ◀──┘
//! ```
//!
//! **Invariant:** events are handled in order, one at a time, by the rules of `event invoke --extended`. Every line
//! with an `id` gets exactly one answer; a line without one gets none.

use std::collections::BTreeSet;
use std::io;
use std::time::Duration;

use escrow_protocol::envelope::{CallbackRequest, DispatchEnvelope};
use escrow_protocol::receipt::{Ledger, ReceiptQuery, gap_events};
use escrow_protocol::stream::{LINE_LIMIT_BYTES, notices, notification};
use escrow_protocol::vocabulary::LifecycleEventKind;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::arguments::Arguments;
use super::super::help;
use super::super::output::{LifecycleError, LifecycleExit, VerbOutput};
use super::super::system::{InputLine, System};
use super::extended::{ClientLifetime, Invocation};
use super::flags::{InvokeFlags, Kind, ResponseSource};
use super::report::Report;
use super::{Accepted, check, open_ledger};

pub(in super::super) fn run(arguments: Arguments, system: &mut dyn System) -> VerbOutput {
    if arguments.contain_any(&["--help", "-h"]) {
        return VerbOutput::printed(help::STREAM);
    }
    match converse(arguments, system) {
        Ok(()) => VerbOutput::printed(""),
        Err(failure) => failure.into(),
    }
}

fn converse(arguments: Arguments, system: &mut dyn System) -> Result<(), LifecycleError> {
    let flags = InvokeFlags::parse(arguments, Kind::Stream).map_err(|failure| {
        let message = failure.message.replacen("event invoke:", "stream:", 1);
        LifecycleError { message, ..failure }
    })?;
    if flags.receipt_id.is_some() {
        return Err(LifecycleError::usage("stream: --receipt-id would name every receipt alike"));
    }
    let mut ledger = match &flags.ledger {
        Some(path) => Some(open_ledger(system, path)?),
        None => None,
    };
    if let ResponseSource::Clients(clients) = &flags.source {
        let unstartable = |error| LifecycleError::unreadable(format!("cannot keep clients: {error}"));
        system.register_residents(clients).map_err(unstartable)?;
    }
    if let Some(ledger) = ledger.as_deref_mut() {
        notify_of_gaps(ledger, system)?;
    }
    let mut heard = Heard::default();
    loop {
        let line = next_line(&flags, &mut heard, system).map_err(|error| {
            LifecycleError::unreadable(format!("failed to read a line from stdin: {error}"))
        })?;
        let reply = match line {
            InputLine::End => return Ok(()),
            InputLine::TooLong => {
                let error = RpcError::new(PARSE_ERROR, format!("line exceeds {LINE_LIMIT_BYTES} bytes"));
                // The end of the line is unknown, so nothing after it can be parsed.
                let _ = system.print_line(&error.line(&Value::Null));
                return Err(LifecycleError::unreadable(error.message));
            }
            InputLine::Bytes(bytes) if bytes.trim_ascii().is_empty() => continue,
            InputLine::Bytes(bytes) => reply(&bytes, &flags, &mut ledger, &mut heard, system),
        };
        if let Some(reply) = reply
            && system.print_line(&reply).is_err()
        {
            // The reader closed its end, so no more answers are wanted.
            return Ok(());
        }
    }
}

/// What the stream remembers for the events that it reports itself.
#[derive(Default)]
struct Heard {
    /// The last request: ticks are of its adapter and its harness.
    last: Option<CallbackRequest>,
    ticks: u64,
    /// Adapters and capabilities whose degradation the clients were told of.
    degraded: BTreeSet<(String, String)>,
}

impl Heard {
    /// Tells every client once of each capability that was available at a lower level than wanted.
    fn notify_of_degradations(
        &mut self,
        request: &CallbackRequest,
        report: &Report,
        system: &mut dyn System,
    ) {
        let now = system.now_epoch_s();
        for degradation in report.receipts().flat_map(|receipt| &receipt.capability_degradations) {
            let key = (request.adapter_id.clone(), degradation.capability.clone());
            if self.degraded.insert(key)
                && let Ok(line) = notification(&notices::degraded(request, degradation, now))
            {
                system.notify_residents(&line);
            }
        }
    }
}

/// The next line. While none comes, clients get a `supervisor.tick` after each interval, once an event was seen.
fn next_line(flags: &InvokeFlags, heard: &mut Heard, system: &mut dyn System) -> io::Result<InputLine> {
    let Some(tick_ms) = flags.tick_ms else { return system.next_line(LINE_LIMIT_BYTES) };
    let mut idle_ms: u64 = 0;
    loop {
        if let Some(line) = system.next_line_within(LINE_LIMIT_BYTES, Duration::from_millis(tick_ms))? {
            return Ok(line);
        }
        idle_ms = idle_ms.saturating_add(tick_ms);
        let Some(last) = &heard.last else { continue };
        heard.ticks += 1;
        if let Ok(line) = notification(&notices::tick(last, heard.ticks, idle_ms, system.now_epoch_s())) {
            system.notify_residents(&line);
        }
    }
}

/// Notifies every client of the gaps in the ledger, before the first event.
fn notify_of_gaps(ledger: &mut dyn Ledger, system: &mut dyn System) -> Result<(), LifecycleError> {
    let gaps = gap_events(ledger, &ReceiptQuery::default())
        .map_err(|error| LifecycleError::unreadable(format!("cannot read receipt ledger: {error}")))?;
    for gap in gaps {
        if let Ok(line) = notification(&gap) {
            system.notify_residents(&line);
        }
    }
    Ok(())
}

/// Error codes of JSON-RPC 2.0.
const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const NO_SUCH_METHOD: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;
const INTERNAL_ERROR: i32 = -32_603;

struct RpcError {
    code: i32,
    message: String,
}

impl RpcError {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn line(&self, id: &Value) -> String {
        let error = json!({ "code": self.code, "message": self.message });
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }
}

impl From<LifecycleError> for RpcError {
    fn from(failure: LifecycleError) -> Self {
        let code = match failure.exit {
            LifecycleExit::Refused => INVALID_PARAMS,
            LifecycleExit::Done | LifecycleExit::Usage | LifecycleExit::Unreadable => INTERNAL_ERROR,
        };
        Self::new(code, failure.message)
    }
}

#[derive(Deserialize)]
struct Question<'line> {
    jsonrpc: String,
    #[serde(default)]
    id: Option<Value>,
    method: String,
    #[serde(borrow)]
    params: &'line RawValue,
}

/// The reply to a line, if it expects one.
fn reply(
    line: &[u8],
    flags: &InvokeFlags,
    ledger: &mut Option<Box<dyn Ledger>>,
    heard: &mut Heard,
    system: &mut dyn System,
) -> Option<String> {
    let question: Question = match serde_json::from_slice(line) {
        Ok(question) => question,
        Err(error) => {
            let code = if error.is_data() { INVALID_REQUEST } else { PARSE_ERROR };
            return Some(RpcError::new(code, error.to_string()).line(&Value::Null));
        }
    };
    let answered = answer(&question, flags, ledger, heard, system);
    let id = question.id?;
    Some(match answered {
        Ok(result) => format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        Err(error) => error.line(&id),
    })
}

fn answer(
    question: &Question<'_>,
    flags: &InvokeFlags,
    ledger: &mut Option<Box<dyn Ledger>>,
    heard: &mut Heard,
    system: &mut dyn System,
) -> Result<Value, RpcError> {
    if question.jsonrpc != "2.0" {
        return Err(RpcError::new(INVALID_REQUEST, format!("`jsonrpc` is `{}`", question.jsonrpc)));
    }
    let no_such_method =
        || RpcError::new(NO_SUCH_METHOD, format!("method `{}` is not answered here", question.method));
    let event = question.method.strip_prefix("event/").and_then(LifecycleEventKind::parse);
    let event = event.ok_or_else(no_such_method)?;
    let envelope = DispatchEnvelope::read(question.params.get())
        .map_err(|error| RpcError::new(INVALID_PARAMS, format!("DispatchEnvelope: invalid JSON: {error}")))?;
    if envelope.request.event != event {
        let message = format!("method `{}` carries the event `{}`", question.method, envelope.request.event);
        return Err(RpcError::new(INVALID_PARAMS, message));
    }
    let (version, context) = check(flags, &envelope, system)?;
    if event == LifecycleEventKind::ReceiptEmitted && question.id.is_none() {
        let line = notification(&envelope.request);
        system.notify_residents(&line.map_err(|error| RpcError::new(INTERNAL_ERROR, error.to_string()))?);
        return Ok(Value::Null);
    }
    let request = envelope.request.clone();
    let accepted = Accepted { envelope, version, context, ledger: ledger.take() };
    let mut invocation = Invocation::of(flags, ClientLifetime::Resident, accepted);
    let done = invocation.run(system);
    *ledger = invocation.accepted.ledger;
    done?;
    heard.notify_of_degradations(&request, &invocation.report, system);
    heard.last = Some(request);
    Ok(invocation.report.into_document()?)
}
