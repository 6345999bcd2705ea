//! `escrow approve`, `deny`, `answer`: a message to a run. If nobody drives the run, it goes on right here.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use escrow_engine::Run;
use escrow_model::{Message, RunStatus, WaitKind};
use escrow_runtime::entropy::now_ms;
use escrow_runtime::secrets::Secrets;
use escrow_store::{RunRow, Store, WaitRow};
use serde_json::json;

use super::cancel::who;
use super::resume::{Wish, drive};
use super::run::report;
use super::runs::{is_driven, replay};
use super::start::exit_of;
use crate::arguments::{AnswerArguments, ApproveArguments, Output, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Table, Ui, choices, duration_words, printable};

pub(crate) fn approve(arguments: &ApproveArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let message = |id: String| Message::Approve {
        id,
        by: arguments.by.clone().or_else(who),
        note: arguments.note.clone(),
    };
    send(&arguments.id, message, arguments.no_run, shared, ui)
}

pub(crate) fn deny(arguments: &ApproveArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let message = |id: String| Message::Deny {
        id,
        by: arguments.by.clone().or_else(who),
        note: arguments.note.clone(),
    };
    send(&arguments.id, message, arguments.no_run, shared, ui)
}

pub(crate) fn answer(arguments: &AnswerArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let message = |id: String| Message::Answer { id, text: arguments.text.clone(), by: who() };
    send(&arguments.id, message, arguments.no_run, shared, ui)
}

fn send(
    id: &str,
    message: impl FnOnce(String) -> Message,
    no_run: bool,
    shared: &Shared,
    ui: &Ui,
) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let wait = find(&*state.read()?, id)?;
    let store = state.write()?;
    let mut message = message(wait.id.clone());
    let row = store.run(wait.run.as_str()).map_err(Failure::from)?;
    if let Some(help) = other_verb(&message, &wait) {
        let message = format!("`{}` waits for something else: {}", wait.id, printable(&wait.prompt));
        return Err(Failure::author("wrong_message", message).help(help).into());
    }
    redact(&store, &row, &mut message)?;
    if let (Message::Answer { text, .. }, false) = (&message, wait.choices.is_empty())
        && !wait.choices.contains(text)
    {
        let help = format!("one of: {}", wait.choices.join(", "));
        return Err(Failure::author("bad_answer", format!("`{text}` is not a choice")).help(help).into());
    }
    let lies_there = store.undelivered(&wait.run).map_err(Failure::from)?;
    if lies_there.iter().any(|sent| is_about(&sent.message, &wait.id)) {
        let message = format!(
            "`{}` is already answered; the message is not delivered to run `{}` yet",
            wait.id, row.id
        );
        return Err(Failure::person("resolved", message)
            .help(format!("`escrow resume {}` resumes it", row.id))
            .into());
    }
    store.send(&wait.run, &message, "cli").map_err(Failure::from)?;
    if no_run || is_driven(&store, &row)? {
        ui.say(&format!("recorded for run {}", row.id));
        ui.data_if_machine(&json!({ "recorded": wait.id, "run": { "id": row.id } }));
        return Ok(Exit::Completed);
    }
    let wish = if matches!(message, Message::Deny { .. }) { Wish::End } else { Wish::GoOn };
    let run = drive_upward(&row, &store, &state, ui, wish)?;
    report(&run, &store, ui);
    // Denied is what was asked for.
    Ok(if run.status() == RunStatus::Aborted { Exit::Completed } else { exit_of(&run) })
}

/// What to say instead of a message that this wait cannot be answered by.
fn other_verb(message: &Message, wait: &WaitRow) -> Option<String> {
    let id = &wait.id;
    match (message, wait.kind) {
        (Message::Approve { .. } | Message::Deny { .. }, WaitKind::Approval)
        | (Message::Answer { .. } | Message::Deny { .. }, WaitKind::Input) => None,
        (_, WaitKind::Approval) => Some(format!("`escrow approve {id}`, or `escrow deny {id}`")),
        (_, WaitKind::Input) => Some(format!("`escrow answer {id} TEXT`")),
        (_, WaitKind::UnknownEffect) => Some(format!(
            "`escrow resume {} --assume {}{}=done`, or `failed`, or `retry`",
            wait.run, wait.check, wait.scope
        )),
        (_, WaitKind::Nested) => Some(format!("`escrow runs show {id}` shows what the nested run waits for")),
    }
}

/// Whether a message is an answer to this wait: there is only one, and the first counts.
fn is_about(message: &Message, wait: &str) -> bool {
    match message {
        Message::Approve { id, .. } | Message::Deny { id, .. } | Message::Answer { id, .. } => id == wait,
        Message::Assume { .. } | Message::Cancel { .. } => false,
    }
}

/// Drives the run, and then the runs that it is nested in, as far as nobody else does.
pub(crate) fn drive_upward(
    row: &RunRow,
    store: &Arc<Store>,
    state: &StateDirectory,
    ui: &Ui,
    wish: Wish,
) -> Result<Run, Failure> {
    let mut run = drive(row, Arc::clone(store), state, ui, wish)?;
    while let Some(parent) = run.options().parent.clone().filter(|_| run.status().is_terminal()) {
        let row = store.run(parent.as_str()).map_err(Failure::from)?;
        if row.status.is_terminal() || is_driven(store, &row)? {
            break;
        }
        run = drive(&row, Arc::clone(store), state, ui, Wish::GoOn)?;
    }
    Ok(run)
}

/// A message lies in the inbox until it is opened, so secrets are taken out before it is sent.
fn redact(store: &Store, row: &RunRow, message: &mut Message) -> Result<(), Failure> {
    let run = replay(store, row)?;
    if !run.plan_of().secrets.is_empty() {
        let secrets = Secrets::at_hand(run.plan_of(), Path::new(&run.options().directory));
        secrets.redactor().message(message);
    }
    Ok(())
}

/// The open wait of this id, or why there is none: a message resolves a wait once.
fn find(store: &Store, id: &str) -> Result<WaitRow, Failure> {
    let named = store.waits_named(id)?;
    match named.as_slice() {
        [] => Err(Failure::author("unknown_wait", format!("no approval or question is called `{id}`"))
            .help("`escrow approvals` lists what waits")),
        [one] if one.resolved_at.is_some() => {
            let how = one.resolution.as_deref().unwrap_or("already");
            Err(Failure::person("resolved", format!("`{id}` was resolved: {how}")))
        }
        [one] if one.expires_at.is_some_and(|at| at <= now_ms()) => {
            Err(Failure::person("expired", format!("`{id}` has expired")))
        }
        [one] => Ok(one.clone()),
        several => {
            let ids: Vec<&str> = several.iter().map(|wait| wait.id.as_str()).collect();
            Err(Failure::author("ambiguous_wait", format!("`{id}` is ambiguous: {}", ids.join(", "))))
        }
    }
}

/// `escrow approvals`: what waits for a person, oldest first.
pub(crate) fn approvals(shared: &Shared, ui: &Ui) -> Result<Exit> {
    let store = StateDirectory::find(shared.state.as_deref())?.read()?;
    let mut waits = store.open_waits().map_err(Failure::from)?;
    // What a nested run waits for is listed as its own.
    waits.retain(|wait| wait.kind != WaitKind::Nested);
    if ui.output() != Output::Human {
        let documents: Vec<_> = waits
            .iter()
            .map(|wait| {
                json!({
                    "id": wait.id,
                    "kind": wait.kind,
                    "run_id": wait.run,
                    "check": wait.check,
                    "scope": wait.scope,
                    "prompt": wait.prompt,
                    "choices": wait.choices,
                    "digest": wait.digest,
                    "expires_at": wait.expires_at.map(escrow_model::rfc3339),
                })
            })
            .collect();
        ui.data(&json!({ "approvals": documents }));
        return Ok(Exit::Completed);
    }
    if waits.is_empty() {
        ui.page("nothing waits for a person");
        return Ok(Exit::Completed);
    }
    let mut table = Table::new();
    for wait in &waits {
        let place = format!("{}{}", wait.check, wait.scope);
        table.row(&[
            (&wait.id, ui.page.cyan(&wait.id)),
            (wait.run.as_str(), wait.run.to_string()),
            (&place, ui.page.bold(&place)),
            ("", question(wait)),
        ]);
    }
    ui.page(&table.render());
    Ok(Exit::Completed)
}

/// What is asked, what may be answered, and how long.
fn question(wait: &WaitRow) -> String {
    let mut text = printable(&wait.prompt);
    if !wait.choices.is_empty() {
        text.push_str(&format!("  ({})", choices(&wait.choices)));
    }
    let left = wait.expires_at.map(|at| at.saturating_sub(now_ms()));
    match left {
        None => {}
        Some(0) => text.push_str("  expired"),
        Some(left) => text.push_str(&format!("  expires in {}", duration_words(left))),
    }
    text
}
