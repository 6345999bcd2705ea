//! `escrow play`: runs a show of plays with gates, and shows where its plays stand.

use std::sync::Arc;

use escrow_app::shows::{self, ShowOrder};
use escrow_app::{Error, runs};
use escrow_engine::Run;
use escrow_model::PlanKind;
use serde_json::{Value, json};

use super::playbook_file;
use super::run::{directory, report};
use crate::arguments::{Output, PlayAction, PlayArguments, PlayRunArguments, PlayStatusArguments, Shared};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Paint, TextTable, Ui, printable};

/// How many runs of shows are listed.
const LISTED: usize = 20;

pub(crate) async fn play(arguments: &PlayArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    match &arguments.action {
        PlayAction::Run(run) => self::run(run, shared, ui).await,
        PlayAction::Status(status) => self::status(status, shared, ui).await,
    }
}

async fn run(arguments: &PlayRunArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let directory = directory(arguments.dir.as_deref())?;
    let show = shows::load(&arguments.file, &directory)?;
    playbook_file::show(&show.warnings, ui);
    let app = session::app(shared, ui)?;
    session::stop_on_signals(&app);
    let order = ShowOrder {
        plan: Arc::new(show.plan),
        file: arguments.file.clone(),
        directory,
        inputs: arguments.inputs.clone(),
        jobs: arguments.jobs,
    };
    let run = shows::start(&app, order).await?;
    report(&run, &*app.queries()?, ui).await;
    Ok(Exit::of(&run))
}

async fn status(arguments: &PlayStatusArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    let found: Vec<Run> = match &arguments.run {
        None => shows::list(&app, LISTED).await?,
        Some(name) if name == "last" => shows::list(&app, 1).await?,
        Some(name) => {
            let queries = app.queries()?;
            let row = queries.run(name).await?;
            let run = runs::replay(&*queries, &row).await?;
            if run.plan_of().kind != PlanKind::Show {
                let message = format!("`{}` is no run of a show", row.id);
                return Err(
                    Error::author("usage", message).help(format!("`escrow runs show {}` shows it", row.id))
                );
            }
            vec![run]
        }
    };
    let documents: Vec<Value> = found.iter().map(shows::document).collect();
    match ui.output() {
        Output::Human => {
            let pages: Vec<String> = documents.iter().map(|show| page(show, ui.page)).collect();
            let nothing = "no show was run here; `escrow play run FILE` runs one\n".to_owned();
            ui.page(&if pages.is_empty() { nothing } else { pages.join("\n") });
        }
        Output::Json | Output::Jsonl => {
            ui.data(&json!({ "shows": documents }));
        }
    }
    Ok(Exit::Completed)
}

fn page(show: &Value, paint: Paint) -> String {
    let text = |value: &Value| printable(value.as_str().unwrap_or_default());
    let mut page =
        format!("{}  {}  {}", paint.bold(&text(&show["show"])), text(&show["id"]), text(&show["status"]));
    if let Some(reason) = show["reason"]["summary"].as_str() {
        page.push_str(&format!("  {}", printable(reason)));
    }
    page.push('\n');
    let mut table = TextTable::new();
    for play in show["plays"].as_array().into_iter().flatten() {
        let name = format!("  {}", text(&play["name"]));
        let status = match play["skip_reason"].as_str() {
            Some(reason) => format!("skipped ({reason})"),
            None => text(&play["status"]),
        };
        let runs = match play["runs"].as_u64() {
            Some(runs) if runs > 1 => format!("{runs} attempts"),
            Some(_) | None => String::new(),
        };
        let gate = match play["gate"]["state"].as_str() {
            None => String::new(),
            Some("open") => "gate open".to_owned(),
            Some("opened_by_person") => "gate opened by a person".to_owned(),
            Some("undecided") => "gate not decided yet".to_owned(),
            Some("waiting") => "gate closed, a person is asked".to_owned(),
            Some(_) => "gate closed".to_owned(),
        };
        table.row(&[
            (name.as_str(), name.clone()),
            (status.as_str(), status.clone()),
            (runs.as_str(), runs.clone()),
            (gate.as_str(), gate.clone()),
            ("", text(&play["run_id"])),
        ]);
    }
    page.push_str(&table.render());
    page
}
