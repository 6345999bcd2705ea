//! Starts a run: from a plan and an order, to a run at rest.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{Plan, ProviderName, RunOptions};
use escrow_playbook::nearest;
use escrow_runtime::private_files::create_directory;
use escrow_runtime::{Beginning, Secrets, new_run_id};
use serde_json::{Map, Value};

use super::drive::{HeldRun, inseparable};
use crate::app::App;
use crate::around::secrets_around;
use crate::begin::{self, BeginError, StartRequest};
use crate::conflicts::artifacts_in_use;
use crate::error::Error;
use crate::inputs;
use crate::invocations::{self, NamedInvocation};

/// What to run, and with what.
#[derive(Debug)]
pub struct Order {
    pub plan: Arc<Plan>,
    /// The file that the plan was read from. The plan has the playbooks that it nests.
    pub file: Option<PathBuf>,
    /// Where the work is done.
    pub directory: PathBuf,
    /// Where artifacts are delivered, instead of a directory of the state.
    pub artifacts: Option<PathBuf>,
    pub event: Option<EventSource>,
    pub inputs: GivenInputs,
    /// Only these checks and those that they depend on.
    pub only: Vec<String>,
    pub tags: Vec<String>,
    pub exclude_tags: Vec<String>,
    /// Effectful commands at once, unless the plan allows fewer.
    pub jobs: Option<u32>,
    pub safe_mode: bool,
    /// Checks that run although the ledger has their effects.
    pub again: Vec<String>,
    pub timeout_ms: Option<u64>,
    pub invocation: Option<NamedInvocation>,
}

impl Order {
    /// Runs everything in the plan, with no inputs.
    pub fn new(plan: Arc<Plan>, directory: PathBuf) -> Order {
        Order {
            plan,
            directory,
            file: None,
            artifacts: None,
            event: None,
            inputs: GivenInputs::Values(Map::new()),
            only: Vec::new(),
            tags: Vec::new(),
            exclude_tags: Vec::new(),
            jobs: None,
            safe_mode: false,
            again: Vec::new(),
            timeout_ms: None,
            invocation: None,
        }
    }
}

/// The event that a run is about.
#[derive(Debug)]
pub struct EventSource {
    pub name: String,
    /// A JSON file with an object.
    pub payload: Option<PathBuf>,
}

#[derive(Debug)]
pub enum GivenInputs {
    /// `KEY=VALUE`, read by the types that the playbook declares.
    Text(Vec<String>),
    Values(Map<String, Value>),
}

/// Starts a run and drives it until it ends or waits.
pub async fn start(app: &App, order: Order) -> Result<Run, Error> {
    let (plan, directory) = (Arc::clone(&order.plan), order.directory.clone());
    match Box::pin(begin(app, order)).await {
        Ok(begun) => begun.drive_to_rest(app).await,
        Err(error) => Err(error),
    }
    // An error may quote what was typed.
    .map_err(|error| error.without_secrets_of(&plan, &directory))
}

/// Writes the first entries of the run; this process holds it then.
async fn begin(app: &App, order: Order) -> Result<HeldRun, Error> {
    let plan = order.plan;
    for name in &order.only {
        if plan.find(name).is_none() {
            return Err(unknown_check(name, &plan));
        }
    }
    for tag in &order.tags {
        if !plan.checks.iter().any(|check| check.tags.contains(tag)) {
            return Err(unknown_tag(tag, &plan));
        }
    }
    for name in &order.again {
        let check = plan.find(name).ok_or_else(|| unknown_check(name, &plan))?;
        if plan.check(check).effect_key.is_none() {
            let message = format!("`--again {name}`: the check has no `effect_key`");
            // A nested playbook has effects of its own, whose keys `--again` does not reach.
            let help = if plan.check(check).provider == ProviderName::NESTED {
                "the effects are those of the nested playbook: run that one with `--again`"
            } else {
                "its effect happens again in every run"
            };
            return Err(Error::author("usage", message).help(help));
        }
    }
    let payload = match order.event.as_ref().and_then(|event| event.payload.as_deref()) {
        Some(file) => inputs::read_event(file)?,
        None => Map::new(),
    };
    let inputs = match &order.inputs {
        GivenInputs::Text(pairs) => inputs::read(&plan, pairs)?,
        GivenInputs::Values(values) => inputs::check(&plan, values.clone())?,
    };
    let id = new_run_id().map_err(|error| Error::world("chance", format!("no random numbers: {error}")))?;
    let (artifacts, create): (PathBuf, CreateDirectory) = match order.artifacts {
        Some(given) => (given, |path| std::fs::create_dir_all(path)),
        None => (app.state().artifacts(&id), create_directory),
    };
    let artifacts = std::path::absolute(&artifacts)
        .map_err(|error| Error::world("artifacts", format!("`{}`: {error}", artifacts.display())))?;
    let secrets = app.unless_stopped(Box::pin(Secrets::read(&plan, &order.directory))).await??;
    let secrets = secrets.started_within(&secrets_around(app).await?);
    let journal = app.journal()?;
    let artifacts = create_canonical(&artifacts, create)?;
    let options = RunOptions {
        run: id,
        event: order.event.map(|event| event.name),
        payload,
        inputs,
        only: order.only,
        tags: order.tags,
        exclude_tags: order.exclude_tags,
        safe_mode: order.safe_mode,
        again: order.again,
        parallelism: order.jobs.or(plan.max_parallelism).unwrap_or_else(cores),
        timeout_ms: order.timeout_ms,
        invocation: invocations::joined(&*app.queries()?, order.invocation.as_ref()).await?,
        fire: None,
        step: None,
        depth: 0,
        parent: None,
        effect_origin: None,
        file: order
            .file
            .and_then(|file| std::path::absolute(file).ok())
            .map(|path| path.display().to_string()),
        directory: order.directory.display().to_string(),
        artifacts: artifacts.display().to_string(),
        started_by: app.actor().into_iter().collect(),
        environment: None,
        outer_artifacts: Vec::new(),
    };
    let start = StartRequest { plan, options, secrets, parent: None };
    let begun = begin::begin(start, &*journal, &*app.world(), &app.stopping(), app).await;
    let begin::Begun { run, lease, secrets, first_turn } = begun.map_err(begin_error)?;
    Ok(HeldRun { run, lease, journal, secrets, before: Vec::new(), beginning: Beginning::New(first_turn) })
}

pub(crate) fn begin_error(error: BeginError) -> Error {
    match error {
        BeginError::SecretInPlan | BeginError::SecretInOptions => {
            Error::author("secret_written_down", error.to_string()).help(
                "a check with `secrets: [NAME]` reads it as `$NAME`; do not use a common word as a secret",
            )
        }
        BeginError::SecretInInput { .. } => Error::author("secret_written_down", error.to_string()).help(
            "hand it over as a secret: a check with `secrets: [NAME]` reads it as `$NAME`, and no input is needed",
        ),
        BeginError::Inseparable(error) => inseparable(&error),
        BeginError::Stopped => Error::stopped(),
        BeginError::AlreadyExists(_) | BeginError::ParentFenced => Error::world("store", error.to_string()),
        BeginError::ArtifactsInUse(conflict) => artifacts_in_use(&conflict),
        BeginError::Store(error) => error.into(),
    }
}

/// A suggestion for an event that no check listens to. Events are free words, but one that is nearly the name of
/// another is probably a slip.
pub fn unheard_event(plan: &Plan, event: &str) -> Option<String> {
    let heard = || plan.checks.iter().flat_map(|check| &check.on).map(String::as_str);
    if heard().any(|known| known == event) {
        return None;
    }
    let near = nearest(event, heard())?;
    Some(format!("no check listens to `{event}`: did you mean `{near}`?"))
}

fn unknown_check(name: &str, plan: &Plan) -> Error {
    let names = || plan.checks.iter().map(|check| check.name.as_str());
    let help = match nearest(name, names()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("the checks are {}", names().collect::<Vec<_>>().join(", ")),
    };
    Error::not_found("unknown_check", format!("no check is called `{name}`")).help(help)
}

fn unknown_tag(tag: &str, plan: &Plan) -> Error {
    let tags: BTreeSet<&str> = plan.checks.iter().flat_map(|check| &check.tags).map(String::as_str).collect();
    let help = match nearest(tag, tags.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if tags.is_empty() => "the playbook has no tags".to_owned(),
        None => format!("the tags are {}", tags.into_iter().collect::<Vec<_>>().join(", ")),
    };
    Error::not_found("unknown_tag", format!("no check has the tag `{tag}`")).help(help)
}

pub(crate) type CreateDirectory = fn(&Path) -> std::io::Result<()>;

/// Creates the directory and resolves the links that lead to it. A link that turns up while the run works is not
/// followed.
pub(crate) fn create_canonical(path: &Path, create: CreateDirectory) -> Result<PathBuf, Error> {
    create(path)
        .and_then(|()| path.canonicalize())
        .map_err(|error| Error::world("artifacts", format!("cannot create `{}`: {error}", path.display())))
}

pub(crate) fn cores() -> u32 {
    std::thread::available_parallelism().map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(1))
}
