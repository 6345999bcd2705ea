//! `escrow outcomes`: typed results of runs and of people, every version.

mod add;
mod export;

use escrow_app::outcomes::known_kinds;
use escrow_app::{App, Error, documents, words};
use escrow_model::outcome;
use escrow_model::{Millis, RunId, RunStatus, rfc3339};
use escrow_store::{OutcomeFilter, OutcomeRow, Queries};
use serde_json::{Value, json};

use crate::arguments::{OutcomesAction, OutcomesArguments, OutcomesList, OutcomesWhich, Output, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{TextTable, Ui, printable, show_card};

pub(crate) async fn outcomes(arguments: OutcomesArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    match arguments.action {
        None => list(&arguments.list, &app, ui).await,
        Some(OutcomesAction::List(list)) => self::list(&list, &app, ui).await,
        Some(OutcomesAction::Show(which)) => show(&which.outcome, &*app.queries()?, ui).await,
        Some(OutcomesAction::Add(add)) => add::add(&add, &app, ui).await,
        Some(OutcomesAction::Export(export)) => export::export(&export, &app, ui).await,
    }
}

async fn list(arguments: &OutcomesList, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let queries = app.queries()?;
    let queries = &*queries;
    let filter = OutcomeFilter { limit: Some(arguments.limit), ..filter(&arguments.which, queries).await? };
    let rows = queries.outcomes(&filter).await?;
    match ui.output() {
        Output::Human => {
            human(&rows, &filter, app, ui);
            if let Some(run) = &filter.run {
                say_why_there_are_no_more(run, queries, ui).await?;
            }
        }
        Output::Json => {
            let documents: Vec<Value> = rows.iter().map(documents::outcome).collect();
            ui.data(&json!({ "outcomes": documents }));
        }
        Output::Jsonl => drop(rows.iter().all(|row| ui.data(&json!({ "outcome": documents::outcome(row) })))),
    }
    Ok(Exit::Completed)
}

/// A run that failed, such as one whose budget was spent, may not have come to all of its outcomes.
async fn say_why_there_are_no_more(run: &RunId, queries: &dyn Queries, ui: &Ui) -> Result<(), Error> {
    let row = queries.run(run.as_str()).await?;
    if let Some(reason) =
        row.reason.filter(|_| row.status.is_terminal() && row.status != RunStatus::Completed)
    {
        ui.say(&format!("the run failed: {}  {}", reason.code.as_str(), printable(&reason.summary)));
    }
    Ok(())
}

fn human(rows: &[OutcomeRow], filter: &OutcomeFilter, app: &App, ui: &Ui) {
    if rows.is_empty() {
        ui.page("no outcomes");
        if let Some(kind) = &filter.kind {
            let known = known_kinds(app.state());
            if !known.contains(kind) {
                ui.say(&format!(
                    "unknown outcome kind `{}`; known kinds: {}",
                    printable(kind),
                    known.join(", ")
                ));
            }
        }
        return;
    }
    let page = ui.page;
    let mut table = TextTable::new();
    for row in rows {
        let recorded = &row.outcome;
        let (mark, painted) = match recorded.outcome.passed {
            Some(true) => ("✓", page.green("✓")),
            Some(false) => ("✗", page.red("✗")),
            None => ("-", page.dim("-")),
        };
        let created = rfc3339(row.created_at).replace('T', " ");
        let created = &created[..19];
        let name = printable(&recorded.name);
        table.row(&[
            (recorded.id.as_str(), page.cyan(recorded.id.as_str())),
            (mark, painted),
            (created, page.dim(created)),
            (&recorded.outcome.kind, recorded.outcome.kind.clone()),
            (&name, page.bold(&name)),
            ("", printable(&recorded.outcome.summary)),
        ]);
    }
    ui.page(&table.render());
}

async fn show(name: &str, queries: &dyn Queries, ui: &Ui) -> Result<Exit, Error> {
    let row = find(name, queries).await?;
    let recorded = &row.outcome;
    let digest = outcome::digest(&recorded.outcome.kind, &recorded.outcome.content);
    let card = digest.map(|digest| digest.card);
    if ui.output() != Output::Human {
        ui.data(&json!({ "outcome": documents::outcome(&row), "card": card.ok() }));
        return Ok(Exit::Completed);
    }
    let paint = ui.page;
    let mut text =
        format!("{}  {}\n", paint.cyan(recorded.id.as_str()), paint.bold(&printable(&recorded.name)));
    let run = row.run_id.as_ref().map(|run| format!("   run {run}"));
    let invocation = row.invocation_id.as_ref().map(|id| format!("   invocation {}", printable(id)));
    let file = recorded.file_path.as_ref().map(|path| format!("   file {}", printable(path)));
    let more: String = [run, invocation, file].into_iter().flatten().collect();
    text.push_str(&format!("{}   {}{more}\n\n", recorded.outcome.kind, rfc3339(row.created_at)));
    match card {
        Ok(card) => text.push_str(&show_card(&card, paint)),
        // Its kind may have changed since; what was kept is shown as it is.
        Err(_) => text.push_str(&serde_json::to_string_pretty(&recorded.outcome.content).unwrap_or_default()),
    }
    ui.page(&text);
    Ok(Exit::Completed)
}

async fn find(name: &str, queries: &dyn Queries) -> Result<OutcomeRow, Error> {
    let unknown = || {
        Error::not_found("unknown_outcome", format!("no outcome is called `{name}`"))
            .help("`escrow outcomes` lists them")
    };
    if name.is_empty() {
        return Err(unknown());
    }
    let mut found = match name {
        "last" => queries.outcomes(&OutcomeFilter { limit: Some(1), ..OutcomeFilter::default() }).await?,
        name => queries.outcomes_named(name).await?,
    };
    match (found.pop(), found.is_empty()) {
        (Some(row), true) => Ok(row),
        (None, _) => Err(unknown()),
        (Some(_), false) => {
            Err(Error::author("ambiguous_outcome", format!("`{name}` is ambiguous"))
                .help("give more of the id"))
        }
    }
}

/// What the arguments ask for.
async fn filter(which: &OutcomesWhich, queries: &dyn Queries) -> Result<OutcomeFilter, Error> {
    let since: Option<Millis> = which.since.as_deref().map(words::since).transpose()?;
    Ok(OutcomeFilter {
        kind: which.kind.clone(),
        passed: match (which.passed, which.failed) {
            (true, _) => Some(true),
            (_, true) => Some(false),
            (false, false) => None,
        },
        since,
        run: match &which.run {
            Some(name) => Some(queries.run(name).await?.id),
            None => None,
        },
        invocation: which.invocation.clone(),
        ..OutcomeFilter::default()
    })
}
