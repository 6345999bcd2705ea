//! `escrow outcomes add`: an outcome from stdin, kept if its kind admits it.

use std::io::{self, Read};
use std::path::Path;

use escrow_contract::outcome::{BYTES_MAX, Kind, read_any};
use escrow_model::{ArtifactPath, Event, OutcomeId, RecordedOutcome, ScopePath};
use escrow_runtime::entropy::{now_ms, random_u64};
use escrow_runtime::outcome_kinds;
use escrow_runtime::secrets::Secrets;
use escrow_store::{AddedOutcome, RunRow, Store};
use serde_json::json;

use crate::arguments::{AddArguments, Output};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{Ui, printable};

/// How long a name may be, in characters.
const NAME_LENGTH_MAX: usize = 200;

pub(super) fn add(arguments: &AddArguments, state: &StateDirectory, ui: &Ui) -> Result<Exit, Failure> {
    check_arguments(arguments)?;
    let bytes = read_stdin()?;
    let outcome = read_any(&bytes, |name| kind(name, state)).map_err(|refused| {
        let problems = refused.problems.join("\n  ");
        Failure::author("outcome_invalid", format!("the outcome is refused:\n  {problems}"))
            .help("nothing was stored; `escrow schema KIND` prints the fields of a kind")
    })?;
    let store = state.write()?;
    let run = arguments.run.as_deref().map(|name| store.run(name)).transpose()?;
    let invocation = crate::commands::invocation::named(arguments.invocation.as_deref(), &store)?;
    let mut outcome = RecordedOutcome {
        id: new_id()?,
        name: arguments.name.trim().to_owned(),
        outcome,
        check: None,
        scope: ScopePath::root(),
        file_path: arguments.file.clone(),
    };
    if let Some(run) = &run {
        redact(&mut outcome, run, &store)?;
    }
    let added = AddedOutcome {
        created_at: outcome.id.at_ms(),
        invocation_id: invocation.or_else(|| run.as_ref()?.invocation_id.clone()),
        run_id: run.map(|run| run.id),
        outcome,
    };
    store.add_outcome(&added)?;
    let (recorded, run) = (&added.outcome, added.run_id.as_ref().map(|run| run.as_str()));
    match ui.output() {
        Output::Human => {
            ui.page(recorded.id.as_str());
            ui.say(&format!("{}: {}", recorded.outcome.kind, printable(&recorded.outcome.summary)));
        }
        Output::Json | Output::Jsonl => {
            let document = recorded.document(added.created_at, run, added.invocation_id.as_deref());
            ui.data(&json!({ "outcome": document }));
        }
    }
    Ok(Exit::Completed)
}

fn check_arguments(arguments: &AddArguments) -> Result<(), Failure> {
    let name = arguments.name.trim();
    let bad = |what: String| Failure::author("usage", what);
    if name.is_empty() || name.chars().count() > NAME_LENGTH_MAX || name.chars().any(char::is_control) {
        let message = format!("`--name` must be one line of 1 to {NAME_LENGTH_MAX} characters");
        return Err(bad(message));
    }
    if let Some(invocation) = &arguments.invocation
        && (invocation.is_empty()
            || invocation.len() > NAME_LENGTH_MAX
            || invocation.chars().any(char::is_control))
    {
        return Err(bad("`--invocation` is not an id".into()));
    }
    match arguments.file.as_deref().map(ArtifactPath::parse) {
        Some(Err(why)) => Err(bad(format!("`--file` is not a valid path: {why}"))),
        Some(Ok(_)) | None => Ok(()),
    }
}

fn read_stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .take(BYTES_MAX as u64 + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Failure::world("io", format!("cannot read stdin: {error}")))?;
    Ok(bytes)
}

/// A registered kind, or one that the project declares; or why that cannot be used.
fn kind(name: &str, state: &StateDirectory) -> Option<Result<Kind, String>> {
    let here = std::env::current_dir().unwrap_or_default();
    let mut folders = vec![state.path().join("outcomes")];
    folders.extend(outcome_kinds::projects(std::iter::once(here.as_path())));
    let own = || {
        let schema = outcome_kinds::find(name, &folders)?;
        Some(schema.and_then(|schema| {
            Kind::custom(name, &schema)
                .map_err(|why| format!("`.escrow/outcomes/{name}.json` is not a valid JSON Schema: {why}"))
        }))
    };
    Kind::registered(name).map(Ok).or_else(own)
}

/// A secret of the run is not kept here either.
fn redact(outcome: &mut RecordedOutcome, run: &RunRow, store: &Store) -> Result<(), Failure> {
    let first = store.entries(&run.id, 0)?.into_iter().next();
    if let Some((_, entry)) = first
        && let Event::RunStarted { plan, options, .. } = entry.event
    {
        let secrets = Secrets::at_hand(&plan, Path::new(&options.directory));
        secrets.redactor().value(&mut outcome.outcome.content);
        secrets.redactor().text(&mut outcome.outcome.summary);
        secrets.redactor().text(&mut outcome.name);
        if let Some(path) = &mut outcome.file_path {
            secrets.redactor().text(path);
        }
    }
    Ok(())
}

/// The time to the nanosecond, then chance: of two that one process adds, the later one sorts behind.
fn new_id() -> Result<OutcomeId, Failure> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let within_ms = u64::from(since.subsec_nanos() % 1_000_000);
    let chance =
        random_u64().map_err(|error| Failure::world("chance", format!("no random numbers: {error}")))?;
    let at = u64::try_from(since.as_millis()).unwrap_or_else(|_| now_ms());
    Ok(OutcomeId::new(at, within_ms << 32 | (chance & 0xffff_ffff)))
}
