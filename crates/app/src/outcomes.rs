//! Adds outcomes that people bring, if their kind admits them.

use std::path::{Path, PathBuf};

use escrow_contract::outcome::{Kind, read_any};
use escrow_model::outcome::KINDS;
use escrow_model::{ArtifactPath, OutcomeId, RecordedOutcome, ScopePath};
use escrow_runtime::{Secrets, now_ms, outcome_kinds, random_u64};
use escrow_store::{AddedOutcome, Durability, RunRow};

pub use escrow_contract::outcome::BYTES_MAX;
pub use escrow_store::{OutcomeFilter, OutcomeRow};

use crate::app::App;
use crate::around::secrets_around;
use crate::error::Error;
use crate::invocations::{self, NamedInvocation};
use crate::person_text::NAME_LENGTH_MAX;
use crate::state::StateDirectory;
use crate::timeline::RunStart;

#[derive(Debug)]
pub struct NewOutcome {
    pub name: String,
    /// JSON of one of the kinds.
    pub content: Vec<u8>,
    pub run: Option<String>,
    pub invocation: Option<NamedInvocation>,
    /// A file that the outcome is about.
    pub file: Option<String>,
}

impl NewOutcome {
    /// What can be said before its content is read.
    pub fn check(&self) -> Result<(), Error> {
        let bad = |what: String| Error::author("usage", what);
        let name = self.name.trim();
        if name.is_empty() || name.chars().count() > NAME_LENGTH_MAX || name.chars().any(char::is_control) {
            let message = format!("`--name` must be one line of 1 to {NAME_LENGTH_MAX} characters");
            return Err(bad(message));
        }
        let is_id = |name: &str| {
            !name.is_empty() && name.len() <= NAME_LENGTH_MAX && !name.chars().any(char::is_control)
        };
        if self.invocation.as_ref().is_some_and(|named| !is_id(&named.name)) {
            return Err(bad("`--invocation` is not an id".into()));
        }
        match self.file.as_deref().map(ArtifactPath::parse) {
            Some(Err(why)) => Err(bad(format!("`--file` is not a valid path: {why}"))),
            Some(Ok(_)) | None => Ok(()),
        }
    }
}

pub async fn add(app: &App, new: NewOutcome) -> Result<AddedOutcome, Error> {
    new.check()?;
    let outcome = read_any(&new.content, |name| kind(name, app.state())).map_err(|refused| {
        let problems = refused.problems.join("\n  ");
        Error::author("outcome_invalid", format!("the outcome is refused:\n  {problems}"))
            .help("nothing was stored; `escrow schema KIND` prints the fields of a kind")
    })?;
    let records = app.records()?;
    let queries = app.queries()?;
    let run = match &new.run {
        Some(name) => Some(queries.run(name).await?),
        None => None,
    };
    let invocation = invocations::resolve(&*queries, new.invocation.as_ref()).await?;
    let mut outcome = RecordedOutcome {
        id: new_id()?,
        name: new.name.trim().to_owned(),
        outcome,
        check: None,
        scope: ScopePath::root(),
        file_path: new.file,
    };
    redact(app, &mut outcome, run.as_ref()).await?;
    let added = AddedOutcome {
        created_at: outcome.id.at_ms(),
        invocation_id: invocation.or_else(|| run.as_ref()?.invocation_id.clone()),
        run_id: run.map(|run| run.id),
        outcome,
    };
    records.add_outcomes(std::slice::from_ref(&added), Durability::Grouped).await?;
    Ok(added)
}

/// The kinds that Escrow knows by itself, and those of the project.
pub fn known_kinds(state: &StateDirectory) -> Vec<String> {
    let own = outcome_kinds::names(&folders(state));
    KINDS.iter().map(|kind| kind.name.to_owned()).chain(own).collect()
}

/// Where the project declares kinds.
fn folders(state: &StateDirectory) -> Vec<PathBuf> {
    let here = std::env::current_dir().unwrap_or_default();
    let mut folders = vec![state.path().join("outcomes")];
    folders.extend(outcome_kinds::projects(std::iter::once(here.as_path())));
    folders
}

/// A registered kind, or one that the project declares; or why that one cannot be used.
fn kind(name: &str, state: &StateDirectory) -> Option<Result<Kind, String>> {
    let folders = folders(state);
    let own = || {
        let schema = outcome_kinds::find(name, &folders)?;
        Some(schema.and_then(|schema| {
            Kind::custom(name, &schema)
                .map_err(|why| format!("`.escrow/outcomes/{name}.json` is not a valid JSON Schema: {why}"))
        }))
    };
    Kind::registered(name).map(Ok).or_else(own)
}

/// Takes the secrets of the run, and of the runs around this process, out of the outcome.
async fn redact(app: &App, outcome: &mut RecordedOutcome, run: Option<&RunRow>) -> Result<(), Error> {
    let mut secrets = secrets_around(app).await?;
    if let Some(run) = run {
        let first = app.queries()?.first_entry(&run.id).await?;
        if let Some(start) = RunStart::of(&first) {
            let of_run = Secrets::known(start.plan, Path::new(&start.options.directory)).await;
            secrets = of_run.started_within(&secrets);
        }
    }
    let redactor = secrets.redactor();
    redactor.value(&mut outcome.outcome.content);
    redactor.text(&mut outcome.outcome.summary);
    redactor.text(&mut outcome.name);
    if let Some(path) = &mut outcome.file_path {
        redactor.text(path);
    }
    Ok(())
}

/// The time to the nanosecond, then a random number: of two outcomes that one process adds, the later one sorts behind.
fn new_id() -> Result<OutcomeId, Error> {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    let within_ms = u64::from(since.subsec_nanos() % 1_000_000);
    let chance =
        random_u64().map_err(|error| Error::world("chance", format!("no random numbers: {error}")))?;
    let at = u64::try_from(since.as_millis()).unwrap_or_else(|_| now_ms());
    Ok(OutcomeId::new(at, within_ms << 32 | (chance & 0xffff_ffff)))
}
