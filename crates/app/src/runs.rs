//! Use cases about runs. Those that drive a run need a tokio runtime around them; see [`crate::driver`].

mod abandoned;
mod after_end;
mod arbiter;
mod cancel;
mod drive;
mod override_status;
mod resume;
mod start;
mod wait;

use escrow_engine::ReplayError;
use escrow_model::{Entry, RunId, RunStatus};
use escrow_runtime::liveness;
use escrow_store::{LookupError, OutcomeFilter, StateBreak, Verification};
use serde_json::{Map, Value};

pub use escrow_engine::{CheckReport, HarnessTotals, ItemReport, OpenWait, RecordedDecision, Run};
pub use escrow_store::{FeedEntry, Hash, Queries, RunFilter, RunKinds, RunRow, StoredEntry, Watch};

pub use abandoned::{Resumed, abandoned, pick_up, resume_all};
pub(crate) use cancel::request_way;
pub use cancel::{Cancelled, cancel};
pub use override_status::{StatusOverride, override_status};
pub use resume::{resume, retry_failed};
pub use start::{EventSource, GivenInputs, Order, start, unheard_event};
pub use wait::wait;

pub(crate) use after_end::commit_after_end;
pub(crate) use drive::{HeldRun, as_at_start, inseparable};
pub(crate) use resume::{Purpose, drive_around, driver_of, not_resumable, take_over};
pub(crate) use start::{begin_error, cores, create_canonical};

use crate::app::App;
use crate::documents;
use crate::error::Error;

/// Whether a process drives the run: one that lives, or one that cannot be judged from here and whose lease has not
/// lapsed.
pub async fn is_driven(queries: &dyn Queries, row: &RunRow) -> Result<bool, Error> {
    Ok(queries.lease(&row.id).await?.standing(liveness).is_some())
}

/// The whole journal of a run.
pub async fn entries(queries: &dyn Queries, row: &RunRow) -> Result<Vec<Entry>, Error> {
    Ok(queries.entries(&row.id, 0).await?.into_iter().map(|(_, entry)| entry).collect())
}

/// Entries that are read at once where memory counts.
const PART: u32 = 256;

/// The entries of a run, read in parts by the calling thread: half as fast for a long journal, and with less memory.
pub async fn entries_in_parts(queries: &dyn Queries, row: &RunRow) -> Result<Vec<Entry>, Error> {
    let mut entries = Vec::with_capacity(usize::try_from(row.seq).unwrap_or_default());
    let mut from = 0;
    loop {
        let part = queries.entries_part(&row.id, from, PART).await?;
        let Some((last, _)) = part.last() else { return Ok(entries) };
        from = last + 1;
        entries.extend(part.into_iter().map(|(_, entry)| entry));
    }
}

/// The state of a run, rebuilt from its journal.
pub async fn replay(queries: &dyn Queries, row: &RunRow) -> Result<Run, Error> {
    rebuilt(row, &entries(queries, row).await?)
}

/// The state of a run whose journal was read.
pub fn rebuilt(row: &RunRow, entries: &[Entry]) -> Result<Run, Error> {
    rebuilt_by_id(&row.id, entries)
}

fn rebuilt_by_id(id: &RunId, entries: &[Entry]) -> Result<Run, Error> {
    Run::replay(entries).map_err(|error| unreplayable(id, &error))
}

/// The state of the run with exactly this id, rebuilt from its journal.
pub async fn replay_of(queries: &dyn Queries, id: &RunId) -> Result<Run, Error> {
    let entries = queries.entries(id, 0).await?;
    Run::replay(entries.iter().map(|(_, entry)| entry)).map_err(|error| unreplayable(id, &error))
}

pub(crate) fn unreplayable(id: &RunId, error: &ReplayError) -> Error {
    Error::world("journal", format!("the journal of `{id}` cannot be replayed: {error}"))
}

/// The document of a run, with the outcomes that people added.
pub async fn document(queries: &dyn Queries, run: &Run) -> Value {
    let filter = OutcomeFilter { run: Some(run.options().run.clone()), ..OutcomeFilter::default() };
    match queries.outcomes(&filter).await {
        Ok(rows) => documents::run_with_outcomes(run, &rows),
        Err(_) => documents::run(run),
    }
}

/// The run objects of a listing.
pub async fn listed(queries: &dyn Queries, rows: &[RunRow]) -> Result<Vec<Value>, Error> {
    let mut runs = Vec::with_capacity(rows.len());
    for row in rows {
        let payload = match row.event {
            Some(_) => queries.event_payload(&row.id).await?,
            None => Map::new(),
        };
        runs.push(documents::run_row(row, payload));
    }
    Ok(runs)
}

/// What was found about a run and the list that it is on.
#[derive(Debug)]
pub struct Verified {
    pub row: RunRow,
    pub journal: Verification,
    /// What is wrong beside the journal. Looked for only if the journal is intact.
    pub breaks: Vec<StateBreak>,
}

/// Checks the hash chain of a run's journal, the rows that are derived from it, and the list of runs.
pub async fn verify(app: &App, run: &str) -> Result<Verified, Error> {
    let queries = app.queries()?;
    let row = match queries.run(run).await {
        Ok(row) => row,
        Err(LookupError::None(name)) => {
            // The run was there, if a loss names it.
            let id = if name.starts_with("r_") { name.clone() } else { format!("r_{name}") };
            let losses = queries.losses().await?;
            return Err(match losses.iter().find(|loss| loss.last.run.as_str() == id) {
                Some(loss) => Error::world("broken_state", StateBreak::of_loss(loss).to_string()),
                None => LookupError::None(name).into(),
            });
        }
        Err(error) => return Err(error.into()),
    };
    let journal = queries.verify(&row.id).await?;
    let breaks = match journal {
        Verification::Intact { .. } => queries.verify_tables(&row.id).await?,
        Verification::Broken { .. } | Verification::NoSuchRun => Vec::new(),
    };
    Ok(Verified { row, journal, breaks })
}

/// A status by its name.
pub fn parse_status(text: &str) -> Result<RunStatus, Error> {
    RunStatus::parse(text).ok_or_else(|| {
        let known: Vec<&str> = RunStatus::ALL.iter().map(|status| status.as_str()).collect();
        Error::author("usage", format!("no status is called `{text}`"))
            .help(format!("one of {}", known.join(", ")))
    })
}
