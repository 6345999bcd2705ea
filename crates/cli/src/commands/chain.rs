//! `escrow chain`: chains, what they would do, and their runs.

use std::path::Path;

use escrow_app::chains::{self, ChainPlan, ChainRun, FireEvent, ListedChain, PlannedStep};
use escrow_app::messages::ready_waits;
use escrow_app::{App, Error, documents, fires, inputs, schedule};
use escrow_engine::Run;
use escrow_model::{ChainStatus, CheckStatus, Millis, RunStatus, rfc3339};
use escrow_store::{ChainDefined, ChainRow, ChainRunFilter, FireRow};
use serde_json::{Value, json};

use super::run::directory;
use super::{chain_loop, playbook_file};
use crate::arguments::{
    ChainAction, ChainArguments, ChainRunsArguments, DefineArguments, FireArguments, Output, Shared,
};
use crate::exit::Exit;
use crate::session;
use crate::terminal::{Paint, TextTable, Ui, closing, printable, verdict_of};

pub(crate) async fn chain(arguments: ChainArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let app = session::app(shared, ui)?;
    match arguments.action {
        ChainAction::Define(file) => define(&file, &app, ui).await,
        ChainAction::List => list(&app, ui).await,
        ChainAction::Show(chain) => show(&chain.name, &app, ui).await,
        ChainAction::Plan(fire) => plan(&fire, &app, ui).await,
        ChainAction::Fire(arguments) => fire(&arguments, &app, ui).await,
        ChainAction::Pause(chain) => changed(&chains::pause(&app, &chain.name).await?, ui),
        ChainAction::Resume(chain) => changed(&chains::resume(&app, &chain.name).await?, ui),
        ChainAction::Enable(chain) => changed(&chains::enable(&app, &chain.name).await?, ui),
        ChainAction::Disable(chain) => changed(&chains::disable(&app, &chain.name).await?, ui),
        ChainAction::Check(check) => Box::pin(chain_loop::check(&check, shared, ui)).await,
        ChainAction::Daemon(daemon) => Box::pin(chain_loop::daemon(&daemon, shared, ui)).await,
        ChainAction::Runs(which) => runs(&which, &app, ui).await,
    }
}

async fn define(arguments: &DefineArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let directory = directory(arguments.dir.as_deref())?;
    let definition = chains::define(app, &arguments.file, &directory).await?;
    // Changes count from here on.
    schedule::begin_watching(app).await?;
    playbook_file::show(&definition.warnings, ui);
    let row = definition.defined.row();
    let (name, version) = (printable(&row.name), row.version);
    let active = match row.status {
        ChainStatus::Active => "",
        ChainStatus::Paused => "; it is paused",
        ChainStatus::Disabled => "; it is disabled",
    };
    ui.say(&match &definition.defined {
        ChainDefined::New(_) => format!("chain {name} is defined, version {version}{active}"),
        ChainDefined::Changed(_) => {
            format!("chain {name} is defined anew, version {version}{active}; runs under way keep theirs")
        }
        ChainDefined::Unchanged(_) => format!("chain {name} is unchanged, version {version}{active}"),
    });
    ui.data_if_machine(&json!({ "chain": documents::chain(&chains::show(app, &row.name).await?) }));
    Ok(Exit::Completed)
}

async fn list(app: &App, ui: &Ui) -> Result<Exit, Error> {
    let listed = chains::list(app).await?;
    match ui.output() {
        Output::Json => ui.data_if_machine(&documents::chains(&listed)),
        Output::Jsonl => {
            listed.iter().all(|one| ui.data(&json!({ "chain": documents::chain(one) })));
        }
        Output::Human if listed.is_empty() => ui.page("no chains: `escrow chain define FILE` defines one"),
        Output::Human => ui.page(&list_table(&listed, ui.page)),
    }
    Ok(Exit::Completed)
}

fn list_table(listed: &[ListedChain], paint: Paint) -> String {
    let mut table = TextTable::new();
    for one in listed {
        let name = printable(&one.row.name);
        let status = one.row.status.as_str();
        let file = match one.file {
            chains::FileState::Same => String::new(),
            chains::FileState::Changed => "file changed since".to_owned(),
            chains::FileState::Missing => "file is gone".to_owned(),
        };
        let last = match (&one.not_begun, one.runs.first()) {
            (Some(fire), _) => format!("could not begin {}", short_time(fire.decided_at.unwrap_or(fire.at))),
            (None, Some(run)) => {
                let status = documents::chain_status(run.status).replace('_', " ");
                format!("{status} {}", short_time(run.created_at))
            }
            (None, None) => "never fired".to_owned(),
        };
        table.row(&[
            (&name, paint.bold(&name)),
            (status, chain_status(one.row.status, paint)),
            (&last, last.clone()),
            (&file, paint.yellow(&file)),
        ]);
    }
    table.render()
}

fn chain_status(status: ChainStatus, paint: Paint) -> String {
    match status {
        ChainStatus::Active => paint.green(status.as_str()),
        ChainStatus::Paused => paint.yellow(status.as_str()),
        ChainStatus::Disabled => paint.dim(status.as_str()),
    }
}

fn short_time(at: Millis) -> String {
    rfc3339(at).replace('T', " ")[..19].to_owned()
}

async fn show(name: &str, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let shown = chains::show(app, name).await?;
    let queries = app.queries()?;
    let latest: Vec<_> = shown.runs.iter().take(SHOWN_RUNS).cloned().collect();
    let runs = chains::runs::read(&*queries, &latest).await?;
    let without = fires::without_run(app, Some(name), SHOWN_RUNS).await?;
    if ui.output() != Output::Human {
        ui.data(&documents::chain_with_runs(&shown, &runs, &without));
        return Ok(Exit::Completed);
    }
    let row = &shown.row;
    let mut text = format!(
        "{}  {}\nversion {} ({}), defined by {} at {}\nfile {} ({})\nworks in {}\n\n",
        ui.page.bold(&printable(&row.name)),
        chain_status(row.status, ui.page),
        row.version,
        &row.sha256[..12],
        printable(row.defined_by.as_deref().unwrap_or("somebody")),
        short_time(row.updated_at),
        printable(&row.file),
        shown.file.as_str(),
        printable(&row.directory),
    );
    for line in row.text.trim_end().lines() {
        text.push_str(&format!("  {}\n", printable(line)));
    }
    if !runs.is_empty() {
        text.push('\n');
        text.push_str(&runs_table(&runs, ui.page));
    }
    if !without.is_empty() {
        text.push('\n');
        text.push_str(&fires_table(&without, ui.page));
    }
    ui.page(&text);
    Ok(Exit::Completed)
}

/// How many runs `chain show` shows.
const SHOWN_RUNS: usize = 10;

/// The event in a file.
fn event_of(file: Option<&Path>) -> Result<FireEvent, Error> {
    let payload = file.map(inputs::read_event).transpose()?.unwrap_or_default();
    Ok(FireEvent::by_hand(payload))
}

async fn plan(arguments: &FireArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let chain = chains::find(app, &arguments.name).await?;
    let plan = chains::plan(&chain, event_of(arguments.event.as_deref())?)?;
    match ui.output() {
        Output::Human => ui.page(&plan_page(&plan, ui.page)),
        Output::Json | Output::Jsonl => {
            ui.data(&documents::chain_plan(&plan));
        }
    }
    Ok(Exit::Completed)
}

fn plan_page(plan: &ChainPlan, paint: Paint) -> String {
    let mut text = format!("{}\n", paint.bold(&printable(&plan.chain)));
    for step in &plan.steps {
        text.push_str(&planned_step(step, paint));
    }
    text.push_str("\nnothing was called\n");
    text
}

fn planned_step(step: &PlannedStep, paint: Paint) -> String {
    let work = match (&step.skill, &step.action) {
        (Some(skill), _) => format!("skill {}", printable(skill)),
        (None, Some(action)) => format!("action {}", printable(action)),
        (None, None) => String::new(),
    };
    let name = step.name.as_ref().map(|name| format!(" ({})", printable(name))).unwrap_or_default();
    let mut text = format!("\n  {}  {}{name}\n", step.index, paint.bold(&work));
    if let Some(condition) = &step.condition {
        let value = match condition.held {
            Some(true) => paint.green("true"),
            Some(false) => paint.red("false"),
            None => paint.yellow("not known before it runs"),
        };
        text.push_str(&format!("     condition {}  {value}\n", printable(&condition.source)));
        for (source, value) in &condition.reads {
            let value = value.as_deref().unwrap_or("not known yet");
            text.push_str(&format!("       {} = {}\n", printable(source), printable(value)));
        }
    }
    for effect in &step.effects {
        text.push_str(&format!(
            "     can do {}  {}, at most {}\n",
            paint.bold(&printable(&effect.check)),
            effect.provider,
            crate::terminal::count(usize::try_from(effect.attempts_max).unwrap_or(usize::MAX), "attempt"),
        ));
        for line in effect.request.as_deref().unwrap_or_default().trim_end().lines() {
            text.push_str(&format!("       {}\n", printable(line)));
        }
    }
    if step.effects.is_empty() {
        text.push_str("     no effects\n");
    }
    for stop in &step.stopped_by {
        text.push_str(&format!("     stopped by {}\n", printable(stop)));
    }
    text
}

async fn fire(arguments: &FireArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    session::stop_on_signals(app);
    let event = event_of(arguments.event.as_deref())?;
    let run = chains::fire(app, &arguments.name, event, &mut |what| ui.say(&printable(what))).await?;
    report(run, app, ui).await
}

/// Says how the run of a chain ended, or that it waits, and prints its object.
async fn report(run: Run, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let exit = if run.waits().is_empty() { Exit::of(&run) } else { Exit::Completed };
    let ready = ready_waits(&*app.queries()?, &run).await;
    ui.say_lazily(|| closing(&run, &ready, ui.paint).trim_end().to_owned());
    if ui.is_quiet() && exit != Exit::Completed {
        ui.say_even_when_quiet(verdict_of(&run, ui.paint).trim_end());
    }
    let fired = chains::runs::of_run(&*app.queries()?, run).await?;
    match ui.output() {
        Output::Human => ui.page(&steps_table(&fired, ui.page)),
        Output::Json => drop(ui.data(&documents::chain_run(&fired))),
        Output::Jsonl => drop(ui.data(&json!({ "chain_run": documents::chain_run(&fired) }))),
    }
    Ok(exit)
}

/// An unknown effect is no request that could be approved.
fn next_command(id: &str) -> String {
    if id.starts_with("a_") { format!("escrow approve {id}") } else { "escrow approvals".to_owned() }
}

fn steps_table(fired: &ChainRun, paint: Paint) -> String {
    let mut table = TextTable::new();
    for (index, links) in fired.steps() {
        let report = fired.run.check_report(index);
        let place = format!("  {}", index.place());
        let (name, status) = (printable(report.name), report.status.as_str());
        let outcome = fired.run.step_outcome(index).and_then(|outcome| outcome.get("summary"));
        let asked = links.approval.as_deref().filter(|_| report.status == CheckStatus::Waiting);
        let more = [
            report.skip_reason.map(|reason| reason.as_str().to_owned()),
            outcome.and_then(Value::as_str).map(printable),
            asked.map(next_command),
        ];
        let more = more.into_iter().flatten().collect::<Vec<_>>().join("  ");
        let painted = match report.status {
            CheckStatus::Succeeded => paint.green(status),
            CheckStatus::Failed => paint.red(status),
            CheckStatus::Waiting | CheckStatus::Unknown => paint.yellow(status),
            CheckStatus::Pending | CheckStatus::Running | CheckStatus::Skipped => paint.dim(status),
        };
        let run = links.run.as_ref().map_or("", |run| run.as_str());
        table.row(&[
            (&place, place.clone()),
            (&name, paint.bold(&name)),
            (status, painted),
            (&more, more.clone()),
            ("", paint.dim(run)),
        ]);
    }
    table.render()
}

async fn runs(arguments: &ChainRunsArguments, app: &App, ui: &Ui) -> Result<Exit, Error> {
    let filter = ChainRunFilter { chain: arguments.name.clone(), limit: Some(arguments.limit) };
    let rows = chains::runs::rows(app, &filter).await?;
    let runs = chains::runs::read(&*app.queries()?, &rows).await?;
    let without = fires::without_run(app, arguments.name.as_deref(), arguments.limit).await?;
    match ui.output() {
        Output::Json => {
            ui.data(&documents::chain_runs(&runs, &without));
        }
        Output::Jsonl => {
            let told = runs.iter().all(|run| ui.data(&json!({ "chain_run": documents::chain_run(run) })));
            let _ = told && without.iter().all(|fire| ui.data(&json!({ "fire": fires::document(fire) })));
        }
        Output::Human if runs.is_empty() && without.is_empty() => ui.page("no runs of chains"),
        Output::Human => {
            if !runs.is_empty() {
                ui.page(&runs_table(&runs, ui.page));
            }
            if !without.is_empty() {
                ui.page(&fires_table(&without, ui.page));
            }
        }
    }
    Ok(Exit::Completed)
}

fn fires_table(fires: &[FireRow], paint: Paint) -> String {
    let mut table = TextTable::new();
    for fire in fires {
        let (chain, status) = (printable(&fire.chain), fire.status.as_str());
        let (at, event) = (short_time(fire.at), printable(&fire.event));
        let why = printable(fire.reason.as_deref().unwrap_or_default());
        table.row(&[
            (status, paint.yellow(status)),
            (&chain, chain.clone()),
            (&event, event.clone()),
            (&at, paint.dim(&at)),
            (&why, why.clone()),
        ]);
    }
    format!("fires without a run\n{}", table.render())
}

fn runs_table(runs: &[ChainRun], paint: Paint) -> String {
    let mut table = TextTable::new();
    for ChainRun { row, run, .. } in runs {
        let (id, chain, event) = (row.id.as_str(), printable(&row.chain), printable(row.event_name()));
        let status = documents::chain_status(run.status()).replace('_', " ");
        let painted = match run.status() {
            RunStatus::Completed => paint.green(&status),
            RunStatus::Running => status.clone(),
            RunStatus::Waiting => paint.yellow(&status),
            RunStatus::Failed | RunStatus::TimedOut | RunStatus::Aborted | RunStatus::Cancelled => {
                paint.red(&status)
            }
        };
        let started = short_time(row.created_at);
        let summary = printable(run.reason().map_or("", |reason| reason.summary.as_str()));
        table.row(&[
            (id, paint.cyan(id)),
            (&status, painted),
            (&chain, chain.clone()),
            (&event, event.clone()),
            (&started, paint.dim(&started)),
            ("", summary),
        ]);
    }
    table.render()
}

fn changed(row: &ChainRow, ui: &Ui) -> Result<Exit, Error> {
    ui.say(&format!("chain {} is {}", printable(&row.name), row.status.as_str()));
    ui.data_if_machine(&json!({ "chain": { "id": row.id, "name": row.name, "status": row.status } }));
    Ok(Exit::Completed)
}
