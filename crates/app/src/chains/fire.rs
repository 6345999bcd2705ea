//! Fires a chain: begins the run of a fire, once, and drives it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{ChainFire, ChainStatus, RunId, RunOptions};
use escrow_runtime::private_files::create_directory;
use escrow_runtime::{Beginning, Secrets, now_ms, random_u64};
use escrow_store::ChainRow;
use serde_json::{Map, Value};

use super::define::compile;
use crate::app::App;
use crate::around::secrets_around;
use crate::begin::{self, BeginError, StartRequest};
use crate::error::Error;
use crate::runs::{HeldRun, begin_error, cores, create_canonical};

/// The event that fires a chain.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FireEvent {
    /// `pr.opened`, `schedule.fired`, `manual.fired`.
    pub name: String,
    /// What `trigger` reads beside `trigger.name`.
    pub payload: Map<String, Value>,
    /// How many fires of chains led to this one.
    pub depth: u32,
}

impl FireEvent {
    pub const MANUAL: &str = "manual.fired";

    /// The event of a fire by hand, under the name that its member `event` gives.
    pub fn by_hand(payload: Map<String, Value>) -> FireEvent {
        let name = payload.get("event").and_then(Value::as_str).unwrap_or(FireEvent::MANUAL).to_owned();
        FireEvent { name, payload, depth: 0 }
    }
}

/// What became of a fire.
pub enum FireOutcome {
    /// The run was begun here, and this process holds it.
    Begun(FiredRun),
    /// The fire has its run already: another process began it, or this is the same fire again.
    Known(RunId),
}

/// A run of a chain that this process holds and has to drive.
pub struct FiredRun(Box<HeldRun>);

impl FiredRun {
    pub fn id(&self) -> &RunId {
        &self.0.run.options().run
    }
}

/// The key of a fire by hand: every one is a fire of its own.
pub fn fire_key() -> Result<String, Error> {
    let chance =
        random_u64().map_err(|error| Error::world("chance", format!("no random numbers: {error}")))?;
    Ok(format!("manual-{:x}-{chance:x}", now_ms()))
}

/// Begins the run of a fire. Its id follows from the chain and the key, so that a fire that is begun again, by whichever
/// process, is [`FireOutcome::Known`]. The playbooks of its steps are read here.
pub async fn begin_fire(
    app: &App,
    chain: &ChainRow,
    fire_key: &str,
    event: FireEvent,
) -> Result<FireOutcome, Error> {
    let id = chain.id.run_of(fire_key);
    let journal = app.journal()?;
    if !journal.entries(&id, 0).await?.is_empty() {
        return Ok(FireOutcome::Known(id));
    }
    let directory = PathBuf::from(&chain.directory);
    let plan = compile(Path::new(&chain.file), chain.text.as_bytes(), &directory)?.plan;
    let artifacts = create_canonical(&app.state().artifacts(&id), create_directory)?;
    let secrets = app.unless_stopped(Box::pin(Secrets::read(&plan, &directory))).await??;
    let secrets = secrets.started_within(&secrets_around(app).await?);
    let options = RunOptions {
        event: Some(event.name),
        payload: event.payload,
        invocation: Some(id.chain_invocation().to_string()),
        fire: Some(ChainFire { chain: chain.id.clone(), key: fire_key.to_owned(), depth: event.depth }),
        file: Some(chain.file.clone()),
        started_by: app.actor().into_iter().collect(),
        // Steps follow one another; the runs that they nest have all cores.
        parallelism: cores(),
        ..RunOptions::new(id.clone(), directory.display().to_string(), artifacts.display().to_string())
    };
    let start = StartRequest { plan: Arc::new(plan), options, secrets, parent: None };
    match begin::begin(start, &*journal, &*app.world(), &app.stopping(), app).await {
        Ok(begin::Begun { run, lease, secrets, first_turn }) => {
            let beginning = Beginning::New(first_turn);
            let held = HeldRun { run, lease, journal, secrets, before: Vec::new(), beginning };
            Ok(FireOutcome::Begun(FiredRun(Box::new(held))))
        }
        Err(BeginError::AlreadyExists(id)) => Ok(FireOutcome::Known(id)),
        Err(error) => Err(begin_error(error)),
    }
}

/// Drives a run of a chain until it ends or waits.
pub async fn drive(app: &App, fired: FiredRun) -> Result<Run, Error> {
    fired.0.drive_to_rest(app).await
}

/// Fires a chain by hand and drives its run until it ends or waits. `told` learns what the fire waits for before it begins.
pub async fn fire(app: &App, name: &str, event: FireEvent, told: &mut dyn FnMut(&str)) -> Result<Run, Error> {
    let chain = super::find(app, name).await?;
    if chain.status == ChainStatus::Disabled {
        return Err(Error::person("disabled", format!("chain `{name}` is disabled"))
            .help(format!("`escrow chain enable {name}` enables it")));
    }
    Box::pin(crate::fires::fire_by_hand(app, &chain, event, told)).await
}
