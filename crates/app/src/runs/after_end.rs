//! One more entry in the journal of a run that has ended: what a person says about it afterwards.
//!
//! **Invariant:** no process drives such a run, so nothing redacts the entry later. It is redacted here, by every secret that
//! can be read.

use std::path::Path;
use std::sync::Arc;

use escrow_engine::{Run, Turn};
use escrow_model::Entry;
use escrow_runtime::{Redactor, Secrets};
use escrow_store::{Commit, Committed, Durability, Journal, Lease};

use super::drive::inseparable;
use super::rebuilt_by_id;
use super::resume::TakenOver;
use crate::app::App;
use crate::around::secrets_around;
use crate::error::Error;

/// Commits the turn that `decide` makes, and releases the run, whatever came of it. `decide` redacts the texts of the
/// request before it puts them into a turn.
pub(crate) async fn commit_after_end(
    app: &App,
    taken: TakenOver,
    decide: impl FnOnce(&mut Run, &Arc<Redactor>) -> Result<Turn, Error>,
) -> Result<Run, Error> {
    let journal = app.journal()?;
    let TakenOver { lease, run, before } = taken;
    let committed = match secrets_around(app).await {
        Ok(around) => Box::pin(commit(&*journal, &lease, run, before, (around, decide))).await,
        Err(error) => Err(error),
    };
    journal.release(&lease).await?;
    committed
}

async fn commit(
    journal: &dyn Journal,
    lease: &Lease,
    mut run: Run,
    before: Vec<Entry>,
    (around, decide): (Secrets, impl FnOnce(&mut Run, &Arc<Redactor>) -> Result<Turn, Error>),
) -> Result<Run, Error> {
    let secrets = Secrets::known(run.plan_of(), Path::new(&run.options().directory)).await;
    let secrets = secrets.started_within(&around);
    let redactor = secrets.redactor();
    let expected_seq = run.entries();
    let mut turn = decide(&mut run, redactor)?;
    let mut is_redacted = false;
    for entry in &mut turn.entries {
        is_redacted |= redactor.entry(entry).map_err(|error| inseparable(&error))?;
    }
    if is_redacted {
        // The run must know exactly what is written.
        let entries: Vec<_> = before.into_iter().chain(turn.entries.iter().cloned()).collect();
        run = rebuilt_by_id(&run.options().run, &entries)?;
    }
    let commit =
        Commit { lease, expected_seq, entries: &turn.entries, delivered: &[], durability: Durability::Full };
    match journal.commit(commit).await? {
        Committed::Done { .. } | Committed::AlreadyDone { .. } => Ok(run),
        Committed::DecidedInTime => Err(Error::bug("an entry after the end expires no approval")),
        Committed::Conflict(_) => Err(Error::bug("an entry after the end opens no run")),
        Committed::Fenced | Committed::Taken(_) => {
            let id = &run.options().run;
            Err(Error::person("fenced", format!("another process has taken over run `{id}`")))
        }
    }
}
