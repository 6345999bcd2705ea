//! What `escrow hook` does with one event of a host.
//!
//! ```text
//!   input ──dialect──▶ lifecycle event ──▶ receipt ──▶ spool of the run, or ledger of the state
//!                           └──▶ answer in the host's dialect: context, or a stop that is held back
//! ```
//!
//! **Invariant:** a failure of ours never reaches the host. It becomes a receipt with the status `failed`; if even that
//! cannot be kept, the host still gets an empty answer.

use std::path::{Path, PathBuf};

use escrow_harness::frames::{FRAME_CLASS, HOOK_EVENT};
use escrow_harness::{Answer, AnswerKind, HookDialect, HookInput, HookReply};
use escrow_protocol::envelope::{FreeMap, LifecycleReceipt, Warning};
use escrow_protocol::receipt::LedgerError;
use escrow_protocol::version::CURRENT;
use escrow_protocol::vocabulary::{
    FailureClass, FrameClass, IntegrationMode, LifecycleEventKind, ReceiptStatus,
};
use escrow_runtime::hook_spool::{self, HOLDS_MAX, HookSpool};
use escrow_runtime::{now_ms, random_u64};
use escrow_store::ReceiptLedger;

/// A file of the state directory whose text every session is given.
const CONTEXT: &str = "context.md";

/// The most context that a host is given.
const CONTEXT_BYTES_MAX: u64 = 64 << 10;

/// One call of a hook.
pub struct HookCall<'a> {
    pub dialect: &'static HookDialect,
    /// The name on the command line.
    pub event: Option<&'a str>,
    /// Standard input, or why it could not be read.
    pub input: Result<String, (FailureClass, String)>,
    pub place: HookPlace,
    /// The run that the host was started by.
    pub run: Option<String>,
    pub invocation: Option<String>,
}

/// Where receipts go.
pub enum HookPlace {
    /// The spool of the attempt that started the host.
    Spool(PathBuf),
    /// A state directory.
    State(PathBuf),
    /// There is no state: nothing is kept.
    Nowhere,
}

/// Answers the host. Never fails.
pub fn answer(call: &HookCall<'_>) -> HookReply {
    let (input, class, problem) = match &call.input {
        Ok(text) => match call.dialect.read(call.event, text) {
            Ok(input) => (Some(input), FailureClass::InvalidRequest, String::new()),
            Err(error) => (None, FailureClass::InvalidRequest, error.to_string()),
        },
        Err((class, message)) => (None, *class, message.clone()),
    };
    let Some(input) = input else {
        let help =
            format!("`escrow harness doctor --host {}` shows what its hooks send", call.dialect.harness);
        keep(call, &failed(call, class, "hook_input_unreadable", &format!("{problem}; {help}")));
        return HookReply::default();
    };
    if call.dialect.event(&input.event).is_none() {
        let message = format!(
            "`{}` is not an event of `{}` that Escrow knows; `escrow harness install --host {}` installs those it does",
            printable(&input.event),
            call.dialect.harness,
            call.dialect.harness
        );
        let mut receipt = draft(call, LifecycleEventKind::CapabilityDegraded, &input);
        receipt.status = ReceiptStatus::Skipped;
        receipt.warnings.push(Warning::new("unknown_event", message));
        keep(call, &receipt);
        return HookReply::default();
    }
    let Some(event) = call.dialect.lifecycle(&input) else { return HookReply::default() };
    let mut receipt = draft(call, event, &input);
    let reply = match decide(call, &input, event) {
        Ok(Decision::Nothing) => HookReply::default(),
        Ok(Decision::Context(text)) => {
            written(call, &input, Answer::AddContext { text: &text }, &mut receipt)
        }
        Ok(Decision::Hold { reason, number }) => {
            let message = format!("a stop was held back, {number} of {HOLDS_MAX} times");
            receipt.warnings.push(Warning::new("stop_held_back", message));
            written(call, &input, Answer::BlockStop { reason: &reason }, &mut receipt)
        }
        Ok(Decision::GiveUp) => {
            let message =
                format!("the contract is not met, and a stop was held back {HOLDS_MAX} times already");
            receipt.warnings.push(Warning::new("stop_not_held_back", message));
            HookReply::default()
        }
        Err(message) => {
            fail(&mut receipt, FailureClass::InternalError, "hook_failed", &message);
            HookReply::default()
        }
    };
    keep(call, &receipt);
    reply
}

/// Takes in the receipts that wait beside the ledger; call it before the ledger is read.
pub fn collect_waiting(state: &Path, ledger: &mut ReceiptLedger) -> Result<(), LedgerError> {
    hook_spool::waiting(state).collect(None, ledger).map(|_| ())
}

/// Whether receipts wait beside the ledger of a state.
pub fn are_waiting(state: &Path) -> bool {
    !hook_spool::waiting(state).is_empty()
}

enum Decision {
    Nothing,
    Context(String),
    Hold { reason: String, number: u32 },
    GiveUp,
}

fn decide(call: &HookCall<'_>, input: &HookInput, event: LifecycleEventKind) -> Result<Decision, String> {
    let known = call.dialect.event(&input.event);
    let can = |kind| known.is_some_and(|event| event.can(kind));
    if event == LifecycleEventKind::FrameEnding
        && can(AnswerKind::BlockStop)
        && !call.dialect.is_about_sub_agent(input)
        && let HookPlace::Spool(spool) = &call.place
    {
        let spool = HookSpool::at(spool);
        let failed = |error: std::io::Error| format!("the demands of the contract cannot be read: {error}");
        let Some(reason) = spool.missing().map_err(failed)? else { return Ok(Decision::Nothing) };
        return Ok(match spool.take_hold().map_err(failed)? {
            Some(number) => Decision::Hold { reason, number },
            None => Decision::GiveUp,
        });
    }
    let takes_context = call.dialect.context_event().map(|event| event.name) == known.map(|event| event.name);
    if takes_context && let Some(text) = context(&call.place)? {
        return Ok(Decision::Context(text));
    }
    Ok(Decision::Nothing)
}

fn context(place: &HookPlace) -> Result<Option<String>, String> {
    match place {
        HookPlace::State(state) => {
            let text =
                project_context(state).map_err(|error| format!("`{CONTEXT}` cannot be added: {error}"))?;
            Ok(text.filter(|text| !text.trim().is_empty()))
        }
        // The prompt of an `ai` check has everything that its harness is told.
        HookPlace::Spool(_) | HookPlace::Nowhere => Ok(None),
    }
}

/// The context of a project, if it has one. What is read here is sent to a model: a link must not lead out of the project.
fn project_context(state: &Path) -> std::io::Result<Option<String>> {
    let path = state.join(CONTEXT);
    match std::fs::symlink_metadata(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        found => found?,
    };
    let (path, state) = (path.canonicalize()?, state.canonicalize()?);
    if !path.starts_with(state.parent().unwrap_or(&state)) {
        return Err(std::io::Error::other("it is a link that leaves the project"));
    }
    hook_spool::read_text(&path, CONTEXT_BYTES_MAX).map(Some)
}

fn written(
    call: &HookCall<'_>,
    input: &HookInput,
    answer: Answer<'_>,
    receipt: &mut LifecycleReceipt,
) -> HookReply {
    match call.dialect.write(&input.event, answer) {
        Ok(reply) => {
            receipt.status = ReceiptStatus::Delivered;
            reply
        }
        Err(error) => {
            fail(receipt, FailureClass::CapabilityUnsupported, "hook_cannot_answer", &error.to_string());
            HookReply::default()
        }
    }
}

fn draft(call: &HookCall<'_>, event: LifecycleEventKind, input: &HookInput) -> LifecycleReceipt {
    let id = format!("hook-{:016x}", random_u64().unwrap_or_else(|_| now_ms()));
    let session = input.session_id.as_deref().filter(|id| !id.is_empty()).map(printable);
    let is_subcall = call.dialect.is_about_sub_agent(input);
    let class = if is_subcall { FrameClass::Subcall } else { FrameClass::TopLevel };
    let mut summary = FreeMap::new();
    summary.insert(HOOK_EVENT, printable(&input.event).into());
    summary.insert(FRAME_CLASS, class.as_str().into());
    let frame = input.agent_id.as_deref().or(if is_subcall { None } else { input.turn_id.as_deref() });
    let invocation = call.invocation.clone().or_else(|| session.clone());
    LifecycleReceipt {
        schema_version: CURRENT.as_str().to_owned(),
        event_id: id.clone(),
        receipt_id: id,
        idempotency_key: None,
        client_id: hook_spool::CLIENT.to_owned(),
        adapter_id: call.dialect.harness.to_owned(),
        invocation_id: invocation.unwrap_or_else(|| "unknown".to_owned()),
        event,
        sequence: None,
        parent_receipt_id: None,
        integration_mode: IntegrationMode::NativeHook,
        status: ReceiptStatus::Observed,
        at_epoch_s: now_ms() / 1000,
        // Outside a run of Escrow, the session numbers its receipts.
        harness_run_id: call.run.clone().or_else(|| session.clone()),
        harness_session_id: session,
        harness_task_id: frame.filter(|id| !id.is_empty()).map(printable),
        payload_receipts: Vec::new(),
        telemetry_summary: summary,
        capability_degradations: Vec::new(),
        failure_class: None,
        retry_class: None,
        warnings: Vec::new(),
    }
}

/// The receipt of an input that could not be read.
fn failed(call: &HookCall<'_>, class: FailureClass, code: &str, message: &str) -> LifecycleReceipt {
    let event = call.event.unwrap_or("unknown");
    let known = call.dialect.event(event).and_then(|event| event.lifecycle());
    let input = HookInput {
        event: event.to_owned(),
        session_id: None,
        turn_id: None,
        tool: None,
        agent_id: None,
        prompt: None,
        source: None,
        stop_is_repeated: None,
    };
    let mut receipt = draft(call, known.unwrap_or(LifecycleEventKind::CapabilityDegraded), &input);
    fail(&mut receipt, class, code, message);
    receipt
}

fn fail(receipt: &mut LifecycleReceipt, class: FailureClass, code: &str, message: &str) {
    receipt.status = ReceiptStatus::Failed;
    receipt.failure_class = Some(class);
    receipt.retry_class = Some(class.default_retry());
    receipt.warnings.push(Warning::new(code, message));
}

/// Keeps a receipt. Outside a run it waits beside the ledger, so that no host waits for a database: the end of a session
/// and every reader take all of them in at once.
fn keep(call: &HookCall<'_>, receipt: &LifecycleReceipt) {
    match &call.place {
        HookPlace::Spool(spool) => drop(HookSpool::at(spool).leave(receipt)),
        HookPlace::State(state) => {
            let waiting = hook_spool::waiting(state);
            let is_last = receipt.event == LifecycleEventKind::SessionEnding;
            drop(waiting.leave(receipt));
            if !is_last && !waiting.has_many() {
                return;
            }
            let taken_in = ReceiptLedger::open_grouped(&crate::StateDirectory::at(state).database())
                .map_err(|error| LedgerError::Storage(error.to_string()))
                .and_then(|mut ledger| collect_waiting(state, &mut ledger));
            if let Err(error) = taken_in {
                let message = format!("receipts wait, because the ledger cannot be written: {error}");
                let problem = failed(call, FailureClass::InternalError, "ledger_unavailable", &message);
                drop(waiting.leave(&problem));
            }
        }
        HookPlace::Nowhere => {}
    }
}

/// A short text of a host, safe to show.
fn printable(text: &str) -> String {
    text.chars().filter(|char| !char.is_control()).take(256).collect()
}
