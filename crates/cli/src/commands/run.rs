//! `escrow run`: reads a playbook, runs it, and says how it ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrow_app::invocations::{NamedInvocation, Origin};
use escrow_app::messages::ready_waits;
use escrow_app::runs::{self, EventSource, GivenInputs, Order};
use escrow_app::{App, Error};
use escrow_engine::Run;
use escrow_model::{Plan, ReasonCode};
use escrow_store::Queries;
use serde_json::json;

use super::playbook_file;
use crate::arguments::{Frame, Output, RunArguments, Shared};
use crate::exit::Exit;
use crate::report::{self, Playbook};
use crate::session;
use crate::terminal::{Streaming, Ui, closing, parse_duration, verdict_of};

pub(crate) async fn run(arguments: &RunArguments, shared: &Shared, ui: &Ui) -> Result<Exit, Error> {
    let file = arguments.file.clone().unwrap_or_default();
    let directory = directory(arguments.frame.dir.as_deref())?;
    let playbook = playbook_file::load(&file, &directory, ui)?;
    run_plan(arguments, shared, ui, &Arc::new(playbook.plan), &playbook.text).await
}

/// Runs a plan, and says how it ended. `text` is the file that it was read from, as it was then.
pub(crate) async fn run_plan(
    arguments: &RunArguments,
    shared: &Shared,
    ui: &Ui,
    plan: &Arc<Plan>,
    text: &str,
) -> Result<Exit, Error> {
    // An error may quote what was typed.
    let typed_in = arguments.frame.dir.as_deref().unwrap_or(Path::new("."));
    let order =
        order(arguments, Arc::clone(plan)).map_err(|error| error.without_secrets_of(plan, typed_in))?;
    if let Some(event) = &order.event
        && let Some(slip) = runs::unheard_event(&order.plan, &event.name)
    {
        ui.say(&format!("warning: {slip}"));
    }
    let lines = arguments.stream || arguments.timestamps || ui.is_ci_log();
    let streaming = Streaming { lines, timestamps: arguments.timestamps, finished: arguments.verbose };
    let ui = &ui.streaming(streaming);
    let app = session::app(shared, ui)?;
    session::stop_on_signals(&app);
    let run = runs::start(&app, order).await?;
    let queries = app.queries()?;
    report(&run, &*queries, ui).await;
    let is_reported = write_reports(arguments, &run, text, &*queries, ui).await?;
    let left_out = run.reason().is_some_and(|reason| reason.code == ReasonCode::CompletedWithSkips);
    let exit = match Exit::of(&run) {
        _ if !is_reported => Exit::WorldFailed,
        Exit::Completed if left_out && arguments.fail_on_skip => Exit::PersonMustAct,
        exit => exit,
    };
    Ok(exit)
}

fn order(arguments: &RunArguments, plan: Arc<Plan>) -> Result<Order, Error> {
    let Frame { artifacts, timeout, dir, invocation } = &arguments.frame;
    Ok(Order {
        plan,
        file: arguments.file.clone(),
        directory: directory(dir.as_deref())?,
        artifacts: artifacts.clone(),
        event: arguments.event.as_deref().map(event),
        inputs: GivenInputs::Text(arguments.inputs.clone()),
        only: arguments.only.clone(),
        tags: arguments.tags.clone(),
        exclude_tags: arguments.exclude_tags.clone(),
        jobs: arguments.jobs,
        safe_mode: arguments.safe_mode,
        again: arguments.again.clone(),
        timeout_ms: timeout.as_deref().map(self::timeout).transpose()?,
        invocation: invocation.as_deref().map(named_invocation),
    })
}

/// `NAME[=FILE]`. In GitHub Actions the payload is that of the workflow's event, whose name `github` stands for.
fn event(given: &str) -> EventSource {
    if let Some((name, file)) = given.split_once('=') {
        return EventSource { name: name.to_owned(), payload: Some(PathBuf::from(file)) };
    }
    let of_actions = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let (payload, name) = match of_actions("GITHUB_EVENT_PATH") {
        Some(file) => (Some(PathBuf::from(file)), of_actions("GITHUB_EVENT_NAME")),
        None => (None, None),
    };
    let name = name.filter(|_| given == "github").unwrap_or_else(|| given.to_owned());
    EventSource { name, payload }
}

/// `--invocation ID`, or the variable that stands for it.
pub(crate) fn named_invocation(given: &str) -> NamedInvocation {
    let is_inherited = std::env::var("ESCROW_INVOCATION").is_ok_and(|inherited| inherited == given);
    let origin = if is_inherited { Origin::Environment } else { Origin::Request };
    NamedInvocation { name: given.to_owned(), origin }
}

fn timeout(text: &str) -> Result<u64, Error> {
    parse_duration(text).filter(|ms| *ms > 0).ok_or_else(|| {
        Error::author("usage", format!("`--timeout {text}` is not a duration"))
            .help("write e.g. `90s` or `30m`")
    })
}

/// Where the work is done: here, or in `--dir`.
pub(crate) fn directory(given: Option<&Path>) -> Result<PathBuf, Error> {
    let current = std::env::current_dir()
        .map_err(|error| Error::world("directory", format!("no current directory: {error}")))?;
    let Some(given) = given else { return Ok(current) };
    let directory = current.join(given);
    if !directory.is_dir() {
        return Err(Error::author("usage", format!("`--dir {}` is not a directory", given.display())));
    }
    Ok(directory)
}

/// False when a report could not be written. The run keeps its status all the same.
async fn write_reports(
    arguments: &RunArguments,
    run: &Run,
    text: &str,
    queries: &dyn Queries,
    ui: &Ui,
) -> Result<bool, Error> {
    if arguments.reports.is_empty() {
        return Ok(true);
    }
    let entries = queries.entries(&run.options().run, 0).await?;
    let entries: Vec<_> = entries.into_iter().map(|(_, entry)| entry).collect();
    let path = arguments.file.as_deref().unwrap_or(Path::new(""));
    let problems = report::write(&arguments.reports, run, &entries, &Playbook { path, text });
    for problem in &problems {
        ui.error(problem, None);
    }
    Ok(problems.is_empty())
}

/// A run at rest: the closing for people, the document for tools.
pub(crate) async fn report(run: &Run, queries: &dyn Queries, ui: &Ui) {
    let ready = ready_waits(queries, run).await;
    ui.say_lazily(|| closing(run, &ready, ui.paint).trim_end().to_owned());
    if ui.is_quiet() && Exit::of(run) != Exit::Completed {
        ui.say_even_when_quiet(verdict_of(run, ui.paint).trim_end());
    }
    match ui.output() {
        Output::Human => {}
        Output::Json => drop(ui.data(&runs::document(queries, run).await)),
        Output::Jsonl => drop(ui.data(&json!({ "document": runs::document(queries, run).await }))),
    }
}

/// Reports a run that this call drove, and exits as it did.
pub(crate) async fn report_driven(run: &Run, app: &App, ui: &Ui) -> Result<Exit, Error> {
    report(run, &*app.queries()?, ui).await;
    Ok(Exit::of(run))
}
