//! `escrow invocation`: one request, the runs that it started, and its result.

mod end;
mod show;

use escrow_app::invocations::{self, NewInvocation};
use escrow_app::runs::parse_status;
use escrow_app::{App, Error, documents, words};
use escrow_model::rfc3339;
use escrow_store::{InvocationFilter, Queries};
use serde_json::{Value, json};

use crate::arguments::{
    InvocationAction, InvocationArguments, InvocationList, InvocationStart, Output, Shared,
};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{TextTable, Ui, count, printable, status_painted};

pub(crate) async fn invocation(
    arguments: &InvocationArguments,
    shared: &Shared,
    ui: &Ui,
) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    match &arguments.action {
        InvocationAction::Start(start) => self::start(start, &app, ui).await,
        InvocationAction::End(end) => end::end(end, &app, ui).await,
        InvocationAction::List(list) => self::list(list, &*app.queries()?, ui).await,
        InvocationAction::Show(show) => show::show(show, &*app.queries()?, ui).await,
    }
}

async fn start(arguments: &InvocationStart, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let InvocationStart { name, skill, prompt, by } = arguments.clone();
    let row = invocations::start(app, NewInvocation { name, skill, prompt, by }).await?;
    match ui.output() {
        Output::Human => ui.page(&row.id),
        Output::Json | Output::Jsonl => drop(ui.data(&json!({ "invocation": documents::invocation(&row) }))),
    }
    Ok(Exit::Completed)
}

async fn list(arguments: &InvocationList, queries: &dyn Queries, ui: &Ui) -> Result<Exit, Error> {
    let since = arguments.since.as_deref().map(words::since).transpose()?;
    let status = arguments.status.as_deref().map(parse_status).transpose()?;
    let rows = queries.invocations(&InvocationFilter { status, since, limit: Some(arguments.limit) }).await?;
    match ui.output() {
        Output::Json => {
            let documents: Vec<Value> = rows.iter().map(documents::invocation).collect();
            ui.data(&json!({ "invocations": documents }));
        }
        Output::Jsonl => {
            let one = |row| json!({ "invocation": documents::invocation(row) });
            let _all_read = rows.iter().all(|row| ui.data(&one(row)));
        }
        Output::Human if rows.is_empty() => ui.page("no invocations"),
        Output::Human => {
            let page = ui.page;
            let mut table = TextTable::new();
            for row in &rows {
                let status = row.status.as_str().replace('_', " ");
                let started = rfc3339(row.started_at).replace('T', " ");
                let started = &started[..19];
                let runs = count(usize::try_from(row.runs()).unwrap_or(usize::MAX), "run");
                let name = printable(row.name.as_ref().or(row.skill.as_ref()).map_or("", String::as_str));
                let summary =
                    row.reason.as_ref().map(|reason| printable(&reason.summary)).unwrap_or_default();
                table.row(&[
                    (&row.id, page.cyan(&row.id)),
                    (&status, status_painted(row.status, page)),
                    (started, page.dim(started)),
                    (&runs, runs.clone()),
                    (&name, page.bold(&name)),
                    ("", summary),
                ]);
            }
            ui.page(&table.render());
        }
    }
    Ok(Exit::Completed)
}
