//! `escrow approve`, `deny`, `answer`: a letter to a run. If nobody drives the run, it goes on right here.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;
use escrow_engine::Run;
use escrow_model::{Letter, RunStatus, WaitKind};
use escrow_runtime::chance::now_ms;
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
use crate::terminal::{Table, Talk, choices, duration_words, printable};

pub(crate) fn approve(arguments: &ApproveArguments, shared: &Shared, talk: &Talk) -> Result<Exit> {
    let letter = |id: String| Letter::Approve {
        id,
        by: arguments.by.clone().or_else(who),
        note: arguments.note.clone(),
    };
    send(&arguments.id, letter, arguments.no_run, shared, talk)
}

pub(crate) fn deny(arguments: &ApproveArguments, shared: &Shared, talk: &Talk) -> Result<Exit> {
    let letter =
        |id: String| Letter::Deny { id, by: arguments.by.clone().or_else(who), note: arguments.note.clone() };
    send(&arguments.id, letter, arguments.no_run, shared, talk)
}

pub(crate) fn answer(arguments: &AnswerArguments, shared: &Shared, talk: &Talk) -> Result<Exit> {
    let letter = |id: String| Letter::Answer { id, text: arguments.text.clone(), by: who() };
    send(&arguments.id, letter, arguments.no_run, shared, talk)
}

fn send(
    id: &str,
    letter: impl FnOnce(String) -> Letter,
    no_run: bool,
    shared: &Shared,
    talk: &Talk,
) -> Result<Exit> {
    let state = StateDirectory::find(shared.state.as_deref())?;
    let wait = find(&*state.read()?, id)?;
    let store = state.write()?;
    let mut letter = letter(wait.id.clone());
    let row = store.run(wait.run.as_str()).map_err(Failure::from)?;
    if let Some(help) = other_verb(&letter, &wait) {
        let message = format!("`{}` waits for something else: {}", wait.id, printable(&wait.prompt));
        return Err(Failure::author("wrong_letter", message).help(help).into());
    }
    redact(&store, &row, &mut letter)?;
    if let (Letter::Answer { text, .. }, false) = (&letter, wait.choices.is_empty())
        && !wait.choices.contains(text)
    {
        let help = format!("one of: {}", wait.choices.join(", "));
        return Err(Failure::author("bad_answer", format!("`{text}` is not a choice")).help(help).into());
    }
    let lies_there = store.unopened(&wait.run).map_err(Failure::from)?;
    if lies_there.iter().any(|sent| is_about(&sent.letter, &wait.id)) {
        let message = format!("`{}` was answered already; run `{}` has not read it yet", wait.id, row.id);
        return Err(Failure::person("resolved", message)
            .help(format!("`escrow resume {}` goes on with it", row.id))
            .into());
    }
    store.send(&wait.run, &letter, "cli").map_err(Failure::from)?;
    if no_run || is_driven(&store, &row)? {
        talk.say(&format!("recorded; run {} has it", row.id));
        talk.data_if_machine(&json!({ "recorded": wait.id, "run": { "id": row.id } }));
        return Ok(Exit::Completed);
    }
    let wish = if matches!(letter, Letter::Deny { .. }) { Wish::End } else { Wish::GoOn };
    let run = drive_upward(&row, &store, &state, talk, wish)?;
    report(&run, &store, talk);
    // Denied is what was asked for.
    Ok(if run.status() == RunStatus::Aborted { Exit::Completed } else { exit_of(&run) })
}

/// What to say instead of a letter that this wait cannot be answered by.
fn other_verb(letter: &Letter, wait: &WaitRow) -> Option<String> {
    let id = &wait.id;
    match (letter, wait.kind) {
        (Letter::Approve { .. } | Letter::Deny { .. }, WaitKind::Approval)
        | (Letter::Answer { .. } | Letter::Deny { .. }, WaitKind::Input) => None,
        (_, WaitKind::Approval) => Some(format!("`escrow approve {id}`, or `escrow deny {id}`")),
        (_, WaitKind::Input) => Some(format!("`escrow answer {id} TEXT`")),
        (_, WaitKind::UnknownEffect) => Some(format!(
            "`escrow resume {} --assume {}{}=done`, or `failed`, or `retry`",
            wait.run, wait.check, wait.scope
        )),
        (_, WaitKind::Nested) => Some(format!("`escrow runs show {id}` tells what the nested run waits for")),
    }
}

/// Whether a letter is an answer to this wait: there is only one, and the first counts.
fn is_about(letter: &Letter, wait: &str) -> bool {
    match letter {
        Letter::Approve { id, .. } | Letter::Deny { id, .. } | Letter::Answer { id, .. } => id == wait,
        Letter::Assume { .. } | Letter::Cancel { .. } => false,
    }
}

/// Drives the run, and then the runs that it is nested in, as far as nobody else does.
pub(crate) fn drive_upward(
    row: &RunRow,
    store: &Arc<Store>,
    state: &StateDirectory,
    talk: &Talk,
    wish: Wish,
) -> Result<Run, Failure> {
    let mut run = drive(row, Arc::clone(store), state, talk, wish)?;
    while let Some(parent) = run.options().parent.clone().filter(|_| run.status().is_terminal()) {
        let row = store.run(parent.as_str()).map_err(Failure::from)?;
        if row.status.is_terminal() || is_driven(store, &row)? {
            break;
        }
        run = drive(&row, Arc::clone(store), state, talk, Wish::GoOn)?;
    }
    Ok(run)
}

/// A letter lies in the inbox until it is opened, so secrets are taken out before it is sent.
fn redact(store: &Store, row: &RunRow, letter: &mut Letter) -> Result<(), Failure> {
    let run = replay(store, row)?;
    if !run.plan_of().secrets.is_empty() {
        let secrets = Secrets::at_hand(run.plan_of(), Path::new(&run.options().directory));
        secrets.redactor().letter(letter);
    }
    Ok(())
}

/// The open wait of this id, or why there is none: a letter resolves a wait once.
fn find(store: &Store, id: &str) -> Result<WaitRow, Failure> {
    let named = store.waits_named(id)?;
    match named.as_slice() {
        [] => Err(Failure::author("unknown_wait", format!("nothing waits for `{id}`"))
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
            Err(Failure::author("ambiguous_wait", format!("`{id}` could be any of {}", ids.join(", "))))
        }
    }
}

/// `escrow approvals`: what waits for a person, oldest first.
pub(crate) fn approvals(shared: &Shared, talk: &Talk) -> Result<Exit> {
    let store = StateDirectory::find(shared.state.as_deref())?.read()?;
    let mut waits = store.open_waits().map_err(Failure::from)?;
    // What a nested run waits for is listed as its own.
    waits.retain(|wait| wait.kind != WaitKind::Nested);
    if talk.output() != Output::Human {
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
        talk.data(&json!({ "approvals": documents }));
        return Ok(Exit::Completed);
    }
    if waits.is_empty() {
        talk.page("nothing waits for a person");
        return Ok(Exit::Completed);
    }
    let mut table = Table::new();
    for wait in &waits {
        let place = format!("{}{}", wait.check, wait.scope);
        table.row(&[
            (&wait.id, talk.page.cyan(&wait.id)),
            (wait.run.as_str(), wait.run.to_string()),
            (&place, talk.page.bold(&place)),
            ("", question(wait)),
        ]);
    }
    talk.page(&table.render());
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
