//! `escrow runs`: what ran, newest first, and one run in full.

use escrow_app::messages::ready_waits;
use escrow_app::runs::{document, is_driven, listed, parse_status, replay};
use escrow_app::{Error, documents, invocations, words};
use escrow_model::{RunStatus, rfc3339};
use escrow_store::{Queries, RunFilter, RunKinds, StateBreak};
use serde_json::{Value, json};

use super::run::named_invocation;
use super::{export, history, override_run};
use crate::arguments::{Output, RunsAction, RunsArguments, RunsList, Shared, ShowArguments};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{TextTable, Ui, duration_words, printable, show_run, status_painted, told_apart};

pub(crate) async fn runs(arguments: RunsArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    match arguments.action {
        Some(RunsAction::Show(which)) => show(&which, &*app.queries()?, ui).await,
        Some(RunsAction::Override(word)) => override_run::override_run(&word, &app, ui).await,
        Some(RunsAction::Export(which)) => export::export(&which, &app, ui).await,
        Some(RunsAction::Import(which)) => export::import(&which, &app, ui).await,
        Some(RunsAction::List(list)) => self::list(&list, &*app.queries()?, ui).await,
        None => list(&arguments.list, &*app.queries()?, ui).await,
    }
}

async fn list(arguments: &RunsList, queries: &dyn Queries, ui: &Ui) -> Result<Exit, Error> {
    let status = arguments.status.as_deref().map(parse_status).transpose()?;
    let since = arguments.since.as_deref().map(words::since).transpose()?;
    let invocation = arguments.invocation.as_deref().map(named_invocation);
    let filter = RunFilter {
        status,
        playbook: arguments.playbook.clone(),
        invocation: invocations::resolve(queries, invocation.as_ref()).await?,
        kinds: if arguments.all { RunKinds::All } else { RunKinds::Playbooks },
        since,
        limit: Some(arguments.limit),
    };
    let rows = queries.runs(&filter).await?;
    let losses = queries.losses().await?;
    for loss in &losses {
        ui.say(&format!("{}: {}", ui.paint.yellow("warning"), StateBreak::of_loss(loss)));
    }
    if ui.output() != Output::Human {
        let documents = listed(queries, &rows).await?;
        let missing: Vec<Value> = losses.iter().map(documents::loss).collect();
        match ui.output() {
            Output::Jsonl => {
                documents.iter().all(|run| ui.data(&json!({ "run": run })))
                    && missing.iter().all(|loss| ui.data(&json!({ "missing": loss })))
            }
            Output::Human | Output::Json if missing.is_empty() => ui.data(&json!({ "runs": documents })),
            Output::Human | Output::Json => ui.data(&json!({ "runs": documents, "missing": missing })),
        };
        return Ok(Exit::Completed);
    }
    if rows.is_empty() {
        ui.page("no runs");
        return Ok(Exit::Completed);
    }
    let page = ui.page;
    let mut table = TextTable::new();
    for row in &rows {
        let status = row.status.as_str().replace('_', " ");
        let painted = status_painted(row.status, page);
        let started = rfc3339(row.started_at).replace('T', " ");
        let started = &started[..19];
        let took =
            row.ended_at.map(|end| duration_words(end.saturating_sub(row.started_at))).unwrap_or_default();
        let summary = row.reason.as_ref().map(|reason| printable(&reason.summary)).unwrap_or_default();
        let playbook = printable(&row.playbook);
        let told = told_apart(row);
        table.row(&[
            (row.id.as_str(), page.cyan(row.id.as_str())),
            (&status, painted),
            (started, page.dim(started)),
            (&took, took.clone()),
            (&playbook, page.bold(&playbook)),
            (&told, told.clone()),
            ("", summary),
        ]);
    }
    ui.page(&table.render());
    Ok(Exit::Completed)
}

async fn show(arguments: &ShowArguments, queries: &dyn Queries, ui: &Ui) -> Result<Exit, Error> {
    let row = queries.run(&arguments.run).await?;
    if arguments.history {
        return history::of_run(&row, queries, ui).await;
    }
    let run = replay(queries, &row).await?;
    if ui.output() != Output::Human {
        ui.data(&document(queries, &run).await);
        return Ok(Exit::Completed);
    }
    let mut text = show_run(&run, &ready_waits(queries, &run).await, ui.page);
    if row.status == RunStatus::Running && !is_driven(queries, &row).await? {
        text.push_str(&format!(
            "{}  the process that drove this run is gone\n  next: escrow resume {}\n",
            ui.page.yellow("interrupted"),
            row.id
        ));
    }
    ui.page(&text);
    Ok(Exit::Completed)
}
