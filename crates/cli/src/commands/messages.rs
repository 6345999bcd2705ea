//! `escrow approve`, `deny`, `answer`: a decision about a run that waits.

use escrow_app::Error;
use escrow_app::messages::{self, Decision, Delivered, Reply, Then};
use escrow_model::ReasonCode;
use serde_json::json;

use super::run::report_driven;
use crate::arguments::{AnswerArguments, ApproveArguments, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::Ui;

pub(crate) async fn approve(arguments: &ApproveArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let decision = Decision::Approve { claim: arguments.by.clone(), note: arguments.note.clone() };
    send(&arguments.id, decision, arguments.no_run, shared, ui).await
}

pub(crate) async fn deny(arguments: &ApproveArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let decision = Decision::Deny { claim: arguments.by.clone(), note: arguments.note.clone() };
    send(&arguments.id, decision, arguments.no_run, shared, ui).await
}

pub(crate) async fn answer(arguments: &AnswerArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let decision = Decision::Answer { text: arguments.text.clone() };
    send(&arguments.id, decision, arguments.no_run, shared, ui).await
}

async fn send(id: &str, decision: Decision, no_run: bool, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    app.state().expect_there()?;
    let then = if no_run { Then::Record } else { Then::Drive };
    let reply = Reply { wait: id.to_owned(), decision, shown: None, then };
    session::stop_on_signals(&app);
    match messages::reply(&app, reply).await? {
        Delivered::ToDriver { wait, run } => {
            ui.say(&format!("recorded for run {run}, which another process drives"));
            ui.data_if_machine(&json!({ "recorded": wait, "run": { "id": run }, "next": null }));
            Ok(Exit::Completed)
        }
        Delivered::Recorded { wait, run } => {
            let next = format!("escrow resume {run}");
            ui.say(&format!("recorded for run {run}\n  next: {next}"));
            ui.data_if_machine(&json!({ "recorded": wait, "run": { "id": run }, "next": next }));
            Ok(Exit::Completed)
        }
        Delivered::NotContinued { wait, run, error } => {
            let next = format!("escrow resume {run}");
            ui.error(
                &format!("the decision is recorded, but run {run} was not continued: {error}"),
                error.hint(),
            );
            ui.say(&format!("  next: {next}"));
            ui.data_if_machine(&json!({ "recorded": wait, "run": { "id": run }, "next": next }));
            Ok(Exit::Completed)
        }
        Delivered::Rested(run) => {
            report_driven(&run, &app, ui).await?;
            let interrupted = run.reason().is_some_and(|reason| reason.code == ReasonCode::CancelledSystem);
            // The decision was accepted, whatever the run did next.
            Ok(if interrupted { Exit::Interrupted } else { Exit::Completed })
        }
    }
}
