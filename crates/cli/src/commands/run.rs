//! `escrow run`: reads a playbook, runs it, and says how it ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use escrow_app::StartRequest;
use escrow_model::{Plan, RunOptions};
use escrow_playbook::nearest;
use escrow_runtime::entropy::new_run_id;
use escrow_runtime::secrets::Secrets;
use escrow_store::{OutcomeFilter, OutcomeRow, Store};
use serde_json::{Value, json};

use super::{playbook_file, start};
use crate::arguments::{Output, RunArguments, Shared};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{LiveView, Ui, closing, parse_duration};

pub(crate) fn run(arguments: &RunArguments, shared: &Shared, ui: &Ui) -> Result<Exit> {
    let file = arguments.file.clone().unwrap_or_default();
    let plan = Arc::new(playbook_file::load(&file, ui)?.plan);
    run_plan(arguments, shared, ui, &plan)
}

/// Runs what was read, and says how it ended.
pub(crate) fn run_plan(arguments: &RunArguments, shared: &Shared, ui: &Ui, plan: &Arc<Plan>) -> Result<Exit> {
    execute(arguments, shared, ui, plan).map_err(|error| {
        // What went wrong may quote what was typed.
        let secrets = Secrets::at_hand(plan, arguments.frame.dir.as_deref().unwrap_or(Path::new(".")));
        Failure::from_error(error).redacted(secrets.redactor()).into()
    })
}

fn execute(arguments: &RunArguments, shared: &Shared, ui: &Ui, plan: &Arc<Plan>) -> Result<Exit> {
    for name in &arguments.only {
        if plan.find(name).is_none() {
            return Err(unknown_check(name, plan).into());
        }
    }
    let (event, payload) = start::read_event(arguments.event.as_deref())?;
    if let Some(slip) = event.as_deref().and_then(|event| slip_in_event(event, plan)) {
        ui.say(&slip);
    }
    let inputs = start::read_inputs(plan, &arguments.inputs)?;
    let timeout_ms = arguments.frame.timeout.as_deref().map(timeout).transpose()?;
    let directory = directory(arguments.frame.dir.as_deref())?;
    let state = StateDirectory::find(shared.state.as_deref())?;
    let id = new_run_id().map_err(|error| Failure::world("chance", format!("no random numbers: {error}")))?;
    let artifacts = artifact_directory(arguments.frame.artifacts.as_deref(), &state, &id)?;
    let secrets = start::read_secrets(plan, &directory)?;
    let store = state.write()?;
    let artifacts = create_canonical(&artifacts)?;
    let options = RunOptions {
        run: id,
        event,
        payload,
        inputs,
        only: arguments.only.clone(),
        tags: arguments.tags.clone(),
        exclude_tags: arguments.exclude_tags.clone(),
        safe_mode: arguments.safe_mode,
        parallelism: arguments.jobs.or(plan.max_parallelism).unwrap_or_else(cores),
        timeout_ms,
        invocation: super::invocation::joined(arguments.frame.invocation.as_deref(), &store)?,
        depth: 0,
        parent: None,
        file: arguments
            .file
            .as_ref()
            .and_then(|file| std::path::absolute(file).ok())
            .map(|path| path.display().to_string()),
        directory: directory.display().to_string(),
        artifacts: artifacts.display().to_string(),
    };
    let begun = start::begin(StartRequest { plan: Arc::clone(plan), options, secrets }, Arc::clone(&store))?;
    let mut live = LiveView::new(ui, &begun.run);
    let run = begun.drive(&state, &mut live)?;
    live.finish();
    report(&run, &store, ui);
    let is_reported = write_reports(arguments, &run, &store, ui)?;
    let exit = if is_reported { start::exit_of(&run) } else { Exit::WorldFailed };
    // All is committed, and the process ends: the system takes everything back at once.
    store.settle();
    std::mem::forget((run, store));
    Ok(exit)
}

fn unknown_check(name: &str, plan: &Plan) -> Failure {
    let names = || plan.checks.iter().map(|check| check.name.as_str());
    let help = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the checks are {}", names().collect::<Vec<_>>().join(", ")),
    };
    Failure::author("unknown_check", format!("no check is called `{name}`")).help(help)
}

/// Events are free words, but one that nobody listens to and that is nearly another is probably a slip.
fn slip_in_event(event: &str, plan: &Plan) -> Option<String> {
    let listened_to = || plan.checks.iter().flat_map(|check| &check.on).map(String::as_str);
    if listened_to().any(|known| known == event) {
        return None;
    }
    let near = nearest(event, listened_to())?;
    Some(format!("warning: no check listens to `{event}`: did you mean `{near}`?"))
}

/// False when one could not be written. The run is what it is all the same.
fn write_reports(
    arguments: &RunArguments,
    run: &escrow_engine::Run,
    store: &Store,
    ui: &Ui,
) -> Result<bool, Failure> {
    if arguments.reports.is_empty() {
        return Ok(true);
    }
    let entries: Vec<_> = store.entries(&run.options().run, 0)?.into_iter().map(|(_, entry)| entry).collect();
    let path = arguments.file.as_deref().unwrap_or(Path::new(""));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let playbook = crate::report::Playbook { path, text: &text };
    let problems = crate::report::write(&arguments.reports, run, &entries, &playbook);
    for problem in &problems {
        ui.error(problem, None);
    }
    Ok(problems.is_empty())
}

/// How a run came to rest: ui for people, the document for tools.
pub(crate) fn report(run: &escrow_engine::Run, store: &Store, ui: &Ui) {
    ui.say_lazily(|| closing(run, ui.paint).trim_end().to_owned());
    match ui.output() {
        Output::Human => {}
        Output::Json => drop(ui.data(&document(run, store))),
        Output::Jsonl => drop(ui.data(&json!({ "document": document(run, store) }))),
    }
}

/// The document of a run, with the outcomes that were added to it by hand: its journal does not tell of those.
pub(crate) fn document(run: &escrow_engine::Run, store: &Store) -> Value {
    let mut document = run.document();
    let filter = OutcomeFilter { run: Some(run.options().run.clone()), ..OutcomeFilter::default() };
    if let Ok(rows) = store.outcomes(&filter) {
        document["outcomes"] = rows.iter().map(OutcomeRow::document).collect();
    }
    document
}

fn timeout(text: &str) -> Result<u64, Failure> {
    parse_duration(text).filter(|ms| *ms > 0).ok_or_else(|| {
        Failure::author("usage", format!("`--timeout {text}` is not a duration"))
            .help("write e.g. `90s` or `30m`")
    })
}

pub(crate) fn directory(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let current = std::env::current_dir()
        .map_err(|error| Failure::world("directory", format!("no current directory: {error}")))?;
    let Some(given) = given else { return Ok(current) };
    let directory = current.join(given);
    if !directory.is_dir() {
        return Err(Failure::author("usage", format!("`--dir {}` is not a directory", given.display())));
    }
    Ok(directory)
}

fn artifact_directory(
    given: Option<&Path>,
    state: &StateDirectory,
    id: &escrow_model::RunId,
) -> Result<PathBuf, Failure> {
    let path = given.map_or_else(|| state.artifacts(id), Path::to_path_buf);
    std::path::absolute(&path)
        .map_err(|error| Failure::world("artifacts", format!("`{}`: {error}", path.display())))
}

/// Makes the directory and tells its real place. Links that lead there now are the user's; one that turns up while
/// the run works is not followed.
fn create_canonical(path: &Path) -> Result<PathBuf, Failure> {
    std::fs::create_dir_all(path)
        .and_then(|()| path.canonicalize())
        .map_err(|error| Failure::world("artifacts", format!("cannot create `{}`: {error}", path.display())))
}

fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1))
}
