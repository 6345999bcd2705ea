//! `escrow approve`, `deny`, `answer`: a message to a run that waits; and `escrow approvals`, the list of waits.

use escrow_app::messages::{self, Decision, Delivered, Reply, Then};
use escrow_app::{Error, documents};
use escrow_model::{RunStatus, WaitKind};
use escrow_runtime::entropy::now_ms;
use escrow_store::WaitRow;
use serde_json::json;

use super::run::report_driven;
use crate::arguments::{AnswerArguments, ApproveArguments, Output, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{TextTable, Ui, choices, duration_words, printable};

pub(crate) async fn approve(arguments: &ApproveArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let decision = Decision::Approve { by: arguments.by.clone(), note: arguments.note.clone() };
    send(&arguments.id, decision, arguments.no_run, shared, ui).await
}

pub(crate) async fn deny(arguments: &ApproveArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let decision = Decision::Deny { by: arguments.by.clone(), note: arguments.note.clone() };
    send(&arguments.id, decision, arguments.no_run, shared, ui).await
}

pub(crate) async fn answer(arguments: &AnswerArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let decision = Decision::Answer { text: arguments.text.clone() };
    send(&arguments.id, decision, arguments.no_run, shared, ui).await
}

async fn send(id: &str, decision: Decision, no_run: bool, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    let then = if no_run { Then::Record } else { Then::Drive };
    let reply = Reply { wait: id.to_owned(), decision, then };
    session::stop_on_signals(&app);
    match messages::reply(&app, reply).await? {
        Delivered::Recorded { wait, run } => {
            ui.say(&format!("recorded for run {run}"));
            ui.data_if_machine(&json!({ "recorded": wait, "run": { "id": run } }));
            Ok(Exit::Completed)
        }
        Delivered::Rested(run) => {
            let exit = report_driven(&run, &app, ui).await?;
            // A run that a person denied ended as asked.
            Ok(if run.status() == RunStatus::Aborted { Exit::Completed } else { exit })
        }
    }
}

/// `escrow approvals`: what waits for a person, oldest first.
pub(crate) async fn approvals(shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let queries = session::app(shared, ui)?.queries()?;
    let mut waits = queries.open_waits().await?;
    // What a nested run waits for is listed as its own.
    waits.retain(|wait| wait.kind != WaitKind::Nested);
    match ui.output() {
        Output::Human => {}
        Output::Json => {
            ui.data(&documents::approvals(&waits));
            return Ok(Exit::Completed);
        }
        Output::Jsonl => {
            let one = |wait| json!({ "approval": documents::approval(wait) });
            let _all_read = waits.iter().all(|wait| ui.data(&one(wait)));
            return Ok(Exit::Completed);
        }
    }
    if waits.is_empty() {
        ui.page("nothing waits for a person");
        return Ok(Exit::Completed);
    }
    let mut table = TextTable::new();
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
