//! From a plan and the wish to run it, to a run that is under way.

use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use anyhow::Result;
use escrow_app::{BeginError, NestedRuns, StartRequest};
use escrow_engine::Run;
use escrow_model::{InputKind, Plan, ReasonCode, RunId};
use escrow_runtime::cancellation::{Cancellation, cancellation};
use escrow_runtime::playbook_file::read_text;
use escrow_runtime::process::is_ignored_signal;
use escrow_runtime::provider_world::{ProviderWorld, RealWorld};
use escrow_runtime::providers::Environment;
use escrow_runtime::redaction::Inseparable;
use escrow_runtime::secrets::Secrets;
use escrow_runtime::supervisor::{Beginning, Drive, DriveError, Observer, Surroundings};
use escrow_runtime::telemetry::{Measured, Settings, Telemetry};
use escrow_store::{Journal, Store};
use serde_json::{Map, Value};
use tokio::runtime::Runtime;

use crate::failure::Failure;
use crate::state::StateDirectory;
use crate::terminal::{LiveView, Ui};

/// `--event NAME[=FILE]`: the name, and the payload if there is one.
pub(crate) fn read_event(given: Option<&str>) -> Result<(Option<String>, Map<String, Value>), Failure> {
    let Some(given) = given else { return Ok((None, Map::new())) };
    let Some((name, file)) = given.split_once('=') else { return Ok((Some(given.to_owned()), Map::new())) };
    let text = read_text(file, EVENT_BYTES_MAX)
        .map_err(|why| Failure::author("bad_event", format!("cannot read the event `{file}`: {why}")))?;
    match serde_json::from_str(&text) {
        Ok(Value::Object(payload)) => Ok((Some(name.to_owned()), payload)),
        Ok(_) => Err(Failure::author("bad_event", format!("the event in `{file}` is not a JSON object"))),
        Err(error) => Err(Failure::author("bad_event", format!("`{file}` is not JSON: {error}"))),
    }
}

/// More than any webhook sends.
const EVENT_BYTES_MAX: u64 = 32 << 20;

/// `--input key=value`, by the types that the playbook declares.
pub(crate) fn read_inputs(plan: &Plan, given: &[String]) -> Result<Map<String, Value>, Failure> {
    let mut inputs = Map::new();
    for pair in given {
        let Some((name, text)) = pair.split_once('=') else {
            return Err(Failure::author("bad_input", format!("`--input {pair}` is not KEY=VALUE")));
        };
        let Some(input) = plan.inputs.get(name) else {
            let known: Vec<&str> = plan.inputs.keys().map(String::as_str).collect();
            let help = if known.is_empty() {
                "the playbook declares no inputs".to_owned()
            } else {
                format!("it declares: {}", known.join(", "))
            };
            return Err(
                Failure::author("bad_input", format!("the playbook has no input `{name}`")).help(help)
            );
        };
        let value = match input.kind {
            InputKind::String => Value::String(text.to_owned()),
            InputKind::Any => serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned())),
            kind => serde_json::from_str(text).ok().filter(|value| kind.admits(value)).ok_or_else(|| {
                let message = format!("input `{name}` must be {}, not `{text}`", kind.with_article());
                Failure::author("bad_input", message)
            })?,
        };
        inputs.insert(name.to_owned(), value);
    }
    for (name, input) in &plan.inputs {
        if input.required && input.default.is_none() && !inputs.contains_key(name) {
            let help = format!("give it with `--input {name}=…`");
            return Err(Failure::author("bad_input", format!("input `{name}` is required")).help(help));
        }
    }
    Ok(inputs)
}

/// The run is in the journal, and this process holds it.
pub(crate) fn begin(request: StartRequest, store: Arc<Store>) -> Result<Begun, Failure> {
    match block_on(escrow_app::begin(request, store.as_ref(), &RealWorld))? {
        Ok(begun) => {
            let beginning = Beginning::New(begun.first_turn);
            Ok(Begun { run: begun.run, lease: begun.lease, store, secrets: begun.secrets, beginning })
        }
        Err(error @ (BeginError::SecretInPlan | BeginError::SecretInOptions)) => {
            Err(Failure::author("secret_written_down", error.to_string()).help(
                "a check with `secrets: [NAME]` reads it as `$NAME`; do not use a common word as a secret",
            ))
        }
        Err(BeginError::Inseparable(error)) => Err(inseparable(&error)),
        Err(error @ BeginError::AlreadyExists(_)) => Err(Failure::world("store", error.to_string())),
        Err(BeginError::Store(error)) => Err(error.into()),
    }
}

/// Reads the secrets that the plan declares.
pub(crate) fn read_secrets(plan: &Plan, directory: &Path) -> Result<Secrets, Failure> {
    Ok(block_on(Secrets::read(plan, directory))??)
}

/// Waits for something outside a drive.
fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    Ok(runtime()?.block_on(future))
}

/// One for the whole process: starting another costs as much as a short run.
fn runtime() -> Result<&'static Runtime, Failure> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::world("runtime", format!("cannot start: {error}")))?;
    Ok(RUNTIME.get_or_init(|| runtime))
}

fn inseparable(error: &Inseparable) -> Failure {
    Failure::author("secret_written_down", error.to_string()).help("do not use a common word as a secret")
}

pub(crate) struct Begun {
    pub(crate) run: Run,
    pub(crate) lease: escrow_store::Lease,
    pub(crate) store: Arc<Store>,
    pub(crate) secrets: Secrets,
    pub(crate) beginning: Beginning,
}

impl Begun {
    /// Drives the run until it ends or waits. Ctrl-C and SIGTERM end it with all its children.
    pub(crate) fn drive(self, state: &StateDirectory, live: &mut LiveView<'_>) -> Result<Run, Failure> {
        match self.telemetry(live.ui()) {
            None => self.drive_with(state, live),
            Some(telemetry) => {
                let ui = live.ui();
                let mut measured = Measured { observer: live, telemetry };
                let outcome = self.drive_with(state, &mut measured);
                if let Some(why) = measured.telemetry.finish() {
                    ui.say(&format!("warning: telemetry was not delivered: {why}"));
                }
                outcome
            }
        }
    }

    /// What is to be told of the run elsewhere; nothing, unless the environment asks for it.
    fn telemetry(&self, ui: &Ui) -> Option<Telemetry> {
        let settings = match Settings::read(&|name| std::env::var(name).ok()) {
            Ok(settings) => settings?,
            Err(why) => {
                ui.say(&format!("warning: no telemetry: {why}"));
                return None;
            }
        };
        let mut telemetry = Telemetry::new(settings, &self.run, Arc::clone(self.secrets.redactor()));
        if !matches!(self.beginning, Beginning::New(_)) {
            let before = self.store.entries(&self.run.options().run, 0).unwrap_or_default();
            for (_, entry) in &before {
                telemetry.remember(std::slice::from_ref(entry));
            }
        }
        Some(telemetry)
    }

    fn drive_with(self, state: &StateDirectory, observer: &mut dyn Observer) -> Result<Run, Failure> {
        let options = self.run.options();
        let secrets = self.secrets.withheld().map(str::to_owned).collect();
        let environment = match self.run.plan_of().safety {
            escrow_model::Safety::Standard => Environment::Inherit { secrets },
            escrow_model::Safety::Strict => Environment::Minimal { also: Vec::new(), secrets },
        };
        let surroundings = Surroundings {
            directory: PathBuf::from(&options.directory),
            artifacts: PathBuf::from(&options.artifacts),
            spool: state.spool(&options.run),
            state: state.path().to_owned(),
            environment,
            secrets: Arc::new(self.secrets),
            grace: escrow_runtime::process::GRACE,
        };
        let id = options.run.clone();
        let runtime = runtime()?;
        let local = tokio::task::LocalSet::new();
        let outcome = local.block_on(runtime, async {
            let interruption = interruption();
            let (journal, world): (Arc<dyn Journal>, Rc<dyn ProviderWorld>) =
                (self.store, Rc::new(RealWorld));
            let drive = Drive {
                run: self.run,
                lease: self.lease,
                host: Rc::new(NestedRuns::new(Arc::clone(&journal), Rc::clone(&world))),
                journal,
                world,
                surroundings,
                observer,
                interruption,
            };
            drive.to_rest(self.beginning).await
        });
        // Dropping the tasks ends the processes that they watch.
        drop(local);
        outcome.map_err(|error| drive_failure(error, &id))
    }
}

fn drive_failure(error: DriveError, id: &RunId) -> Failure {
    match error {
        DriveError::Store(error) => {
            let failure: Failure = error.into();
            failure.help(format!("its processes were ended; fix the cause, then `escrow resume {id}`"))
        }
        DriveError::Fenced(_) => Failure::person("fenced", error.to_string()),
        DriveError::Lost(_) => Failure::bug(format!("this is a bug in Escrow: {error}"))
            .help(format!("its processes were ended; `escrow resume {id}` resumes the run")),
        DriveError::Inseparable(error) => inseparable(&error),
        DriveError::Orphans { .. } => Failure::world("orphans", error.to_string())
            .help(format!("nothing was run again; end them, then `escrow resume {id}`")),
    }
}

/// Ctrl-C, SIGTERM and SIGHUP, once each; not those that we were told to ignore, for instance by `nohup`.
fn interruption() -> Cancellation {
    use tokio::signal::unix::{SignalKind, signal};
    let (canceller, cancelled) = cancellation();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    for kind in kinds.into_iter().filter(|kind| !is_ignored_signal(kind.as_raw_value())) {
        if let Ok(mut stream) = signal(kind) {
            let canceller = canceller.clone();
            tokio::task::spawn_local(async move {
                stream.recv().await;
                canceller.cancel();
            });
        }
    }
    cancelled
}

/// Whether every check was left out by its event or its tags: then a run that did nothing is as asked.
pub(crate) fn only_filtered(document: &Value) -> bool {
    document["checks"].as_object().is_some_and(|checks| {
        checks.values().all(|check| matches!(check["skip_reason"].as_str(), Some("event" | "tags")))
    })
}

pub(crate) fn exit_of(run: &Run) -> crate::exit::Exit {
    let reason = run.reason().map(|reason| reason.code);
    let filtered = reason == Some(ReasonCode::CompletedNothingRan) && only_filtered(&run.brief_document());
    crate::exit::Exit::of_run(run.status(), reason, filtered)
}
