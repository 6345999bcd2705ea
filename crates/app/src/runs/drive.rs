//! Drives a run that this process holds until it ends or waits.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use escrow_engine::Run;
use escrow_model::{Entry, RunId, RunStatus, Safety};
use escrow_runtime::process::GRACE;
use escrow_runtime::providers::Environment;
use escrow_runtime::telemetry::Settings;
use escrow_runtime::{
    Beginning, Cancellation, Drive, DriveError, Inseparable, Observer, REDACTED, Secrets, Surroundings,
    private_files,
};
use escrow_store::{Journal, Lease};
use tokio::task::LocalSet;

use crate::app::App;
use crate::conflicts::conflict_error;
use crate::error::Error;
use crate::nested::NestedRuns;
use crate::outbox::{self, Told};
use crate::panics::caught;
use crate::schedule;
use crate::telemetry::{Measured, Telemetry};
use crate::views::RunView;

/// A run in the journal whose lease is ours.
pub(crate) struct HeldRun {
    pub(crate) run: Run,
    pub(crate) lease: Lease,
    pub(crate) journal: Arc<dyn Journal>,
    pub(crate) secrets: Secrets,
    /// The journal until now; of a new run, nothing.
    pub(crate) before: Vec<Entry>,
    pub(crate) beginning: Beginning,
}

impl HeldRun {
    /// Boxed, because a drive is large and every use case that awaits one would be as large.
    pub(crate) fn drive_to_rest(self, app: &App) -> Pin<Box<dyn Future<Output = Result<Run, Error>> + '_>> {
        Box::pin(self.drive_viewed(app))
    }

    async fn drive_viewed(mut self, app: &App) -> Result<Run, Error> {
        let mut view = app.view(&self.run);
        let before = std::mem::take(&mut self.before);
        view.remember(&before);
        let telemetry = self.telemetry(&mut *view, &before);
        drop(before);
        let outcome = match telemetry {
            None => self.drive(app, &mut *view).await,
            Some(telemetry) => {
                let mut measured = Measured { observer: &mut *view, telemetry };
                let outcome = self.drive(app, &mut measured).await;
                if let Some(why) = measured.telemetry.finish() {
                    view.warning(&format!("telemetry was not delivered: {why}"));
                }
                outcome
            }
        };
        if let Ok(run) = &outcome {
            view.at_rest(run);
            if run.status() == RunStatus::Waiting
                && let Some(why) = tell(app).await
            {
                view.warning(&why);
            }
        }
        outcome
    }

    /// Nothing, unless the environment names a collector.
    fn telemetry(&self, view: &mut dyn RunView, before: &[Entry]) -> Option<Telemetry> {
        let settings = match Settings::read(&|name| std::env::var(name).ok()) {
            Ok(settings) => settings?,
            Err(why) => {
                view.warning(&format!("no telemetry: {why}"));
                return None;
            }
        };
        let mut telemetry = Telemetry::new(settings, &self.run, Arc::clone(self.secrets.redactor()));
        telemetry.remember(before);
        Some(telemetry)
    }

    async fn drive(self, app: &App, observer: &mut dyn Observer) -> Result<Run, Error> {
        let options = self.run.options();
        let id = options.run.clone();
        let secrets = self.secrets.withheld().map(str::to_owned).collect();
        let environment = match (&options.environment, self.run.plan_of().safety) {
            (Some(variables), _) => Environment::Captured { variables: variables.clone() },
            (None, Safety::Standard) => {
                let inherited = Environment::Inherit { secrets };
                let variables = as_at_start(&self.run, &inherited, &self.secrets);
                inherited.fixed(variables)
            }
            (None, Safety::Strict) => Environment::Minimal { also: Vec::new(), secrets },
        };
        let surroundings = Surroundings {
            directory: PathBuf::from(&options.directory),
            artifacts: PathBuf::from(&options.artifacts),
            spool: app.state().spool(&id),
            state: app.state().path().to_owned(),
            environment,
            secrets: Arc::new(self.secrets),
            grace: GRACE,
        };
        let (lease, world) = (self.lease.clone(), app.world());
        let journal = self.journal;
        let drive = Drive {
            run: self.run,
            lease: self.lease,
            journal: Arc::clone(&journal),
            host: Rc::new(NestedRuns::new(Arc::clone(&journal), Rc::clone(&world))),
            world,
            surroundings,
            observer,
            interruption: app.stopping(),
            making_way: Cancellation::never(),
        };
        let tasks = LocalSet::new();
        let outcome = tasks.run_until(caught(Box::pin(drive.to_rest(self.beginning)))).await;
        // Dropping the tasks ends the processes that they watch.
        drop(tasks);
        // There is none when the order named another directory.
        let _ = private_files::tighten(&app.state().artifacts(&id));
        match outcome {
            Ok(outcome) => outcome.map_err(|error| drive_error(error, &id)),
            Err(panicked) => {
                // This process lives on: without this, the run would count as driven.
                journal.release(&lease).await?;
                Err(panicked.help(format!("its processes were ended; `escrow resume {id}` resumes the run")))
            }
        }
    }
}

/// Tells people what waits for them, if the project says how: with no daemon, no other process does it soon. Returns why it
/// was not possible. The run waits all the same, and every check tries again.
async fn tell(app: &App) -> Option<String> {
    let undelivered = |why: String| format!("no notification was delivered: {why}");
    let notify = match schedule::settings(app) {
        Ok(settings) => settings.notify?,
        Err(error) => return Some(undelivered(error.to_string())),
    };
    match outbox::tell(app, &notify, &schedule::project(app)).await {
        Ok(Told { failed: 0, .. }) => None,
        Ok(Told { .. }) => Some(undelivered("`escrow attention` says why".to_owned())),
        Err(error) => Some(undelivered(error.to_string())),
    }
}

fn drive_error(error: DriveError, id: &RunId) -> Error {
    match error {
        DriveError::Store(error) => Error::from(error)
            .help(format!("its processes were ended; fix the cause, then `escrow resume {id}`")),
        DriveError::Fenced(_) => Error::person("fenced", error.to_string()),
        DriveError::Conflict(conflict) => conflict_error(&conflict),
        DriveError::Lost(_) => Error::bug(format!("this is a bug in Escrow: {error}"))
            .help(format!("its processes were ended; `escrow resume {id}` resumes the run")),
        DriveError::Corrupt { .. } => Error::world("corrupt", error.to_string()),
        DriveError::Inseparable(error) => inseparable(&error),
        DriveError::Secret(error) => Error::from(error).help(format!("`escrow resume {id}` resumes the run")),
        DriveError::Orphans { .. } => Error::world("orphans", error.to_string())
            .help(format!("nothing was run again; end them, then `escrow resume {id}`")),
    }
}

/// A secret that cannot be taken out of an entry without changing its meaning.
pub(crate) fn inseparable(error: &Inseparable) -> Error {
    Error::author("secret_written_down", error.to_string()).help("do not use a common word as a secret")
}

/// The variables that the run names and that this process has with another value than the one which started the run.
/// What contracts and templates saw is what its commands get.
pub(crate) fn as_at_start(
    run: &Run,
    environment: &Environment,
    secrets: &Secrets,
) -> BTreeMap<String, Option<String>> {
    let mut variables = run.variables_at_start();
    variables.retain(|name, then| {
        let is_known = then.as_ref().is_none_or(|value| !value.contains(REDACTED));
        let now = environment.value(name);
        is_known && !secrets.is_withheld(name) && now.as_deref() != then.as_deref().map(OsStr::new)
    });
    variables
}
