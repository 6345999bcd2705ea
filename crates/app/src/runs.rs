//! Use cases about runs. Those that drive a run need a tokio runtime around them; see [`crate::driver`].

mod abandoned;
mod cancel;
mod drive;
mod override_status;
mod resume;
mod start;
mod wait;

use escrow_engine::Run;
use escrow_model::{Entry, RunStatus};
use escrow_runtime::holder::liveness;
use escrow_store::{Liveness, Queries, RunRow, Verification};

pub use abandoned::{Resumed, abandoned, resume_all};
pub use cancel::{Cancelled, cancel};
pub use override_status::{StatusOverride, override_status};
pub use resume::{resume, retry_failed};
pub use start::{EventSource, GivenInputs, Order, start, unheard_event};
pub use wait::wait;

pub(crate) use resume::{HELD, Purpose, drive_around, driver_of, not_resumable};

use crate::app::App;
use crate::error::Error;

/// Whether a live process drives the run.
pub async fn is_driven(queries: &dyn Queries, row: &RunRow) -> Result<bool, Error> {
    Ok(queries.holder(&row.id).await?.is_some_and(|holder| liveness(&holder) != Liveness::Dead))
}

/// The whole journal of a run.
pub async fn entries(queries: &dyn Queries, row: &RunRow) -> Result<Vec<Entry>, Error> {
    Ok(queries.entries(&row.id, 0).await?.into_iter().map(|(_, entry)| entry).collect())
}

/// The state of a run, rebuilt from its journal.
pub async fn replay(queries: &dyn Queries, row: &RunRow) -> Result<Run, Error> {
    Run::replay(&entries(queries, row).await?).map_err(|error| {
        Error::world("journal", format!("the journal of `{}` cannot be replayed: {error}", row.id))
    })
}

/// Checks the hash chain of a run's journal: whole and unchanged, or broken at some entry.
pub async fn verify(app: &App, run: &str) -> Result<(RunRow, Verification), Error> {
    let queries = app.queries()?;
    let row = queries.run(run).await?;
    let verification = queries.verify(&row.id).await?;
    Ok((row, verification))
}

/// A status by its name.
pub fn parse_status(text: &str) -> Result<RunStatus, Error> {
    RunStatus::parse(text).ok_or_else(|| {
        let known: Vec<&str> = RunStatus::ALL.iter().map(|status| status.as_str()).collect();
        Error::author("usage", format!("no status is called `{text}`"))
            .help(format!("one of {}", known.join(", ")))
    })
}
