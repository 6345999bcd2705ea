//! `stream --extended`: many events in, many receipts out, over clients that stay.
//!
//! ```text
//!   harness ──▶ {"id":7,"method":"event/frame.opening","params":{dispatch envelope}} ──▶ each client, as JSON-RPC
//!   harness ◀── {"id":7,"result":{receipt}}            ◀── admit, ask, settle         ◀──┘
//! ```
//!
//! **Invariant:** events are handled one after the other, in the order in which they came, by the same rules as
//! `event invoke --extended`. Every line with an `id` gets exactly one answer; a line without gets none.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::super::answer::{Answer, ExitCode, Failure};
use super::super::arguments::Arguments;
use super::super::help;
use super::super::world::{Line, World};
use super::extended::{Invocation, Reach};
use super::flags::{InvokeFlags, Verdict};
use super::{Accepted, check, open_ledger};
use crate::envelope::DispatchEnvelope;
use crate::receipt::{Ledger, ReceiptQuery, gap_events};
use crate::stream::{LINE_LIMIT_BYTES, notification};
use crate::vocabulary::LifecycleEventKind;

pub(in crate::command) fn run(arguments: Arguments, world: &mut dyn World) -> Answer {
    if arguments.contain_any(&["--help", "-h"]) {
        return Answer::printed(help::STREAM);
    }
    match converse(arguments, world) {
        Ok(()) => Answer::printed(""),
        Err(failure) => failure.into(),
    }
}

fn converse(arguments: Arguments, world: &mut dyn World) -> Result<(), Failure> {
    let flags = InvokeFlags::parse(arguments).map_err(|failure| {
        let message = failure.message.replacen("event invoke:", "stream:", 1);
        Failure { message, ..failure }
    })?;
    if flags.receipt_id.is_some() {
        return Err(Failure::usage("stream: --receipt-id would name every receipt alike"));
    }
    let mut ledger = match &flags.ledger {
        Some(path) => Some(open_ledger(world, path)?),
        None => None,
    };
    if let Verdict::Clients(clients) = &flags.verdict {
        let unstartable = |error| Failure::unreadable(format!("cannot keep clients: {error}"));
        world.take_in(clients).map_err(unstartable)?;
    }
    if let Some(ledger) = ledger.as_deref_mut() {
        tell_of_gaps(ledger, world)?;
    }
    loop {
        let line = world
            .next_line(LINE_LIMIT_BYTES)
            .map_err(|error| Failure::unreadable(format!("failed to read a line from stdin: {error}")))?;
        let reply = match line {
            Line::End => return Ok(()),
            Line::TooLong => {
                let refusal = Refusal::new(PARSE_ERROR, format!("line exceeds {LINE_LIMIT_BYTES} bytes"));
                // Where the line ends nobody knows, so nothing after it can be understood.
                let _ = world.say(&refusal.line(&Value::Null));
                return Err(Failure::unreadable(refusal.message));
            }
            Line::Bytes(bytes) if bytes.trim_ascii().is_empty() => continue,
            Line::Bytes(bytes) => reply(&bytes, &flags, &mut ledger, world),
        };
        if let Some(reply) = reply
            && world.say(&reply).is_err()
        {
            // Whoever asked has gone.
            return Ok(());
        }
    }
}

/// What the ledger misses is told to every client before anything else.
fn tell_of_gaps(ledger: &mut dyn Ledger, world: &mut dyn World) -> Result<(), Failure> {
    let gaps = gap_events(ledger, &ReceiptQuery::default())
        .map_err(|error| Failure::unreadable(format!("cannot read receipt ledger: {error}")))?;
    for gap in gaps {
        if let Ok(line) = notification(&gap) {
            world.tell_residents(&line);
        }
    }
    Ok(())
}

/// JSON-RPC's own codes.
const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;
const NO_SUCH_METHOD: i32 = -32_601;
const INVALID_PARAMS: i32 = -32_602;
const INTERNAL_ERROR: i32 = -32_603;

struct Refusal {
    code: i32,
    message: String,
}

impl Refusal {
    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    fn line(&self, id: &Value) -> String {
        let error = json!({ "code": self.code, "message": self.message });
        format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }
}

impl From<Failure> for Refusal {
    fn from(failure: Failure) -> Self {
        let code = match failure.exit_code {
            ExitCode::Refused => INVALID_PARAMS,
            ExitCode::Done | ExitCode::Usage | ExitCode::Unreadable => INTERNAL_ERROR,
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

/// The line that answers a line, if it wants an answer.
fn reply(
    line: &[u8],
    flags: &InvokeFlags,
    ledger: &mut Option<Box<dyn Ledger>>,
    world: &mut dyn World,
) -> Option<String> {
    let question: Question = match serde_json::from_slice(line) {
        Ok(question) => question,
        Err(error) => {
            let code = if error.is_data() { INVALID_REQUEST } else { PARSE_ERROR };
            return Some(Refusal::new(code, error.to_string()).line(&Value::Null));
        }
    };
    let answered = answer(&question, flags, ledger, world);
    let id = question.id?;
    Some(match answered {
        Ok(result) => format!("{}\n", json!({ "jsonrpc": "2.0", "id": id, "result": result })),
        Err(refusal) => refusal.line(&id),
    })
}

fn answer(
    question: &Question<'_>,
    flags: &InvokeFlags,
    ledger: &mut Option<Box<dyn Ledger>>,
    world: &mut dyn World,
) -> Result<Value, Refusal> {
    if question.jsonrpc != "2.0" {
        return Err(Refusal::new(INVALID_REQUEST, format!("`jsonrpc` is `{}`", question.jsonrpc)));
    }
    let no_such_method =
        || Refusal::new(NO_SUCH_METHOD, format!("method `{}` is not answered here", question.method));
    let event = question.method.strip_prefix("event/").and_then(LifecycleEventKind::parse);
    let event = event.ok_or_else(no_such_method)?;
    let envelope = DispatchEnvelope::read(question.params.get())
        .map_err(|error| Refusal::new(INVALID_PARAMS, format!("DispatchEnvelope: invalid JSON: {error}")))?;
    if envelope.request.event != event {
        let message = format!("method `{}` carries the event `{}`", question.method, envelope.request.event);
        return Err(Refusal::new(INVALID_PARAMS, message));
    }
    let (version, context) = check(flags, &envelope, world)?;
    if event == LifecycleEventKind::ReceiptEmitted && question.id.is_none() {
        let line = notification(&envelope.request);
        world.tell_residents(&line.map_err(|error| Refusal::new(INTERNAL_ERROR, error.to_string()))?);
        return Ok(Value::Null);
    }
    let accepted = Accepted { envelope, version, context, ledger: ledger.take() };
    let mut invocation = Invocation::of(flags, Reach::Resident, accepted);
    let done = invocation.run(world);
    *ledger = invocation.accepted.ledger;
    done?;
    Ok(invocation.report.into_document()?)
}
