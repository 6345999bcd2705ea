//! Continues runs: those whose process is gone, that wait, or that failed. Nothing confirmed is repeated.

use std::path::Path;

use escrow_engine::Run;
use escrow_model::{Entry, ReasonCode, RunStatus};
use escrow_runtime::{Beginning, Secrets, liveness, now_ms, this_process};
use escrow_store::{Contested, Holder, Lease, LeaseError, RunRow};

use super::drive::HeldRun;
use super::{entries, rebuilt, replay};
use crate::app::App;
use crate::around::secrets_around;
use crate::conflicts::{Arbitration, Means, Settled, artifacts_in_use, refused_error};
use crate::error::{Error, Kind};

/// Takes over a run that no process drives, and drives it until it ends or waits.
pub async fn resume(app: &App, run: &str) -> Result<Run, Error> {
    let row = app.queries()?.run(run).await?;
    if row.status.is_terminal() {
        return Err(not_resumable(&row));
    }
    drive_around(app, &row, Purpose::Resume).await
}

/// Opens the failed checks of a run that has ended, and those that depend on them, in the same journal. It takes its
/// concurrency group anew, by the rule of its playbook.
pub async fn retry_failed(app: &App, run: &str) -> Result<Run, Error> {
    let row = app.queries()?.run(run).await?;
    if !row.status.is_terminal() {
        return Err(not_resumable(&row));
    }
    loop {
        free_group(app, &row).await?;
        match reopen(app, &row).await {
            // Another run was faster.
            Err(error) if error.kind() == Kind::Conflict => {}
            outcome => return outcome,
        }
    }
}

async fn reopen(app: &App, row: &RunRow) -> Result<Run, Error> {
    let journal = app.journal()?;
    let TakenOver { lease, mut run, before } = take_over(app, row).await?;
    let secrets = secrets_of(app, &run, &lease, Purpose::Continue).await?;
    let by = app.actor();
    match run.retry_failed(now_ms(), by.clone()) {
        Ok(turn) => {
            let beginning = Beginning::Reopened { turn, by };
            HeldRun { run, lease, journal, secrets, before, beginning }.drive_to_rest(app).await
        }
        Err(why) => {
            journal.release(&lease).await?;
            Err(Error::person("ended", format!("run `{}` cannot be reopened: {why}", row.id)))
        }
    }
}

/// Returns when no other run has what this one, which has ended, needs for itself.
async fn free_group(app: &App, row: &RunRow) -> Result<(), Error> {
    let journal = app.journal()?;
    let run = replay(&*app.queries()?, row).await?;
    let (world, stopping) = (app.world(), app.stopping());
    let means = Means { journal: &*journal, world: &*world, stopping: &stopping, arbiter: app };
    let mut arbitration = Arbitration::new(run.options(), run.plan_of(), means);
    while let Some(conflict) = journal.conflict(&row.id, run.wanted_group()).await? {
        if let Contested::Artifacts(_) = conflict.over {
            return Err(artifacts_in_use(&conflict));
        }
        match arbitration.settle(&run, &conflict).await? {
            Settled::TryAgain => {}
            Settled::Refused(reason) => return Err(refused_error(&reason)),
            Settled::Stopped => return Err(Error::stopped()),
        }
    }
    Ok(())
}

/// Why a run is driven.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A message or the end of a nested run lets it continue.
    Continue,
    /// The actor asks for it, which an independent approval takes into account.
    Resume,
    /// Ending a run starts no check, so its secrets need not be readable.
    End,
}

pub(crate) fn not_resumable(row: &RunRow) -> Error {
    let word = row.status.as_str().replace('_', " ");
    match row.status {
        RunStatus::Running | RunStatus::Waiting => {
            Error::person("not_ended", format!("run `{}` has not ended: it is {word}", row.id))
                .help(format!("`escrow resume {}` resumes it", row.id))
        }
        RunStatus::Completed => Error::person("ended", format!("run `{}` has ended: {word}", row.id)),
        RunStatus::Aborted if is_denied(row) => {
            let message = format!("run `{}` has ended: a person denied it, and a denial is final", row.id);
            Error::person("ended", message)
        }
        RunStatus::Failed | RunStatus::TimedOut | RunStatus::Aborted | RunStatus::Cancelled => {
            Error::person("ended", format!("run `{}` has ended: {word}", row.id))
                .help(format!("`escrow resume {} --failed` runs failed checks again", row.id))
        }
    }
}

fn is_denied(row: &RunRow) -> bool {
    row.reason.as_ref().is_some_and(|reason| reason.code == ReasonCode::AbortedDenied)
}

/// Takes over a run and drives it until it ends or waits.
pub(super) async fn drive(app: &App, row: &RunRow, purpose: Purpose) -> Result<Run, Error> {
    let journal = app.journal()?;
    let TakenOver { lease, run, before } = take_over(app, row).await?;
    let secrets = secrets_of(app, &run, &lease, purpose).await?;
    let by = match purpose {
        Purpose::Resume => app.actor().into_iter().collect(),
        Purpose::Continue | Purpose::End => Vec::new(),
    };
    let beginning = Beginning::Resumed { by };
    HeldRun { run, lease, journal, secrets, before, beginning }.drive_to_rest(app).await
}

/// Drives a run; a nested one by driving the outermost run around it, which resumes those inside it. So the status of
/// each run around it is right while it is driven, and when this process is killed.
///
/// [`Kind::Held`] when another process drives a run around it: that process continues the nested run too.
pub(crate) async fn drive_around(app: &App, row: &RunRow, purpose: Purpose) -> Result<Run, Error> {
    let outermost = outermost_open(app, row).await?;
    if outermost.id == row.id {
        return drive(app, row, purpose).await;
    }
    // The runs around it continue, whatever becomes of this one.
    let purpose = match purpose {
        Purpose::Resume => Purpose::Resume,
        Purpose::Continue | Purpose::End => Purpose::Continue,
    };
    drive(app, &outermost, purpose).await
}

/// The outermost run around this one that has not ended; the run itself if none is open.
async fn outermost_open(app: &App, row: &RunRow) -> Result<RunRow, Error> {
    let queries = app.queries()?;
    let mut outermost = row.clone();
    while outermost.depth > 0 {
        let Some(parent) = replay(&*queries, &outermost).await?.options().parent.clone() else { break };
        let around = queries.run(parent.as_str()).await?;
        if around.status.is_terminal() {
            break;
        }
        outermost = around;
    }
    Ok(outermost)
}

/// The live process that drives a run, or a run around it.
pub(crate) async fn driver_of(app: &App, row: &RunRow) -> Result<Option<Holder>, Error> {
    let queries = app.queries()?;
    for row in [row, &outermost_open(app, row).await?] {
        if let Some(held) = queries.lease(&row.id).await?.standing(liveness) {
            return Ok(Some(held.holder.clone()));
        }
    }
    Ok(None)
}

/// The secrets that checks may ask for. A run whose secrets cannot be read is released.
async fn secrets_of(app: &App, run: &Run, lease: &Lease, purpose: Purpose) -> Result<Secrets, Error> {
    let secrets = read_secrets(app, run, purpose).await;
    if secrets.is_err() {
        app.journal()?.release(lease).await?;
    }
    secrets
}

async fn read_secrets(app: &App, run: &Run, purpose: Purpose) -> Result<Secrets, Error> {
    let directory = Path::new(&run.options().directory);
    let secrets = match purpose {
        Purpose::End => Secrets::at_hand(run.plan_of(), directory),
        Purpose::Continue | Purpose::Resume => {
            app.unless_stopped(Box::pin(Secrets::read(run.plan_of(), directory))).await??
        }
    };
    Ok(secrets.started_within(&secrets_around(app).await?))
}

/// A run whose lease is ours, and the journal that it was rebuilt from.
pub(crate) struct TakenOver {
    pub(crate) lease: Lease,
    pub(crate) run: Run,
    pub(crate) before: Vec<Entry>,
}

/// Acquires the lease of a run and rebuilds the run. One that cannot be rebuilt is released.
pub(crate) async fn take_over(app: &App, row: &RunRow) -> Result<TakenOver, Error> {
    let journal = app.journal()?;
    let acquired = journal.acquire(&row.id, &this_process(), liveness).await;
    let lease = acquired.map_err(|error| match error {
        LeaseError::Store(error) => error.into(),
        LeaseError::Held { .. } | LeaseError::NoSuchRun(_) => {
            Error::held(error.to_string()).help("it continues there; `escrow runs show` shows its status")
        }
    })?;
    let before = entries(&*app.queries()?, row).await;
    match before.and_then(|before| Ok((rebuilt(row, &before)?, before))) {
        Ok((run, before)) => Ok(TakenOver { lease, run, before }),
        Err(error) => {
            journal.release(&lease).await?;
            Err(error)
        }
    }
}
