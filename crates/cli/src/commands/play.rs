//! `escrow play`: runs a show of plays with gates, and shows where its plays stand.

use std::sync::Arc;

use escrow_app::shows::{self, GateState, ShowOrder};
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
    match ui.output() {
        Output::Human => {
            let pages: Vec<String> = found.iter().map(|run| page(run, ui.page)).collect();
            let nothing = "no show was run here; `escrow play run FILE` runs one\n".to_owned();
            ui.page(&if pages.is_empty() { nothing } else { pages.join("\n") });
        }
        Output::Json | Output::Jsonl => {
            let documents: Vec<Value> = found.iter().map(shows::document).collect();
            ui.data(&json!({ "shows": documents }));
        }
    }
    Ok(Exit::Completed)
}

fn page(run: &Run, paint: Paint) -> String {
    let mut page = format!(
        "{}  {}  {}",
        paint.bold(&printable(&run.plan_of().name)),
        run.options().run,
        run.status().as_str()
    );
    if let Some(reason) = run.reason() {
        page.push_str(&format!("  {}", printable(&reason.summary)));
    }
    page.push('\n');
    let mut table = TextTable::new();
    for play in shows::plays(run) {
        let name = format!("  {}", printable(play.name));
        let status = match play.skip_reason {
            Some(reason) => format!("skipped ({})", reason.as_str()),
            None => play.status.as_str().to_owned(),
        };
        let runs = if play.runs > 1 { format!("{} attempts", play.runs) } else { String::new() };
        let gate = match play.gate.map(|gate| gate.state) {
            None => "",
            Some(GateState::Open) => "gate open",
            Some(GateState::OpenedByPerson) => "gate opened by a person",
            Some(GateState::Undecided) => "gate not decided yet",
            Some(GateState::Waiting) => "gate closed, a person is asked",
            Some(GateState::Closed) => "gate closed",
        };
        table.row(&[
            (name.as_str(), name.clone()),
            (status.as_str(), status.clone()),
            (runs.as_str(), runs.clone()),
            (gate, gate.to_owned()),
            ("", printable(play.run_id.unwrap_or_default())),
        ]);
    }
    page.push_str(&table.render());
    page
}
