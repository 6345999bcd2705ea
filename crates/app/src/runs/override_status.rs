//! Overrides the status of a run that has ended, as one more entry of its journal.

use std::path::Path;

use escrow_engine::{NotOverridden, Override, Run};
use escrow_model::{RunId, RunStatus};
use escrow_runtime::{Secrets, now_ms};
use escrow_store::{Commit, Committed, Durability, Journal, Lease};

use super::resume::{TakenOver, take_over};
use crate::app::App;
use crate::error::Error;
use crate::messages::outsider;
use crate::person_text::{NAME_LENGTH_MAX, WHY_LENGTH_MAX, one_line, text};

/// A person's word about a run.
#[derive(Debug)]
pub struct StatusOverride {
    pub run: String,
    pub status: RunStatus,
    /// Only if the run has this status now.
    pub from: Option<RunStatus>,
    pub by: String,
    pub why: String,
}

pub async fn override_status(app: &App, word: &StatusOverride) -> Result<Run, Error> {
    one_line("--by", &word.by, NAME_LENGTH_MAX)?;
    text("--why", &word.why, WHY_LENGTH_MAX)?;
    outsider::check(app).await?;
    let row = app.queries()?.run(&word.run).await?;
    if !row.status.is_terminal() {
        return Err(refused(&row.id, &NotOverridden::NotEnded(row.status)));
    }
    let journal = app.journal()?;
    // Only the holder writes the journal of a run: the status that is compared is the status that is replaced.
    let TakenOver { lease, run, .. } = take_over(app, &row).await?;
    let overridden = commit(word, run, &*journal, &lease).await;
    journal.release(&lease).await?;
    overridden
}

async fn commit(
    word: &StatusOverride,
    mut run: Run,
    journal: &dyn Journal,
    lease: &Lease,
) -> Result<Run, Error> {
    let id = run.options().run.clone();
    if let Some(from) = word.from.filter(|from| *from != run.status()) {
        let message = format!("run `{id}` is {}, not {}", run.status().as_str(), from.as_str());
        return Err(Error::person("changed", message).help(format!("`escrow runs show {id} --history`")));
    }
    let secrets = Secrets::known(run.plan_of(), Path::new(&run.options().directory)).await;
    let (mut by, mut why) = (word.by.trim().to_owned(), word.why.trim().to_owned());
    secrets.redactor().text(&mut by);
    secrets.redactor().text(&mut why);
    let expected_seq = run.entries();
    let word = Override { status: word.status, by, why };
    let turn = run.override_status(now_ms(), word).map_err(|why| refused(&id, &why))?;
    let commit =
        Commit { lease, expected_seq, entries: &turn.entries, delivered: &[], durability: Durability::Full };
    match journal.commit(commit).await? {
        Committed::Done { .. } | Committed::AlreadyDone { .. } => Ok(run),
        Committed::DecidedInTime => Err(Error::bug("an override expires no approval")),
        Committed::Conflict(_) => Err(Error::bug("an override opens no run")),
        Committed::Fenced | Committed::Taken(_) => {
            Err(Error::person("fenced", format!("another process has taken over run `{id}`")))
        }
    }
}

fn refused(run: &RunId, why: &NotOverridden) -> Error {
    let message = format!("run `{run}` cannot be overridden: {why}");
    match why {
        NotOverridden::NotEnded(_) => {
            Error::person("not_ended", message).help(format!("`escrow cancel {run}` ends it"))
        }
        NotOverridden::Same(_) => Error::person("same_status", message),
        NotOverridden::NotForPeople(_) => {
            Error::author("usage", message).help("one of completed, failed, aborted, cancelled")
        }
        NotOverridden::Nameless => Error::author("usage", message),
    }
}
